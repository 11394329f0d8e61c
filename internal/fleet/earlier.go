package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// This file is about workers of v0.1.0, and v0.3.0 deletes it (see wire.WorkerProtocolMinor). They ignore the fields of
// requests that they do not know. What they answer is brought into the form that other workers answer, so that both are
// compared and merged alike.

// compact reports whether the worker knows the operations and small forms of messages that came after v0.1.0.
func (s *session) compact() bool { return s.minor >= 2 }

// allCompact reports whether all workers that may get tiles know them.
func (f *Fleet) allCompact() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sessions {
		if !s.compact() {
			return false
		}
	}
	return true
}

// errEarlier is the error of an operation that a worker of v0.1.0 does not know.
var errEarlier = errors.New("fleet: a worker of an earlier release does not know the operation")

// packMoves packs moves within lanes of k clusters for a worker.
func (s *session) packMoves(moves []labeling.Move, k int) []byte {
	if s.compact() {
		return wire.PackMoves(moves, k)
	}
	return wire.PackMoveTriples(moves)
}

// update returns the command to a worker to apply moves, as packMoves packs them, to the labels of a step.
func (s *session) update(step uint64, moves *payload) *workerv1.Command_Update {
	if s.compact() {
		return &workerv1.Command_Update{Update: &workerv1.Update{Step: step, PackedMoves: moves.message()}}
	}
	return &workerv1.Command_Update{Update: &workerv1.Update{Step: step, Moves: moves.message()}}
}

// packLargest reduces lists of gains, which workers of v0.1.0 answer for all rows, to the largest ones.
func (e *Executor) packLargest(lists, most int) decodeFunc {
	return func(answer *reply, tiles []int) error {
		all, err := wire.UnpackFloat64s(answer.values)
		if rows := e.rowsOf(tiles); err == nil && len(all) != lists*rows {
			err = fmt.Errorf("%d gains of %d rows", len(all), rows)
		} else if err == nil {
			answer.values = wire.PackLargest(slices.Collect(slices.Chunk(all, rows)), most)
		}
		return err
	}
}

// dropRepeated reduces the blocks that workers of v0.1.0 answer to each pair once.
func (e *Executor) dropRepeated(blocks []kernel.Block) decodeFunc {
	return func(answer *reply, tiles []int) error {
		all, err := wire.UnpackFloat64s(answer.values)
		if err != nil {
			return err
		}
		var kept []float64
		ranges := partition.TileRanges(e.rows, tiles)
		for _, b := range blocks {
			size := 0
			for _, rows := range ranges {
				from, to := b.Within(rows)
				size += (to - from) * b.Width(e.k)
			}
			if size > len(all) {
				return fmt.Errorf("%d values of blocks are missing", size-len(all))
			}
			kept = append(kept, b.DropRepeated(all[:size], e.k, ranges)...)
			all = all[size:]
		}
		if len(all) > 0 {
			return fmt.Errorf("%d values more than the blocks have", len(all))
		}
		answer.values = wire.PackFloat64s(kept)
		return nil
	}
}

// dropUnmovedLanes reduces the changes that workers of v0.1.0 answer to the lanes in which points of the tiles moved.
// They get all moves, and answer for the lanes in which any point moved.
func (e *KMeansExecutor) dropUnmovedLanes(moves []labeling.Move) decodeFunc {
	return func(answer *reply, tiles []int) error {
		all, moved := vector.MovedLanes(e.k, moves), vector.MovedLanes(e.k, e.movesOf(tiles, moves))
		size := 8 * e.k * e.spec.Width()
		if len(answer.values) != len(all)*size {
			return errors.New("changes of the wrong number of lanes")
		}
		var kept []byte
		for at, lane := range all {
			changes := answer.values[at*size : (at+1)*size]
			switch {
			case slices.Contains(moved, lane):
				kept = append(kept, changes...)
			case slices.ContainsFunc(changes, func(b byte) bool { return b != 0 }):
				return errors.New("changes of a lane in which no point moved")
			}
		}
		answer.values = kept
		return nil
	}
}

// stepInParts makes a step by the operations that it consists of, because workers of v0.1.0 do not know steps.
func (e *KMeansExecutor) stepInParts(ctx context.Context, queries []vector.Query) (*kmeans.Step, error) {
	totals := slices.Clone(queries)
	for q := range totals {
		totals[q].Kind, totals[q].Points = vector.Total, nil
	}
	before, err := e.scatter(ctx, totals)
	if err != nil {
		return nil, err
	}
	moves, err := e.Assign(ctx, queries)
	if err != nil {
		return nil, err
	}
	after := before
	if moves = vector.SortedMoves(e.k, moves); len(moves) > 0 {
		if err := e.Update(ctx, moves); err != nil {
			return nil, err
		}
		if after, err = e.scatter(ctx, totals); err != nil {
			return nil, err
		}
	}
	return &kmeans.Step{Moves: moves, Before: slices.Concat(before...), After: slices.Concat(after...)}, nil
}
