package kernel

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/refusal"
)

func TestTanhIsOddAndAccurate(t *testing.T) {
	for z := -30.0; z <= 30; z += 0.37 {
		if math.Abs(tanh(z)-math.Tanh(z)) > 1e-15 || tanh(-z) != -tanh(z) {
			t.Errorf("tanh(%v) = %v, want %v", z, tanh(z), math.Tanh(z))
		}
	}
}

func TestPower(t *testing.T) {
	for p := 1; p < 20; p++ {
		if got, want := power(1.5, p), math.Pow(1.5, float64(p)); math.Abs(got-want) > 1e-12*want {
			t.Errorf("1.5^%d = %v, want %v", p, got, want)
		}
	}
}

func TestInt128AgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sum := Int128{}
		want := new(big.Int)
		for range rapid.IntRange(0, 30).Draw(t, "terms") {
			v := Int128{Lo: rapid.Uint64().Draw(t, "lo"), Hi: rapid.Int64Range(-1<<56, 1<<56).Draw(t, "hi")}
			sum = sum.Add(v)
			term := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
			want.Add(want, term.Add(term, new(big.Int).SetUint64(v.Lo)))
			small := rapid.Int64().Draw(t, "small")
			sum = sum.AddInt64(small)
			want.Add(want, big.NewInt(small))
		}
		nearest, _ := new(big.Float).SetInt(want).Float64()
		if got := sum.Float64(); got != nearest {
			t.Fatalf("%v rounds to %v, want %v", want, got, nearest)
		}
	})
}

// 2 bound <= 2^52 g, which the next finer grid would violate.
func TestGridIsFinestThatIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "mantissa"),
			rapid.IntRange(-300, 300).Draw(t, "exponent"))
		g := GridFor(bound).Spacing()
		if 2*bound > math.Ldexp(g, 52) || 2*bound < math.Ldexp(g, 50) {
			t.Fatalf("grid %g for bound %g", g, bound)
		}
		v := bound * rapid.Float64Range(-1, 1).Draw(t, "v")
		if got, want := GridFor(bound).Round(v), math.RoundToEven(v/g)*g; got != want {
			t.Fatalf("%g rounds to %g, want %g", v, got, want)
		}
	})
}

// problem is a small random matrix with a sparse part.
type problem struct {
	data     dataset.Dataset
	bounds   Bounds
	source   *Source
	operands Operands
	n, k     int
	rng      *rand.Rand
}

func newProblem(t testing.TB, rng *rand.Rand, n, k int, function Function) *problem {
	t.Helper()
	spec := MatrixSpec{Function: function, Rho: 1.5, Gamma: 0.2, Coef0: 0.5, Degree: 2, Rows: n, Columns: 3}
	var data dataset.Dataset
	var rows RowFetcher
	switch function {
	case Adjacency:
		var edges []dataset.Edge
		for range 4 * n {
			edges = append(edges, dataset.Edge{Source: int32(rng.IntN(n)), Target: int32(rng.IntN(n)),
				Weight: rng.Float64()})
		}
		g, err := dataset.NewGraph(n, edges)
		if err != nil {
			t.Fatal(err)
		}
		data = g
	default:
		values := make([]float64, 3*n)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		p, err := dataset.NewPoints(n, 3, values)
		if err != nil {
			t.Fatal(err)
		}
		data = p
	}
	if rng.IntN(2) == 0 {
		spec.Scale = make([]float64, n)
		for i := range spec.Scale {
			spec.Scale[i] = 0.1 + rng.Float64()
		}
	}
	bound, err := FindBounds(spec, data)
	if err != nil {
		t.Fatal(err)
	}
	spec.Grid = GridFor(bound.RowSum)
	source, err := NewSource(spec, data, rows)
	if err != nil {
		t.Fatal(err)
	}
	sparse := &Sparse{RowStart: make([]int64, n+1)}
	dense := make([]float64, n*n)
	for range n {
		i := rng.IntN(n)
		j := rng.IntN(n)
		w := spec.Grid.Round(bound.RowSum * 0.01 * rng.NormFloat64())
		dense[i*n+j], dense[j*n+i] = w, w
	}
	for i := range n {
		for j := range n {
			if v := dense[i*n+j]; v != 0 {
				sparse.Column = append(sparse.Column, int32(j))
				sparse.Value = append(sparse.Value, v)
			}
		}
		sparse.RowStart[i+1] = int64(len(sparse.Column))
	}
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = 0.5 + rng.Float64()
	}
	return &problem{data: data, bounds: bound, source: source,
		operands: Operands{K: k, Weights: weights, Sparse: sparse}, n: n, k: k, rng: rng}
}

