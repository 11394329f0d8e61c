package local_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/predict"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// widths returns rows of two classes, one narrow inside a wide one, which k-means cannot tell apart.
func widths(t *testing.T, n int, rng *rand.Rand) (*dataset.Points, []int32) {
	t.Helper()
	const d = 4
	values := make([]float64, 0, n*d)
	classes := make([]int32, n)
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
	if chosen := without.Auto.Choice.Chosen; chosen.Space != clustering.SpaceMixture ||
		ari(t, without.Labels, classes) < 0.7 {
		t.Errorf("%v %v has ARI %.2f", chosen.Space, chosen.ConstraintUse, ari(t, without.Labels, classes))
	}
	if without.Rows.Measure != clustering.MeasureDistortion || !without.Rows.Posterior ||
		len(without.History) != without.Iterations {
		t.Errorf("measure %v, posterior %v, %d entries of %d iterations", without.Rows.Measure, without.Rows.Posterior,
			len(without.History), without.Iterations)
	}
	for _, count := range []int{20, 100} {
		with := solveAuto(t, points, clustering.Spec{
			K: 2, Supervision: clustering.Supervision{Constraints: pairsOf(t, classes, count, 0, rng)},
		})
		if chosen := with.Auto.Choice.Chosen; chosen.Space != clustering.SpaceMixture ||
			ari(t, with.Labels, classes) < 0.7 {
			t.Errorf("with %d constraints, %v %v has ARI %.2f", count, chosen.Space, chosen.ConstraintUse,
				ari(t, with.Labels, classes))
		}
		if with.Satisfaction.Satisfied() < with.Satisfaction.Total {
			t.Errorf("%d of %d constraints hold", with.Satisfaction.Satisfied(), with.Satisfaction.Total)
		}
	}
}

// The model of a mixture gives the rows of a run their labels, distances and confidences again, except rows in
// constraints and seeds.
func TestTheModelOfAMixtureRepeatsItsRun(t *testing.T) {
	scales := []clustering.Scale{clustering.ScaleNone, clustering.ScaleAuto, clustering.ScaleZscore}
	mixtures := 0
	for draw := range 12 {
		rng := rand.New(rand.NewPCG(uint64(draw), 1))
		points, classes := widths(t, 100, rng)
		for i := range points.N {
			points.Row(i)[0] *= 1000 // so that units matter
			points.Row(i)[3] = float64(rng.IntN(2))
		}
		spec := clustering.Spec{K: 2 + draw%3, Scale: scales[rng.IntN(len(scales))]}
		supervised := make([]bool, points.N)
		if draw/3%2 == 1 {
			spec.Supervision.Constraints = pairsOf(t, classes, 30, 0, rng)
			for _, c := range spec.Supervision.Constraints {
				supervised[c.I], supervised[c.J] = true, true
			}
		}
		if draw/6 == 1 {
			for i := range int32(10) {
				spec.Supervision.Seeds = append(spec.Supervision.Seeds, constraint.Seed{
					Index: i, Label: 1 - classes[i],
				})
				supervised[i] = true
			}
		}
		result := solveAuto(t, points, spec)
		if result.Auto.Choice.Chosen.Space == clustering.SpaceMixture {
			mixtures++
			checkMixture(t, points, result, supervised)
		}
	}
	if mixtures < 6 {
		t.Errorf("only %d answers are mixtures", mixtures)
	}
}

// checkMixture compares a result with what its model says about the rows.
func checkMixture(t *testing.T, points *dataset.Points, result *clustering.Result, supervised []bool) {
	t.Helper()
	again, err := predict.ByModel(t.Context(), result.Model, points, 2)
	if err != nil {
		t.Fatal(err)
	}
	rows := result.Rows
	for i, label := range result.Labels {
		switch {
		case label != again.Labels[i] && !supervised[i]:
			t.Errorf("row %d is in cluster %d, by the model in %d", i, label, again.Labels[i])
		case label != again.Labels[i]:
			if rows.Confidence[i] > 0.5 || rows.Margin[i] > 0 {
				t.Errorf("row %d was moved to cluster %d, but has confidence %v and margin %v there", i, label,
					rows.Confidence[i], rows.Margin[i])
			}
		case rows.Confidence[i] != again.Rows.Confidence[i] || rows.Distance[i] != again.Rows.Distance[i] ||
			rows.Margin[i] != again.Rows.Margin[i]:
			t.Errorf("row %d has other scores by the model", i)
		}
	}
	if rows.Runs != 0 || !rows.Posterior || len(result.Model.Centroids) != result.Model.K*points.D {
		t.Errorf("%d runs, posterior %v, %d values of centroids", rows.Runs, rows.Posterior,
			len(result.Model.Centroids))
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
	if chosen := solveAuto(t, points, clustering.Spec{K: 3}).
		Auto.Choice.Chosen; chosen.Space == clustering.SpaceMixture {
		t.Errorf("%v was chosen", chosen.Space)
	}
}
