package fleet

import (
	"context"
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet/check"
	"github.com/cleave-project/cleave/internal/fleet/round"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// operation is one request to all tiles or to some of them. It does not change while it runs. maxBytes, request and
// decode are called by the goroutines of several workers at once, and merge by that of perform only, so that merge
// needs no lock.
type operation struct {
	name        string
	tiles       []int                 // nil means all
	maxBytes    func(tiles []int) int // upper limit on the answer's values in bytes; nil if they are sent inline
	possible    func(float64) bool    // whether a value per row is possible; nil means finite
	request     requestFunc           // nil if the operation only prepares, builds or reloads the tiles
	decode      decodeFunc            // nil if merge takes answers as they are
	merge       mergeFunc
	wholeMatrix bool    // reads nearly all entries of the matrix
	reload      *reload // gives tiles the sums that the request needs; nil if it needs none
	resultStep  uint64  // step of the tiles after the request; 0 leaves it unchanged
	valuesID    uint64  // the values of queries that workers remember after the request; 0 for none
}

// requestFunc sets the operation of a command to the worker of a group about some of the group's tiles.
type requestFunc func(c *workerv1.Command, g *group, tiles []int)

// always returns a request that is the same for all workers.
func always(command *workerv1.Command) requestFunc {
	return func(c *workerv1.Command, _ *group, _ []int) { c.Operation = command.Operation }
}

// reload is what gives a tile its sums: all labels, from which it computes them.
type reload struct {
	labels  *payload
	step    uint64 // of the labels
	unless  uint64 // tiles at this step already have the sums that the request needs, unless all is set
	all     bool   // all tiles are reloaded
	answers bool   // the answer to the reload is the answer of the operation
}

// perRow runs an operation that answers with one float64 per row.
func (e *execution) perRow(ctx context.Context, op *operation) ([]float64, error) {
	values, err := e.severalPerRow(ctx, 1, op)
	return values[0], err
}

// severalPerRow runs an operation that answers with several lists of one float64 per row.
func (e *execution) severalPerRow(ctx context.Context, lists int, op *operation) ([][]float64, error) {
	values, op := e.rowLists(lists, op)
	return values, e.perform(ctx, op)
}

// rowLists completes an operation that answers with several lists of one float64 per row. Answers are merged into the
// returned lists.
func (e *execution) rowLists(lists int, op *operation) ([][]float64, *operation) {
	values := make([][]float64, lists)
	for list := range values {
		values[list] = make([]float64, e.rows)
	}
	op.maxBytes = e.perRowBytes(8 * lists)
	possible := op.possible
	if possible == nil {
		possible = check.Finite
	}
	op.merge = func(tiles []int, answer *reply) error {
		if len(answer.values) != 8*lists*e.rowsOf(tiles) {
			return fmt.Errorf("%d bytes for %d lists of %d rows", len(answer.values), lists, e.rowsOf(tiles))
		}
		at := 0
		for list := range values {
			for _, t := range tiles {
				rows := partition.Tile(e.rows, t)
				if err := unpackPossible(values[list][rows.From:rows.To], answer.values[at:at+8*rows.Len()],
					possible); err != nil {
					return err
				}
				at += 8 * rows.Len()
			}
		}
		return nil
	}
	return values, op
}

// unpackPossible unpacks values and fails if possible rejects one of them.
func unpackPossible(values []float64, packed []byte, possible func(float64) bool) error {
	if err := wire.UnpackFloat64sInto(values, packed); err != nil {
		return err
	}
	for at, v := range values {
		if !possible(v) {
			return fmt.Errorf("%v as value %d", v, at)
		}
	}
	return nil
}

// perform runs an operation until there is exactly one answer for every tile. It works in rounds: each round places
// the tiles that have no answer yet, builds those that are not built, and sends the request. Tiles whose worker was
// lost, failed, or was not ready are left for the next round, where they may be on another worker. It fails if no
// worker is left that can do it.
func (e *execution) perform(ctx context.Context, op *operation) (err error) {
	e.operating <- struct{}{}
	defer func() { <-e.operating }()
	ctx, end := e.fleet.cfg.Observe.Operation(ctx, op.name)
	defer func() { end(err) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.released, func() { cancel(ErrReleased) })()

	tiles := op.tiles
	if tiles == nil {
		tiles = partition.AllTiles(e.rows)
	}
	e.pace.Begin(len(tiles) == len(e.placed.tiles))
	state := round.NewOperation(tiles)
	for betweenOps := true; !state.Done(); betweenOps = false {
		if err := e.ensurePlaced(ctx, betweenOps, betweenOps && op.wholeMatrix); err != nil {
			e.forgive()
			return err
		}
		groups := e.runGroups(ctx, e.groups(state.Pending()), op)
		if err := context.Cause(ctx); err != nil {
			return err
		}
		e.merge(groups, op, state)
		for _, g := range groups { // always in the same order, so that the error does not vary
			if err := e.handleFailure(g, op, state); err != nil {
				return err
			}
		}
	}
	e.fleet.mu.Lock()
	e.placed.ops++
	e.blame.forgiveCrashesLocked()
	e.fleet.mu.Unlock()
	e.ran.Store(true)
	return nil
}

// merge adds the answers of the groups to the result of the operation, and records which tiles have answered. A worker
// whose answer is impossible is excluded by handleFailure.
func (e *execution) merge(groups []*group, op *operation, state *round.Operation) {
	for _, g := range groups {
		for _, p := range g.parts {
			if p.reply != nil {
				if err := op.merge(p.tiles, p.reply); err != nil {
					g.err = &wrongAnswer{err}
					break
				}
			}
			state.Answered(p.tiles)
		}
	}
}

// perRowBytes returns a limit on an answer of a number of bytes per row.
func (e *execution) perRowBytes(bytes int) func(tiles []int) int {
	return func(tiles []int) int { return bytes * e.rowsOf(tiles) }
}

func (e *execution) rowsOf(tiles []int) int {
	rows := 0
	for _, t := range tiles {
		rows += partition.Tile(e.rows, t).Len()
	}
	return rows
}