func (p *problem) shard(t testing.TB, threads int) *Shard {
	t.Helper()
	s := NewShard(p.source, threads)
	if err := s.Build(context.Background(), partition.AllTiles(p.n), true); err != nil {
		t.Fatal(err)
	}
	setOperands(t, s, p.operands)
	return s
}

func setOperands(t testing.TB, s *Shard, a Operands) {
	t.Helper()
	if err := s.SetOperands(a); err != nil {
		t.Fatal(err)
	}
}

// columnSum returns the sums over one list of columns.
func columnSum(s *Shard, tiles []int, columns []int32) ([]float64, error) {
	sums, err := s.ColumnSums(context.Background(), tiles, [][]int32{columns})
	if err != nil {
		return nil, err
	}
	return sums[0], nil
}

// product returns the product with one vector.
func product(s *Shard, tiles []int, x []float64) ([]float64, error) {
	products, err := s.Multiply(context.Background(), tiles, [][]float64{x})
	if err != nil {
		return nil, err
	}
	return products[0], nil
}

func (p *problem) labels() []int32 {
	labels := make([]int32, p.n)
	for i := range labels {
		labels[i] = int32(p.rng.IntN(p.k+1)) - 1
	}
	return labels
}

var functions = append(kernels(), Adjacency)

// A delta sweep has the bits of a full sweep, for any moves and every kind of matrix.
func TestDeltaSweepEqualsFullSweepBitForBit(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(6) {
		for _, function := range functions {
			p := newProblem(t, rand.New(rand.NewPCG(seed, uint64(function))), 70+int(seed)*13, 5, function)
			delta := p.shard(t, 2)
			tiles := partition.AllTiles(p.n)
			labels := p.labels()
			if _, err := delta.Load(ctx, tiles, 1, labels); err != nil {
				t.Fatal(err)
			}
			for step := uint64(1); step < 12; step++ {
				var moves []labeling.Move
				for i := range labels {
					if to := int32(p.rng.IntN(p.k+1)) - 1; p.rng.IntN(8) == 0 && to != labels[i] {
						moves = append(moves, labeling.Move{Point: int32(i), From: labels[i], To: to})
						labels[i] = to
					}
				}
				q, err := delta.Update(ctx, tiles, step, moves)
				if err != nil {
					t.Fatal(err)
				}
				full := p.shard(t, 1)
				want, err := full.Load(ctx, tiles, 1, labels)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(q, want) {
					t.Fatalf("function %d: self-affinities differ after %d moves", function, len(moves))
				}
				for number, tile := range full.tiles {
					for r := range tile.rows.Len() {
						for c := range int32(p.k) {
							v := tile.sums.of(r, c)
							changed := delta.tiles[number].sums.of(r, c)
							if math.Float64bits(v) != math.Float64bits(changed) && v != 0 {
								t.Fatalf("function %d: sums differ in tile %d", function, number)
							}
						}
					}
				}
			}
		}
	}
}

// Repeating an operation changes nothing, and a wrong step is refused.
func TestStepsAreIdempotent(t *testing.T) {
	ctx := context.Background()
	p := newProblem(t, rand.New(rand.NewPCG(1, 1)), 100, 4, Gaussian)
	s := p.shard(t, 2)
	tiles := partition.AllTiles(p.n)
	labels := make([]int32, p.n)
	if _, err := s.Update(ctx, tiles, 0, nil); err != ErrNotReady {
		t.Errorf("update before load: %v", err)
	}
	if _, err := s.Load(ctx, tiles, 7, labels); err != nil {
		t.Fatal(err)
	}
	moves := []labeling.Move{{Point: 3, From: 0, To: 2}, {Point: 50, From: 0, To: 1}}
	// Half of the tiles first, then all: as after a lost answer.
	if _, err := s.Update(ctx, tiles[:2], 7, moves); err != nil {
		t.Fatal(err)
	}
	once, err := s.Update(ctx, tiles, 7, moves)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := s.Update(ctx, tiles, 7, moves)
	if err != nil || !slices.Equal(once, twice) {
		t.Errorf("the second answer differs: %v", err)
	}
	if _, err := s.Update(ctx, tiles, 9, moves); err != ErrNotReady {
		t.Errorf("update of a later step: %v", err)
	}
	s.Drop(tiles[:1])
	if _, err := s.Update(ctx, tiles, 8, nil); err != ErrNotReady {
		t.Errorf("update of a dropped tile: %v", err)
	}
}

