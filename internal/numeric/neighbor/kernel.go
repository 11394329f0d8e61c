package neighbor

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/parallel"
)

// kernelSearch finds neighbors in a kernel matrix, reading its rows on demand.
type kernelSearch struct {
	diagonal []float64
	rows     kernel.RowFetcher
}

// KernelDiagonal returns the diagonal of a kernel matrix.
func KernelDiagonal(k *dataset.Kernel) []float64 {
	diagonal := make([]float64, k.N)
	for i := range diagonal {
		diagonal[i] = k.Row(i)[i]
	}
	return diagonal
}

// NewKernelSearch returns a search in the kernel matrix with the given diagonal. It fetches rows on demand,
// consecutive rows of one request in one call.
func NewKernelSearch(diagonal []float64, rows kernel.RowFetcher) *Search {
	return &Search{len(diagonal), &kernelSearch{diagonal, rows}}
}

// ofRows fetches runs of consecutive rows together.
func (s *kernelSearch) ofRows(ctx context.Context, out, rows []int32, count, threads int) error {
	for len(rows) > 0 {
		run := 1
		for run < len(rows) && rows[run] == rows[0]+int32(run) {
			run++
		}
		if err := s.ofRun(ctx, out[:run*count], int(rows[0]), run, count, threads); err != nil {
			return err
		}
		out, rows = out[run*count:], rows[run:]
	}
	return nil
}

// ofRun finds the neighbors of run consecutive rows, starting at from.
func (s *kernelSearch) ofRun(ctx context.Context, out []int32, from, run, count, threads int) error {
	n := len(s.diagonal)
	values, err := s.rows(ctx, from, from+run)
	if err != nil {
		return err
	}
	if len(values) != run*n {
		return fmt.Errorf("neighbor: %d rows of the kernel matrix have %d values, want %d", run, len(values), run*n)
	}
	var lists parallel.Workspaces[nearest]
	return parallel.Run(ctx, threads, run, func(at int) error {
		l := lists.Borrow()
		l.reset(count)
		own := from + at
		for j, v := range values[at*n : (at+1)*n] {
			// Half of the squared distance stays in the range of float64 where the whole might not.
			// exact, fused or not
			if distance := (s.diagonal[own]/2 + s.diagonal[j]/2) - v; j != own && distance <= l.limit() {
				l.add(distance, int32(j))
			}
		}
		l.write(out[at*count : (at+1)*count])
		lists.GiveBack(l)
		return nil
	})
}

func (s *kernelSearch) ofQueries(context.Context, []int32, dataset.Dataset, int, int) error {
	return invalid.New(invalid.NewRowsForKernel)
}
