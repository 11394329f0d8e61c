package predict

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// A fault of a new point names its row among the new points, not among the landmarks and them.
func TestPredictionByLandmarksNamesRowsOfTheNewPoints(t *testing.T) {
	m := &model.Model{
		Distortion: metric.SquaredEuclidean, K: 1, D: 1, Metric: metric.NewIdentity(1), Centroids: []float64{1},
		Landmarks: &model.Landmarks{
			Points: &dataset.Points{N: 3, D: 2, Values: []float64{1, 2, 3, 4, 5, 6}}, Projection: []float64{1, 1, 1},
			Matrix: kernel.MatrixSpec{Function: kernel.Cosine, Grid: -40, Columns: 2},
		},
	}
	_, err := ByModel(t.Context(), m, &dataset.Points{N: 2, D: 2, Values: []float64{1, 1, 0, 0}}, 1)
	clusteringtest.WantFault(t, err, "ZERO_ROW", "row 1 ")
	m.Units = &dataset.Units{Center: []float64{0, 0}, Scale: []float64{1, 1e-300}}
	_, err = ByModel(t.Context(), m, &dataset.Points{N: 2, D: 2, Values: []float64{1, 1, 1, 1e10}}, 1)
	clusteringtest.WantFault(t, err, "BAD_UNITS", "row 1 has the value 1e+10 in column 1")
}

// Scores of landmarks and trees are added, group by group, also if clusters have other numbers than groups.
func TestPredictionByLandmarksAndTrees(t *testing.T) {
	rng := clusteringtest.NewRand(7)
	const k, columns, rho = 3, 2, 1.5
	known := clusteringtest.Blobs(t, rng, 30, columns, k)
	fresh := clusteringtest.Blobs(t, rng, 100, columns, k)
	groups := make([]int32, known.N)
	projection := make([]float64, known.N*k)
	for i := range groups {
		groups[i] = int32(rng.IntN(k))
		sum := 0.0
		for g := range k - 1 {
			projection[i*k+g] = rng.NormFloat64() / 10
			sum += projection[i*k+g]
		}
		projection[i*k+k-1] = -sum
	}
	trees, err := forest.Fit(t.Context(), known, groups, clustering.Ones(known.N), k, 20, rng, 1)
	if err != nil {
		t.Fatal(err)
	}
	groupOf := []int{2, 0, 1} // of each cluster
	m := &model.Model{
		Distortion: metric.SquaredEuclidean, K: k, D: k, Metric: metric.NewIdentity(k),
		Centroids: slices.Repeat([]float64{-1. / k}, k*k),
		Landmarks: &model.Landmarks{Points: known, Projection: projection, Centered: true,
			Matrix: kernel.MatrixSpec{Function: kernel.Gaussian, Rho: rho, Grid: -40, Columns: columns}},
		Forest: &model.Forest{Trees: trees, Weight: 0.7},
	}
	for c, g := range groupOf {
		m.Centroids[c*k+g]++
	}
	got, err := ByModel(t.Context(), m, fresh, 2)
	if err != nil {
		t.Fatal(err)
	}
	shares := make([]float64, k)
	for i := range fresh.N {
		x := fresh.Row(i)
		scores := make([]float64, k) // of the groups
		trees.Score(x, shares)
		for g, share := range shares {
			scores[g] = 0.7 * (share - 1./k)
		}
		for j := range known.N {
			square := 0.0
			for f, v := range known.Row(j) {
				square += (v - x[f]) * (v - x[f])
			}
			for g := range scores {
				scores[g] += math.Exp(-square/(2*rho*rho)) * projection[j*k+g]
			}
		}
		order := []int{0, 1, 2} // clusters
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[groupOf[b]], scores[groupOf[a]]) })
		margin := 2 * (scores[groupOf[order[0]]] - scores[groupOf[order[1]]])
		if margin > 1e-5 && int(got.Labels[i]) != order[0] || math.Abs(got.Rows.Margin[i]-margin) > 1e-5 {
			t.Errorf("row %d is in cluster %d by a margin of %v; want %v by %v", i, got.Labels[i], got.Rows.Margin[i],
				order[0], margin)
		}
	}
}
