package fleet

import (
	"context"
	"errors"
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// mergeFunc adds the answer of some tiles to the result. Each tile is merged exactly once.
type mergeFunc func(tiles []int, answer *reply) error

// load sets all labels.
func (j *job) load(ctx context.Context, labels []int32, merge mergeFunc) error {
	if err := j.checkLabels(labels); err != nil {
		return err
	}
	kept := append([]int32(nil), labels...)
	err := j.advance(ctx, "load", kept, nil, merge)
	if err == nil {
		j.labels = kept
	}
	return err
}

// update moves points. It applies the moves to the labels first, because a tile that must be rebuilt
// during the update is loaded with the labels after the moves.
func (j *job) update(ctx context.Context, moves []kernel.Move, merge mergeFunc) error {
	if j.labels == nil {
		return errors.New("fleet: update before load")
	}
	for at, m := range moves {
		label := j.label(m)
		if label == nil || *label != m.From {
			j.undo(moves[:at])
			return fmt.Errorf("fleet: move %d of point %d from cluster %d to %d does not fit its label", at, m.Point, m.From, m.To)
		}
		*label = m.To
	}
	err := j.advance(ctx, "update", j.labels, moves, merge)
	if err != nil {
		j.undo(moves)
	}
	return err
}

func (j *job) undo(moves []kernel.Move) {
	for at := len(moves) - 1; at >= 0; at-- {
		*j.label(moves[at]) = moves[at].From
	}
}

// label points to the label that a move changes; nil if the move is not valid.
func (j *job) label(m kernel.Move) *int32 {
	k := int32(j.k)
	if m.Point < 0 || int(m.Point) >= j.rows || min(m.From, m.To) < -1 || int(max(m.From, m.To)) >= j.k*j.lanes ||
		(min(m.From, m.To) >= 0 && m.From/k != m.To/k) {
		return nil
	}
	return &j.labels[int(max(m.From, m.To, 0)/k)*j.rows+int(m.Point)]
}

func (j *job) checkLabels(labels []int32) error {
	if j.k == 0 || len(labels) != j.rows*j.lanes {
		return fmt.Errorf("fleet: load of %d labels for %d rows, operands set: %v", len(labels), j.rows, j.k != 0)
	}
	for at, c := range labels {
		if lane := at / j.rows; c != -1 && (int(c) < lane*j.k || int(c) >= (lane+1)*j.k) {
			return fmt.Errorf("fleet: point %d has label %d in lane %d of %d clusters", at%j.rows, c, lane, j.k)
		}
	}
	return nil
}

// atStep runs an operation that needs the sums of the current labels.
func (j *job) atStep(ctx context.Context, op *operation) error {
	if j.labels == nil {
		return fmt.Errorf("fleet: %s before load", op.name)
	}
	labels := j.fleet.newPayload(func() []byte { return wire.PackInt32s(j.labels) })
	defer labels.free()
	op.reload, op.needStep = &reload{labels: labels, step: j.step}, j.step
	return j.perform(ctx, op)
}

// advance takes all tiles to the next step. A tile at the current step gets the moves; any other tile
// gets all labels, which include the moves. A load gives all tiles all labels.
func (j *job) advance(ctx context.Context, name string, labels []int32, moves []kernel.Move, merge mergeFunc) error {
	packedLabels := j.fleet.newPayload(func() []byte { return wire.PackInt32s(labels) })
	packedMoves := j.fleet.newPayload(func() []byte { return wire.PackMoves(moves) })
	defer packedLabels.free()
	defer packedMoves.free()
	step, next := j.step, j.step+1
	op := &operation{
		name:          name,
		wholeMatrix:   4*len(moves) > 3*j.rows, // it reads nearly every column
		maxBytes:      func([]int) int { return j.sumBytes },
		merge:         merge,
		reload:        &reload{labels: packedLabels, step: next},
		needStep:      step,
		reloadAnswers: true,
		resultStep:    next,
		request: func(c *workerv1.Command) {
			c.Operation = &workerv1.Command_Update{Update: &workerv1.Update{Step: step, Moves: packedMoves.message()}}
		},
	}
	if name == "load" {
		op.needStep = next + 1 // no tile is ever at this step, so all are reloaded
		op.wholeMatrix = 4*countLabeled(labels) > 3*j.rows
	}
	err := j.perform(ctx, op)
	// After an error only some tiles are at the next step. Its number is not used again, so that the
	// others are not mistaken for them.
	j.step = next
	if err != nil {
		j.step++
	}
	return err
}

// countLabeled counts the points that have a cluster.
func countLabeled(labels []int32) int {
	count := 0
	for _, c := range labels {
		if c >= 0 {
			count++
		}
	}
	return count
}

// assign runs an operation that answers moves, and returns them in tile order.
func (j *job) assign(ctx context.Context, rowBytes int, request func(*workerv1.Command)) ([]kernel.Move, error) {
	byTile := make([][]kernel.Move, len(j.tiles))
	err := j.atStep(ctx, &operation{
		name:     "assign",
		maxBytes: j.perRowBytes(rowBytes),
		request:  request,
		merge: func(tiles []int, answer *reply) error {
			moves, err := wire.UnpackMoves(answer.values)
			if err != nil {
				return err
			}
			return j.split(tiles, moves, byTile)
		},
	})
	if err != nil {
		return nil, err
	}
	var moves []kernel.Move
	for _, part := range byTile {
		moves = append(moves, part...)
	}
	return moves, nil
}

// split assigns moves, which are in the order of ascending tiles, to their tiles.
func (j *job) split(tiles []int, moves []kernel.Move, byTile [][]kernel.Move) error {
	for _, t := range tiles {
		end, rows := 0, partition.Tile(j.rows, t)
		for end < len(moves) && int(moves[end].Point) < rows.To {
			if int(moves[end].Point) < rows.From {
				return fmt.Errorf("a move of point %d out of order", moves[end].Point)
			}
			end++
		}
		byTile[t], moves = moves[:end], moves[end:]
	}
	if len(moves) > 0 {
		return fmt.Errorf("a move of point %d, which is in none of the tiles", moves[0].Point)
	}
	return nil
}

// farthest runs an operation that answers count candidates.
func (j *job) farthest(ctx context.Context, count int, request func(*workerv1.Command)) ([]kernel.Candidate, error) {
	best := make([]kernel.Candidate, count)
	err := j.atStep(ctx, &operation{
		name:    "farthest",
		request: request,
		merge: func(_ []int, answer *reply) error {
			candidates, err := wire.CandidatesFromProto(answer.farthest)
			if err == nil && len(candidates) != len(best) {
				err = fmt.Errorf("%d candidates instead of %d", len(candidates), len(best))
			}
			if err != nil {
				return err
			}
			for i, c := range candidates {
				best[i] = best[i].Farther(c)
			}
			return nil
		},
	})
	return best, err
}
