package embedding

import (
	"context"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
)

// matrix is a small dense matrix, row by row.
type matrix [][]float64

func (m matrix) Rows() int { return len(m) }

func (m matrix) Multiply(_ context.Context, x [][]float64) ([][]float64, error) {
	products := make([][]float64, len(x))
	for v := range x {
		for _, row := range m {
			sum := 0.0
			for j, a := range row {
				sum += a * x[v][j]
			}
			products[v] = append(products[v], sum)
		}
	}
	return products, nil
}

func TestSubset(t *testing.T) {
	s := NewSubset([]bool{true, false, true, false})
	if s.All() || s.Size(4) != 2 || s.Row(1) != 3 || !s.Left(2) || s.Left(3) {
		t.Errorf("subset %+v", s)
	}
	op := s.Restrict(matrix{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}})
	products, err := op.Multiply(t.Context(), [][]float64{{1, 10}})
	if err != nil || op.Rows() != 2 || !slices.Equal(products[0], []float64{86, 174}) {
		t.Errorf("a product of %d rows is %v, %v", op.Rows(), products, err)
	}
	if whole := s.Expand(products); !slices.Equal(whole[0], []float64{0, 86, 0, 174}) {
		t.Errorf("expanded %v", whole)
	}
	for _, k := range []int{2, 3} {
		found, err := s.Cluster(t.Context(), []float64{7, 1, 7, 2}, 1, clustering.Spec{K: k})
		labels := found.Labels
		if err != nil || labels[0] != -1 || labels[2] != -1 || labels[1]+labels[3] != 1 {
			t.Errorf("k = %d: labels %v, %v", k, labels, err)
		}
	}
	none := NewSubset([]bool{true, true})
	if found, err := none.Cluster(t.Context(), []float64{1, 2}, 1, clustering.Spec{K: 1}); err != nil ||
		!slices.Equal(found.Labels, []int32{-1, -1}) {
		t.Errorf("none: %v, %v", found.Labels, err)
	}
	if all := NewSubset(make([]bool, 3)); !all.All() || all.Size(3) != 3 || all.Row(2) != 2 || all.Left(1) {
		t.Errorf("all: %+v", all)
	}
}
