package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// decodeFunc brings the answer of a worker for some tiles into the form that the answers of all workers have, whichever
// version of the protocol they know.
type decodeFunc func(answer *reply, from *session, tiles []int) error

// mergeFunc adds the answer of some tiles to the result of an operation. It is called exactly once for each tile.
type mergeFunc func(tiles []int, answer *reply) error

// load sets all labels. It copies them.
func (j *job) load(ctx context.Context, labels []int32, merge mergeFunc) error {
	if j.k == 0 {
		return errors.New("fleet: load before operands were set")
	}
	if err := j.shape().CheckLabels(labels); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	kept := append([]int32(nil), labels...)
	err := j.advance(ctx, "load", kept, nil, nil, merge)
	if err == nil {
		j.labels = kept
	}
	return err
}

// update moves points. It applies the moves to the labels first, because a tile that has to be rebuilt during the
// update is loaded with the labels after the moves. After an error it restores the labels.
func (j *job) update(ctx context.Context, moves []labeling.Move, decode decodeFunc, merge mergeFunc) error {
	if j.labels == nil {
		return errors.New("fleet: update before load")
	}
	if err := j.shape().Apply(j.labels, moves); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	err := j.advance(ctx, "update", j.labels, moves, decode, merge)
	if err != nil {
		j.shape().Undo(j.labels, moves)
	}
	return err
}

// shape returns which labels the job allows.
func (j *job) shape() labeling.Shape {
	return labeling.Shape{Points: j.rows, Clusters: j.k, Lanes: j.lanes}
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

// advance takes all tiles to the next step. A tile at the current step receives only the moves. Any other tile
// receives all labels, which already include the moves, and also the moves if the answer consists of what they
// change. A load sends all labels to all tiles.
func (j *job) advance(ctx context.Context, name string, labels []int32, moves []labeling.Move, decode decodeFunc, merge mergeFunc) error {
	packedLabels := j.fleet.newPayload(func() []byte { return wire.PackInt32s(labels) })
	defer packedLabels.free()
	sent := j.newMovesToSend(moves)
	defer sent.free()
	step, next := j.step, j.step+1
	op := &operation{
		name:          name,
		wholeMatrix:   kernel.FullSweepIsCheaper(j.rows, len(moves)), // reads nearly every column
		maxBytes:      func([]int) int { return j.sumBytes },
		decode:        decode,
		merge:         merge,
		reload:        &reload{labels: packedLabels, step: next},
		needStep:      step,
		reloadAnswers: !j.answersChanges,
		resultStep:    next,
		request: func(c *workerv1.Command, g *group, tiles []int) {
			c.Operation = &workerv1.Command_Update{Update: sent.update(g.session, tiles)}
		},
	}
	if name == "load" {
		op.needStep = next + 1 // no tile is ever at this step, so all are reloaded
		op.wholeMatrix = kernel.FullSweepIsCheaper(j.rows, countLabeled(labels))
	}
	err := j.perform(ctx, op)
	// After an error only some tiles are at the next step. Its number is skipped, so that the others are not mistaken
	// for them.
	j.step = next
	if err != nil {
		j.step++
	}
	return err
}

// countLabeled returns the number of points that have a cluster.
func countLabeled(labels []int32) int {
	count := 0
	for _, c := range labels {
		if c >= 0 {
			count++
		}
	}
	return count
}

// assign completes and runs an operation that answers with moves in the given lanes, and returns them in tile order.
func (j *job) assign(ctx context.Context, lanes []int, op *operation) ([]labeling.Move, error) {
	byTile := make([][]labeling.Move, len(j.tiles))
	op.name, op.maxBytes, op.decode = "assign", j.perRowBytes(12*len(lanes)), unpackMoves
	op.merge = func(tiles []int, answer *reply) error {
		return j.split(tiles, answer.moves, lanes, byTile)
	}
	if err := j.atStep(ctx, op); err != nil {
		return nil, err
	}
	return slices.Concat(byTile...), nil
}

// split distributes moves, which are ordered by tile, to their tiles.
func (j *job) split(tiles []int, moves []labeling.Move, lanes []int, byTile [][]labeling.Move) error {
	for _, t := range tiles {
		end, rows := 0, partition.Tile(j.rows, t)
		for end < len(moves) && int(moves[end].Point) < rows.To {
			if int(moves[end].Point) < rows.From {
				return fmt.Errorf("a move of point %d out of order", moves[end].Point)
			}
			end++
		}
		if err := j.checkMoves(moves[:end], lanes); err != nil {
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
func (j *job) farthest(ctx context.Context, lanes []int, op *operation) ([]labeling.Candidate, error) {
	best := make([]labeling.Candidate, len(lanes))
	op.name, op.merge = "farthest", func(tiles []int, answer *reply) error {
		candidates, err := wire.CandidatesFromProto(answer.farthest)
		if err == nil {
			err = j.checkCandidates(tiles, candidates, lanes)
		}
		if err != nil {
			return err
		}
		for i, c := range candidates {
			best[i] = best[i].Farther(c)
		}
		return nil
	}
	return best, j.atStep(ctx, op)
}
