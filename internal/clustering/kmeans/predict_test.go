package kmeans

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

func predict(t testing.TB, m *model.Model, data dataset.Dataset) []int32 {
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
			for _, link := range c.spec.Supervision.Constraints {
				held[link.I], held[link.J] = true, true
			}
			for _, s := range c.spec.Supervision.Seeds {
				held[s.Index] = true
			}
			distance := distancesBy(t, r.Model, c.data.(*dataset.Points))
			for i, label := range predict(t, r.Model, c.data) {
				was := r.Labels[i]
				// ties keep their label in a run
				if gain := distance(i, was) - distance(i, label); !held[int32(i)] && label != was && gain > 1e-9 {
					t.Errorf("seed %d, %s: point %d has label %d, predicted is %d, nearer by %g", seed, c.name, i,
						was, label, gain)
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
func distancesBy(t testing.TB, m *model.Model, points *dataset.Points) func(i int, label int32) float64 {
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
func randomModel(t testing.TB, rng *rand.Rand, distortion metric.Distortion, form metric.Form,
	points *dataset.Points) *model.Model {
	m := &model.Model{Distortion: distortion, K: 1 + rng.IntN(5), D: points.D, Metric: metric.NewIdentity(points.D)}
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
	starts := []int64{0}
	columns := []int32{}
	values := []float64{}
	for i := range points.N {
		for c, v := range points.Row(i) {
			columns = append(columns, int32(c))
			values = append(values, v)
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
		n := 1 + rng.IntN(60)
		d := 1 + rng.IntN(6)
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
			{metric.SquaredEuclidean, metric.Identity}, {metric.SquaredEuclidean, metric.Diagonal},
			{metric.SquaredEuclidean, metric.Full},
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
						t.Errorf("%s: point %d is at %v from cluster %d and at %v from %d", name, i, own, got[i],
							distance(i, other), other)
					}
				}
			}
		}
	}
}

func TestPredictionTakesTheLowestOfTies(t *testing.T) {
	m := &model.Model{Distortion: metric.SquaredEuclidean, K: 4, D: 1, Centroids: []float64{9, 3, 1, 3},
		Metric: metric.NewIdentity(1)}
	if got := predict(t, m, line(t, 2, 3, 9, 6)); !slices.Equal(got, []int32{1, 1, 0, 0}) {
		t.Errorf("got %v", got)
	}
}

func TestPredictionRefuses(t *testing.T) {
	m := &model.Model{Distortion: metric.Cosine, K: 1, D: 2, Centroids: []float64{1, 0}, Metric: metric.NewIdentity(2)}
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
