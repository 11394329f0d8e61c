package kernel

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// A tile that is not stored gives the bits of a stored one in every operation, and its storage may change in
// the middle of a run.
func TestStorageChangesNoBit(t *testing.T) {
	ctx := context.Background()
	for _, function := range kernels() {
		for _, n := range []int{17, 90, 700} {
			p := newProblem(t, rand.New(rand.NewPCG(uint64(n), uint64(function))), n, 4, function)
			if n == 90 { // half precision is a different matrix, but again the same one stored or not
				p.source.spec.HalfScale = p.bounds.HalfScale()
			}
			stored := p.shard(t, 2)
			free := NewShard(p.source, 2)
			tiles := partition.AllTiles(p.n)
			if err := free.Build(ctx, tiles, false); err != nil {
				t.Fatal(err)
			}
			setOperands(t, free, p.operands)
			if tileBytes(free) != 0 {
				t.Errorf("%d bytes for tiles that are not stored", tileBytes(free))
			}
			labels := p.labels()
			x := make([]float64, p.n)
			for i := range x {
				x[i] = p.rng.NormFloat64()
			}
			stats := ClusterStats{Weight: []float64{3, 4, 5, 6}, SelfAffinity: []float64{1, 2, 3, 4},
				Count: []int32{3, 4, 5, 6}}
			compare := func(what string, run func(*Shard) (any, error), equal func(a, b any) bool) {
				t.Helper()
				want, err := run(stored)
				if err != nil {
					t.Fatal(err)
				}
				got, err := run(free)
				if err != nil || !equal(want, got) {
					t.Fatalf("function %d, n %d: %s differs (%v)", function, n, what, err)
				}
			}
			floats := func(a, b any) bool { return slices.Equal(a.([]float64), b.([]float64)) }
			sums := func(a, b any) bool { return slices.Equal(a.([]Int128), b.([]Int128)) }
			compare("diagonal", func(s *Shard) (any, error) { return s.Diagonal(ctx, tiles) }, floats)
			compare("column sum", func(s *Shard) (any, error) { return columnSum(s, tiles, []int32{0, 3, 9}) }, floats)
			compare("product", func(s *Shard) (any, error) { return product(s, tiles, x) }, floats)
			compare("load", func(s *Shard) (any, error) { return s.Load(ctx, tiles, 1, labels) }, sums)
			moves := []labeling.Move{{Point: 2, From: labels[2], To: 1}, {Point: 7, From: labels[7], To: 3},
				{Point: 8, From: labels[8], To: -1}}
			compare("update", func(s *Shard) (any, error) { return s.Update(ctx, tiles, 1, moves) }, sums)
			compare("assign", func(s *Shard) (any, error) { return s.Assign(ctx, tiles, 2, []ClusterStats{stats}) },
				func(a, b any) bool { return slices.Equal(a.([]labeling.Move), b.([]labeling.Move)) })
			// The tiles change their storage and go on.
			if err := stored.Build(ctx, tiles, false); err != nil {
				t.Fatal(err)
			}
			if err := free.Build(ctx, tiles, true); err != nil {
				t.Fatal(err)
			}
			back := []labeling.Move{{Point: 2, From: 1, To: 0}}
			compare("update after changing over", func(s *Shard) (any, error) {
				return s.Update(ctx, tiles, 2, back)
			}, sums)
		}
	}
}

