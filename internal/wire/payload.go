package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Large arrays are sent as raw little-endian bytes. There is no tag and no varint per number, so packing and
// unpacking run at the speed of memory. Every unpacking function rejects input of the wrong length.

const moveBytes = 12

// PackFloat64s packs values into 8 bytes each.
func PackFloat64s(values []float64) []byte {
	packed := make([]byte, 8*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint64(packed[8*i:], math.Float64bits(v))
	}
	return packed
}

// PackFloat64Lists packs lists one after the other.
func PackFloat64Lists(lists [][]float64) []byte {
	size := 0
	for _, values := range lists {
		size += 8 * len(values)
	}
	packed := make([]byte, 0, size)
	for _, values := range lists {
		for _, v := range values {
			packed = binary.LittleEndian.AppendUint64(packed, math.Float64bits(v))
		}
	}
	return packed
}

// UnpackFloat64s is the inverse of PackFloat64s.
func UnpackFloat64s(packed []byte) ([]float64, error) {
	if len(packed)%8 != 0 {
		return nil, badLength(len(packed), "float64")
	}
	values := make([]float64, len(packed)/8)
	return values, UnpackFloat64sInto(values, packed)
}

// UnpackFloat64sInto unpacks exactly len(values) values.
func UnpackFloat64sInto(values []float64, packed []byte) error {
	if len(packed) != 8*len(values) {
		return fmt.Errorf("wire: got %d bytes for %d float64 values", len(packed), len(values))
	}
	for i := range values {
		values[i] = math.Float64frombits(binary.LittleEndian.Uint64(packed[8*i:]))
	}
	return nil
}

// PackInt32s packs values into 4 bytes each.
func PackInt32s(values []int32) []byte {
	packed := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(packed[4*i:], uint32(v))
	}
	return packed
}

// UnpackInt32s is the inverse of PackInt32s.
func UnpackInt32s(packed []byte) ([]int32, error) {
	if len(packed)%4 != 0 {
		return nil, badLength(len(packed), "int32")
	}
	values := make([]int32, len(packed)/4)
	for i := range values {
		values[i] = int32(binary.LittleEndian.Uint32(packed[4*i:]))
	}
	return values, nil
}

// PackInt64s packs values into 8 bytes each.
func PackInt64s(values []int64) []byte {
	packed := make([]byte, 8*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint64(packed[8*i:], uint64(v))
	}
	return packed
}

// UnpackInt64s is the inverse of PackInt64s.
func UnpackInt64s(packed []byte) ([]int64, error) {
	if len(packed)%8 != 0 {
		return nil, badLength(len(packed), "int64")
	}
	values := make([]int64, len(packed)/8)
	for i := range values {
		values[i] = int64(binary.LittleEndian.Uint64(packed[8*i:]))
	}
	return values, nil
}

// PackMoveTriples packs each move into three int32: point, from, to. Minor version 0 of the worker protocol has no
// other form of moves.
func PackMoveTriples(moves []labeling.Move) []byte {
	packed := make([]byte, moveBytes*len(moves))
	for i, m := range moves {
		at := packed[moveBytes*i:]
		binary.LittleEndian.PutUint32(at, uint32(m.Point))
		binary.LittleEndian.PutUint32(at[4:], uint32(m.From))
		binary.LittleEndian.PutUint32(at[8:], uint32(m.To))
	}
	return packed
}

// UnpackMoveTriples is the inverse of PackMoveTriples.
func UnpackMoveTriples(packed []byte) ([]labeling.Move, error) {
	if len(packed)%moveBytes != 0 {
		return nil, badLength(len(packed), "move")
	}
	moves := make([]labeling.Move, len(packed)/moveBytes)
	for i := range moves {
		at := packed[moveBytes*i:]
		moves[i] = labeling.Move{
			Point: int32(binary.LittleEndian.Uint32(at)),
			From:  int32(binary.LittleEndian.Uint32(at[4:])),
			To:    int32(binary.LittleEndian.Uint32(at[8:])),
		}
	}
	return moves, nil
}

// PackInt128s packs each value into two uint64: low, high.
func PackInt128s(values []kernel.Int128) []byte {
	packed := make([]byte, 16*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint64(packed[16*i:], v.Lo)
		binary.LittleEndian.PutUint64(packed[16*i+8:], uint64(v.Hi))
	}
	return packed
}

// UnpackInt128s is the inverse of PackInt128s.
func UnpackInt128s(packed []byte) ([]kernel.Int128, error) {
	if len(packed)%16 != 0 {
		return nil, badLength(len(packed), "int128")
	}
	values := make([]kernel.Int128, len(packed)/16)
	for i := range values {
		values[i] = kernel.Int128{
			Lo: binary.LittleEndian.Uint64(packed[16*i:]),
			Hi: int64(binary.LittleEndian.Uint64(packed[16*i+8:])),
		}
	}
	return values, nil
}

func badLength(length int, of string) error {
	return fmt.Errorf("wire: %d bytes are not a whole number of %s values", length, of)
}

// writeValues writes numbers in the format in which they are sent and stored.
func writeValues(w io.Writer, values []float64) error {
	for len(values) > 0 {
		block := values[:min(len(values), ChunkBytes/8)]
		if _, err := w.Write(PackFloat64s(block)); err != nil {
			return err
		}
		values = values[len(block):]
	}
	return nil
}

// sendValues sends a head, and then what writeValues wrote, in parts.
func sendValues[P any](head P, values io.Reader, part func(*cleavev1.DenseValues) P, send func(P) error) error {
	if err := send(head); err != nil {
		return err
	}
	chunk := make([]byte, ChunkBytes)
	for {
		n, err := io.ReadFull(values, chunk)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		block, err := UnpackFloat64s(chunk[:n])
		if err != nil {
			return err
		}
		if err := send(part(&cleavev1.DenseValues{Values: block})); err != nil {
			return err
		}
	}
}

// receiveHead receives the first part of a stream, which describes its values.
func receiveHead[P interface{ GetHead() *H }, H any](receive func() (P, error), what string) (*H, error) {
	part, err := receive()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if part.GetHead() == nil {
		return nil, fmt.Errorf("wire: %s without a head", what)
	}
	return part.GetHead(), nil
}

// receiveValues assembles exactly want numbers from the chunks of a stream, which ends with io.EOF. Memory grows with
// what has arrived, never with what was promised. Errors of the stream are returned as they are.
func receiveValues[P interface{ GetValues() *cleavev1.DenseValues }](want uint64, receive func() (P, error)) ([]float64, error) {
	var values []float64
	err := Receive(receive, func(part P) error {
		more := part.GetValues().GetValues()
		if len(more) == 0 || uint64(len(values))+uint64(len(more)) > want {
			return fmt.Errorf("wire: %d values after %d of %d", len(more), len(values), want)
		}
		values = append(values, more...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if uint64(len(values)) != want {
		return nil, fmt.Errorf("wire: a stream of %d values ended after %d", want, len(values))
	}
	return values, nil
}
