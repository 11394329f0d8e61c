package picture

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// The components of sparse rows are those of the same rows as dense ones.
func TestProjectSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n, d = 60, 9
	dense := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
	starts := []int64{0}
	columns := []int32(nil)
	values := []float64(nil)
	for i := range n {
		for j := range d {
			if v := rng.NormFloat64() * float64(1+j*j) * 1e200; rng.IntN(3) == 0 {
				dense.Values[i*d+j] = v
				columns = append(columns, int32(j))
				values = append(values, v)
			}
		}
		starts = append(starts, int64(len(values)))
	}
	sparse, err := dataset.NewSparsePoints(n, d, starts, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	want, _, wantAxes := Project(dense, nil)
	got, axes := ProjectSparse(sparse)
	if axes != wantAxes {
		t.Errorf("the axes are %q, want %q", axes, wantAxes)
	}
	for c := range 2 {
		sign := math.Copysign(1, got[0][c]*want[0][c])
		for i := range got {
			if math.Abs(got[i][c]-sign*want[i][c]) > 1e-4*1e202 {
				t.Fatalf("row %d is at %v, want %v", i, got[i], want[i])
			}
		}
	}
	again, _ := ProjectSparse(sparse)
	for i := range got {
		if got[i] != again[i] {
			t.Fatal("the same rows have two places")
		}
	}
}

// Rows without entries, equal rows and a single row have places too.
func TestProjectSparseOfLittle(t *testing.T) {
	for _, starts := range [][]int64{{0, 0}, {0, 1}, {0, 1, 2, 2}, {0, 0, 0, 0, 0}} {
		entries := int(starts[len(starts)-1])
		columns := make([]int32, entries)
		values := make([]float64, entries)
		for at := range values {
			values[at] = 3
		}
		points, err := dataset.NewSparsePoints(len(starts)-1, 4, starts, columns, values)
		if err != nil {
			t.Fatal(err)
		}
		xy, _ := ProjectSparse(points)
		for _, at := range xy {
			if !isFinite(at[0]) || !isFinite(at[1]) {
				t.Errorf("%v: a row is at %v", starts, at)
			}
		}
	}
}
