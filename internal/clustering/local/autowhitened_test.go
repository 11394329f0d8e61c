package local_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Three classes differ in the direction in which rows vary least, and that direction is a mixture of all columns. Only
// must-links show that the other directions do not matter. There are too many columns for a mixture.
func TestAutoWhitensByMustLinks(t *testing.T) {
	const n, d, k = 120, 41, 3
	rng := rand.New(rand.NewPCG(7, 0))
	mixing := make([]float64, d*d)
	for i := range mixing {
		mixing[i] = rng.NormFloat64()
	}
	values := make([]float64, 0, n*d)
	classes := make([]int32, n)
	for i := range classes {
		classes[i] = int32(i % k)
		hidden := make([]float64, d)
		for f := range hidden {
			hidden[f] = 3 * rng.NormFloat64()
		}
		hidden[0] = float64(6*classes[i]) + 0.3*rng.NormFloat64()
		for column := range d {
			sum := 0.0
			for f, v := range hidden {
				sum += v * mixing[column*d+f]
			}
			values = append(values, sum)
		}
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	spec := clustering.Spec{K: k, Supervision: clustering.Supervision{Constraints: pairsOf(t, classes, 200, 0, rng)}}
	result := solveAuto(t, points, spec)
	if chosen := result.Auto.Choice.Chosen; chosen.ConstraintUse != clustering.UseWhitened ||
		ari(t, result.Labels, classes) < 0.9 {
		t.Errorf("%v %v has ARI %.2f", chosen.Space, chosen.ConstraintUse, ari(t, result.Labels, classes))
	}
	spec.Supervision.Constraints = nil
	if without := solveAuto(t, points, spec); ari(t, without.Labels, classes) > 0.3 {
		t.Errorf("even without constraints the ARI is %.2f", ari(t, without.Labels, classes))
	}

	// The model is the whitened distance from the centroids, in the columns of the data.
	scaled, err := result.Model.Units.Apply(points)
	if err != nil {
		t.Fatal(err)
	}
	centroids, err := result.Model.Units.Apply(&dataset.Points{N: k, D: d, Values: result.Model.Centroids})
	if err != nil {
		t.Fatal(err)
	}
	if result.Model.Metric.Form() != metric.Full || result.Rows.Measure != clustering.MeasureDistortion {
		t.Fatalf("a metric of form %v, distances by measure %v", result.Model.Metric.Form(), result.Rows.Measure)
	}
	differ := 0
	for i, label := range result.Labels {
		own := result.Model.Metric.Distance(scaled.(*dataset.Points).Row(i),
			centroids.(*dataset.Points).Row(int(label)))
		for c := range k {
			if result.Model.Metric.Distance(scaled.(*dataset.Points).Row(i), centroids.(*dataset.Points).Row(c)) < own {
				differ++
				break
			}
		}
	}
	if differ > n/20 {
		t.Errorf("%d of %d rows are nearer to another centroid", differ, n)
	}
}
