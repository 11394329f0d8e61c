package embedding

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// Subset is the set of rows, out of n, that are included in an eigenproblem. Vectors of the problem have one value for
// each of them. The zero value includes all rows.
type Subset struct {
	n    int
	kept []int32
	left []bool // nil if all rows are included
}

// NewSubset leaves out the marked rows.
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

// All reports whether no row is left out.
func (s Subset) All() bool { return s.left == nil }

// Left reports whether a row is left out.
func (s Subset) Left(i int32) bool { return s.left != nil && s.left[i] }

// Size returns how many of n rows are included.
func (s Subset) Size(n int) int {
	if s.All() {
		return n
	}
	return len(s.kept)
}

// Row returns the row of an index of the subset.
func (s Subset) Row(at int) int {
	if s.All() {
		return at
	}
	return int(s.kept[at])
}

// Kept returns the included rows, ascending, or nil if all are.
func (s Subset) Kept() []int32 { return s.kept }

// Restrict restricts an operator to the included rows.
func (s Subset) Restrict(operator eigen.Operator) eigen.Operator {
	if s.All() {
		return operator
	}
	return restricted{s, operator}
}

// restricted is an operator on the kept rows only: it multiplies vectors that are 0 in the other rows, and leaves
// those out of the product.
type restricted struct {
	Subset
	operator eigen.Operator
}

func (r restricted) Rows() int { return len(r.kept) }

func (r restricted) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	products, err := r.operator.Multiply(ctx, r.Expand(columns))
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

// Expand extends vectors of the problem to all rows, with 0 for rows that are left out.
func (s Subset) Expand(vectors [][]float64) [][]float64 {
	if s.All() {
		return vectors
	}
	whole := eigen.Columns(s.n, len(vectors))
	for v := range vectors {
		for at, i := range s.kept {
			whole[v][i] = vectors[v][at]
		}
	}
	return whole
}

// Cluster is like the function cluster for the included rows, with at most as many clusters. All other rows get the
// label -1. values covers all rows.
func (s Subset) Cluster(ctx context.Context, values []float64, columns int, spec clustering.Spec) (Clusters, error) {
	if s.All() {
		return cluster(ctx, values, columns, spec)
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
	found, err := cluster(ctx, rows, columns, spec)
	for at, c := range found.Labels {
		labels[s.kept[at]] = c
	}
	return Clusters{labels, clustering.LabelingsAmong(s.n, s.kept, found.Runs)}, err
}
