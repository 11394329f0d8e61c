package wire

import (
	"bytes"
	"io"
	"math"
	"reflect"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
)

// sentScores are the messages of a stream of scores.
func sentScores(t *testing.T, head *cleavev1.RowScoresHead,
	values []byte) func() (*cleavev1.GetRowScoresResponse, error) {
	t.Helper()
	var parts []*cleavev1.GetRowScoresResponse
	err := SendRowScores(head, bytes.NewReader(values), func(part *cleavev1.GetRowScoresResponse) error {
		parts = append(parts, part)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() (*cleavev1.GetRowScoresResponse, error) {
		if len(parts) == 0 {
			return nil, io.EOF
		}
		part := parts[0]
		parts = parts[1:]
		return part, nil
	}
}

// Scores arrive as they were sent, whichever of them there are, also in several messages.
func TestRowScoresArrive(t *testing.T) {
	const rows = 100_000
	column := func(first float64) []float64 {
		values := make([]float64, rows)
		for i := range values {
			values[i] = first + float64(i)
		}
		return values
	}
	for name, want := range map[string]*clustering.RowScores{
		"all": {Measure: clustering.MeasureEmbedding, Distance: column(1), Margin: column(-7), Runs: 3,
			Confidence: column(0)},
		"distances":  {Measure: clustering.MeasureEdgeShare, Distance: column(2), Margin: column(0.5)},
		"confidence": {Runs: 2, Confidence: column(0.25)},
		"posterior": {Measure: clustering.MeasureDistortion, Distance: column(3), Margin: column(1), Posterior: true,
			Confidence: column(0.5)},
	} {
		var values bytes.Buffer
		if err := WriteRowScores(&values, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReceiveRowScores(sentScores(t, RowScoresHead(want), values.Bytes()))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other scores arrive, %v", name, err)
		}
	}
	if RowScoresHead(nil) != nil {
		t.Error("there is a head of no scores")
	}
}

func TestRowScoresThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		head   *cleavev1.RowScoresHead
		values []byte
	}{
		"no head":         {nil, nil},
		"no rows":         {&cleavev1.RowScoresHead{Measure: 1}, nil},
		"too few":         {&cleavev1.RowScoresHead{Rows: math.MaxInt32, Measure: 1}, make([]byte, 32)},
		"too many":        {&cleavev1.RowScoresHead{Rows: 1, Measure: 1}, make([]byte, 24)},
		"another measure": {&cleavev1.RowScoresHead{Rows: 1, Measure: 257}, make([]byte, 16)},
		"too many runs":   {&cleavev1.RowScoresHead{Rows: 1, Runs: math.MaxUint32}, make([]byte, 8)},
	} {
		if got, err := ReceiveRowScores(sentScores(t, c.head, c.values)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
