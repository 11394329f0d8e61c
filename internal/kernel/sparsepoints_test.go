package kernel

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/refusal"
)

// sparseAndDense are the same points in both forms. Some columns are 0 everywhere, and so are some rows unless all must
// have a direction.
func sparseAndDense(t testing.TB, rng *rand.Rand, n, d int, directions bool) (*dataset.SparsePoints, *dataset.Points) {
	t.Helper()
	values := make([]float64, n*d)
	starts := []int64{0}
	var columns []int32
	var stored []float64
	for i := range n {
		for f := range d {
			if f%3 > 0 && rng.IntN(8) == 0 || directions && f == i%d {
				v := float64(rng.IntN(9)) - 3.5 + rng.Float64()
				values[i*d+f] = v
				columns = append(columns, int32(f))
				stored = append(stored, v)
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	sparse, err := dataset.NewSparsePoints(n, d, starts, columns, stored)
	if err != nil {
		t.Fatal(err)
	}
	dense, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return sparse, dense
}

// columnsOf are all columns of a matrix, from stored tiles or computed.
func columnsOf(t testing.TB, spec MatrixSpec, data dataset.Dataset, stored bool) []float64 {
	t.Helper()
	bound, err := FindBounds(spec, data)
	if err != nil {
		t.Fatal(err)
	}
	spec.Grid = GridFor(bound.RowSum)
	if spec.HalfScale != 0 {
		spec.HalfScale = bound.HalfScale()
	}
	source, err := NewSource(spec, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := NewShard(source, 2)
	tiles := partition.AllTiles(spec.Rows)
	if err := s.Build(context.Background(), tiles, stored); err != nil {
		panic(err)
	}
	all := []float64{bound.RowSum, bound.Entry}
	for _, number := range tiles {
		tile := s.tiles[number]
		for j := range int32(spec.Rows) {
			column := make([]float64, tile.stride)
			if err := tile.base.addColumns(column, []int32{j}); err != nil {
				t.Fatal(err)
			}
			all = append(all, column[:tile.rows.Len()]...)
		}
	}
	return all
}

// Entries of sparse points have the bits of dense points that are not centered.
func TestSparsePointsHaveTheBitsOfDenseOnes(t *testing.T) {
	for f := Linear; f <= Cosine; f++ {
		for seed := range uint64(4) {
			rng := rand.New(rand.NewPCG(seed, uint64(f)))
			n := 1 + rng.IntN(400)
			d := 1 + rng.IntN(60)
			sparse, dense := sparseAndDense(t, rng, n, d, f.Directional())
			spec := MatrixSpec{Function: f, Rho: 2.5, Gamma: 0.1, Coef0: 0.5, Degree: 3, Rows: n, Columns: d,
				ZeroDiagonal: seed == 2}
			if seed%2 == 1 {
				spec.Scale = make([]float64, n)
				for i := range spec.Scale {
					spec.Scale[i] = 0.5 + rng.Float64()
				}
			}
			if seed == 3 {
				spec.HalfScale = 1
			}
			want := columnsOf(t, spec, dense, true)
			spec.Entries = int64(sparse.NonZeros())
			for _, stored := range []bool{true, false} {
				if got := columnsOf(t, spec, sparse, stored); !slices.Equal(got, want) {
					t.Errorf("%s, seed %d, stored %v: sparse and dense points differ", f, seed, stored)
				}
			}
		}
	}
}

// Columns that no point has take no memory, however many there are.
func TestSparsePointsOfManyColumns(t *testing.T) {
	const d = dataset.MaxColumns
	points, err := dataset.NewSparsePoints(3, d, []int64{0, 2, 3, 3}, []int32{5, d - 1, d - 1}, []float64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	spec := MatrixSpec{Function: Linear, Rows: 3, Columns: d, Entries: 3}
	if got, want := columnsOf(t, spec, points, true)[2:], []float64{5, 6, 0, 6, 9, 0, 0, 0,
		0}; !slices.Equal(got, want) {
		t.Errorf("entries %v, want %v", got, want)
	}
	if shared, thread := spec.SharedBytes(2, 0), spec.ThreadBytes(2, 1); max(shared, thread) > 1<<20 {
		t.Errorf("%d and %d bytes are planned for 3 points", shared, thread)
	}
	points.Value[0] = 1e60
	if _, err := NewSource(spec, points, nil); !fault.Is(refusal.Of(err), "OUT_OF_FLOAT32_RANGE") {
		t.Errorf("a value of 1e60: %v", err)
	}
	if _, err := NewSource(MatrixSpec{Function: Gaussian, Rows: 3, Columns: d, Mean: []float64{1}}, points,
		nil); err == nil {
		t.Error("sparse points were centered")
	}
}

// The formulas of memory are what sparse points take.
func TestBytesOfSparsePoints(t *testing.T) {
	const n, d, k = 500, 90, 3
	sparse, _ := sparseAndDense(t, rand.New(rand.NewPCG(1, 1)), n, d, true)
	spec := MatrixSpec{Function: Cosine, Rows: n, Columns: d, Entries: int64(sparse.NonZeros())}
	source, err := NewSource(spec, sparse, nil)
	if err != nil {
		t.Fatal(err)
	}
	points := source.points
	taken := int64(4*len(points.values) + 4*len(points.sparse.column) + 8*len(points.sparse.start) +
		8*len(points.norms) + 4*len(source.columns))
	numbering := int64(4 * len(points.values)) // a copy of the features
	if planned := spec.SharedBytes(k, 0); planned < taken+numbering || planned > taken+numbering+24*n {
		t.Errorf("%d bytes are planned, %d are taken and %d for the numbering", planned, taken, numbering)
	}
	w := source.borrowDense()
	maker := w.entryMakerFor(source.newTile(0))
	if err := maker.fill(0, source.allColumns()[:columnsPerFill],
		make([]float32, columnsPerFill*maker.stride)); err != nil {
		t.Fatal(err)
	}
	threads := int64(8 * (len(maker.features) + len(maker.products) + len(maker.norms) + len(maker.values)))
	if planned := spec.ThreadBytes(k, 1); planned < threads || planned > 2*threads {
		t.Errorf("%d bytes are planned for a thread, which takes %d", planned, threads)
	}
}
