package span

import (
	"context"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// Labels pay for violated pairs: a point between two clusters goes where its pairs want it, one inside a cluster does
// not for a weight of 1.
func TestRoundingPaysForPairs(t *testing.T) {
	rng := clusteringtest.NewRand(15)
	rows := &clustering.Embedding{Rows: 42, Columns: 1, Values: make([]float64, 42)}
	for i := range 40 {
		rows.Values[i] = float64(2*(i%2)) + 0.01*rng.NormFloat64()
	}
	rows.Values[40], rows.Values[41] = 0.9, 0 // between them, nearer to the even ones; one of these
	pairs := []constraint.Pair{
		{I: 1, J: 40, Kind: constraint.MustLink, Weight: 1}, {I: 0, J: 40, Kind: constraint.CannotLink, Weight: 1},
		{I: 1, J: 41, Kind: constraint.MustLink, Weight: 1},
	}
	r := rounding{k: 2, starts: 3, improved: 2, improveIterations: 30, seed: 1, threads: 1}
	labels, _, err := r.run(context.Background(), rows, pairs)
	if err != nil {
		t.Fatal(err)
	}
	if labels[40] != labels[1] || labels[41] != labels[0] || labels[0] == labels[1] {
		t.Errorf("the labels are %d", labels)
	}
	if labels, _, err = r.run(context.Background(), rows, nil); err != nil || labels[40] != labels[0] {
		t.Errorf("without pairs the labels are %d, %v", labels, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := r.run(ctx, rows, pairs); err == nil {
		t.Error("a run that was canceled has labels")
	}
}
