package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// Packed moves are a few bytes each, because points ascend and clusters are few:
//
//	moves = clusters run...                   nothing at all if there are no moves
//	run   = lane count (gap code)...          moves of one lane with ascending points
//
// All of these are unsigned varints. clusters is the number of clusters of a lane. The gap of a move is the number of
// points between it and the move before, and that of the first is the point itself. Its code is
// from*(clusters+1) + to, where 0 is no cluster and 1 the first cluster of the lane. Every list of moves has exactly
// one encoding: a run is as long as possible, and a varint as short as possible.

// PackMoves packs moves within lanes of this many clusters. Each move must stay within one lane.
func PackMoves(moves []labeling.Move, clusters int) []byte {
	if len(moves) == 0 {
		return nil
	}
	shape := labeling.Shape{Clusters: clusters}
	packed := binary.AppendUvarint(make([]byte, 0, 16+3*len(moves)), uint64(clusters))
	for len(moves) > 0 {
		lane := shape.Lane(moves[0])
		run := runOf(moves, shape)
		packed = binary.AppendUvarint(packed, uint64(lane))
		packed = binary.AppendUvarint(packed, uint64(len(run)))
		next := int32(0)
		for _, m := range run {
			local := shape.Shift(m, -lane)
			packed = binary.AppendUvarint(packed, uint64(m.Point-next))
			packed = binary.AppendUvarint(packed, uint64(local.From+1)*uint64(clusters+1)+uint64(local.To+1))
			next = m.Point + 1
		}
		moves = moves[len(run):]
	}
	return packed
}

// runOf returns the first moves that are in one lane with ascending points.
func runOf(moves []labeling.Move, shape labeling.Shape) []labeling.Move {
	end := 1
	for end < len(moves) && moves[end].Point > moves[end-1].Point && shape.Lane(moves[end]) == shape.Lane(moves[0]) {
		end++
	}
	return moves[:end]
}

// UnpackMoves is the inverse of PackMoves. It accepts only what PackMoves returns.
func UnpackMoves(packed []byte) ([]labeling.Move, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	r := varintReader{left: packed}
	clusters := r.next(math.MaxInt32)
	if clusters == 0 && r.err == nil {
		return nil, errors.New("wire: moves between no clusters")
	}
	moves := make([]labeling.Move, 0, len(packed)/2)
	lastLane := uint64(0) // a move takes at least two bytes
	for first := true; r.err == nil && (first || len(r.left) > 0); first = false {
		lane := r.next(math.MaxInt32 / clusters)
		count := r.next(uint64(len(r.left) / 2)) // a move takes two bytes
		begin := len(moves)
		if count == 0 && r.err == nil {
			return nil, errors.New("wire: a run without moves")
		}
		for next := uint64(0); count > 0 && r.err == nil; count-- {
			point := next + r.next(math.MaxInt32)
			code := r.next((clusters+1)*(clusters+1) - 1)
			from, to := code/(clusters+1), code%(clusters+1)
			if r.err == nil && (point > math.MaxInt32 || (lane+1)*clusters > math.MaxInt32 || code == 0 && lane > 0) {
				return nil, fmt.Errorf("wire: a move of point %d by code %d in lane %d of %d clusters", point, code,
					lane, clusters)
			}
			moves = append(moves, labeling.Move{Point: int32(point), From: cluster(lane, clusters, from),
				To: cluster(lane, clusters, to)})
			next = point + 1
		}
		if r.err == nil && !first && lane == lastLane && moves[begin].Point > moves[begin-1].Point {
			return nil, errors.New("wire: two runs of moves that could be one")
		}
		lastLane = lane
	}
	if r.err != nil {
		return nil, r.err
	}
	return moves, nil
}

// cluster returns the number of a cluster among those of all lanes. local is 0 for none.
func cluster(lane, clusters, local uint64) int32 {
	if local == 0 {
		return labeling.None
	}
	return int32(lane*clusters + local - 1)
}

// varintReader reads unsigned varints. After an error it returns zeros.
type varintReader struct {
	left []byte
	err  error
}

// next returns the next number, which must not exceed limit and must have its shortest encoding.
func (r *varintReader) next(limit uint64) uint64 {
	if r.err != nil {
		return 0
	}
	value, size := binary.Uvarint(r.left)
	switch {
	case size <= 0:
		r.err = errors.New("wire: moves end within a number")
	case size > 1 && r.left[size-1] == 0:
		r.err = errors.New("wire: a number of moves that is longer than necessary")
	case value > limit:
		r.err = fmt.Errorf("wire: %d in moves where at most %d is possible", value, limit)
	default:
		r.left = r.left[size:]
		return value
	}
	return 0
}
