package krange

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// naiveSilhouette is the mean of the silhouettes by their definition.
func naiveSilhouette(p *dataset.Points, labels []int32, k int) float64 {
	distance := func(i, j int) float64 {
		sum := 0.0
		for f, v := range p.Row(i) {
			sum += (v - p.Row(j)[f]) * (v - p.Row(j)[f])
		}
		return math.Sqrt(sum)
	}
	// mean is the mean distance of a point to the others of a cluster.
	mean := func(i int, c int32) (mean float64, count int) {
		for j, other := range labels {
			if other == c && j != i {
				mean += distance(i, j)
				count++
			}
		}
		return mean / float64(count), count
	}
	total := 0.0
	for i, own := range labels {
		a, others := mean(i, own)
		b := math.Inf(1)
		for c := range int32(k) {
			if v, count := mean(i, c); c != own && count > 0 {
				b = min(b, v)
			}
		}
		if others > 0 && !math.IsInf(b, 1) && max(a, b) > 0 {
			total += (b - a) / max(a, b)
		}
	}
	return total / float64(p.N)
}

func TestSilhouettesAreThoseOfTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 150).Draw(t, "n")
		d := rapid.IntRange(1, 3).Draw(t, "d")
		k := rapid.IntRange(2, 5).Draw(t, "k")
		p := &dataset.Points{N: n, D: d, Values: rapid.SliceOfN(rapid.Float64Range(-9, 9), n*d, n*d).Draw(t, "values")}
		labels := rapid.SliceOfN(rapid.Int32Range(0, int32(k)-1), n, n).Draw(t, "labels")
		one, err := silhouetteOf(t.Context(), choose.Even[int32](n, n), labels, k, euclidean(p), 1)
		if err != nil {
			t.Fatal(err)
		}
		if want := naiveSilhouette(p, labels, k); math.Abs(one-want) > 1e-9 {
			t.Fatalf("%v, not %v", one, want)
		}
		three, err := silhouetteOf(t.Context(), choose.Even[int32](n, n), labels, k, euclidean(p), 3)
		if err != nil || math.Float64bits(three) != math.Float64bits(one) {
			t.Fatalf("%v on three threads, %v on one; %v", three, one, err)
		}
	})
}

// A sample of rows is as far apart as all of them.
func TestSilhouetteOfASample(t *testing.T) {
	p := &dataset.Points{N: 5000, D: 1}
	labels := make([]int32, 5000)
	for i := range p.N {
		labels[i] = int32(i % 2)
		p.Values = append(p.Values, float64(i%2)*10+float64(i*7919%1000)/1000)
	}
	all, err := silhouetteOf(t.Context(), choose.Even[int32](p.N, p.N), labels, 2, euclidean(p), 2)
	if err != nil {
		t.Fatal(err)
	}
	rows := choose.Even[int32](p.N, 999)
	some, err := silhouetteOf(t.Context(), rows, labels, 2, euclidean(p), 2)
	if err != nil || len(rows) != 999 || math.Abs(some-all) > 0.005 {
		t.Errorf("%v of %d rows, %v of all; %v", some, len(rows), all, err)
	}
}

// Distances by inner products are those by coordinates, of dense and of sparse rows.
func TestDistancesByProducts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		d := rapid.IntRange(1, 5).Draw(t, "d")
		p := &dataset.Points{N: n, D: d,
			Values: rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0, 1, -2, 3.5}), n*d, n*d).Draw(t, "values")}
		starts := []int64{0}
		columns := []int32(nil)
		values := []float64(nil)
		for i := range n {
			for f, v := range p.Row(i) {
				if v != 0 {
					columns = append(columns, int32(f))
					values = append(values, v)
				}
			}
			starts = append(starts, int64(len(columns)))
		}
		sparse := &dataset.SparsePoints{N: n, D: d, RowStart: starts, Column: columns, Value: values}
		to := choose.Even[int32](n, n)
		want := make([]float64, n)
		dense := make([]float64, n)
		thin := make([]float64, n)
		for i := range int32(n) {
			euclidean(p)(i, to, want)
			byProducts(n, densely(p, nil), straight)(i, to, dense)
			byProducts(n, sparsely(sparse), straight)(i, to, thin)
			for j := range n {
				if math.Abs(dense[j]-want[j]) > 1e-6 || math.Abs(thin[j]-want[j]) > 1e-6 {
					t.Fatalf("%d and %d are %v and %v apart, not %v", i, j, dense[j], thin[j], want[j])
				}
			}
		}
	})
}

// Two labelings that differ in the numbers of clusters alone have each other's clusters; one cut in halves has half of
// the pairs.
func TestStrength(t *testing.T) {
	a := []int32{0, 0, 0, 0, 1, 1, 1, 1, -1}
	for _, c := range []struct {
		b    []int32
		want float64
	}{
		{[]int32{1, 1, 1, 1, 0, 0, 0, 0, 0}, 1},
		{[]int32{0, 0, 0, 0, 1, 1, 2, 2, 2}, (2.0/6 + 1) / 2},
		{[]int32{0, 0, 0, 0, 0, 0, 0, 0, 0}, (1 + 12.0/28) / 2},
	} {
		if got := strength(a, c.b, 3); math.Abs(got-c.want) > 1e-15 || got != strength(c.b, a, 3) {
			t.Errorf("%v: %v, want %v", c.b, got, c.want)
		}
	}
}

