package auto

import (
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/discriminant"
)

func TestClassShares(t *testing.T) {
	known := &discriminant.Known{Rows: []int32{0, 1, 2, 5}, Classes: []int32{2, 2, 0, 1},
		Weights: []float64{1, 0.5, 0.5, 1}}
	shares := classShares([]int32{1, 1, 1, 0, 0, 2}, known, 3)
	for c, want := range [][]float64{{0, 0, 0}, {0.25, 0, 0.75}, {0, 1, 0}} { // no row of cluster 0 is known
		for g, share := range shares[c] {
			if share != want[g] {
				t.Errorf("cluster %d: the shares are %v, want %v", c, shares[c], want)
			}
		}
	}
}

// A classifier is fitted to a row of every known class, however many classes and rows there are.
func TestEveryKnownClassIsFitted(t *testing.T) {
	for _, size := range []struct{ n, k int }{{1_100_000, 500}, {10_000, 2500}, {10_000_000, 300}} {
		p := &Problem{n: size.n, spec: clustering.Spec{K: size.k}}
		classes := make([]int32, 2*size.k)
		for i := range classes {
			classes[i] = int32(i % size.k)
		}
		fitted := make(map[int32]bool)
		for _, at := range discriminant.Sample(classes, size.k, p.fittedLimit()) {
			fitted[classes[at]] = true
		}
		if len(fitted) != size.k {
			t.Errorf("%d rows, k = %d: only %d classes have a fitted row", size.n, size.k, len(fitted))
		}
	}
}
