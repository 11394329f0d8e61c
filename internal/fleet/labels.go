package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fleet/check"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// decodeFunc unpacks the answer of a worker for merge.
type decodeFunc func(answer *reply) error

// mergeFunc adds the answer of some tiles to the result of an operation. It is called exactly once for each tile.
type mergeFunc func(tiles []int, answer *reply) error

// load sets all labels. It copies them.
func (e *execution) load(ctx context.Context, labels []int32, merge mergeFunc) error {
	if e.current.k == 0 {
		return errors.New("fleet: load before operands were set")
	}
	if err := e.shape().CheckLabels(labels); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	kept := slices.Clone(labels)
	labeled := 0
	for _, c := range labels {
		if c >= 0 {
			labeled++
		}
	}
	packed := e.newPayload(func() []byte { return wire.PackInt32s(kept) })
	defer packed.free()
	op := &operation{
		name:        "load",
		wholeMatrix: kernel.FullSweepIsCheaper(e.rows, labeled),
		merge:       merge,
		reload:      &reload{labels: packed, step: e.current.step + 1, all: true, answers: true},
	}
	err := e.current.advance(func() error { return e.perform(ctx, op) })
	if err == nil {
		e.current.labels = kept
	}
	e.invalidateHandovers()
	return err
}

// update moves points. It applies the moves to the labels first, because a tile that has to be rebuilt during the
// update is loaded with the labels after the moves. After an error it restores the labels. A tile at the current step
// receives only the moves. Any other tile receives all labels, and also the moves if the answer consists of what they
// change.
func (e *execution) update(ctx context.Context, moves []labeling.Move, merge mergeFunc) error {
	if e.current.labels == nil {
		return errors.New("fleet: update before load")
	}
	if err := e.shape().Apply(e.current.labels, moves); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	packed := e.newPayload(func() []byte { return wire.PackInt32s(e.current.labels) })
	defer packed.free()
	all := e.newPayload(func() []byte { return wire.PackMoves(moves, e.current.k) })
	var mu sync.Mutex // guards sent
	sent := []*payload{all}
	defer func() {
		for _, p := range sent {
			p.free()
		}
	}()
	step := e.current.step
	op := &operation{
		name:        "update",
		wholeMatrix: kernel.FullSweepIsCheaper(e.rows, len(moves)), // reads nearly every column
		maxBytes:    func([]int) int { return e.family.changeBytes() },
		merge:       merge,
		reload:      &reload{labels: packed, step: step + 1, unless: step, answers: !e.answersChanges()},
		resultStep:  step + 1,
		request: func(c *workerv1.Command, _ *group, tiles []int) {
			own := all // the rows of a matrix have an entry for every point, so its tiles need all moves
			if e.answersChanges() {
				own = e.newPayload(func() []byte { return wire.PackMoves(e.movesOf(tiles, moves), e.current.k) })
				mu.Lock()
				sent = append(sent, own)
				mu.Unlock()
			}
			c.Operation = updateCommand(step, own).Operation
		},
	}
	err := e.current.advance(func() error { return e.perform(ctx, op) })
	if err != nil {
		e.shape().Undo(e.current.labels, moves)
		e.invalidateHandovers()
		return err
	}
	e.followMoves(step, moves)
	return nil
}

// advance takes all tiles to the next step by an operation. After an error only some of them are at that step. Its
// number is then skipped, so that the others are not mistaken for them.
func (l *labelState) advance(operation func() error) error {
	err := operation()
	l.step++
	if err != nil {
		l.step++
	}
	return err
}

// shape returns which labels the job allows.
func (e *execution) shape() labeling.Shape {
	return labeling.Shape{Points: e.rows, Clusters: e.current.k, Lanes: e.current.lanes}
}

// atStep runs an operation that needs the sums of the current labels.
func (e *execution) atStep(ctx context.Context, op *operation) error {
	if e.current.labels == nil {
		return fmt.Errorf("fleet: %s before load", op.name)
	}
	labels := e.newPayload(func() []byte { return wire.PackInt32s(e.current.labels) })
	defer labels.free()
	op.reload = &reload{labels: labels, step: e.current.step, unless: e.current.step}
	e.followLabels()
	return e.perform(ctx, op)
}

