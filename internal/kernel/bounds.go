package kernel

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// Bounds holds upper bounds of magnitudes in the base matrix. They depend only on the data and the kernel, never on
// constraints.
type Bounds struct {
	RowSum float64 // bounds the sum of |M_ij| in every row; the grid is chosen from it
	Entry  float64 // bounds |M_ij|; the scale of half precision is chosen from it
}

// HalfScale returns the power of two that entries are divided by before they are rounded to half precision.
func (e Bounds) HalfScale() float64 { return halfScaleFor(e.Entry) }

// FindBounds returns bounds of the base matrix without building it.
//
// For positive semidefinite kernels Cauchy-Schwarz gives sum_j |M_ij| <= sqrt(M_ii) sum_j sqrt(M_jj). The simpler
// bound, n times the largest diagonal entry, would waste bits on a single outlier.
func FindBounds(spec MatrixSpec, data dataset.Dataset) (Bounds, error) {
	switch data := data.(type) {
	case *dataset.Graph:
		return graphBound(spec, data), nil
	case *dataset.Kernel:
		return givenBound(spec, data)
	case *dataset.Points, *dataset.SparsePoints:
		source, err := NewSource(spec, data, nil)
		if err != nil {
			return Bounds{}, err
		}
		return source.pointsBound()
	}
	return Bounds{}, invalid.New(invalid.NoKernelOf)
}

// pointsBound returns bounds for a kernel of points, by the norms of the rows. It fails if an entry may exceed a
// float32.
func (s *Source) pointsBound() (Bounds, error) {
	if s.spec.Function.Directional() {
		for i, norm := range s.points.norms {
			if norm == 0 {
				return Bounds{}, invalid.InRow(i, invalid.ZeroRowOfKernel, "kernel", s.spec.Function)
			}
		}
	}
	if largest, indefinite := s.spec.indefiniteBound(slices.Max(s.points.norms)); indefinite {
		if s.spec.Scale != nil {
			heaviest := slices.Max(s.spec.Scale)
			largest *= heaviest * heaviest
		}
		if !(largest <= math.MaxFloat32) {
			return Bounds{}, invalid.InRow(choose.Largest(s.points.norms), invalid.BoundAboveFloat32,
				"value", largest, "limit", math.MaxFloat32)
		}
		return Bounds{RowSum: largest * float64(s.spec.Rows), Entry: largest}, nil
	}
	largest, total := 0.0, 0.0
	for i := range s.spec.Rows {
		entry := s.diagonalEntry(i)
		if !(entry <= math.MaxFloat32) {
			return Bounds{}, outOfRange(i, i, entry)
		}
		root := math.Sqrt(max(0, entry))
		largest = max(largest, root)
		total += root
	}
	return Bounds{RowSum: largest * total, Entry: largest * largest}, nil
}

// givenBound returns the bounds of a given matrix, by looking at every entry.
func givenBound(spec MatrixSpec, k *dataset.Kernel) (Bounds, error) {
	var bound Bounds
	for i := range k.N {
		row := 0.0
		for j, v := range k.Row(i) {
			if spec.Scale != nil {
				v *= spec.Scale[i] * spec.Scale[j]
			}
			if !(math.Abs(v) <= math.MaxFloat32) {
				return Bounds{}, outOfRange(i, j, v)
			}
			row += math.Abs(v)
			bound.Entry = max(bound.Entry, math.Abs(v))
		}
		bound.RowSum = max(bound.RowSum, row)
	}
	return bound, nil
}

// graphBound returns the bounds of a graph, by looking at every edge.
func graphBound(spec MatrixSpec, g *dataset.Graph) Bounds {
	var bound Bounds
	for i := range g.N {
		row := 0.0
		columns, weights := g.Row(i)
		for at, w := range weights {
			if spec.Scale != nil {
				w *= spec.Scale[i] * spec.Scale[columns[at]]
			}
			row += math.Abs(w)
			bound.Entry = max(bound.Entry, math.Abs(w))
		}
		bound.RowSum = max(bound.RowSum, row)
	}
	return bound
}

// outOfRange returns the error of an entry that float32 does not hold.
func outOfRange(i, j int, v float64) error {
	if i == j {
		return invalid.InRow(i, invalid.DiagonalAboveFloat32, "value", v, "limit", math.MaxFloat32)
	}
	return invalid.InRow(i, invalid.KernelAboveFloat32, "value", v, "other", j, "limit", math.MaxFloat32)
}
