package local_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// widths returns rows of two classes, one narrow inside a wide one, which k-means cannot tell apart.
func widths(t *testing.T, n int, rng *rand.Rand) (*dataset.Points, []int32) {
	t.Helper()
	const d = 4
	values, classes := make([]float64, 0, n*d), make([]int32, n)
	for i := range classes {
		classes[i] = int32(i % 2)
		width := 1.0
		if classes[i] == 1 {
			width = 5
		}
		for range d {
			values = append(values, width*rng.NormFloat64())
		}
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return points, classes
}

func TestAutoFitsAMixture(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	points, classes := widths(t, 300, rng)
	without := solveAuto(t, points, clustering.Spec{K: 2})
	if chosen := without.Choice.Chosen; chosen.Space != clustering.SpaceMixture || ari(t, without.Labels, classes) < 0.7 {
		t.Errorf("%v %v has ARI %.2f", chosen.Space, chosen.ConstraintUse, ari(t, without.Labels, classes))
	}
	if without.Rows.Measure != clustering.MeasureDistortion || without.Model != nil || len(without.History) != without.Iterations {
		t.Errorf("measure %v, model %v, %d entries of %d iterations", without.Rows.Measure, without.Model, len(without.History), without.Iterations)
	}
	for _, count := range []int{20, 100} {
		with := solveAuto(t, points, clustering.Spec{K: 2, Constraints: pairsOf(t, classes, count, 0, rng)})
		if chosen := with.Choice.Chosen; chosen.Space != clustering.SpaceMixture || ari(t, with.Labels, classes) < 0.7 {
			t.Errorf("with %d constraints, %v %v has ARI %.2f", count, chosen.Space, chosen.ConstraintUse, ari(t, with.Labels, classes))
		}
		if with.Satisfaction.Satisfied() < with.Satisfaction.Total {
			t.Errorf("%d of %d constraints hold", with.Satisfaction.Satisfied(), with.Satisfaction.Total)
		}
	}
}

// Where all clusters scatter equally, k-means stays.
func TestAutoFitsNoMixtureWithoutEvidence(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	points := &dataset.Points{N: 300, D: 2, Values: make([]float64, 600)}
	for i := range points.Values {
		points.Values[i] = rng.NormFloat64()
		if i%2 == 0 {
			points.Values[i] += float64(4 * (i / 2 % 3))
		}
	}
	if chosen := solveAuto(t, points, clustering.Spec{K: 3}).Choice.Chosen; chosen.Space == clustering.SpaceMixture {
		t.Errorf("%v was chosen", chosen.Space)
	}
}
