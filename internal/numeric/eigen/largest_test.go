package eigen

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/invalid"
)

func source() *rand.PCG { return rand.NewPCG(5, 5) }

func seeded() *rand.Rand { return rand.New(source()) }

// outsideSpan returns the length of the longest part of a vector outside the span of orthonormal ones.
func outsideSpan(vectors, span [][]float64) float64 {
	worst := 0.0
	for _, v := range vectors {
		rest := slices.Clone(v)
		for range 2 {
			for _, u := range span {
				subtractMultiple(rest, u, dot(u, rest))
			}
		}
		worst = max(worst, length(rest)/length(v))
	}
	return worst
}

// compareLargest compares an iterative result with all eigenpairs of the same matrix. Vectors are compared as a
// subspace, up to the gap below the last one.
func compareLargest(t *testing.T, name string, got Eigenpairs, values []float64, vectors [][]float64) {
	t.Helper()
	if !got.Converged {
		t.Fatalf("%s: not converged after %+v: %g", name, got.Work, got.Residuals)
	}
	for j, v := range got.Values {
		if math.Abs(v-values[j]) > 1e-8 {
			t.Errorf("%s: value %d is %.12g, want %.12g", name, j, v, values[j])
		}
	}
	end := len(got.Values) // including all that belong to a repeated or crowded last value
	for end < len(values) && values[end] > values[len(got.Values)-1]-1e-2 {
		end++
	}
	if off := outsideSpan(got.Vectors, vectors[:end]); off > 1e-6 {
		t.Errorf("%s: vectors lie %g outside the subspace", name, off)
	}
}

