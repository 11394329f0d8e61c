package embedding

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// Subset is the rows that take part in an eigenproblem, where some of n are left out. They are numbered from 0 on, and
// a vector of the problem has one value for each of them. The zero value is all rows.
type Subset struct {
	n    int
	kept []int32
	left []bool // nil: all rows take part
}

// NewSubset leaves out the rows that are marked.
func NewSubset(left []bool) Subset {
	s := Subset{n: len(left), left: left}
	for i, out := range left {
		if !out {
			s.kept = append(s.kept, int32(i))
		}
	}
	if len(s.kept) == s.n {
		return Subset{}
	}
	return s
}

// All tells whether no row is left out.
func (s Subset) All() bool { return s.left == nil }

// Left tells whether a row is left out.
func (s Subset) Left(i int32) bool { return s.left != nil && s.left[i] }

// Size is how many of n rows take part.
func (s Subset) Size(n int) int {
	if s.All() {
		return n
	}
	return len(s.kept)
}

// Row is the number of a row that takes part among all rows.
func (s Subset) Row(at int) int {
	if s.All() {
		return at
	}
	return int(s.kept[at])
}

// Kept are the rows that take part, in ascending order; nil where all do.
func (s Subset) Kept() []int32 { return s.kept }

// Restrict makes an operator on all rows one on those that take part.
func (s Subset) Restrict(of eigen.Operator) eigen.Operator {
	if s.All() {
		return of
	}
	return restricted{s, of}
}

type restricted struct {
	Subset
	of eigen.Operator
}

func (r restricted) Rows() int { return len(r.kept) }

func (r restricted) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	products, err := r.of.Multiply(ctx, r.Expand(columns))
	if err != nil {
		return nil, err
	}
	for v, y := range products {
		for at, i := range r.kept {
			y[at] = y[i] // in place: at <= i
		}
		products[v] = y[:len(r.kept)]
	}
	return products, nil
}

// Expand makes vectors of the problem vectors of all rows, with 0 where a row is left out.
func (s Subset) Expand(vectors [][]float64) [][]float64 {
	if s.All() {
		return vectors
	}
	whole := make([][]float64, len(vectors))
	for v := range vectors {
		whole[v] = make([]float64, s.n)
		for at, i := range s.kept {
			whole[v][i] = vectors[v][at]
		}
	}
	return whole
}

// Cluster is the function Cluster for the rows that take part, with at most as many clusters; all others get no label, -1.
// The values are those of all rows.
func (s Subset) Cluster(ctx context.Context, values []float64, columns int, spec clustering.Spec) (Clusters, error) {
	if s.All() {
		return Cluster(ctx, values, columns, spec)
	}
	labels := clustering.Unassigned(s.n)
	if len(s.kept) == 0 {
		return Clusters{Labels: labels}, nil
	}
	rows := make([]float64, 0, len(s.kept)*columns)
	for _, i := range s.kept {
		rows = append(rows, values[int(i)*columns:(int(i)+1)*columns]...)
	}
	spec.K = min(spec.K, len(s.kept))
	found, err := Cluster(ctx, rows, columns, spec)
	for at, c := range found.Labels {
		labels[s.kept[at]] = c
	}
	return Clusters{labels, clustering.LabelingsAmong(s.n, s.kept, found.Runs)}, err
}
