package local_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/test/clusteringtest"
	"github.com/cleave-project/cleave/test/testscale"
)

// oddData are small data sets of every kind, many of them degenerate: constant, with duplicates, of one column, in any
// unit, with columns that do not vary, without edges.
func oddData(t *testing.T, rng *rand.Rand, n int) (string, dataset.Dataset) {
	t.Helper()
	d := 1 + rng.IntN(4)
	distinct := 1 + rng.IntN(n)
	unit := []float64{1, 1, 1, 1e-170, 1e-80, 1e60}[rng.IntN(6)]
	values := make([]float64, n*d)
	for i := range values {
		if place := i - distinct*d; place >= 0 && rng.IntN(8) > 0 {
			values[i] = values[place]
		} else if i%d != 2 {
			values[i] = unit * rng.NormFloat64()
		}
	}
	var data dataset.Dataset
	var err error
	kind := []string{"points", "points", "graph", "sparse", "kernel"}[rng.IntN(5)]
	switch kind {
	case "points":
		data, err = dataset.NewPoints(n, d, values)
	case "graph":
		data = graphOf(t, n, scatteredEdges(rng, n), []int{0, 0, -900, 500}[rng.IntN(4)])
	case "sparse":
		data = sparseOf(t, n, d, values)
	case "kernel":
		entries := make([]float64, n*n)
		for i := range n {
			for j := range n {
				for f := range d {
					entries[i*n+j] += values[i*d+f] / unit * values[j*d+f] / unit
				}
				if rng.IntN(40) == 0 { // not of points
					entries[i*n+j]--
				}
				entries[j*n+i] = entries[i*n+j]
			}
		}
		for at := range entries {
			entries[at] *= min(unit, 1e30)
		}
		data, err = dataset.NewKernel(n, n, entries)
	}
	if err != nil {
		t.Fatal(err)
	}
	return kind, data
}

