package kmeans

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

func predict(t testing.TB, m *clustering.Model, data dataset.Dataset) []int32 {
	t.Helper()
	found, err := Predict(t.Context(), m, data, 2)
	if err != nil {
		t.Fatal(err)
	}
	return found.Labels
}

// A run that converged has assigned every point without constraints and seeds to its nearest centroid.
func TestPredictionOfTheRunsOwnPoints(t *testing.T) {
	checked := 0
	for seed := range uint64(12) {
		for _, c := range allCases(t, seed) {
			r, err := trySolve(c.data, c.spec)
			if err != nil || r.StopReason != clustering.StopConverged {
				continue // infeasible, or not converged
			}
			held := map[int32]bool{}
			for _, link := range c.spec.Constraints {
				held[link.I], held[link.J] = true, true
			}
			for _, s := range c.spec.Seeds {
				held[s.Index] = true
			}
			distance := distancesBy(t, r.Model, c.data.(*dataset.Points))
			for i, label := range predict(t, r.Model, c.data) {
				was := r.Labels[i]
				if gain := distance(i, was) - distance(i, label); !held[int32(i)] && label != was && gain > 1e-9 { // ties keep their label in a run
					t.Errorf("seed %d, %s: point %d has label %d, predicted is %d, nearer by %g", seed, c.name, i, was, label, gain)
				}
				if label == was {
					checked++
				}
			}
		}
	}
	if checked < 1000 {
		t.Errorf("only %d points have the label that is predicted", checked)
	}
}

// distancesBy are distances of points to centroids, one row and one centroid at a time: divergences by their formula,
// others by package metric.
func distancesBy(t testing.TB, m *clustering.Model, points *dataset.Points) func(i int, label int32) float64 {
	measure := metric.Measure{Distortion: m.Distortion, Metric: m.Metric}
	return func(i int, label int32) float64 {
		row := slices.Clone(points.Row(i))
		center := slices.Clone(m.Centroids[int(label)*m.D:][:m.D])
		if err := m.Distortion.Prepare(i, row); err != nil {
			t.Fatal(err)
		}
		if m.Distortion != metric.KL && m.Distortion != metric.IDivergence {
			return measure.Between(row, center)
		}
		sum := 0.0
		for f, v := range row {
			mean := max(center[f], 1e-12) // a run counts 0 as 1e-12 in logarithms
			if v > 0 {
				sum += v * math.Log(v/mean)
			}
			if m.Distortion == metric.IDivergence {
				sum += mean - v
			}
		}
		return sum
	}
}