// Two triangles joined by an edge: of 14 ends 12 are within, and each has half of them.
func TestModularity(t *testing.T) {
	var edges []dataset.Edge
	for _, e := range [][2]int32{{0, 1}, {0, 2}, {1, 2}, {3, 4}, {3, 5}, {4, 5}, {2, 3}} {
		edges = append(edges, dataset.Edge{Source: e[0], Target: e[1], Weight: 2})
	}
	g, err := dataset.NewGraph(6, edges)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Modularity(g, []int32{0, 0, 0, 1, 1, 1}, 2), 12.0/14-0.5; math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Modularity(g, make([]int32, 6), 1); math.Abs(got) > 1e-15 {
		t.Errorf("all in one: %v", got)
	}
}

// The strength needs memory for the points, not for all pairs of clusters.
func TestStrengthOfManyClusters(t *testing.T) {
	labels := []int32{7, 7, 1 << 17, 1 << 17}
	if got := strength(labels, labels, 1<<18); got != 1 {
		t.Errorf("%v, want 1", got)
	}
}

// The modularity does not depend on the unit of the weights, even if their sum is beyond float64.
func TestModularityOfHugeWeights(t *testing.T) {
	values := map[float64]float64{}
	for _, unit := range []float64{1, 0x1p1022} {
		edges := []dataset.Edge{{Source: 0, Target: 1, Weight: unit}, {Source: 2, Target: 3, Weight: unit},
			{Source: 1, Target: 2, Weight: unit / 2}}
		g, err := dataset.NewGraph(4, edges)
		if err != nil {
			t.Fatal(err)
		}
		values[unit] = Modularity(g, []int32{0, 0, 1, 1}, 2)
	}
	if values[1] != values[0x1p1022] {
		t.Errorf("the modularities are %v", values)
	}
}

// Silhouettes of a kernel are those of the points less their mean, from which the matrix was computed, however far from
// 0 that is.
func TestKernelSilhouettesAreOfCenteredPoints(t *testing.T) {
	const n, far = 60, 1.7e9
	near := make([]float64, n)
	away := make([]float64, n)
	labels := make([]int32, n)
	for i := range n {
		labels[i] = int32(i % 2)
		near[i] = float64(40*labels[i]) + float64(i)/8
		away[i] = far + near[i]
	}
	var found [2]float64
	for at, values := range [][]float64{near, away} {
		p := &dataset.Points{N: n, D: 1, Values: values}
		r := &run{data: p, spec: clustering.Spec{Algorithm: &kernelkmeans.Options{}}, threads: 1}
		matrix := &kernel.MatrixSpec{Function: kernel.Polynomial, Degree: 2, Gamma: 1, Coef0: 1, Rows: n, Columns: 1,
			Mean: kernel.ColumnMeans(p)}
		mean, err := r.silhouette(t.Context(), &clustering.Result{
			Labels: labels, Kernel: clustering.KernelReport{Matrix: matrix},
		}, 2)
		if err != nil {
			t.Fatal(err)
		}
		found[at] = *mean
	}
	if math.Abs(found[0]-found[1]) > 1e-4 {
		t.Errorf("%v near 0, %v far from it", found[0], found[1])
	}
}

// failingParts fails to cluster parts.
type failingParts struct {
	Solver
	err error
}

func (f failingParts) Small(context.Context, int, dataset.Dataset, clustering.Spec, int) (*clustering.Result, error) {
	return nil, f.err
}

// A part that cannot be clustered leaves the stability unknown; what has nothing to do with the part fails the job.
func TestErrorsOfParts(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct{ err, want error }{
		{fault.Invalid("TOO_FEW_CONSTRAINTS", "none"), nil},
		{fault.New(fault.FailedPrecondition, "NO_COMPONENT", "none"), nil},
		{broken, broken},
	} {
		r := &run{solver: failingParts{err: c.err}, threads: 1,
			parts: []part{{data: &dataset.Points{N: 4, D: 1, Values: make([]float64, 4)}}}}
		values, err := r.strengths(t.Context(), clustering.Spec{K: 2, Algorithm: &kernelkmeans.Options{}},
			make([]int32, 4))
		if !errors.Is(err, c.want) || err == nil && meanStability(values) != nil {
			t.Errorf("%v: %v, %v", c.err, values, err)
		}
	}
}

// Only given pairs are held out. Implied ones follow from those that remain, so an algorithm would always satisfy them.
func TestImpliedPairsAreNotHeldOut(t *testing.T) {
	for _, c := range []struct{ links, want int }{{12, 0}, {60, 61}} {
		spec := clustering.Spec{
			K: 2, MaxK: 6, Choose: true, Supervision: clustering.Supervision{EntailSmall: true},
			Algorithm: &kmeans.Options{Algorithm: kmeans.PCKmeans},
		}
		for i := range int32(c.links) {
			spec.Supervision.Constraints = append(spec.Supervision.Constraints, constraint.Constraint{
				I: i, J: i + 1, Kind: constraint.MustLink,
			})
		}
		spec.Supervision.Constraints = append(spec.Supervision.Constraints, constraint.Constraint{
			I: 0, J: 99, Kind: constraint.CannotLink,
		})
		folds, err := newFolds(100, spec)
		if err != nil {
			t.Fatal(err)
		}
		held := 0
		if folds != nil {
			held = len(folds.Pairs)
		}
		if held != c.want {
			t.Errorf("%d pairs are held out of %d constraints, want %d", held, len(spec.Supervision.Constraints),
				c.want)
		}
	}
}
