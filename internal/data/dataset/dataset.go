// Package dataset holds the data to be clustered: dense or sparse points, graphs, and precomputed kernel
// matrices.
//
// A Dataset is checked when it is made and never changes, so other packages can rely on it: values are
// finite, matrices symmetric, and the neighbors of a vertex sorted. Equal data has equal canonical bytes
// (codec.go), whose hash is the ID of the data set: two uploads of the same data are one data set.
package dataset

import (
	"cmp"
	"math"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// Kind is a form of data.
type Kind uint8

// The kinds of data set.
const (
	KindPoints       Kind = 1 // n rows of d features
	KindGraph        Kind = 2 // an undirected weighted graph
	KindKernel       Kind = 3 // a precomputed symmetric n x n kernel matrix
	KindSparsePoints Kind = 4 // n rows of d features, most of them 0
)

func (k Kind) String() string {
	return cmp.Or(text.Name(k, "", "points", "graph", "kernel matrix", "sparse points"), "unknown")
}

// MaxRows bounds n: labels, edges and moves store row numbers as int32.
const MaxRows = math.MaxInt32

// Dataset is one of *Points, *Graph, *Kernel, *SparsePoints.
type Dataset interface {
	Kind() Kind
	Rows() int
}

// Kernel is a precomputed symmetric n x n kernel matrix.
type Kernel struct {
	N      int
	Values []float64
}

// Kind implements Dataset.
func (k *Kernel) Kind() Kind { return KindKernel }

// Rows implements Dataset.
func (k *Kernel) Rows() int { return k.N }

// Row returns the i-th row, which shares memory with the data set.
func (k *Kernel) Row(i int) []float64 { return k.Values[i*k.N : (i+1)*k.N : (i+1)*k.N] }

// symmetryTolerance is the largest |K_ij - K_ji|, relative to the largest entry, that counts as a
// rounding error.
const symmetryTolerance = 1e-9

// NewKernel checks rows x columns values, given row by row, and keeps the slice. Where K_ij and K_ji
// differ by a rounding error, it replaces both by their mean in place.
func NewKernel(rows, columns int, values []float64) (*Kernel, error) {
	return newKernel(rows, columns, values, symmetryTolerance)
}

func newKernel(rows, columns int, values []float64, tolerance float64) (*Kernel, error) {
	if rows != columns {
		return nil, fault.Invalid("NOT_SQUARE", "the kernel matrix has %d rows and %d columns; it must be square",
			rows, columns)
	}
	points, err := NewPoints(rows, columns, values)
	if err != nil {
		return nil, err
	}
	n, largest := rows, 0.0
	for _, v := range points.Values {
		largest = math.Max(largest, math.Abs(v))
	}
	for i := range n {
		for j := range i {
			a, b := values[i*n+j], values[j*n+i]
			if a == b {
				continue
			}
			if math.Abs(a-b) > tolerance*largest {
				return nil, fault.Invalid("ASYMMETRIC_KERNEL",
					"the kernel matrix is not symmetric: entry (%d,%d) is %g but entry (%d,%d) is %g", i, j, a, j, i, b)
			}
			mean := a/2 + b/2 // exact, fused or not
			values[i*n+j], values[j*n+i] = mean, mean
		}
	}
	return &Kernel{N: n, Values: values}, nil
}

// finite reports whether v is neither infinite nor NaN, for both of which v-v is NaN.
func finite(v float64) bool { return v-v == 0 }

// Take returns a data set of the given rows of points or of a kernel matrix, in the given order. It returns
// a graph unchanged.
func Take(data Dataset, rows []int32) (Dataset, error) {
	switch data := data.(type) {
	case *Points:
		return data.Take(rows), nil
	case *SparsePoints:
		starts := []int64{0}
		columns := []int32(nil)
		values := []float64(nil)
		for _, i := range rows {
			c, v := data.Row(int(i))
			columns = append(columns, c...)
			values = append(values, v...)
			starts = append(starts, int64(len(columns)))
		}
		return NewSparsePoints(len(rows), data.D, starts, columns, values)
	case *Kernel:
		values := make([]float64, 0, len(rows)*len(rows))
		for _, i := range rows {
			row := data.Row(int(i))
			for _, j := range rows {
				values = append(values, row[j])
			}
		}
		return NewKernel(len(rows), len(rows), values)
	}
	return data, nil
}