// randomModel is centroids among rows that the distortion has prepared.
func randomModel(t testing.TB, rng *rand.Rand, distortion metric.Distortion, form metric.Form, points *dataset.Points) *clustering.Model {
	m := &clustering.Model{Distortion: distortion, K: 1 + rng.IntN(5), D: points.D, Metric: metric.NewIdentity(points.D)}
	for range m.K {
		center := make([]float64, m.D)
		for at, v := range points.Row(rng.IntN(points.N)) {
			center[at] = v + rng.Float64()
		}
		if err := distortion.Prepare(0, center); err != nil {
			t.Fatal(err)
		}
		m.Centroids = append(m.Centroids, center...)
	}
	var err error
	switch form {
	case metric.Diagonal:
		weights := make([]float64, m.D)
		for at := range weights {
			weights[at] = 0.1 + rng.Float64()
		}
		m.Metric, err = metric.NewDiagonal(weights)
	case metric.Full:
		values := make([]float64, m.D*m.D)
		for i := range m.D {
			for j := range i {
				values[i*m.D+j] = rng.Float64() - 0.5
				values[j*m.D+i] = values[i*m.D+j]
			}
			values[i*m.D+i] = float64(m.D)
		}
		m.Metric, err = metric.NewFull(m.D, values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sparseTwin is the same points as a sparse data set.
func sparseTwin(t testing.TB, points *dataset.Points) *dataset.SparsePoints {
	starts, columns, values := []int64{0}, []int32{}, []float64{}
	for i := range points.N {
		for c, v := range points.Row(i) {
			columns, values = append(columns, int32(c)), append(values, v)
		}
		starts = append(starts, int64(len(columns)))
	}
	twin, err := dataset.NewSparsePoints(points.N, points.D, starts, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	return twin
}

// No centroid is nearer than the one that is predicted, by the definition of the distortion.
func TestPredictionAgainstTheDefinition(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n, d := 1+rng.IntN(60), 1+rng.IntN(6)
		values := make([]float64, n*d)
		for at := range values {
			values[at] = float64(rng.IntN(3)) * rng.Float64() // some are 0
		}
		for i := range n {
			values[i*d] += 0.01
		}
		points, err := dataset.NewPoints(n, d, values)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			distortion metric.Distortion
			form       metric.Form
		}{
			{metric.SquaredEuclidean, metric.Identity}, {metric.SquaredEuclidean, metric.Diagonal}, {metric.SquaredEuclidean, metric.Full},
			{metric.Cosine, metric.Identity}, {metric.KL, metric.Identity}, {metric.IDivergence, metric.Identity},
		} {
			name := fmt.Sprint("seed ", seed, ", ", c.distortion, " ", c.form)
			m := randomModel(t, rng, c.distortion, c.form, points)
			got := predict(t, m, points)
			if sparse := predict(t, m, sparseTwin(t, points)); !slices.Equal(got, sparse) {
				t.Errorf("%s: dense %v, sparse %v", name, got, sparse)
			}
			distance := distancesBy(t, m, points)
			for i := range n {
				for other := range int32(m.K) {
					if own := distance(i, got[i]); distance(i, other) < own-1e-9*(1+own) {
						t.Errorf("%s: point %d is at %v from cluster %d and at %v from %d", name, i, own, got[i], distance(i, other), other)
					}
				}
			}
		}
	}
}

func TestPredictionTakesTheLowestOfTies(t *testing.T) {
	m := &clustering.Model{Distortion: metric.SquaredEuclidean, K: 4, D: 1, Centroids: []float64{9, 3, 1, 3}, Metric: metric.NewIdentity(1)}
	if got := predict(t, m, line(t, 2, 3, 9, 6)); !slices.Equal(got, []int32{1, 1, 0, 0}) {
		t.Errorf("got %v", got)
	}
}

func TestPredictionRefuses(t *testing.T) {
	m := &clustering.Model{Distortion: metric.Cosine, K: 1, D: 2, Centroids: []float64{1, 0}, Metric: metric.NewIdentity(2)}
	_, err := Predict(t.Context(), m, line(t, 1, 2), 1)
	clusteringtest.WantFault(t, err, "SIZE_MISMATCH", "1 columns", "points with 2")
	zero, err := dataset.NewPoints(2, 2, []float64{1, 1, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Predict(t.Context(), m, zero, 1)
	clusteringtest.WantFault(t, err, "ZERO_ROW", "row 1")
	graph, err := dataset.NewGraph(2, []dataset.Edge{{Source: 0, Target: 1, Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Predict(t.Context(), m, graph, 1)
	clusteringtest.WantFault(t, err, "UNSUPPORTED_DATA")
}

// A fault of a new point names its row among the new points, not among the landmarks and them.
func TestPredictionByLandmarksNamesRowsOfTheNewPoints(t *testing.T) {
	m := &clustering.Model{
		Distortion: metric.SquaredEuclidean, K: 1, D: 1, Metric: metric.NewIdentity(1), Centroids: []float64{1},
		Landmarks: &clustering.Landmarks{
			Points: &dataset.Points{N: 3, D: 2, Values: []float64{1, 2, 3, 4, 5, 6}}, Projection: []float64{1, 1, 1},
			Matrix: kernel.MatrixSpec{Function: kernel.Cosine, Grid: -40, Columns: 2},
		},
	}
	_, err := Predict(t.Context(), m, &dataset.Points{N: 2, D: 2, Values: []float64{1, 1, 0, 0}}, 1)
	clusteringtest.WantFault(t, err, "ZERO_ROW", "row 1 ")
}

// Scores of landmarks and trees are added, group by group, also if clusters have other numbers than groups.
func TestPredictionByLandmarksAndTrees(t *testing.T) {
	rng := clusteringtest.NewRand(7)
	const k, columns, rho = 3, 2, 1.5
	known, fresh := clusteringtest.Blobs(t, rng, 30, columns, k), clusteringtest.Blobs(t, rng, 100, columns, k)
	groups, projection := make([]int32, known.N), make([]float64, known.N*k)
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
	m := &clustering.Model{
		Distortion: metric.SquaredEuclidean, K: k, D: k, Metric: metric.NewIdentity(k), Centroids: slices.Repeat([]float64{-1. / k}, k*k),
		Landmarks: &clustering.Landmarks{Points: known, Projection: projection, Centered: true,
			Matrix: kernel.MatrixSpec{Function: kernel.Gaussian, Rho: rho, Grid: -40, Columns: columns}},
		Forest: &clustering.Forest{Trees: trees, Weight: 0.7},
	}
	for c, g := range groupOf {
		m.Centroids[c*k+g]++
	}
	got, err := Predict(t.Context(), m, fresh, 2)
	if err != nil {
		t.Fatal(err)
	}
	shares := make([]float64, k)
	for i := range fresh.N {
		x, scores := fresh.Row(i), make([]float64, k) // of the groups
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
			t.Errorf("row %d is in cluster %d by a margin of %v; want %v by %v", i, got.Labels[i], got.Rows.Margin[i], order[0], margin)
		}
	}
}
