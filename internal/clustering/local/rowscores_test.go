package local_test

import (
	"math"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// wantScores compares the distances and margins of a result with those that a function of a row and a cluster gives.
func wantScores(t *testing.T, name string, r *clustering.Result, measure clustering.RowMeasure,
	distance func(i, c int) float64) {
	t.Helper()
	if r.Rows == nil || r.Rows.Measure != measure {
		t.Fatalf("%s: the scores are %+v", name, r.Rows)
	}
	for i, own := range r.Labels {
		next := math.Inf(1)
		for c, size := range r.ClusterSizes {
			if c != int(own) && size > 0 {
				next = min(next, distance(i, c))
			}
		}
		want := distance(i, int(own))
		for _, pair := range [][2]float64{{r.Rows.Distance[i], want}, {r.Rows.Margin[i], next - want}} {
			if !(math.Abs(pair[0]-pair[1]) < 1e-5*(math.Abs(want)+math.Abs(next))+1e-12) {
				t.Fatalf("%s, row %d: %v, not %v", name, i, pair[0], pair[1])
			}
		}
	}
}

// rowSum adds up over the rows of a cluster.
func rowSum(labels []int32, c int, value func(j int) float64) (sum float64) {
	for j, label := range labels {
		if int(label) == c {
			sum += value(j)
		}
	}
	return sum
}

// feature is the squared distance from the mean of a cluster in the space of a matrix, for points of some weights.
func feature(labels []int32, weight func(i int) float64, entry func(i, j int) float64) func(i, c int) float64 {
	return func(i, c int) float64 {
		s := rowSum(labels, c, weight)
		self := rowSum(labels, c, func(j int) float64 {
			return rowSum(labels, c, func(l int) float64 { return entry(j, l) })
		})
		a := weight(i)
		return entry(i, i)/(a*a) - 2*rowSum(labels, c, func(j int) float64 { return entry(i, j) })/(a*s) + self/(s*s)
	}
}

// Distances and margins of every family are those of their definitions.
func TestDistancesOfRows(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 70, 3, 6)
	pairs := clusteringtest.RandomConstraints(clusteringtest.NewRand(3), 70, 3, 30)
	square := func(x, y []float64) (sum float64) {
		for f := range x {
			sum += (x[f] - y[f]) * (x[f] - y[f])
		}
		return sum
	}
	spec := func(algorithm clustering.Algorithm) clustering.Spec {
		return clustering.Spec{K: 3, Restarts: 2, MaxIterations: 50, Scale: clustering.ScaleNone, Algorithm: algorithm}
	}
	for name, options := range map[string]kmeans.Options{
		"k-means": {Algorithm: kmeans.Kmeans}, "pc": {Algorithm: kmeans.PCKmeans},
		"mpc": {Algorithm: kmeans.MPCKmeans, Metric: metric.Diagonal},
	} {
		s := spec(&options)
		if options.Algorithm != kmeans.Kmeans {
			s.Supervision.Constraints = pairs
		}
		r := solve(t, points, s)
		wantScores(t, name, r, clustering.MeasureDistortion, func(i, c int) float64 {
			sum := 0.0
			for f, v := range points.Row(i) {
				weight := 1.0
				if r.Model.Metric.Form() == metric.Diagonal {
					weight = r.Model.Metric.Values()[f]
				}
				sum += weight * (v - r.Model.Centroids[c*points.D+f]) * (v - r.Model.Centroids[c*points.D+f])
			}
			return sum
		})
	}

	r := solve(t, points, spec(&kernelkmeans.Options{}))
	wantScores(t, "gaussian", r, clustering.MeasureFeatureSpace, feature(r.Labels, func(int) float64 {
		return 1
	}, func(i, j int) float64 {
		return math.Exp(-square(points.Row(i), points.Row(j)) / (2 * r.Kernel.Matrix.Rho * r.Kernel.Matrix.Rho))
	}))

	r = solve(t, points, spec(&spectral.Options{Algorithm: spectral.Spectral}))
	wantScores(t, "spectral", r, clustering.MeasureEmbedding, func(i, c int) float64 {
		e, size := r.Spectral.Embedding, float64(r.ClusterSizes[c])
		sum := 0.0
		for f := range e.Columns {
			mean := rowSum(r.Labels, c, func(j int) float64 { return e.Values[j*e.Columns+f] }) / size
			sum += (e.Values[i*e.Columns+f] - mean) * (e.Values[i*e.Columns+f] - mean)
		}
		return sum
	})
}

