// Package neighbor finds exact nearest neighbors and builds neighbor graphs.
//
// Neighbors are ordered by distance, then by row number, so there is exactly one answer. Distances are computed by a
// fixed sequence of roundings, and rows are skipped only if a bound that is rounded in the same way proves that they
// are farther. The answer therefore has the same bits on every machine, for any number of threads, and for any grouping
// of rows into requests.
//
// The distance depends on the data:
//
//   - points: the squared Euclidean distance, sum over f of (x_f - y_f)², fused in feature order.
//   - sparse points: the cosine x.y / (|x| |y|), largest first. Rows whose cosine is not positive share nothing
//     and are not neighbors; a row of zeros has none.
//   - kernel matrices: the squared distance k_ii - 2 k_ij + k_jj in the space of the kernel.
//
// A row is not its own neighbor. Equal rows are neighbors of each other.
package neighbor

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// None fills the places of neighbors that a row does not have.
const None int32 = -1

// Search finds neighbors among the rows of a data set. It is safe for concurrent use.
type Search struct {
	n    int
	kind searchKind
}

// searchKind finds neighbors in one kind of data.
type searchKind interface {
	// ofRows finds count neighbors for each of the given rows of the data set itself.
	ofRows(ctx context.Context, out, rows []int32, count, threads int) error
	// ofQueries finds count neighbors for each row of another data set.
	ofQueries(ctx context.Context, out []int32, queries dataset.Dataset, count, threads int) error
}

// NewSearch returns a search among the rows of points, sparse points or a kernel matrix. It keeps a reference to the
// data.
func NewSearch(data dataset.Dataset) (*Search, error) {
	switch data := data.(type) {
	case *dataset.Points:
		return &Search{data.N, newPointSearch(data)}, nil
	case *dataset.SparsePoints:
		return &Search{data.N, newSparseSearch(data)}, nil
	case *dataset.Kernel:
		return NewKernelSearch(KernelDiagonal(data), kernel.GivenRows(data)), nil
	}
	return nil, invalid.New(invalid.NoNeighborsOf, "kind", data.Kind())
}

// Rows returns the nearest neighbors of the given rows, nearest first: Count(n, count) for each row, one row after the
// other. Missing neighbors are None.
func (s *Search) Rows(ctx context.Context, rows []int32, count, threads int) ([]int32, error) {
	for _, i := range rows {
		if i < 0 || int(i) >= s.n {
			return nil, fmt.Errorf("neighbor: row %d is out of range [0, %d)", i, s.n)
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

// Order returns all rows, with rows that are near each other placed together if the search knows that. Querying rows
// that are consecutive in this order is faster. The slice must not be changed.
func (s *Search) Order() []int32 {
	if points, ok := s.kind.(*pointSearch); ok {
		return points.order
	}
	return choose.All[int32](s.n)
}

// All returns the nearest neighbors of every row, laid out as by Rows.
func (s *Search) All(ctx context.Context, count, threads int) ([]int32, error) {
	return s.Rows(ctx, choose.All[int32](s.n), count, threads)
}

// Of returns, for every row of another data set of the same kind, the nearest rows of this one: min(count, n) for each.
func (s *Search) Of(ctx context.Context, queries dataset.Dataset, count, threads int) ([]int32, error) {
	if err := checkCount(count); err != nil {
		return nil, err
	}
	count = min(count, s.n)
	out := make([]int32, queries.Rows()*count)
	if count == 0 {
		return out, nil
	}
	return out, s.kind.ofQueries(ctx, out, queries, count, max(1, threads))
}

// Count returns how many neighbors a search among n rows returns per row when count are requested.
func Count(n, count int) int { return min(count, n-1) }

func checkCount(count int) error {
	if count < 0 {
		return invalid.New(invalid.NegativeNeighbors, "count", count)
	}
	return nil
}