func TestLargestAgainstDense(t *testing.T) {
	source := rand.NewPCG(2, 2)
	rng := rand.New(source)
	for trial := range 24 {
		n := 20 + rng.IntN(380)
		count := 1 + rng.IntN(8)
		// with 0 every block is a component, and the eigenvalue 1 is repeated
		outside := []float64{0, 0.01, 0.1, 1}[trial%4]
		a := blocks(n, 1+rng.IntN(8), 2+rng.IntN(10), outside, rng)
		m := a.scaled(a.sums())
		values, vectors := pairsOf(n, m.dense())
		got, err := Largest(context.Background(), m, count, source, Options{Tolerance: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		compareLargest(t, "graph", got, values, vectors)
		for j, v := range got.Vectors {
			if math.Abs(length(v)-1) > 1e-12 {
				t.Errorf("vector %d has length %g", j, length(v))
			}
			y, _ := m.Multiply(context.Background(), [][]float64{v})
			subtractMultiple(y[0], v, got.Values[j])
			if r := length(y[0]); math.Abs(r-got.Residuals[j]) > 1e-12 || r > 1e-9 {
				t.Errorf("residual %d is %g, said to be %g", j, r, got.Residuals[j])
			}
		}
	}
}

// Ten components give the eigenvalue 1 ten times, for any block of start vectors.
func TestLargestOfADisconnectedGraph(t *testing.T) {
	a := blocks(2000, 10, 8, 0, seeded())
	m := a.scaled(a.sums())
	got, err := Largest(context.Background(), m, 11, source(), Options{})
	if err != nil || !got.Converged {
		t.Fatalf("%v, %+v, %g", err, got.Work, got.Residuals)
	}
	for j, v := range got.Values {
		if j < 10 && math.Abs(v-1) > 1e-8 || j == 10 && v > 0.99 {
			t.Errorf("value %d is %.10g", j, v)
		}
	}
	t.Logf("%+v, last value %g", got.Work, got.Values[10])
}

// Pairs that need to be known only roughly take fewer products; the others are as precise as ever.
func TestRoughPairsAreFound(t *testing.T) {
	const exact, count = 4, 16
	a := blocks(3000, exact, 10, 3, seeded()) // no more structure than its blocks
	m := a.scaled(a.sums())
	all, err := Largest(context.Background(), m, count, source(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	some, err := Largest(context.Background(), m, count, source(), Options{Rough: count - exact})
	if err != nil || !some.Converged || some.Products > all.Products*2/3 {
		t.Fatalf("%v, converged %t, %d products instead of %d", err, some.Converged, some.Products, all.Products)
	}
	for j, residual := range some.Residuals {
		precision, values := 1e-8, 1e-12
		if j >= exact {
			precision, values = roughTolerance, roughTolerance
		}
		if residual > precision || math.Abs(some.Values[j]-all.Values[j]) > values {
			t.Errorf("pair %d has the value %g instead of %g, with a residual of %g", j, some.Values[j],
				all.Values[j], residual)
		}
	}
}

// A search that is given the vectors needs no more than their products.
func TestASearchBeginsAtItsStart(t *testing.T) {
	a := blocks(3000, 4, 10, 3, seeded())
	m := a.scaled(a.sums())
	found, err := Largest(t.Context(), m, 4, source(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Largest(t.Context(), m, 4, source(), Options{Tolerance: 1e-6, Start: found.Vectors})
	if err != nil || !again.Converged || again.Rounds != 1 {
		t.Fatalf("%v, converged %t, %d rounds", err, again.Converged, again.Rounds)
	}
	compareLargest(t, "from its vectors", again, found.Values, found.Vectors)
}

// A torus of 40 x 50 vertices has the eigenvalues (cos(2 pi i/40) + cos(2 pi j/50)) / 2, which come in twos and fours
// and crowd below 1. Its eigenvectors are waves.
func TestLargestOfATorus(t *testing.T) {
	const height, width, count = 40, 50, 13
	const n = height * width
	var edges []edge
	for v := range n {
		i, j := v/width, v%width
		edges = append(edges, edge{v, (i+1)%height*width + j, 0.25}, edge{v, i*width + (j+1)%width, 0.25})
	}
	got, err := Largest(context.Background(), fromEdges(n, edges), count, source(), Options{Tolerance: 1e-9})
	if err != nil {
		t.Fatal(err)
	}
	type wave struct {
		value  float64
		vector []float64
	}
	var waves []wave
	for i := range height {
		for j := range width {
			w := wave{(math.Cos(2*math.Pi*float64(i)/height) + math.Cos(2*math.Pi*float64(j)/width)) / 2,
				make([]float64, n)}
			for v := range n { // cos + sin of the same wave and of its opposite are orthogonal
				phase := 2 * math.Pi * (float64(i*(v/width))/height + float64(j*(v%width))/width)
				w.vector[v] = (math.Cos(phase) + math.Sin(phase)) / math.Sqrt(n)
			}
			waves = append(waves, w)
		}
	}
	slices.SortStableFunc(waves, func(a, b wave) int { return cmp.Compare(b.value, a.value) })
	var values []float64
	var vectors [][]float64
	for _, w := range waves {
		values = append(values, w.value)
		vectors = append(vectors, w.vector)
	}
	compareLargest(t, "torus", got, values, vectors)
	t.Logf("%+v", got.Work)
}

// Small indefinite matrices, with every number of pairs up to n.
func TestLargestOfSmallMatrices(t *testing.T) {
	source := rand.NewPCG(4, 4)
	rng := rand.New(source)
	for n := 1; n <= 12; n++ {
		for count := 1; count <= n; count++ {
			var edges []edge
			for i := range n {
				for j := range i + 1 {
					if rng.IntN(2) == 0 {
						edges = append(edges, edge{i, j, float64(rng.IntN(5) - 2)})
					}
				}
			}
			m := fromEdges(n, edges)
			values, vectors := pairsOf(n, m.dense())
			got, err := Largest(context.Background(), m, count, source, Options{})
			if err != nil {
				t.Fatal(err)
			}
			compareLargest(t, "small", got, values, vectors)
		}
	}
}

func TestLargestHasTheSameBits(t *testing.T) {
	a := blocks(1500, 4, 8, 0.1, seeded())
	m := a.scaled(a.sums())
	first, err := Largest(context.Background(), m, 4, source(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	tiled := *m
	tiled.tiled = true
	for range 2 {
		again, err := Largest(context.Background(), &tiled, 4, source(), Options{})
		if err != nil || !slices.Equal(first.Values, again.Values) || first.Work != again.Work {
			t.Fatalf("%v: %v after %v", err, again.Values, first.Values)
		}
		for j := range first.Vectors {
			if !slices.Equal(first.Vectors[j], again.Vectors[j]) {
				t.Fatalf("vector %d differs", j)
			}
		}
	}
}

// The eigenvalues of a path, cos(pi j/(n+1)), crowd at the end: the search gives up, and the matrix is solved from
// its entries.
func TestLargestOfSmallMatricesThatAreSlow(t *testing.T) {
	const n, count = 300, 3
	path := make([][]float64, n)
	for i := range path {
		path[i] = make([]float64, n)
		if i > 0 {
			path[i][i-1], path[i-1][i] = 0.5, 0.5
		}
	}
	heard := 0
	got, err := Largest(context.Background(), denseOperator(path), count, source(),
		Options{Tolerance: 1e-12, Observe: func(Progress) { heard++ }})
	if err != nil || !got.Converged || got.Products < 2*n || heard < 2 {
		t.Fatalf("%v, %+v, heard %d", err, got.Work, heard)
	}
	for j, value := range got.Values {
		if want := math.Cos(math.Pi * float64(j+1) / (n + 1)); math.Abs(value-want) > 1e-13 {
			t.Errorf("value %d is %.15g, not %.15g", j, value, want)
		}
		if got.Residuals[j] > 1e-13 {
			t.Errorf("residual %d is %g", j, got.Residuals[j])
		}
	}
}

// denseOperator is an operator given by the rows of its matrix.
type denseOperator [][]float64

func (d denseOperator) Rows() int { return len(d) }

func (d denseOperator) Multiply(_ context.Context, x [][]float64) ([][]float64, error) {
	y := Columns(len(d), len(x))
	for j := range x {
		for i, row := range d {
			y[j][i] = plainDot(row, x[j])
		}
	}
	return y, nil
}

func TestLargestStopsAtItsLimit(t *testing.T) {
	a := blocks(1000, 4, 8, 0.3, seeded())
	var heard []Progress
	got, err := Largest(context.Background(), a.scaled(a.sums()), 4, source(),
		Options{MaxProducts: 40, Tolerance: 1e-12, Observe: func(p Progress) { heard = append(heard, p) }})
	if err != nil || got.Converged || len(got.Vectors) != 4 || got.Products < 40 || got.Products > 50 {
		t.Fatalf("%v, %+v", err, got.Work)
	}
	for i, p := range heard {
		if p.Iteration != i+1 || i > 0 && p.Products <= heard[i-1].Products || p.Residual <= 0 {
			t.Errorf("progress %d: %+v", i, p)
		}
	}
	if last := heard[len(heard)-1]; last.Work != got.Work || last.Residual < slices.Max(got.Residuals)-1e-15 {
		t.Errorf("last heard %+v, returned %+v with %g", last, got.Work, got.Residuals)
	}
}

// answer is an operator that returns a fixed result.
type answer struct {
	n        int
	products [][]float64
	err      error
}

func (a answer) Rows() int { return a.n }

func (a answer) Multiply(context.Context, [][]float64) ([][]float64, error) { return a.products, a.err }

func TestLargestRefuses(t *testing.T) {
	lost := errors.New("lost")
	block := Columns(5, 3) // a search for one pair works on three columns
	nan := Columns(5, 3)
	nan[1][4] = math.NaN()
	for name, c := range map[string]struct {
		op    Operator
		count int
		want  error
	}{
		"count above n":  {answer{n: 5}, 6, errCount},
		"count of 0":     {answer{n: 5}, 0, errCount},
		"not a number":   {answer{5, nan, nil}, 1, invalid.MatrixNotFinite},
		"too few":        {answer{5, block[:1], nil}, 1, errProducts},
		"short":          {answer{5, Columns(4, 3), nil}, 1, errProducts},
		"operator fails": {answer{5, nil, lost}, 1, lost},
	} {
		if _, err := Largest(context.Background(), c.op, c.count, source(), Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Largest(ctx, answer{n: 5, products: block}, 1, source(), Options{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("canceled: got %v", err)
	}
	if got, err := Largest(context.Background(), answer{n: 5, products: block}, 1, source(), Options{}); err != nil ||
		got.Values[0] != 0 {
		t.Errorf("the zero matrix: %v, %v", got, err)
	}
}

// Ten blocks of 10,000 vertices each, with about 20 neighbors per vertex and few edges between blocks, and with 10
// neighbors and one edge in ten between blocks.
func BenchmarkLargest(b *testing.B) {
	const n, count = 100_000, 10
	for name, a := range map[string]*sparse{
		"separate": blocks(n, count, 20, 0.3, seeded()),
		"mixed":    blocks(n, count, 8, 1, seeded()),
	} {
		m := a.scaled(a.sums())
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				got, err := Largest(context.Background(), m, count, source(), Options{Tolerance: 1e-6})
				if err != nil || !got.Converged {
					b.Fatal(err, got.Work)
				}
				b.ReportMetric(float64(got.Rounds), "rounds")
				b.ReportMetric(float64(got.Products), "products")
			}
		})
	}
}

// The first of some pairs have lists of their own, which may grow and change.
func TestFirstPairs(t *testing.T) {
	all := Eigenpairs{Values: []float64{3, 2}, Vectors: Columns(4, 2), Residuals: []float64{0.1, 0.2}, Converged: true}
	first := all.First(1)
	if !slices.Equal(first.Values, []float64{3}) || len(first.Vectors) != 1 ||
		!slices.Equal(first.Residuals, []float64{0.1}) || !first.Converged {
		t.Errorf("the first pair is %+v", first)
	}
	first.Values = append(first.Values, 9)
	first.Residuals = append(first.Residuals, 9)
	first.Values[0] = 9
	if !slices.Equal(all.Values, []float64{3, 2}) || !slices.Equal(all.Residuals, []float64{0.1, 0.2}) {
		t.Errorf("all pairs are %+v", all)
	}
}