// assign completes and runs an operation that answers with moves in the given lanes, and returns them in tile order.
func (e *execution) assign(ctx context.Context, lanes []int, op *operation) ([]labeling.Move, error) {
	byTile := make([][]labeling.Move, len(e.placed.tiles))
	op.name = "assign"
	op.maxBytes = e.perRowBytes(12 * len(lanes))
	op.decode = unpackMoves
	op.merge = func(tiles []int, answer *reply) error {
		return e.split(tiles, answer.moves, lanes, byTile)
	}
	if err := e.atStep(ctx, op); err != nil {
		return nil, err
	}
	return slices.Concat(byTile...), nil
}

// split distributes moves, which are ordered by tile, to their tiles.
func (e *execution) split(tiles []int, moves []labeling.Move, lanes []int, byTile [][]labeling.Move) error {
	for _, t := range tiles {
		end := 0
		rows := partition.Tile(e.rows, t)
		for end < len(moves) && int(moves[end].Point) < rows.To {
			if int(moves[end].Point) < rows.From {
				return fmt.Errorf("a move of point %d out of order", moves[end].Point)
			}
			end++
		}
		if err := check.Moves(e.shape(), e.current.labels, moves[:end], lanes); err != nil {
			return err
		}
		byTile[t], moves = moves[:end], moves[end:]
	}
	if len(moves) > 0 {
		return fmt.Errorf("a move of point %d, which is in none of the tiles", moves[0].Point)
	}
	return nil
}

// farthest completes and runs an operation that answers with one candidate for each of the given lanes.
func (e *execution) farthest(ctx context.Context, lanes []int, op *operation) ([]labeling.Candidate, error) {
	best := make([]labeling.Candidate, len(lanes))
	op.name = "farthest"
	op.merge = func(tiles []int, answer *reply) error {
		candidates, err := wire.CandidatesFromProto(answer.farthest)
		if err == nil {
			err = check.Candidates(e.shape(), e.current.labels, tiles, candidates, lanes)
		}
		if err != nil {
			return err
		}
		for i, c := range candidates {
			best[i] = best[i].Farther(c)
		}
		return nil
	}
	return best, e.atStep(ctx, op)
}

// movesOf returns the moves of the points of some tiles, in the same order. moves must be sorted by lane, then by
// point. Every worker has its own, so this must not read all moves.
func (e *execution) movesOf(tiles []int, moves []labeling.Move) []labeling.Move {
	ascending := slices.Sorted(slices.Values(tiles))
	shape := e.shape()
	var parts [][]labeling.Move
	for len(moves) > 0 {
		next := shape.Lane(moves[0]) + 1
		end, _ := slices.BinarySearchFunc(moves, next, func(m labeling.Move, next int) int {
			return cmp.Compare(shape.Lane(m), next)
		})
		for _, t := range ascending {
			parts = append(parts, movesWithin(moves[:end], partition.Tile(e.rows, t)))
		}
		moves = moves[end:]
	}
	return slices.Concat(parts...)
}

// movesWithin returns the moves of points in a range of rows. moves must be in ascending order.
func movesWithin(moves []labeling.Move, rows partition.Range) []labeling.Move {
	at := func(row int) int {
		i, _ := slices.BinarySearchFunc(moves, row, func(m labeling.Move, row int) int {
			return cmp.Compare(int(m.Point), row)
		})
		return i
	}
	return moves[at(rows.From):at(rows.To)]
}

// unpackMoves unpacks the moves that a worker answers.
func unpackMoves(answer *reply) (err error) {
	answer.moves, err = wire.UnpackMoves(answer.values)
	answer.values = nil
	return err
}

// loadCommand returns the command to compute the sums of the labels of a step.
func loadCommand(step uint64, labels *payload) *workerv1.Command {
	return &workerv1.Command{Operation: &workerv1.Command_Load{
		Load: &workerv1.Load{Step: step, Labels: labels.message()}}}
}

// updateCommand returns the command to apply moves to the labels of a step.
func updateCommand(step uint64, moves *payload) *workerv1.Command {
	return &workerv1.Command{Operation: &workerv1.Command_Update{
		Update: &workerv1.Update{Step: step, PackedMoves: moves.message()}}}
}
