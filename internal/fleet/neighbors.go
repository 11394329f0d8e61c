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
// the progress. For a kernel matrix, task.Diagonal must be set. Neighbors also returns what the search used, or nil if
// it ended before it held anything.
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
	rows, count int
	diagonal    *payload
}

func (n *neighborSearch) describe(p *workerv1.Prepare) {
	p.What = &workerv1.Prepare_Neighbors{Neighbors: &workerv1.NeighborSpec{
		Rows: uint64(n.rows), Count: uint32(n.count), Diagonal: n.diagonal.message(),
	}}
}

func (n *neighborSearch) changeBytes() int { return 0 }

// ensureOperands implements family. Workers need nothing besides tiles.
func (n *neighborSearch) ensureOperands(context.Context, *group) error { return nil }

// neighbors collects what the tiles have found. If two workers say that a row is in a tile of theirs, one of them is
// wrong, and nobody knows which: both are excluded, and others search their tiles.
func (e *execution) neighbors(ctx context.Context, count int) ([]int32, error) {
	for {
		answers := newNeighborAnswers(e, count)
		err := e.perform(ctx, &operation{
			name:     "neighbors",
			maxBytes: e.perRowBytes(4 * (1 + count)),
			request: always(
				&workerv1.Command{Operation: &workerv1.Command_Neighbors{Neighbors: &workerv1.Neighbors{}}}),
			merge: answers.merge,
		})
		if err != nil {
			return nil, err
		}
		if answers.claims == nil {
			return answers.all, nil
		}
		e.excludeClaimants(answers.claims)
	}
}

// noTile stands for the tile of a row that is in none yet.
const noTile = -1

// neighborAnswers collects the neighbors that workers answer. Workers say themselves which rows a tile has, because
// that follows from the data set.
type neighborAnswers struct {
	job      *execution
	count    int
	all      []int32    // of every row
	tileOf   []int32    // by row
	answered []*session // by tile: who has answered
	claims   *rowClaims // the first row that is in two tiles; nil if there is none
}

// rowClaims is a row that two answers say is in a tile of theirs.
type rowClaims struct {
	row int32
	by  [2]*session
}

func newNeighborAnswers(e *execution, count int) *neighborAnswers {
	return &neighborAnswers{
		job: e, count: count,
		all:      make([]int32, e.rows*count),
		tileOf:   slices.Repeat([]int32{noTile}, e.rows),
		answered: make([]*session, len(e.placed.tiles)),
	}
}

// merge adds the answer for some tiles.
func (a *neighborAnswers) merge(tiles []int, answer *reply) error {
	width := 1 + a.count
	values, err := wire.UnpackInt32s(answer.values)
	if err != nil {
		return err
	}
	if len(values) != a.job.rowsOf(tiles)*width {
		return fmt.Errorf("%d values for %d rows, with %d neighbors each", len(values), a.job.rowsOf(tiles), a.count)
	}
	if err := check.Neighbors(values, width, a.job.rows); err != nil {
		return err
	}
	for _, t := range tiles {
		a.answered[t] = answer.from
		size := partition.Tile(a.job.rows, t).Len() * width
		for row := range slices.Chunk(values[:size], width) {
			a.add(t, row)
		}
		values = values[size:]
	}
	return nil
}

// add adds a row of a tile, which begins with its number.
func (a *neighborAnswers) add(t int, row []int32) {
	number := row[0]
	before := a.tileOf[number]
	if before == noTile {
		a.tileOf[number] = int32(t)
		copy(a.all[int(number)*a.count:], row[1:])
		return
	}
	if a.claims == nil {
		a.claims = &rowClaims{number, [2]*session{a.answered[before], a.answered[t]}}
	}
}

// excludeClaimants excludes the workers that claim the same row from the job.
func (e *execution) excludeClaimants(claims *rowClaims) {
	e.operating <- struct{}{}
	defer func() { <-e.operating }()
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	for _, s := range claims.by {
		e.excludeWrongLocked(s, fault.New(fault.Internal, workerWrong,
			"workers %q and %q both say that row %d is in a tile of theirs, and one of them must be wrong",
			claims.by[0].name, claims.by[1].name, claims.row))
	}
}
