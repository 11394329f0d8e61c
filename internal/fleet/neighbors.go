package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/check"
	"github.com/cleave-project/cleave/internal/wire"
)

// Neighbors finds the task.Need.Neighbors.Count nearest neighbors of every row of a data set, like
// neighbor.Search.All but on the workers. Workers search a tile when they build it, so the status of the task shows
// the progress. For a kernel matrix, task.Diagonal must be set. Neighbors also returns what the search used.
func (f *Fleet) Neighbors(ctx context.Context, task Task) ([]int32, Usage, error) {
	need := task.Need.Neighbors
	if need == nil || need.Given != (task.Diagonal != nil) {
		return nil, Usage{}, errors.New("fleet: a search for neighbors that is not described")
	}
	e := f.newExecution(task)
	diagonal := keep(e, wire.PackFloat64s, task.Diagonal)
	e.describe = func(p *workerv1.Prepare) {
		p.What = &workerv1.Prepare_Neighbors{Neighbors: &workerv1.NeighborSpec{
			Rows: uint64(need.Rows), Count: uint32(need.Count), Diagonal: diagonal.message(),
		}}
	}
	if err := e.start(ctx); err != nil {
		return nil, Usage{}, err
	}
	defer e.Release()
	found, err := e.neighbors(ctx, need.Count)
	return found, e.Usage(), err
}

// neighbors collects what the tiles have found.
func (e *execution) neighbors(ctx context.Context, count int) ([]int32, error) {
	all, seen := make([]int32, e.rows*count), make([]bool, e.rows)
	err := e.perform(ctx, &operation{
		name:     "neighbors",
		maxBytes: e.perRowBytes(4 * (1 + count)),
		request:  always(&workerv1.Command{Operation: &workerv1.Command_Neighbors{Neighbors: &workerv1.Neighbors{}}}),
		merge: func(tiles []int, answer *reply) error {
			found, err := wire.UnpackInt32s(answer.values)
			if err != nil {
				return err
			}
			if len(found) != e.rowsOf(tiles)*(1+count) {
				return fmt.Errorf("%d values for %d rows, with %d neighbors each", len(found), e.rowsOf(tiles), count)
			}
			if err := check.Neighbors(found, 1+count, seen); err != nil {
				return err
			}
			for row := range slices.Chunk(found, 1+count) {
				seen[row[0]] = true
				copy(all[int(row[0])*count:], row[1:])
			}
			return nil
		},
	})
	if err == nil && slices.Contains(seen, false) {
		err = fault.New(fault.Internal, workerFailed, "no worker found the neighbors of row %d", slices.Index(seen, false))
	}
	return all, err
}