// sparseOf leaves out a half of the values.
func sparseOf(t *testing.T, n, d int, values []float64) *dataset.SparsePoints {
	t.Helper()
	starts := []int64{0}
	columns := []int32{}
	kept := []float64{}
	for i := range n {
		for f := range d {
			if v := values[i*d+f]; v > 0 {
				columns = append(columns, int32(f))
				kept = append(kept, v)
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	data, err := dataset.NewSparsePoints(n, d, starts, columns, kept)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// oddSupervision is constraints, seeds or both, right and wrong, of every size: none, some, more than there are pairs.
func oddSupervision(rng *rand.Rand, n, k int) (constraints []constraint.Constraint, seeds []constraint.Seed) {
	truth := clusteringtest.RandomLabels(rng, n, k)
	wrong := rng.IntN(2) * rng.IntN(10)
	kinds := rng.IntN(4)
	weight := []float64{0, 0, 1e-160, 1e147}[rng.IntN(4)]
	for range []int{0, 1, 4, 60, 200}[rng.IntN(5)] {
		i := int32(rng.IntN(n))
		j := int32(rng.IntN(n))
		must := truth[i] == truth[j]
		if rng.IntN(10) < wrong {
			must = !must
		}
		switch {
		case kinds == 0, i == j:
			constraints = append(constraints, clusteringtest.MustLink(i, j))
		case kinds == 1 || !must:
			constraints = append(constraints, clusteringtest.CannotLink(i, j))
		default:
			constraints = append(constraints, clusteringtest.MustLink(i, j))
		}
		if weight > 0 && rng.IntN(2) == 0 {
			last := &constraints[len(constraints)-1]
			last.Weight, last.Weighted = weight, true
		}
	}
	for i := range min(n, []int{0, 0, 1, 3, n}[rng.IntN(5)]) {
		s := constraint.Seed{Index: int32(i), Label: truth[i]}
		if rng.IntN(2) == 0 {
			s.Probability = 0.75
			seeds = append(seeds, constraint.Seed{Index: int32(i), Label: (truth[i] + 1) % int32(k), Probability: 0.25})
		}
		seeds = append(seeds, s)
	}
	return constraints, seeds
}

// Whatever the data and the constraints are like, auto answers, with labels from 0 to k-1, the same on any number of
// threads.
func TestAutoAlwaysAnswers(t *testing.T) {
	for seed := range uint64(testscale.Count(40, 150)) {
		rng := clusteringtest.NewRand(seed)
		n := []int{1, 2, 3, 5, 12, 40}[rng.IntN(6)]
		k := []int{1, 2, 1 + rng.IntN(n), n}[rng.IntN(4)]
		k = min(k, n)
		kind, data := oddData(t, rng, n)
		spec := clustering.Spec{K: k, Seed: seed, MaxIterations: 100, Algorithm: &auto.Options{}}
		spec.Supervision.Constraints, spec.Supervision.Seeds = oddSupervision(rng, n, k)
		if kind == "points" {
			spec.Scale = clustering.Scale(rng.IntN(4))
		}
		what := fmt.Sprintf("seed %d: %s, n = %d, k = %d, %d constraints, %d seeds", seed, kind, n, k,
			len(spec.Supervision.Constraints), len(spec.Supervision.Seeds))
		heard := &clusteringtest.Recorder{}
		result, err := local.Solve(t.Context(), data, spec, 1, heard)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if len(result.Labels) != n || slices.Min(result.Labels) < 0 || int(slices.Max(result.Labels)) >= k ||
			len(result.Auto.Choice.Reason) == 0 {
			t.Errorf("%s: labels %v, %+v", what, result.Labels, result.Auto.Choice)
		}
		if math.IsNaN(result.Objective) {
			t.Errorf("%s: the objective is not a number", what)
		}
		again, err := local.Solve(t.Context(), data, spec, 3, &clusteringtest.Recorder{})
		if err != nil || !slices.Equal(again.Labels, result.Labels) || again.Objective != result.Objective ||
			again.Auto.Choice.Reason.String() != result.Auto.Choice.Reason.String() {
			t.Errorf("%s: on three threads %v, %v instead of %v, %v (%v)", what, again.Labels, again.Objective,
				result.Labels, result.Objective, err)
		}
	}
}

// Where there are too many rows to find their neighbors, auto takes k-means, says so, and still compares units.
func TestAutoWithoutNeighbors(t *testing.T) {
	const n, d, sparseRows = 140_000, 64, 260_000
	values := make([]float64, n*d)
	for i := range n {
		values[i*d], values[i*d+1] = float64(i%2), float64(i%7)
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	ones := make([]float64, sparseRows)
	for i := range ones {
		ones[i] = 1 + float64(i%2)
	}
	sets := map[string]dataset.Dataset{"points": points, "sparse points": sparseOf(t, sparseRows, 1, ones)}
	for _, name := range testscale.Some([]string{"sparse points", "points"}, 1) {
		data := sets[name]
		result := solveAuto(t, data, clustering.Spec{
			K: 2, Restarts: 1, MaxIterations: 2,
			Supervision: clustering.Supervision{Constraints: []constraint.Constraint{
				clusteringtest.MustLink(0, 2), clusteringtest.CannotLink(0, 1),
			}},
		})
		if !strings.Contains(result.Auto.Choice.Reason.String(), "too long") ||
			warning(result, "NEIGHBORS_LEFT_OUT") == "" || result.Labels[0] != result.Labels[2] ||
			result.Labels[0] == result.Labels[1] {
			t.Errorf("%s: %+v, %v", name, result.Auto.Choice, result.Warnings)
		}
	}
}

// Supervision that cannot tell ways apart is called what the user gave: constraints of one kind, or seeds.
func TestAutoSaysWhatCannotTell(t *testing.T) {
	points, err := dataset.NewPoints(8, 1, []float64{0, 1, 2, 3, 20, 21, 22, 23})
	if err != nil {
		t.Fatal(err)
	}
	pairs := func(link func(i, j int32) constraint.Constraint) clustering.Spec {
		return clustering.Spec{Supervision: clustering.Supervision{Constraints: []constraint.Constraint{
			link(0, 4), link(1, 5),
		}}}
	}
	for want, spec := range map[string]clustering.Spec{
		"all constraints (2) are must-links":   pairs(clusteringtest.MustLink),
		"all constraints (2) are cannot-links": pairs(clusteringtest.CannotLink),
		"the seeds (3) are all of one class": {Supervision: clustering.Supervision{Seeds: []constraint.Seed{
			{Index: 0, Label: 1}, {Index: 1, Label: 1}, {Index: 2, Label: 1},
		}}},
		"the seeds (2) are too few to hold out pairs of both kinds": {
			Supervision: clustering.Supervision{Seeds: []constraint.Seed{{Index: 0}, {Index: 5, Label: 1}}}},
	} {
		spec.K, spec.Restarts, spec.Seed = 2, 1, 1
		if result := solveAuto(t, points, spec); !strings.HasPrefix(warning(result, "ONE_KIND_OF_CONSTRAINTS"), want) {
			t.Errorf("want %q, got %v", want, result.Warnings)
		}
	}
}
