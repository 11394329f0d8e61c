package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/cleave-project/cleave/internal/data/labeling"
	vectors "github.com/cleave-project/cleave/internal/numeric/vector"
)

// PackStep packs the outcome of a step within lanes of this many clusters:
//
//	step = size moves changes before after
//
// size is the number of bytes of the moves, an unsigned varint. PackMoves packs the moves. The rest are float64
// values: the changes, then the totals before the moves, query after query and tile after tile, then those after the
// moves.
func PackStep(s *vectors.Stepped, clusters int) []byte {
	moves := PackMoves(s.Moves, clusters)
	packed := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64+len(moves)), uint64(len(moves)))
	packed = append(append(packed, moves...), PackFloat64s(s.Changes)...)
	packed = append(packed, PackFloat64Lists(s.Before)...)
	return append(packed, PackFloat64Lists(s.After)...)
}

// UnpackStep returns the moves of a packed step and its values, which are still packed.
func UnpackStep(packed []byte) (moves []labeling.Move, values []byte, err error) {
	r := varintReader{left: packed}
	size := r.next(uint64(len(packed)))
	if r.err != nil {
		return nil, nil, r.err
	}
	if size > uint64(len(r.left)) {
		return nil, nil, fmt.Errorf("wire: %d of %d bytes are moves", size, len(r.left))
	}
	moves, err = UnpackMoves(r.left[:size])
	return moves, r.left[size:], err
}
