// Package neighbor finds nearest neighbors, exactly, and makes the graph of them.
//
// Neighbors are ordered by distance, then by row number, so that there is one answer. Distances are computed by a
// fixed sequence of roundings, and rows are passed over only where a bound that is rounded in the same way proves
// that they are farther: the answer has the same bits on every machine, for any number of threads, and whether the
// rows are asked for together or one by one.
//
// What is near depends on the data:
//
//   - points: the least squared Euclidean distance, sum over f of (x_f - y_f)², fused in feature order.
//   - sparse points: the largest cosine x.y / (|x| |y|). Rows whose cosine is not positive share nothing and are not
//     neighbors; a row of zeros has none.
//   - kernel matrices: the least squared distance k_ii - 2 k_ij + k_jj in the space of the kernel.
//
// A row is not its own neighbor. Rows that are equal are neighbors of each other.
package neighbor

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// None stands for a neighbor that a row does not have.
const None int32 = -1

// Search finds neighbors among the rows of a data set. It can be used by several callers at a time.
type Search struct {
	n    int
	kind searchKind
}

// searchKind finds neighbors in one kind of data.
type searchKind interface {
	// ofRows finds the neighbors of rows of the data set itself, count for each.
	ofRows(ctx context.Context, out, rows []int32, count, threads int) error
	// of finds the neighbors of rows of another data set.
	of(ctx context.Context, out []int32, queries dataset.Dataset, count, threads int) error
}

// NewSearch prepares the search among the rows of points, sparse points or a kernel matrix.
func NewSearch(data dataset.Dataset) (*Search, error) {
	switch data := data.(type) {
	case *dataset.Points:
		return &Search{data.N, newPointSearch(data)}, nil
	case *dataset.SparsePoints:
		return &Search{data.N, newSparseSearch(data)}, nil
	case *dataset.Kernel:
		return NewKernelSearch(KernelDiagonal(data), func(_ context.Context, from, to int) ([]float64, error) {
			return data.Values[from*data.N : to*data.N], nil
		}), nil
	}
	return nil, fault.Invalid("UNSUPPORTED_DATA", "neighbors are found among points or in a kernel matrix; a %s has edges instead", data.Kind())
}

// Rows finds the nearest neighbors of some rows, nearest first: count of them for each row, one row after the other.
// With fewer than count other rows there are as many as there are (see Count), and None where a row has fewer.
func (s *Search) Rows(ctx context.Context, rows []int32, count, threads int) ([]int32, error) {
	for _, i := range rows {
		if i < 0 || int(i) >= s.n {
			return nil, fmt.Errorf("neighbor: row %d of %d", i, s.n)
		}
	}
	if err := checkCount(count); err != nil {
		return nil, err
	}
	count = Count(s.n, count)
	out := make([]int32, len(rows)*count)
	if count == 0 {
		return out, nil
	}
	return out, s.kind.ofRows(ctx, out, rows, count, max(1, threads))
}

// Order lists all rows, those that are near each other together where that is known. Rows that follow each other in it are
// found faster at a time than others.
func (s *Search) Order() []int32 {
	if points, ok := s.kind.(*pointSearch); ok {
		return points.order
	}
	rows := make([]int32, s.n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// All finds the nearest neighbors of every row.
func (s *Search) All(ctx context.Context, count, threads int) ([]int32, error) {
	rows := make([]int32, s.n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return s.Rows(ctx, rows, count, threads)
}

// Of finds, for every row of another data set of the same kind, the nearest rows of this one: min(count, n) for each.
func (s *Search) Of(ctx context.Context, queries dataset.Dataset, count, threads int) ([]int32, error) {
	if err := checkCount(count); err != nil {
		return nil, err
	}
	count = min(count, s.n)
	out := make([]int32, queries.Rows()*count)
	if count == 0 {
		return out, nil
	}
	return out, s.kind.of(ctx, out, queries, count, max(1, threads))
}

// Count is how many neighbors a row is given among n rows when count are asked for.
func Count(n, count int) int { return min(count, n-1) }

func checkCount(count int) error {
	if count < 0 {
		return fault.Invalid("OUT_OF_RANGE", "%d neighbors were asked for; a row has 0 or more", count)
	}
	return nil
}

// forEach calls do for the pieces 0..count-1 on several threads, each with a workspace that no other piece is using.
func forEach[W any](ctx context.Context, threads, count int, workspace func() W, do func(w W, at int) error) error {
	threads = max(1, min(threads, count))
	free := make(chan W, threads)
	for range threads {
		free <- workspace()
	}
	return parallel.NewPool(threads).Run(ctx, threads, count, func(at int) error {
		w := <-free
		defer func() { free <- w }()
		return do(w, at)
	})
}
