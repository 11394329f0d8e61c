package wire

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
)

// sentEmbedding is the parts of an embedding, each through its encoding.
func sentEmbedding(t interface{ Fatal(...any) }, e *clustering.Embedding) []*cleavev1.GetEmbeddingResponse {
	var blob bytes.Buffer
	if err := WriteEmbedding(&blob, e); err != nil {
		t.Fatal(err)
	}
	var parts []*cleavev1.GetEmbeddingResponse
	err := SendEmbedding(EmbeddingHead(e), &blob, func(part *cleavev1.GetEmbeddingResponse) error {
		encoded, err := proto.Marshal(part)
		if err != nil {
			return err
		}
		received := &cleavev1.GetEmbeddingResponse{}
		parts = append(parts, received)
		return proto.Unmarshal(encoded, received)
	})
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

func TestEmbeddingsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "rows")
		d := rapid.IntRange(1, 4).Draw(t, "columns")
		want := &clustering.Embedding{Rows: n, Columns: d,
			Values: rapid.SliceOfN(rapid.Float64(), n*d, n*d).Draw(t, "values")}
		parts := sentEmbedding(t, want)
		got, err := ReceiveEmbedding(stream(parts))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
		for cut := range parts {
			if _, err := ReceiveEmbedding(stream(parts[:cut])); err == nil {
				t.Fatalf("an embedding that ends after %d of %d parts was taken", cut, len(parts))
			}
		}
	})
}

func TestLargeEmbeddingsTravelInChunks(t *testing.T) {
	const rows = ChunkBytes/8 + 1
	want := &clustering.Embedding{Rows: rows, Columns: 2, Values: make([]float64, 2*rows)}
	want.Values[2*rows-1] = math.Pi
	parts := sentEmbedding(t, want)
	for _, part := range parts {
		if size := proto.Size(part); size > ChunkBytes+100 {
			t.Errorf("a part has %d bytes", size)
		}
	}
	if got, err := ReceiveEmbedding(stream(parts)); err != nil || !reflect.DeepEqual(got, want) || len(parts) != 4 {
		t.Errorf("%d parts, %v", len(parts), err)
	}
}

func embeddingHead(rows, columns uint32) *cleavev1.GetEmbeddingResponse {
	return &cleavev1.GetEmbeddingResponse{
		Part: &cleavev1.GetEmbeddingResponse_Head{Head: &cleavev1.EmbeddingHead{Rows: rows, Columns: columns}}}
}

func embeddingValues(v ...float64) *cleavev1.GetEmbeddingResponse {
	return &cleavev1.GetEmbeddingResponse{
		Part: &cleavev1.GetEmbeddingResponse_Values{Values: &cleavev1.DenseValues{Values: v}}}
}

func TestEmbeddingsThatAreWrong(t *testing.T) {
	head, values := embeddingHead, embeddingValues
	for name, parts := range map[string][]*cleavev1.GetEmbeddingResponse{
		"nothing":      {},
		"values first": {values(1, 2)},
		"no values":    {head(2, 1)},
		"too few":      {head(2, 1), values(1)},
		"too many":     {head(2, 1), values(1, 2), values(3)},
		"two heads":    {head(2, 1), head(2, 1), values(1, 2)},
		"not finite":   {head(2, 1), values(1, math.NaN())},
		"no rows":      {head(0, 2)},
		"no columns":   {head(2, 0)},
		"a promise":    {head(1<<30, 1<<20), values(1, 0)},
		"overflow":     {head(math.MaxUint32, math.MaxUint32), values(1, 0)},
	} {
		if _, err := ReceiveEmbedding(stream(parts)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// FuzzEmbedding feeds parts of any content; an embedding that is taken has the shape that its head says.
func FuzzEmbedding(f *testing.F) {
	f.Add([]byte(nil), []byte(nil), []byte(nil))
	var encoded [3][]byte
	for at, part := range []*cleavev1.GetEmbeddingResponse{embeddingHead(3, 1), embeddingValues(1, 2),
		embeddingValues(3)} {
		encoded[at], _ = proto.Marshal(part)
	}
	f.Add(encoded[0], encoded[1], encoded[2])
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		var parts []*cleavev1.GetEmbeddingResponse
		for _, encoded := range [][]byte{a, b, c} {
			part := &cleavev1.GetEmbeddingResponse{}
			if proto.Unmarshal(encoded, part) != nil {
				return
			}
			if len(encoded) > 0 {
				parts = append(parts, part)
			}
		}
		e, err := ReceiveEmbedding(stream(parts))
		if err == nil && (e.Rows < 1 || e.Columns < 1 || len(e.Values) != e.Rows*e.Columns) {
			t.Fatalf("got %+v", e)
		}
	})
}
