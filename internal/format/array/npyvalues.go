package array

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/parallel"
)

// npyBlock is the number of values converted at a time.
const npyBlock = 8192

// npyElement describes how values are stored: the size of each in bytes, and the function that decodes them.
type npyElement struct {
	size   int
	decode func(values []float64, from []byte)
}

// npyElementOf returns how values of a NumPy type such as "<f8" are stored.
func npyElementOf(s *scan.Source, descr string) (npyElement, error) {
	unsupported := s.Invalid("UNSUPPORTED_DTYPE",
		"values of type %q are not supported; use floats of 2, 4 or 8 bytes, integers or booleans", descr)
	if len(descr) != 3 {
		return npyElement{}, unsupported
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch descr[0] {
	case '<', '|', '=':
		switch descr[1:] {
		case "f8":
			return npyElement{8, littleDoubles}, nil
		case "f4":
			return npyElement{4, littleFloats}, nil
		}
	case '>':
		order = binary.BigEndian
	default:
		return npyElement{}, unsupported
	}
	element, known := map[string]struct {
		size int
		get  func([]byte) float64
	}{
		"f8": {8, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }},
		"f4": {4, func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }},
		"f2": {2, func(b []byte) float64 { return scan.Half(order.Uint16(b)) }},
		"i8": {8, func(b []byte) float64 { return float64(int64(order.Uint64(b))) }},
		"i4": {4, func(b []byte) float64 { return float64(int32(order.Uint32(b))) }},
		"i2": {2, func(b []byte) float64 { return float64(int16(order.Uint16(b))) }},
		"i1": {1, func(b []byte) float64 { return float64(int8(b[0])) }},
		"u8": {8, func(b []byte) float64 { return float64(order.Uint64(b)) }},
		"u4": {4, func(b []byte) float64 { return float64(order.Uint32(b)) }},
		"u2": {2, func(b []byte) float64 { return float64(order.Uint16(b)) }},
		"u1": {1, func(b []byte) float64 { return float64(b[0]) }},
		"b1": {1, func(b []byte) float64 { return float64(b[0]) }},
	}[descr[1:]]
	if !known {
		return npyElement{}, unsupported
	}
	return npyElement{element.size, func(values []float64, from []byte) {
		for at := range values {
			values[at] = element.get(from[element.size*at:])
		}
	}}, nil
}

func littleDoubles(values []float64, from []byte) {
	for at := range values {
		values[at] = math.Float64frombits(binary.LittleEndian.Uint64(from[8*at:]))
	}
}

func littleFloats(values []float64, from []byte) {
	for at := range values {
		values[at] = float64(math.Float32frombits(binary.LittleEndian.Uint32(from[4*at:])))
	}
}

// npyFile returns a function that reads values from any position of a plain file and may be called concurrently. It
// returns nil if the input is not a plain file or its size does not match the header.
func npyFile(s *scan.Source, count int, element npyElement) (read func(from int, values []float64) error) {
	file, size := s.RegularFile()
	if file == nil || count == 0 {
		return nil
	}
	offset, err := file.Seek(0, io.SeekCurrent)
	offset -= int64(s.Buffered())
	if err != nil || size-offset != int64(count)*int64(element.size) {
		return nil
	}
	var buffers sync.Pool
	return func(from int, values []float64) error {
		buffer, _ := buffers.Get().(*[]byte)
		if buffer == nil {
			buffer = new([]byte)
		}
		defer buffers.Put(buffer)
		*buffer = slices.Grow((*buffer)[:0], len(values)*element.size)[:len(values)*element.size]
		if _, err := file.ReadAt(*buffer, offset+int64(from)*int64(element.size)); err != nil {
			return s.ReadError(err)
		}
		element.decode(values, *buffer)
		return nil
	}
}

// loadNPYValues reads all values of a plain file in parallel.
func loadNPYValues(count int, read func(from int, values []float64) error) ([]float64, error) {
	const portion = 16 * npyBlock
	values := make([]float64, count)
	err := parallel.Run(context.Background(), runtime.GOMAXPROCS(0), (count+portion-1)/portion,
		func(piece int) error {
			from := piece * portion
			return read(from, values[from:min(from+portion, count)])
		})
	return values, err
}

// readNPYValues grows its result as bytes arrive, so that a false count in a header costs no memory.
func readNPYValues(s *scan.Source, count int, element npyElement) ([]float64, error) {
	values := make([]float64, 0, min(count, npyBlock))
	buffer := make([]byte, element.size*min(count, npyBlock))
	for len(values) < count {
		have := len(values)
		more := min(count-len(values), npyBlock)
		block := buffer[:element.size*more]
		if got, err := io.ReadFull(s, block); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, s.Invalid("TRUNCATED_FILE", "the header claims %d values, but the file ends after %d",
					count, have+got/element.size)
			}
			return nil, s.ReadError(err)
		}
		if cap(values) < have+more {
			values = append(make([]float64, 0, min(count, 2*cap(values)+npyBlock)), values...)
		}
		values = values[:have+more]
		element.decode(values[have:], block)
	}
	return values, nil
}