// Entries are symmetric to the bit, on the grid, and row sums stay within the bound.
func TestEntriesAreSymmetricAndBounded(t *testing.T) {
	ctx := context.Background()
	for _, function := range functions {
		p := newProblem(t, rand.New(rand.NewPCG(5, uint64(function))), 90, 3, function)
		p.operands.Sparse = &Sparse{RowStart: make([]int64, p.n+1)}
		s := p.shard(t, 1)
		tiles := partition.AllTiles(p.n)
		columns := make([][]float64, p.n)
		for j := range p.n {
			var err error
			if columns[j], err = columnSum(s, tiles, []int32{int32(j)}); err != nil {
				t.Fatal(err)
			}
		}
		limit := math.Ldexp(p.source.spec.Grid.Spacing(), 51)
		for i := range p.n {
			sum := 0.0
			for j := range p.n {
				if math.Float64bits(columns[j][i]) != math.Float64bits(columns[i][j]) {
					t.Fatalf("function %d: (%d,%d) differs from its mirror", function, i, j)
				}
				if columns[j][i] != p.source.spec.Grid.Round(columns[j][i]) {
					t.Fatalf("function %d: (%d,%d) is off the grid", function, i, j)
				}
				sum += math.Abs(columns[j][i])
			}
			if sum > limit*(1+1e-6) {
				t.Fatalf("function %d: row %d sums to %g, over %g", function, i, sum, limit)
			}
		}
		diagonal, err := s.Diagonal(ctx, tiles)
		if err != nil {
			t.Fatal(err)
		}
		x := randomVectors(p.rng, 1, p.n)[0]
		y, err := product(s, tiles, x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.n {
			want := 0.0
			for j := range p.n {
				want += columns[j][i] * x[j]
			}
			if diagonal[i] != columns[i][i] || math.Abs(y[i]-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("function %d: row %d has diagonal %g, product %g (want %g)", function, i,
					diagonal[i], y[i], want)
			}
		}
	}
}

// One outlier with the squared length 1e12 does not cost the other points their bits.
func TestBoundByCauchySchwarz(t *testing.T) {
	values := make([]float64, 1000)
	for i := range values {
		values[i] = 1
	}
	values[0] = 1e6
	points, err := dataset.NewPoints(1000, 1, values)
	if err != nil {
		t.Fatal(err)
	}
	bound, err := FindBounds(MatrixSpec{Function: Linear, Rows: 1000, Columns: 1}, points)
	if err != nil || bound.RowSum != 1e6*(1e6+999) || bound.Entry != 1e12 {
		t.Errorf("bound %+v, %v", bound, err)
	}
}

// Faults name the cell or row at fault, so that others can say where it is in a file.
func TestWhatFloat32CannotHold(t *testing.T) {
	dense := func(values ...float64) dataset.Dataset {
		return &dataset.Points{N: len(values) / 2, D: 2, Values: values}
	}
	sparse := must(dataset.NewSparsePoints(3, 9, []int64{0, 1, 1, 3}, []int32{4, 2, 8}, []float64{1, 1, 1e40}))
	for name, c := range map[string]struct {
		spec        MatrixSpec
		data        dataset.Dataset
		row, column int
		want        string
	}{
		"a value":        {MatrixSpec{Function: Linear}, dense(1, 2, 3, 1e40), 1, 1, " is 1e+40"},
		"a sparse value": {MatrixSpec{Function: Linear}, sparse, 2, 8, " is 1e+40"},
		"a square":       {MatrixSpec{Function: Linear}, dense(1, 2, 3, 1e30), 1, -1, " has the kernel value 1.0"},
		"a bound": {MatrixSpec{Function: Polynomial, Degree: 3, Gamma: 1, Coef0: -1}, dense(1, 2, 3, 1e20, 5, 6),
			1, -1, " may have kernel values as large as "},
		"a given value": {MatrixSpec{Function: Given}, &dataset.Kernel{N: 2, Values: []float64{1, 1e40, 1e40, 1}}, 0,
			-1, " has the kernel value 1e+40 with row 1"},
	} {
		c.spec.Rows = c.data.Rows()
		c.spec.Columns = 2
		_, err := FindBounds(c.spec, c.data)
		f, _ := errors.AsType[*fault.Error](refusal.Of(err))
		if f == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		row, column, problem, _ := f.Problem()
		if row != c.row || column != c.column || !strings.HasPrefix(problem, c.want) ||
			!fault.Is(refusal.Of(err), "OUT_OF_FLOAT32_RANGE") {
			t.Errorf("%s: row %d, column %d: %v", name, row, column, err)
		}
	}
}

// Units of the smallest numbers are finite too.
func TestTinyWeightsAreSummedExactly(t *testing.T) {
	const w = 1e-300
	g := must(dataset.NewGraph(3, []dataset.Edge{{Source: 0, Target: 1, Weight: 3 * w},
		{Source: 1, Target: 2, Weight: w}}))
	spec := MatrixSpec{Function: Adjacency, Rows: 3}
	spec.Grid = GridFor(must(FindBounds(spec, g)).RowSum)
	s := NewShard(must(NewSource(spec, g, nil)), 1)
	if err := s.Build(t.Context(), []int{0}, true); err != nil {
		t.Fatal(err)
	}
	setOperands(t, s, Operands{K: 2, Weights: []float64{1, 1, 1}, Sparse: &Sparse{RowStart: make([]int64, 4)}})
	sums := must(s.Load(t.Context(), []int{0}, 1, []int32{0, 0, 1}))
	if got, want := spec.Grid.Value(sums[0]), 6*w; math.Abs(got-want) > 1e-12*want || sums[1] != (Int128{}) {
		t.Errorf("the clusters have %v and %v within, want %v and 0", got, spec.Grid.Value(sums[1]), want)
	}
}

// A list without lanes is assigned to nothing, whatever was asked before.
func TestAssignWithoutStats(t *testing.T) {
	for _, function := range []Function{Gaussian, Adjacency} {
		p := newProblem(t, rand.New(rand.NewPCG(1, 6)), 20, 3, function)
		s := p.shard(t, 1)
		tiles := partition.AllTiles(p.n)
		must(s.Load(t.Context(), tiles, 1, p.labels()))
		if moves := must(s.Assign(t.Context(), tiles, 1, nil)); len(moves) > 0 {
			t.Errorf("function %v: %v", function, moves)
		}
	}
}

func BenchmarkBuildGaussian16(b *testing.B) {
	p := newBenchmark(b, 4096, 16)
	b.SetBytes(4 * 4096 * 4096)
	for b.Loop() {
		s := NewShard(p, 1)
		if err := s.Build(context.Background(), partition.AllTiles(4096), true); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFullSweep(b *testing.B) {
	s := NewShard(newBenchmark(b, 4096, 16), 1)
	tiles := partition.AllTiles(4096)
	if err := s.Build(context.Background(), tiles, true); err != nil {
		b.Fatal(err)
	}
	weights := make([]float64, 4096)
	labels := make([]int32, 4096)
	for i := range weights {
		weights[i], labels[i] = 1, int32(i%10)
	}
	setOperands(b, s, Operands{K: 10, Weights: weights, Sparse: &Sparse{RowStart: make([]int64, 4097)}})
	b.SetBytes(4 * 4096 * 4096)
	for step := uint64(1); b.Loop(); step++ {
		if _, err := s.Load(context.Background(), tiles, step, labels); err != nil {
			b.Fatal(err)
		}
	}
}

func newBenchmark(b *testing.B, n, d int) *Source {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	values := make([]float64, n*d)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		b.Fatal(err)
	}
	source, err := NewSource(MatrixSpec{Function: Gaussian, Rho: 4, Rows: n, Columns: d, Grid: GridFor(float64(n))},
		points, nil)
	if err != nil {
		b.Fatal(err)
	}
	return source
}

func TestPanicOnAThreadIsAnError(t *testing.T) {
	s := NewShard(nil, 3)
	err := s.parallel(context.Background(), 5, func(at int) error {
		if at == 3 {
			panic("boom")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("got %v", err)
	}
}
