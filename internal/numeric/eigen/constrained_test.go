package eigen

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/invalid"
)

// components labels the connected parts of a graph.
func components(a *sparse) (labels []int, count int) {
	labels = make([]int, a.Rows())
	for i := range labels {
		labels[i] = -1
	}
	for i := range labels {
		if labels[i] >= 0 {
			continue
		}
		labels[i] = count
		for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
			v := queue[0]
			for _, u := range a.column[a.start[v]:a.start[v+1]] {
				if labels[u] < 0 {
					labels[u] = count
					queue = append(queue, u)
				}
			}
		}
		count++
	}
	return labels, count
}

func problem(a, q *sparse, beta func(volume float64) float64) CutProblem {
	degrees := a.sums()
	labels, count := components(a)
	p := CutProblem{Affinity: a.scaled(degrees), Beliefs: q.scaled(degrees), Null: Columns(a.Rows(), count)}
	for i, d := range degrees {
		p.Volume += d
		p.Null[labels[i]][i] = math.Sqrt(d)
	}
	p.Ratio = beta(p.Volume) / p.Volume
	return p
}

// beliefs draws must-links within the blocks of the graph and cannot-links between them.
func beliefs(n, blocks, pairs int, rng *rand.Rand) *sparse {
	var edges []edge
	seen := map[[2]int]bool{}
	for len(edges) < pairs {
		i := rng.IntN(n)
		j := rng.IntN(n)
		if i == j || seen[[2]int{min(i, j), max(i, j)}] {
			continue
		}
		seen[[2]int{min(i, j), max(i, j)}] = true
		w := -1.0
		if i%blocks == j%blocks {
			w = 1
		}
		edges = append(edges, edge{i, j, w})
	}
	return fromEdges(n, edges)
}

// reference finds the finite lambdas above least with gonum, as eigenvalues of the unsymmetric B^-1 Lbar.
func reference(t *testing.T, p CutProblem, least float64) []float64 {
	t.Helper()
	n := p.Affinity.Rows()
	l := mat.NewDense(n, n, p.Affinity.(*sparse).dense())
	b := mat.NewDense(n, n, p.Beliefs.(*sparse).dense())
	for i := range n {
		for j := range n {
			l.Set(i, j, -l.At(i, j))
		}
		l.Set(i, i, 1+l.At(i, i))
		b.Set(i, i, b.At(i, i)-p.Ratio)
	}
	var quotient mat.Dense
	if err := quotient.Solve(b, l); err != nil {
		t.Fatal(err)
	}
	var e mat.Eigen
	e.Factorize(&quotient, mat.EigenNone)
	var values []float64
	for _, v := range e.Values(nil) {
		if cmplx.Abs(v) > least && real(v) > 0 {
			values = append(values, real(v))
		}
	}
	slices.Sort(values)
	return values
}

// checkCuts checks a result against the problem itself.
func checkCuts(t *testing.T, p CutProblem, got Cuts, tolerance float64) {
	t.Helper()
	for j, v := range got.Vectors {
		if math.Abs(dot(v, v)/p.Volume-1) > 1e-10 {
			t.Errorf("cut %d: v'v is %g, want the volume %g", j, dot(v, v), p.Volume)
		}
		l, _ := p.Affinity.Multiply(context.Background(), [][]float64{v})
		b, _ := p.Beliefs.Multiply(context.Background(), [][]float64{v})
		cost, residual := 0.0, 0.0
		for i := range v {
			lv, bv := v[i]-l[0][i], b[0][i]-p.Ratio*v[i]
			cost += v[i] * lv
			residual += (lv - got.Values[j]*bv) * (lv - got.Values[j]*bv)
		}
		residual = math.Sqrt(residual / p.Volume)
		if residual > tolerance || math.Abs(residual-got.Residuals[j]) > 1e-10*(1+got.Values[j]) {
			t.Errorf("cut %d with lambda %g: residual %g, said to be %g", j, got.Values[j], residual, got.Residuals[j])
		}
		if math.Abs(cost-got.Costs[j]) > 1e-9*p.Volume || j > 0 && got.Costs[j] < got.Costs[j-1] ||
			got.Values[j] <= minLambda {
			t.Errorf("cut %d: cost %g, said to be %g after %v", j, cost, got.Costs[j], got.Costs[:j])
		}
	}
}

