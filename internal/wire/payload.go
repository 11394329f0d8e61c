package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Large arrays are sent as raw little-endian bytes. There is no tag and no varint per number, so packing and
// unpacking run at the speed of memory. Every unpacking function rejects input of the wrong length.

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

// unpack unpacks values of this many bytes each.
func unpack[T any](packed []byte, size int, of string, value func([]byte) T) ([]T, error) {
	if len(packed)%size != 0 {
		return nil, fmt.Errorf("wire: %d bytes are not a whole number of %s values", len(packed), of)
	}
	values := make([]T, len(packed)/size)
	for i := range values {
		values[i] = value(packed[size*i:])
	}
	return values, nil
}

// UnpackFloat64s is the inverse of PackFloat64s.
func UnpackFloat64s(packed []byte) ([]float64, error) {
	return unpack(packed, 8, "float64", func(at []byte) float64 {
		return math.Float64frombits(binary.LittleEndian.Uint64(at))
	})
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
	return unpack(packed, 4, "int32", func(at []byte) int32 { return int32(binary.LittleEndian.Uint32(at)) })
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
	return unpack(packed, 8, "int64", func(at []byte) int64 { return int64(binary.LittleEndian.Uint64(at)) })
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
	return unpack(packed, 16, "int128", func(at []byte) kernel.Int128 {
		return kernel.Int128{Lo: binary.LittleEndian.Uint64(at), Hi: int64(binary.LittleEndian.Uint64(at[8:]))}
	})
}

// writeValues writes lists of numbers, one after the other, in the format in which they are sent and stored.
func writeValues(w io.Writer, lists ...[]float64) error {
	for _, values := range lists {
		for block := range slices.Chunk(values, ChunkBytes/8) {
			if _, err := w.Write(PackFloat64s(block)); err != nil {
				return err
			}
		}
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
func receiveValues[P interface{ GetValues() *cleavev1.DenseValues }](want uint64,
	receive func() (P, error)) ([]float64, error) {
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
