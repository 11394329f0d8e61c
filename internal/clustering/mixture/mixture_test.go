package mixture

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// nested returns n rows of two clusters with the same mean: every other row is in the narrow one. It also returns the
// clusters.
func nested(t *testing.T, n int, seed uint64) (*dataset.Points, []int32) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	var values []float64
	classes := make([]int32, n)
	for i := range classes {
		classes[i] = int32(i % 2)
		width := 0.2
		if classes[i] == 1 {
			width = 4
		}
		for range 4 {
			values = append(values, width*rng.NormFloat64())
		}
	}
	points, err := dataset.NewPoints(n, 4, values)
	if err != nil {
		t.Fatal(err)
	}
	return points, classes
}

// halves returns labels by the sign of the first column, as k-means would find them.
func halves(p *dataset.Points) []int32 {
	labels := make([]int32, p.N)
	for i := range labels {
		if p.Row(i)[0] > 0.5 {
			labels[i] = 1
		}
	}
	return labels
}

func fitted(t *testing.T, p *Problem) *Found {
	t.Helper()
	if p.Few == nil {
		p.Few = make([]bool, p.Points.D)
	}
	p.Iterations, p.Threads = 100, max(1, p.Threads)
	found, err := Fit(context.Background(), p)
	if err != nil || found == nil {
		t.Fatalf("no mixture: %v", err)
	}
	return found
}

// agreement returns the share of rows whose label is their class, whichever way the two are numbered.
func agreement(labels, classes []int32) float64 {
	same := 0
	for i, c := range classes {
		if labels[i] == c {
			same++
		}
	}
	return float64(max(same, len(classes)-same)) / float64(len(classes))
}

func TestClustersMayDifferInWidthAlone(t *testing.T) {
	points, classes := nested(t, 600, 1)
	found := fitted(t, &Problem{Points: points, K: 2, Labels: halves(points)})
	if a := agreement(found.Labels, classes); a < 0.95 || !found.Converged {
		t.Errorf("%.2f of the rows have the label of their class; converged: %v", a, found.Converged)
	}
	if !(found.Evidence > 0) {
		t.Errorf("the evidence against k-means is %v", found.Evidence)
	}
	for at := 1; at < len(found.Costs); at++ {
		if found.Costs[at] > found.Costs[at-1]+0.01 { // the prior may raise it a little
			t.Errorf("the cost rises from %v to %v", found.Costs[at-1], found.Costs[at])
		}
	}
}

func TestTheModelOfKmeansIsPreferredWhereItHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	points := &dataset.Points{N: 600, D: 3, Values: make([]float64, 1800)}
	labels := make([]int32, 600)
	for i := range labels {
		labels[i] = int32(i % 3)
		for f := range 3 {
			points.Values[i*3+f] = rng.NormFloat64()
		}
		points.Values[i*3] += float64(4 * (i % 3))
	}
	if found := fitted(t, &Problem{Points: points, K: 3, Labels: labels}); found.Evidence > 0 {
		t.Errorf("a mixture of other covariances is preferred by %v", found.Evidence)
	}
}

// A column of 0 and 1 that is unrelated to the clusters does not take them over, although a cluster with only one of
// its values would have an infinite density.
func TestColumnsOfFewValuesHaveNoDensity(t *testing.T) {
	points, classes := nested(t, 600, 3)
	values := make([]float64, 0, 600*5)
	for i := range points.N {
		values = append(append(values, points.Row(i)...), float64(i/2%2))
	}
	wide, err := dataset.NewPoints(600, 5, values)
	if err != nil {
		t.Fatal(err)
	}
	found := fitted(t, &Problem{Points: wide, Few: []bool{false, false, false, false, true}, K: 2,
		Labels: halves(wide)})
	if a := agreement(found.Labels, classes); a < 0.95 {
		t.Errorf("%.2f of the rows have the label of their class", a)
	}
	all := &Problem{Points: wide, Few: slices.Repeat([]bool{true}, 5), K: 2, Labels: halves(wide),
		Iterations: 10, Threads: 1}
	if found, err := Fit(context.Background(), all); found != nil || err != nil {
		t.Errorf("columns of few values alone have the mixture %v, %v", found, err)
	}
}