// Distances in graphs, whose weights may be in any unit.
func TestDistancesOfVertices(t *testing.T) {
	for _, unit := range []float64{1, 0x1p-40} {
		g, _ := blockGraph(t, 60, 3, 6, 2, 5)
		for at := range g.Weight {
			g.Weight[at] *= unit
		}
		entry := func(i, j int) float64 {
			neighbors, weights := g.Row(i)
			for at, neighbor := range neighbors {
				if int(neighbor) == j {
					return weights[at]
				}
			}
			return 0
		}
		degree := func(i int) (sum float64) {
			_, weights := g.Row(i)
			for _, w := range weights {
				sum += w
			}
			return sum
		}
		spec := clustering.Spec{K: 3, Restarts: 2, MaxIterations: 50,
			Algorithm: &kernelkmeans.Options{Objective: kernelkmeans.ObjectiveNormalizedCut}}
		r := solve(t, g, spec)
		wantScores(t, "normalized cut", r, clustering.MeasureFeatureSpace, feature(r.Labels, degree, entry))
		spec.Algorithm = &kernelkmeans.Options{Objective: kernelkmeans.ObjectiveRatioAssociation}
		r = solve(t, g, spec)
		wantScores(t, "ratio association", r, clustering.MeasureFeatureSpace, feature(r.Labels, func(int) float64 {
			return 1
		}, entry))
		spec.Algorithm = &auto.Options{}
		r = solve(t, g, spec)
		wantScores(t, "levels", r, clustering.MeasureEdgeShare, func(i, c int) float64 {
			return 1 - rowSum(r.Labels, c, func(j int) float64 { return entry(i, j) })/degree(i)
		})
	}
}

// The confidence of auto counts its starts and its folds, and rows between clusters are less sure than others.
func TestConfidenceOfAuto(t *testing.T) {
	points := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 150, 2, 3)
	spec := clustering.Spec{K: 3, Algorithm: &auto.Options{}, MaxIterations: 100}
	alone := solve(t, points, spec)
	if alone.Rows.Runs != 10 || len(alone.Rows.Confidence) != 150 {
		t.Errorf("without constraints there are %d runs", alone.Rows.Runs)
	}
	spec.Supervision.Constraints = pairsOf(t, alone.Labels, 60, 0, clusteringtest.NewRand(9))
	with := solve(t, points, spec)
	// at least the answer and three folds
	if with.Auto.Choice.Chosen.ConstraintUse != clustering.UseNone && with.Rows.Runs < 4 {
		t.Errorf("%+v has %d runs", with.Auto.Choice.Chosen, with.Rows.Runs)
	}
	for i, share := range with.Rows.Confidence {
		if !(share > 0 && share <= 1) {
			t.Errorf("row %d has a confidence of %v", i, share)
		}
	}
	empty := &dataset.Graph{N: 4, RowStart: make([]int64, 5)}
	spec.Supervision.Constraints, spec.K = nil, 2
	if r := solve(t, empty, spec); !math.IsNaN(r.Rows.Distance[0]) || !math.IsNaN(r.Rows.Margin[0]) {
		t.Errorf("vertices without edges have %+v", r.Rows)
	}
}

// The answer is one of the runs that the confidence compares, also where classes spread along a graph.
func TestConfidenceOfSpreadClassesCountsTheAnswer(t *testing.T) {
	const n, k = 120, 3 // a ring, whose classes are arcs that lie apart
	var edges []dataset.Edge
	spec := clustering.Spec{K: k, Algorithm: &auto.Options{}, MaxIterations: 100}
	for i := range int32(n) {
		for step := range int32(3) {
			edges = append(edges, dataset.Edge{Source: i, Target: (i + 1 + step) % n, Weight: 1})
		}
		if i%2 == 0 {
			spec.Supervision.Seeds = append(spec.Supervision.Seeds, constraint.Seed{Index: i, Label: i / 10 % k})
		}
	}
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	r := solve(t, g, spec)
	if r.Auto.Choice.Chosen.ConstraintUse != clustering.UseSpread || r.Rows.Runs != 4 {
		t.Errorf("%+v has %d runs, want the answer and three folds", r.Auto.Choice.Chosen, r.Rows.Runs)
	}
}
