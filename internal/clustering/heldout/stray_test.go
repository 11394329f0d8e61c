package heldout

import (
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// An answer confuses two classes and splits another. Correct must-links between its clusters then join few pairs of
// clusters, so few are stray. With wrong constraints, about their share is.
func TestStrayMustLinks(t *testing.T) {
	const n, k, m = 3000, 12, 1200
	for seed := range uint64(20) {
		rng := clusteringtest.NewRand(seed)
		truth := clusteringtest.RandomLabels(rng, n, k)
		labels := make([]int32, n)
		for i, class := range truth {
			switch {
			case class == 0: // confused with 1
				labels[i] = rng.Int32N(2)
			case class == 2: // split into two, and 3 becomes part of 1
				labels[i] = 2 + rng.Int32N(2)
			case class == 3:
				labels[i] = 1
			default:
				labels[i] = class
			}
		}
		for _, wrong := range []float64{0, 0.1} {
			stray, among := supervise(t, n, k, 3, someConstraints(rng, truth, m, wrong), nil).StrayMustLinks(labels)
			if among < m/3 {
				t.Errorf("seed %d: only %d of %d constraints are between separated clusters", seed, among, m)
			}
			if share := float64(stray) / float64(among); share < wrong-0.04 || share > wrong+0.04 {
				t.Errorf("seed %d: %d of %d must-links are stray, but %g of the constraints are wrong", seed,
					stray, among, wrong)
			}
		}
	}
}

// someConstraints draws m constraints between random points, a share of which is wrong.
func someConstraints(rng *rand.Rand, truth []int32, m int, wrong float64) []constraint.Constraint {
	var list []constraint.Constraint
	for len(list) < m {
		i := rng.Int32N(int32(len(truth)))
		j := rng.Int32N(int32(len(truth)))
		if i == j {
			continue
		}
		if (truth[i] == truth[j]) != (rng.Float64() < wrong) {
			list = append(list, clusteringtest.MustLink(i, j))
		} else {
			list = append(list, clusteringtest.CannotLink(i, j))
		}
	}
	return list
}

// There are none without constraints, or if all points are in one cluster.
func TestNoStrayMustLinks(t *testing.T) {
	labels := make([]int32, 40)
	if stray, among := supervise(t, 40, 3, 3, nil, nil).StrayMustLinks(labels); stray != 0 || among != 0 {
		t.Errorf("%d of %d without constraints", stray, among)
	}
	constraints := clusteringtest.RandomConstraints(clusteringtest.NewRand(1), 40, 3, 100)
	if stray, among := supervise(t, 40, 3, 3, constraints, nil).StrayMustLinks(labels); stray != 0 || among != 0 {
		t.Errorf("%d of %d within one cluster", stray, among)
	}
}
