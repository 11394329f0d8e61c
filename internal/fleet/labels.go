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

// decodeFunc brings the answer of a worker for some tiles into the form that the answers of all workers have,
// whichever version of the protocol they know.
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
	op.reload = &reload{labels: labels, step: j.step, unless: j.step}
	j.followLabels()
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
		name:        name,
		wholeMatrix: kernel.FullSweepIsCheaper(j.rows, len(moves)), // reads nearly every column
		maxBytes:    func([]int) int { return j.sumBytes },
		decode:      decode,
		merge:       merge,
		reload:      &reload{labels: packedLabels, step: next, unless: step, answers: !j.answersChanges},
		resultStep:  next,
		request: func(c *workerv1.Command, g *group, tiles []int) {
			c.Operation = &workerv1.Command_Update{Update: sent.update(g.session, tiles)}
		},
	}
	if name == "load" {
		op.reload.unless = next + 1 // no tile is ever at this step, so all are reloaded
		op.wholeMatrix = kernel.FullSweepIsCheaper(j.rows, countLabeled(labels))
	}
	err := j.perform(ctx, op)
	// After an error only some tiles are at the next step. Its number is skipped, so that the others are not mistaken
	// for them.
	j.step = next
	if err != nil {
		j.step++
	}
	if err != nil || name == "load" {
		j.invalidateHandovers()
	} else {
		j.followMoves(step, moves)
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
	byTile := make([][]labeling.Move, len(j.placed.tiles))
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
		if err := check.Moves(j.shape(), j.labels, moves[:end], lanes); err != nil {
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
			err = check.Candidates(j.shape(), j.labels, tiles, candidates, lanes)
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

// movesToSend holds the moves of an update in the forms in which workers need them. It is safe for concurrent use.
type movesToSend struct {
	*job
	moves           []labeling.Move
	triples, packed *payload // all moves

	mu    sync.Mutex
	parts []*payload // the moves of some tiles each
}

func (j *job) newMovesToSend(moves []labeling.Move) *movesToSend {
	return &movesToSend{
		job: j, moves: moves,
		triples: j.fleet.newPayload(func() []byte { return wire.PackMoveTriples(moves) }),
		packed:  j.fleet.newPayload(func() []byte { return wire.PackMoves(moves, j.k) }),
	}
}

// update returns an update of some tiles with their moves. The rows of a matrix have an entry for every point, so its
// tiles need all moves. Tiles of vectors need their own.
func (m *movesToSend) update(to *session, tiles []int) *workerv1.Update {
	switch {
	case !to.compact():
		return &workerv1.Update{Step: m.step, Moves: m.triples.message()}
	case m.answersChanges:
		return &workerv1.Update{Step: m.step, PackedMoves: m.part(tiles).message()}
	}
	return &workerv1.Update{Step: m.step, PackedMoves: m.packed.message()}
}

// part returns the moves of some tiles.
func (m *movesToSend) part(tiles []int) *payload {
	p := m.fleet.newPayload(func() []byte { return wire.PackMoves(m.movesOf(tiles, m.moves), m.k) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.parts = append(m.parts, p)
	return p
}

func (m *movesToSend) free() {
	m.triples.free()
	m.packed.free()
	for _, p := range m.parts {
		p.free()
	}
}

// movesOf returns the moves of the points of some tiles, in the same order. moves must be sorted by lane, then by
// point. Every worker has its own, so this must not read all moves.
func (j *job) movesOf(tiles []int, moves []labeling.Move) []labeling.Move {
	ascending, shape := slices.Sorted(slices.Values(tiles)), j.shape()
	var parts [][]labeling.Move
	for len(moves) > 0 {
		next := shape.Lane(moves[0]) + 1
		end, _ := slices.BinarySearchFunc(moves, next, func(m labeling.Move, next int) int { return cmp.Compare(shape.Lane(m), next) })
		for _, t := range ascending {
			parts = append(parts, movesWithin(moves[:end], partition.Tile(j.rows, t)))
		}
		moves = moves[end:]
	}
	return slices.Concat(parts...)
}

// movesWithin returns the moves of points in a range of rows. moves must be in ascending order.
func movesWithin(moves []labeling.Move, rows partition.Range) []labeling.Move {
	at := func(row int) int {
		i, _ := slices.BinarySearchFunc(moves, row, func(m labeling.Move, row int) int { return cmp.Compare(int(m.Point), row) })
		return i
	}
	return moves[at(rows.From):at(rows.To)]
}

// unpackMoves unpacks the moves that a worker answers.
func unpackMoves(answer *reply, from *session, _ []int) (err error) {
	unpack := wire.UnpackMoves
	if !from.compact() {
		unpack = wire.UnpackMoveTriples
	}
	answer.moves, err = unpack(answer.values)
	answer.values = nil
	return err
}