func TestConstraintsHold(t *testing.T) {
	points, classes := nested(t, 200, 4)
	var all []constraint.Constraint
	for i := int32(0); i < 60; i += 4 {
		all = append(all, constraint.Constraint{I: i, J: i + 2, Kind: constraint.MustLink, Weight: 1},
			constraint.Constraint{I: i, J: i + 1, Kind: constraint.CannotLink, Weight: 1})
	}
	set, err := constraint.NewSet(points.N, all, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	p := &Problem{Points: points, K: 2, Labels: halves(points), Components: set.Components()}
	for _, c := range all {
		if c.Kind == constraint.CannotLink {
			p.CannotLinks = append(p.CannotLinks, c)
		}
	}
	found := fitted(t, p)
	for _, c := range all {
		if together := found.Labels[c.I] == found.Labels[c.J]; together != (c.Kind == constraint.MustLink) {
			t.Errorf("%v does not hold", c)
		}
	}
	if a := agreement(found.Labels, classes); a < 0.95 {
		t.Errorf("%.2f of the rows have the label of their class", a)
	}
}

func TestTheNumberOfThreadsChangesNothing(t *testing.T) {
	points, _ := nested(t, 600, 5)
	one := fitted(t, &Problem{Points: points, K: 2, Labels: halves(points)})
	four := fitted(t, &Problem{Points: points, K: 2, Labels: halves(points), Threads: 4})
	if !slices.Equal(one.Labels, four.Labels) || !slices.Equal(one.Costs, four.Costs) ||
		!reflect.DeepEqual(one.Mixture, four.Mixture) {
		t.Error("four threads find another mixture than one")
	}
}

func TestEqualRowsHaveNoMixture(t *testing.T) {
	points := &dataset.Points{N: 20, D: 2, Values: make([]float64, 40)}
	labels := make([]int32, 20)
	labels[0] = 1
	found, err := Fit(context.Background(), &Problem{Points: points, Few: make([]bool, 2), K: 2, Labels: labels,
		Iterations: 10, Threads: 1})
	if found != nil || err != nil {
		t.Errorf("got %v, %v", found, err)
	}
}

// If every cluster is one repeated row, k-means describes the rows without any error, and nothing can be preferred to
// it.
func TestRepeatedRowsPreferKmeans(t *testing.T) {
	points := &dataset.Points{N: 40, D: 1, Values: make([]float64, 40)}
	labels := make([]int32, 40)
	for i := range labels {
		labels[i] = int32(i % 2)
		points.Values[i] = float64(i % 2)
	}
	if found := fitted(t, &Problem{Points: points, K: 2, Labels: labels}); !math.IsInf(found.Evidence, -1) {
		t.Errorf("the evidence for a mixture is %v", found.Evidence)
	}
}

// The cost of the start needs no memory for each row and cluster besides that of the fit.
func TestPlainCostIsSmall(t *testing.T) {
	points, labels := nested(t, 20_000, 1)
	f := newFit(&Problem{Points: points, K: 2, Labels: labels, Few: make([]bool, points.D), Threads: 1})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f.plainCost()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(8*points.N) {
		t.Errorf("%d bytes for %d rows", used, points.N)
	}
}

// The mean of equal values is rounded, so a sum of squares about it need not be 0.
func TestConstantColumnsAreLeftOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	const n = 150
	labels := make([]int32, n)
	var plain []float64
	with := map[float64][]float64{0: nil, 0.1: nil, 3.3: nil, 5.1: nil}
	for i := range labels {
		labels[i] = int32(i % 3)
		row := []float64{rng.NormFloat64() + float64(4*(i%3)), rng.NormFloat64()}
		plain = append(plain, row...)
		for constant := range with {
			with[constant] = append(append(with[constant], row...), constant)
		}
	}
	want := fitted(t, &Problem{Points: &dataset.Points{N: n, D: 2, Values: plain}, K: 3, Labels: labels})
	for constant, values := range with {
		for _, few := range []bool{false, true} {
			points := &dataset.Points{N: n, D: 3, Values: values}
			got := fitted(t, &Problem{Points: points, K: 3, Labels: labels, Few: []bool{false, false, few}})
			if !slices.Equal(got.Labels, want.Labels) || got.Evidence != want.Evidence {
				t.Errorf("with a column of %v (few: %v), the evidence is %v, want %v", constant, few, got.Evidence,
					want.Evidence)
			}
		}
	}
}
