package fleet

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

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

// movesOf returns the moves of the points of some tiles, in the same order. moves must be sorted by lane, then by point.
// Every worker has its own, so this must not read all moves.
func (j *job) movesOf(tiles []int, moves []labeling.Move) []labeling.Move {
	ascending, shape := slices.Sorted(slices.Values(tiles)), j.shape()
	var some []labeling.Move
	for len(moves) > 0 {
		next := shape.Lane(moves[0]) + 1
		end, _ := slices.BinarySearchFunc(moves, next, func(m labeling.Move, next int) int { return cmp.Compare(shape.Lane(m), next) })
		for _, t := range ascending {
			some = append(some, movesWithin(moves[:end], partition.Tile(j.rows, t))...)
		}
		moves = moves[end:]
	}
	return some
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

// dropUnmovedLanes reduces the changes that a worker answers to the lanes in which points of the tiles moved. Workers of
// minor version 0 get all moves, and answer for the lanes in which any point moved.
func (e *KMeansExecutor) dropUnmovedLanes(moves []labeling.Move) decodeFunc {
	return func(answer *reply, from *session, tiles []int) error {
		if from.compact() {
			return nil
		}
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
