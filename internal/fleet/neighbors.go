package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/check"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// Neighbors finds the task.Need.Neighbors.Count nearest neighbors of every row of a data set, like
// neighbor.Search.All but on the workers. Workers search a tile when they build it, so the status of the task shows
// the progress. For a kernel matrix, task.Diagonal must be set. Neighbors also returns what the search used, or nil if it
// ended before it held anything.
func (f *Fleet) Neighbors(ctx context.Context, task Task) ([]int32, *Usage, error) {
	need := task.Need.Neighbors
	if need == nil || need.Given != (task.Diagonal != nil) {
		return nil, nil, errors.New("fleet: a search for neighbors that is not described")
	}
	search := &neighborSearch{rows: need.Rows, count: need.Count}
	e := f.newExecution(task, search)
	search.diagonal = jobPayload(e, wire.PackFloat64s, task.Diagonal)
	if err := e.start(ctx); err != nil {
		return nil, nil, err
	}
	defer e.Release()
	found, err := e.neighbors(ctx, need.Count)
	return found, e.Usage(), err
}

// neighborSearch is the family of searches for neighbors.
type neighborSearch struct {
	noOperands
	rows, count int
	diagonal    *payload
}

func (n *neighborSearch) describe(p *workerv1.Prepare) {
	p.What = &workerv1.Prepare_Neighbors{Neighbors: &workerv1.NeighborSpec{
		Rows: uint64(n.rows), Count: uint32(n.count), Diagonal: n.diagonal.message(),
	}}
}

func (n *neighborSearch) changeBytes() int { return 0 }

// neighbors collects what the tiles have found. Workers say themselves which rows a tile has, because that follows
// from the data set.
func (e *execution) neighbors(ctx context.Context, count int) ([]int32, error) {
	all, tileOf := make([]int32, e.rows*count), slices.Repeat([]int32{noTile}, e.rows)
	answered := make([]*session, len(e.placed.tiles))
	var disputed *rowDispute // the first
	unpack := func(answer *reply, tiles []int) ([]int32, error) {
		found, err := wire.UnpackInt32s(answer.values)
		if err == nil && len(found) != e.rowsOf(tiles)*(1+count) {
			err = fmt.Errorf("%d values for %d rows, with %d neighbors each", len(found), e.rowsOf(tiles), count)
		}
		if err == nil {
			err = check.Neighbors(found, 1+count, e.rows)
		}
		return found, err
	}
	op := &operation{
		name:     "neighbors",
		maxBytes: e.perRowBytes(4 * (1 + count)),
		request:  always(&workerv1.Command{Operation: &workerv1.Command_Neighbors{Neighbors: &workerv1.Neighbors{}}}),
		merge: func(tiles []int, answer *reply) error {
			found, err := unpack(answer, tiles)
			if err != nil {
				return err
			}
			for _, t := range tiles {
				answered[t] = answer.from
				size := partition.Tile(e.rows, t).Len() * (1 + count)
				for row := range slices.Chunk(found[:size], 1+count) {
					if before := tileOf[row[0]]; before == noTile {
						tileOf[row[0]] = int32(t)
						copy(all[int(row[0])*count:], row[1:])
					} else if disputed == nil {
						about := fmt.Sprintf("row %d, which both say is in a tile of theirs", row[0])
						disputed = &rowDispute{row[0], dispute{about: about, tile: t, first: answered[before], second: answer.from}}
					}
				}
				found = found[size:]
			}
			return nil
		},
	}
	err := e.perform(ctx, op)
	if err == nil && disputed != nil {
		err = e.settle(ctx, op, disputed, unpack)
	}
	return all, err
}

// noTile stands for the tile of a row that is in none yet.
const noTile = -1

// rowDispute is about a row that two workers say is in a tile of theirs.
type rowDispute struct {
	row int32
	dispute
}

// settle excludes one of two workers from the run, which must start over: a third one, or the coordinator, says whether
// the row is in the tile of the second.
func (e *execution) settle(ctx context.Context, op *operation, d *rowDispute, unpack func(*reply, []int) ([]int32, error)) error {
	e.operating <- struct{}{}
	defer func() { <-e.operating }()
	wrong := d.second
	if d.first != d.second {
		answer, err := e.decide(ctx, op, &d.dispute)
		if err != nil {
			return err
		}
		found, err := unpack(answer, []int{d.tile})
		if err != nil {
			return d.undecided(op, thirdDisagrees)
		}
		for row := range slices.Chunk(found, len(found)/partition.Tile(e.rows, d.tile).Len()) {
			if row[0] == d.row {
				wrong = d.first
			}
		}
	}
	e.fleet.mu.Lock()
	e.distrustLocked(wrong, fault.New(fault.Internal, workerWrong, "worker %q gave an answer to %q that cannot be right: row %d is in another tile",
		wrong.name, op.name, d.row))
	e.fleet.mu.Unlock()
	return e.fleet.CheckTrust(e.blame.trust)
}
