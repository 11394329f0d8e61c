package auto

import (
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/discriminant"
)

func TestClassShares(t *testing.T) {
	known := &discriminant.Known{Rows: []int32{0, 1, 2, 5}, Classes: []int32{2, 2, 0, 1}, Weights: []float64{1, 0.5, 0.5, 1}}
	shares := classShares([]int32{1, 1, 1, 0, 0, 2}, known, 3)
	for c, want := range [][]float64{{0, 0, 0}, {0.25, 0, 0.75}, {0, 1, 0}} { // no row of cluster 0 is known
		for g, share := range shares[c] {
			if share != want[g] {
				t.Errorf("cluster %d: the shares are %v, want %v", c, shares[c], want)
			}
		}
	}
}