// Every finite float16 survives the conversion to float32 and back, and rounding is to the nearest.
func TestHalfPrecision(t *testing.T) {
	for bits := range 1 << 16 {
		h := uint16(bits)
		if h>>10&0x1f == 0x1f {
			continue // infinities and NaNs are never stored
		}
		if back := toHalf(fromHalf(h)); back != h {
			t.Fatalf("%#x came back as %#x", h, back)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 200_000 {
		v := float32(math.Ldexp(rng.Float64(), 40-rng.IntN(70)+25))
		if v >= 65520 {
			continue
		}
		h := toHalf(v)
		below := math.Abs(float64(fromHalf(h) - v))
		above := math.Inf(1)
		if h > 0 {
			above = math.Abs(float64(fromHalf(h-1) - v))
		}
		if h < 0x7bff {
			above = min(above, math.Abs(float64(fromHalf(h+1)-v)))
		}
		if below > above {
			t.Fatalf("%v became %v", v, fromHalf(h))
		}
	}
}

// Entries in half precision are within 2^-11 of the entry or 2^-38 of the largest one, take half the memory,
// and are on the grid.
func TestHalfPrecisionError(t *testing.T) {
	ctx := context.Background()
	for _, function := range []Function{Linear, Gaussian, Polynomial} {
		p := newProblem(t, rand.New(rand.NewPCG(9, uint64(function))), 200, 3, function)
		full := p.shard(t, 1)
		tiles := partition.AllTiles(p.n)
		spec := p.source.spec
		spec.HalfScale = p.bounds.HalfScale()
		source, err := NewSource(spec, p.data, nil)
		if err != nil {
			t.Fatal(err)
		}
		half := NewShard(source, 1)
		if err := half.Build(ctx, tiles, true); err != nil || 2*tileBytes(half) != tileBytes(full) {
			t.Fatalf("%d bytes of %d: %v", tileBytes(half), tileBytes(full), err)
		}
		p.operands.Sparse = &Sparse{RowStart: make([]int64, p.n+1)}
		setOperands(t, full, p.operands)
		setOperands(t, half, p.operands)
		for j := range int32(p.n) {
			want, err := columnSum(full, tiles, []int32{j})
			if err != nil {
				t.Fatal(err)
			}
			got, err := columnSum(half, tiles, []int32{j})
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if math.Abs(got[i]-want[i]) > max(0x1p-11*math.Abs(want[i]), 0x1p-38*p.bounds.Entry) ||
					got[i] != spec.Grid.Round(got[i]) {
					t.Fatalf("function %d: entry (%d,%d) is %v instead of %v", function, i, j, got[i], want[i])
				}
			}
		}
	}
}

// Tiles have the same bits whether they are built together, one after the other, or in shards of their own.
func TestBuildOrderChangesNoBit(t *testing.T) {
	ctx := context.Background()
	for _, half := range []bool{false, true} {
		p := newProblem(t, rand.New(rand.NewPCG(3, 3)), 333, 3, Gaussian)
		if half {
			p.source.spec.HalfScale = p.bounds.HalfScale()
		}
		tiles := partition.AllTiles(p.n)
		together := p.shard(t, 2)
		oneByOne := NewShard(p.source, 1)
		for at := range tiles {
			number := tiles[(at*5+3)%len(tiles)]
			if err := oneByOne.Build(ctx, []int{number}, true); err != nil {
				t.Fatal(err)
			}
			alone := NewShard(p.source, 1)
			if err := alone.Build(ctx, []int{number}, true); err != nil {
				t.Fatal(err)
			}
			want := together.tiles[number].base.(*denseTile)
			for _, shard := range []*Shard{oneByOne, alone} {
				got := shard.tiles[number].base.(*denseTile)
				if !slices.Equal(got.entries, want.entries) || !slices.Equal(got.half, want.half) {
					t.Fatalf("tile %d differs", number)
				}
			}
		}
	}
}

// Entries so small that the inverse of their scale would overflow float32 are rounded to 11 bits like any others.
func TestHalfPrecisionOfTinyEntries(t *testing.T) {
	ctx := context.Background()
	const n = 40
	rng := rand.New(rand.NewPCG(3, 3))
	values := make([]float64, 3*n)
	for i := range values {
		values[i] = 1e-18 * (1 + rng.Float64())
	}
	points, err := dataset.NewPoints(n, 3, values)
	if err != nil {
		t.Fatal(err)
	}
	spec := MatrixSpec{Function: Linear, Rows: n, Columns: 3}
	bounds, err := FindBounds(spec, points)
	if err != nil {
		t.Fatal(err)
	}
	spec.Grid = GridFor(bounds.RowSum)
	maxima := func(spec MatrixSpec) []float64 {
		source, err := NewSource(spec, points, nil)
		if err != nil {
			t.Fatal(err)
		}
		shard := NewShard(source, 1)
		tiles := partition.AllTiles(n)
		if err := shard.Build(ctx, tiles, true); err != nil {
			t.Fatal(err)
		}
		found, err := shard.Maxima(ctx, tiles)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	want := maxima(spec)
	spec.HalfScale = bounds.HalfScale()
	for i, got := range maxima(spec) {
		if !(math.Abs(got-want[i]) <= 0x1p-11*want[i]) {
			t.Fatalf("the largest entry of row %d is %g in half precision instead of %g", i, got, want[i])
		}
	}
}

// A source refuses data that its spec was not made for, instead of reading beyond it.
func TestNewSourceRefusesOtherData(t *testing.T) {
	points, err := dataset.NewPoints(4, 2, make([]float64, 8))
	if err != nil {
		t.Fatal(err)
	}
	graph, err := dataset.NewGraph(4, []dataset.Edge{{Source: 0, Target: 3, Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec MatrixSpec
		data dataset.Dataset
	}{
		{MatrixSpec{Function: Linear, Rows: 5, Columns: 2}, points},
		{MatrixSpec{Function: Adjacency, Rows: 5}, graph},
	} {
		if _, err := NewSource(c.spec, c.data, nil); err == nil {
			t.Errorf("%v: 4 rows were taken for 5", c.spec.Function)
		}
	}
}
