// Package dataset holds the data to be clustered: points, dense or sparse, graphs, and given kernel
// matrices.
//
// A Dataset is checked when it is made and never changes after that, so that other packages can rely
// on it: values are finite, matrices symmetric, and the neighbors of a vertex sorted. The same data
// always has the same canonical bytes (codec.go), so that a hash of them can name it: two uploads of
// the same data are one data set.
package dataset

import (
	"math"

	"github.com/cleave-project/cleave/internal/fault"
)

// Kind tells the forms of data apart.
type Kind uint8

// The kinds of data set.
const (
	KindPoints       Kind = 1 // n rows of d features
	KindGraph        Kind = 2 // an undirected weighted graph
	KindKernel       Kind = 3 // a given symmetric n x n kernel matrix
	KindSparsePoints Kind = 4 // n rows of d features, most of them 0
)

func (k Kind) String() string {
	switch k {
	case KindPoints:
		return "points"
	case KindGraph:
		return "graph"
	case KindKernel:
		return "kernel matrix"
	case KindSparsePoints:
		return "sparse points"
	}
	return "unknown"
}

// MaxRows bounds n: labels, edges and moves carry row numbers as int32.
const MaxRows = math.MaxInt32

// Dataset is one of *Points, *Graph, *Kernel, *SparsePoints.
type Dataset interface {
	Kind() Kind
	Rows() int
}

// Points are n rows of d features, row by row.
type Points struct {
	N, D   int
	Values []float64
	// Words are the columns that columns of words became, ascending. They are no part of the canonical bytes: whoever finds
	// units for the points made them, and has them.
	Words []Words

	made *identity // what MakePoints found out about them; nil: nothing
}

// Kind implements Dataset.
func (p *Points) Kind() Kind { return KindPoints }

// Rows implements Dataset.
func (p *Points) Rows() int { return p.N }

// Row is the i-th point; it shares its memory with the data set.
func (p *Points) Row(i int) []float64 { return p.Values[i*p.D : (i+1)*p.D : (i+1)*p.D] }

// NewPoints checks n x d values, given row by row, and keeps the slice.
func NewPoints(n, d int, values []float64) (*Points, error) {
	if err := checkShape(n, d); err != nil {
		return nil, err
	}
	if len(values) != n*d {
		return nil, fault.Invalid("SIZE_MISMATCH", "the data set has %d values; %d rows of %d columns need their product", len(values), n, d)
	}
	if err := checkFinite(values, 0, d); err != nil {
		return nil, err
	}
	return &Points{N: n, D: d, Values: values}, nil
}

// Kernel is a given symmetric matrix of n x n kernel values.
type Kernel struct {
	N      int
	Values []float64
}

// Kind implements Dataset.
func (k *Kernel) Kind() Kind { return KindKernel }

// Rows implements Dataset.
func (k *Kernel) Rows() int { return k.N }

// Row is the i-th row; it shares its memory with the data set.
func (k *Kernel) Row(i int) []float64 { return k.Values[i*k.N : (i+1)*k.N : (i+1)*k.N] }

// symmetryTolerance is the largest |K_ij - K_ji|, relative to the largest entry, that counts as
// rounding: both entries become their mean. More is an error.
const symmetryTolerance = 1e-9

// NewKernel checks rows x columns values, given row by row, makes them exactly symmetric in place,
// and keeps the slice.
func NewKernel(rows, columns int, values []float64) (*Kernel, error) {
	if rows != columns {
		return nil, fault.Invalid("NOT_SQUARE", "the kernel matrix has %d rows and %d columns; it must be square", rows, columns)
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
			if math.Abs(a-b) > symmetryTolerance*largest {
				return nil, fault.Invalid("ASYMMETRIC_KERNEL",
					"the kernel matrix is not symmetric: entry (%d,%d) is %g but entry (%d,%d) is %g", i, j, a, j, i, b)
			}
			mean := a/2 + b/2
			values[i*n+j], values[j*n+i] = mean, mean
		}
	}
	return &Kernel{N: n, Values: values}, nil
}

// finite tells whether a value is a number: the difference of infinity and itself is not.
func finite(v float64) bool { return v-v == 0 }