// The example of Wang2014 4.4, with the numbers of an independent solution.
func TestConstrainedOnThePapersExample(t *testing.T) {
	a := fromEdges(6, []edge{{0, 1, 1}, {0, 2, 1}, {1, 2, 1}, {2, 3, 1}, {3, 4, 1}, {3, 5, 1}, {4, 5, 1}})
	beliefs := func(diagonal bool) *sparse {
		var edges []edge
		for i := range 6 {
			for j := range i + 1 {
				w := 1.0
				if (i < 4) != (j < 4) {
					w = -1
				}
				if i != j || diagonal {
					edges = append(edges, edge{i, j, w})
				}
			}
		}
		return fromEdges(6, edges)
	}
	for _, c := range []struct {
		diagonal bool
		beta     float64
		lambda   float64
		u        []float64
	}{
		{true, 1, 0.138987, []float64{1.49126, 1.49126, 1.20576, 0.43751, -0.20541, -0.20541}},
		{true, 2, 0.586383, []float64{1.33588, 1.33588, 1.00368, 0.40495, -0.91483, -0.91483}},
		{false, 1, 0.242750, []float64{1.44328, 1.44328, 1.14953, 0.33339, -0.58524, -0.58524}},
	} {
		p := problem(a, beliefs(c.diagonal), func(volume float64) float64 { return c.beta * volume })
		top, err := Largest(context.Background(), p.Beliefs, 1, source(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := 2.21035 // the largest beta / vol
		if c.diagonal {
			want = 8.0 / 3
		}
		if math.Abs(top.Values[0]-want) > 1e-5 {
			t.Errorf("the largest belief is %g, want %g", top.Values[0], want)
		}
		exact, err := Constrained(context.Background(), p, Wanted{6, 6}, source(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		iterative, err := iterated(p, 6, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []Cuts{exact, iterative} {
			if p.Volume != 14 || len(got.Values) != 1 || math.Abs(got.Values[0]-c.lambda) > 1e-6 {
				t.Fatalf("lambda %.6f, want %g alone", got.Values, c.lambda)
			}
			checkCuts(t, p, got, 1e-8)
			for i, want := range c.u {
				if u := got.Vectors[0][i] / math.Sqrt(a.sums()[i]); math.Abs(u-want) > 1e-5 {
					t.Errorf("u[%d] is %.5f, want %.5f", i, u, want)
				}
			}
		}
	}
}

// iterated is Constrained without the special treatment of small problems.
func iterated(p CutProblem, count int, options Options) (Cuts, error) {
	return p.solve(context.Background(), Wanted{count, count}, source(), options, false)
}

// Three clusters that are hardly connected give the same cuts as three that are not connected.
func TestConstrainedOfANearlyDisconnectedGraph(t *testing.T) {
	apart := blocks(150, 3, 6, 0, seeded())
	var edges []edge
	for i := range 150 {
		for k := apart.start[i]; k < apart.start[i+1]; k++ {
			if j := apart.column[k]; i < j {
				edges = append(edges, edge{i, j, apart.value[k]})
			}
		}
	}
	together := fromEdges(150, append(edges, edge{0, 1, 1e-13}, edge{1, 2, 1e-13}))
	q := beliefs(150, 3, 40, seeded())
	beta := func(volume float64) float64 { return 0.1 * volume }
	p := problem(together, q, beta)
	want, err := Constrained(context.Background(), problem(apart, q, beta), Wanted{5, 5}, source(), Options{})
	if err != nil || len(p.Null) != 1 || len(want.Values) != 5 {
		t.Fatal(err, len(p.Null), want.Values)
	}
	exact, err := Constrained(context.Background(), p, Wanted{5, 5}, source(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	compareCuts(t, p, exact, want)
	iterative, err := iterated(p, 5, Options{Tolerance: 1e-9})
	if err != nil || !iterative.Converged {
		t.Fatal(err, iterative.Work)
	}
	compareCuts(t, p, iterative, want)
}

// All lambdas are those of the unsymmetric reference, in graphs of one component and of several, and also where beta
// is 1'Q1, so that the trivial vector has no Schur complement.
func TestConstrainedAgainstReference(t *testing.T) {
	source := rand.NewPCG(8, 8)
	rng := rand.New(source)
	several, demanding := 0, 0
	for trial := range 60 {
		n := 6 + rng.IntN(50)
		count := 1 + rng.IntN(3)
		a := blocks(n, count, 2+rng.IntN(4), []float64{0, 0.1, 1}[trial%3], rng)
		q := beliefs(n, max(2, count), 2+rng.IntN(n), rng)
		sum := 0.0
		for _, s := range q.sums() {
			sum += s
		}
		demands := trial%4 == 0 && sum != 0
		p := problem(a, q, func(volume float64) float64 {
			if demands {
				demanding++
				return sum
			}
			return volume * (0.05 + 0.2*rng.Float64())
		})
		if len(p.Null) > 1 {
			several++
		}
		want := reference(t, p, 1e-5)
		got, err := Constrained(context.Background(), p, Wanted{n, n}, source, Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkCuts(t, p, got, 1e-8*(1+slices.Max(append(want, 1))))
		values := slices.DeleteFunc(slices.Sorted(slices.Values(got.Values)), func(v float64) bool { return v <= 1e-5 })
		if len(values) != len(want) {
			t.Errorf("trial %d, %d components, demands %t: got %d lambdas %g, want %d %g", trial, len(p.Null), demands,
				len(values), values, len(want), want)
			continue
		}
		for j, v := range values {
			if math.Abs(v-want[j]) > 1e-7*(1+want[j]*want[j]) {
				t.Errorf("trial %d: lambda %d is %.10g, want %.10g", trial, j, v, want[j])
			}
		}
	}
	if several < 5 || demanding < 5 {
		t.Errorf("%d trials with several components, %d with z'Bz = 0", several, demanding)
	}
}

// The search finds what the exact solver finds: every lambda of a feasible cut to 1e-8, and its vector.
func TestConstrainedIterativelyEqualsExactly(t *testing.T) {
	source := rand.NewPCG(9, 9)
	rng := rand.New(source)
	for trial := range 12 {
		n := 100 + rng.IntN(250)
		count := 2 + rng.IntN(4)
		a := blocks(n, count, 6, []float64{0, 0.05, 0.5}[trial%3], rng)
		q := beliefs(n, count, n/4, rng)
		p := problem(a, q, func(volume float64) float64 { return 0.1 * volume })
		exact, err := Constrained(context.Background(), p, Wanted{6, 6}, source, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := iterated(p, 6, Options{Tolerance: 1e-9})
		if err != nil || !got.Converged {
			t.Fatalf("trial %d: %v, %+v, %g", trial, err, got.Work, got.Residuals)
		}
		compareCuts(t, p, got, exact)
	}
}

func compareCuts(t *testing.T, p CutProblem, got, want Cuts) {
	t.Helper()
	checkCuts(t, p, got, 1e-7)
	if len(got.Values) != len(want.Values) {
		t.Fatalf("%d cuts, want %d", len(got.Values), len(want.Values))
	}
	for j, v := range got.Values {
		if math.Abs(v-want.Values[j]) > 1e-8 {
			t.Errorf("lambda %d is %.10g, want %.10g", j, v, want.Values[j])
		}
		off := 0.0
		for i, x := range got.Vectors[j] {
			off = max(off, math.Abs(x-want.Vectors[j][i]))
		}
		alone := 1.0 // the distance to the next lambda
		for l, u := range want.Values {
			if l != j {
				alone = min(alone, math.Abs(u-v))
			}
		}
		if off/math.Sqrt(p.Volume) > 1e-6 && alone > 1e-3 {
			t.Errorf("vector %d with lambda %g differs by %g", j, v, off)
		}
	}
}

func TestConstrainedOfALargeGraph(t *testing.T) {
	source := source()
	rng := rand.New(source)
	const n = denseRows + 500
	a := blocks(n, 4, 10, 0.2, rng)
	p := problem(a, beliefs(n, 4, 300, rng), func(volume float64) float64 { return 1e-2 * volume })
	var heard int
	got, err := Constrained(context.Background(), p, Wanted{3, 3}, source, Options{Observe: func(Progress) { heard++ }})
	if err != nil || !got.Converged || len(got.Values) != 3 || heard == 0 {
		t.Fatalf("%v, %+v, %g", err, got.Work, got.Values)
	}
	checkCuts(t, p, got, 1e-8)
	t.Logf("%+v, %d iterations, lambda %g, costs %g", got.Work, heard, got.Values, got.Costs)
	again, err := Constrained(context.Background(), p, Wanted{3, 3}, rand.NewPCG(6, 6), Options{})
	if err != nil || !again.Converged {
		t.Fatal(err)
	}
	compareCuts(t, p, again, got)
}

func TestConstrainedHasTheSameBits(t *testing.T) {
	a := blocks(400, 3, 6, 0.1, seeded())
	p := problem(a, beliefs(400, 3, 100, seeded()), func(volume float64) float64 { return 0.1 * volume })
	tiled := p
	m := *p.Affinity.(*sparse)
	m.tiled = true
	tiled.Affinity = &m
	for name, solve := range map[string]func(p CutProblem) (Cuts, error){
		"exact": func(p CutProblem) (Cuts, error) {
			return Constrained(context.Background(), p, Wanted{4, 4}, source(), Options{})
		},
		"iterative": func(p CutProblem) (Cuts, error) { return iterated(p, 4, Options{}) },
	} {
		first, err := solve(p)
		if err != nil {
			t.Fatal(err)
		}
		second, err := solve(tiled)
		if err != nil || !slices.Equal(first.Values, second.Values) || len(first.Vectors) == 0 ||
			slices.CompareFunc(first.Vectors, second.Vectors, slices.Compare) != 0 {
			t.Errorf("%s: %v, %v and %v", name, err, first.Values, second.Values)
		}
	}
}

func TestConstrainedRefuses(t *testing.T) {
	a := blocks(20, 1, 4, 0, seeded())
	good := problem(a, beliefs(20, 2, 5, seeded()), func(volume float64) float64 { return 0.1 * volume })
	for reason, change := range map[error]func(p *CutProblem, count *int){
		errCount:       func(_ *CutProblem, count *int) { *count = 21 },
		errProblem:     func(p *CutProblem, _ *int) { p.Beliefs = answer{n: 19} },
		errNullVectors: func(p *CutProblem, _ *int) { p.Null = [][]float64{make([]float64, 20)}; p.Null[0][3] = 1 },
		invalid.MatrixNotFinite: func(p *CutProblem, _ *int) {
			p.Beliefs = answer{n: 20, products: [][]float64{slices.Repeat([]float64{math.NaN()}, 20)}}
		},
	} {
		p, count := good, 1
		change(&p, &count)
		if _, err := Constrained(context.Background(), p, Wanted{count, count}, source(), Options{}); !errors.Is(err,
			reason) {
			t.Errorf("want %v, got %v", reason, err)
		}
	}
	unbounded := good
	unbounded.Ratio = math.NaN()
	if _, err := Constrained(context.Background(), unbounded, Wanted{1, 1}, source(), Options{}); !errors.Is(err,
		errProblem) {
		t.Errorf("a ratio that is not a number: %v", err)
	}
	for name, null := range map[string][][]float64{
		"none":         nil,
		"twice":        {good.Null[0], good.Null[0]},
		"not a number": {slices.Repeat([]float64{math.NaN()}, 20)},
		"short":        {good.Null[0][:19]},
	} {
		p := good
		p.Null = null
		if _, err := Constrained(context.Background(), p, Wanted{1, 1}, source(), Options{}); !errors.Is(err,
			errNullVectors) {
			t.Errorf("null vectors %s: got %v", name, err)
		}
	}
	limited, err := iterated(good, 1, Options{MaxProducts: 1})
	if err != nil || limited.Converged {
		t.Errorf("a limit of one product: %v, converged %t", err, limited.Converged)
	}
}

// The largest eigenvalues of the beliefs tell how many cuts are feasible. For a connected graph their number is
// #{eigenvalues of Qbar > beta/vol} - [1'Q1 > beta].
func TestConstrainedFindsAllThatAreFeasible(t *testing.T) {
	source := rand.NewPCG(12, 12)
	rng := rand.New(source)
	for range 20 {
		n := 30 + rng.IntN(60)
		a := blocks(n, 1, 6, 0, rng)
		q := beliefs(n, 2+rng.IntN(2), 10+rng.IntN(20), rng)
		p := problem(a, q, func(volume float64) float64 { return volume * 0.1 * rng.Float64() })
		values, _ := pairsOf(n, p.Beliefs.(*sparse).dense())
		want := 0
		for _, v := range values {
			want += (cmp.Compare(v, p.Ratio) + 1) / 2
		}
		sum := 0.0
		for _, s := range q.sums() {
			sum += s
		}
		if sum > p.Ratio*p.Volume {
			want--
		}
		got, err := Constrained(context.Background(), p, Wanted{n, n}, source, Options{})
		if err != nil || len(got.Values) != want {
			t.Errorf("%d cuts, want %d: %v", len(got.Values), want, err)
		}
	}
}

// Typical beliefs about ten blocks: all pairs of 200 vertices with known labels, or 2,000 random pairs, most of which
// share no vertex and cause as many nearly equal lambdas.
func BenchmarkConstrained(b *testing.B) {
	const n = 100_000
	a := blocks(n, 10, 20, 0.3, seeded())
	var labeled []edge
	for i := range 200 {
		for j := range i {
			w := -1.0
			if i%10 == j%10 {
				w = 1
			}
			labeled = append(labeled, edge{i*500 + i%10, j*500 + j%10, w})
		}
	}
	for name, q := range map[string]*sparse{"labels": fromEdges(n, labeled), "pairs": beliefs(n, 10, 2000, seeded())} {
		p := problem(a, q, func(volume float64) float64 { return 1e-2 * volume })
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				got, err := Constrained(context.Background(), p, Wanted{9, 9}, source(), Options{Tolerance: 1e-6})
				if err != nil || !got.Converged {
					b.Fatal(err, got.Work, got.Residuals)
				}
				b.ReportMetric(float64(got.Rounds), "rounds")
				b.ReportMetric(float64(got.Products), "products")
			}
		})
	}
}
