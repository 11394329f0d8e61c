package format

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"

	"github.com/cleave-project/cleave/internal/parallel"
)

// npyBlock is how many values are converted at a time.
const npyBlock = 8192

// npyElement is how values are stored: the size of one in bytes, and how many of them are converted.
type npyElement struct {
	size   int
	decode func(values []float64, from []byte)
}

func npyElementOf(s *source, descr string) (npyElement, error) {
	unsupported := s.invalid("UNSUPPORTED_DTYPE", "values of type %q are not supported; use floats of 2, 4 or 8 bytes, integers or booleans", descr)
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
		"f2": {2, func(b []byte) float64 { return halfToFloat(order.Uint16(b)) }},
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

// halfToFloat converts an IEEE 754 half: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits.
func halfToFloat(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1F), float64(bits&0x3FF)
	var value float64
	switch exponent {
	case 0:
		value = math.Ldexp(fraction, -24)
	case 0x1F:
		if fraction != 0 {
			return math.NaN()
		}
		value = math.Inf(1)
	default:
		value = math.Ldexp(1024+fraction, exponent-25)
	}
	return math.Copysign(value, 1-2*float64(bits>>15))
}

// loadNPYValues reads the values of a plain file on all processors. What is there is known before anything is allocated. It
// gives nil where the input is something else, or has another size than it should.
func loadNPYValues(s *source, count int, element npyElement) ([]float64, error) {
	if s.file == nil || count == 0 {
		return nil, nil
	}
	offset, seekErr := s.file.Seek(0, io.SeekCurrent)
	info, err := s.file.Stat()
	offset -= int64(s.Buffered())
	if seekErr != nil || err != nil || !info.Mode().IsRegular() || info.Size()-offset != int64(count)*int64(element.size) {
		return nil, nil
	}
	const portion = 16 * npyBlock
	values, threads := make([]float64, count), runtime.GOMAXPROCS(0)
	buffers := make(chan []byte, threads)
	for range threads {
		buffers <- make([]byte, portion*element.size)
	}
	err = parallel.NewPool(threads).Run(context.Background(), threads, (count+portion-1)/portion, func(piece int) error {
		buffer := <-buffers
		defer func() { buffers <- buffer }()
		from := piece * portion
		part := values[from:min(from+portion, count)]
		bytes := buffer[:len(part)*element.size]
		if _, err := s.file.ReadAt(bytes, offset+int64(from)*int64(element.size)); err != nil {
			return s.readError(err)
		}
		element.decode(part, bytes)
		return nil
	})
	return values, err
}

// readNPYValues lets its result grow as bytes arrive, so that a false count costs no memory.
func readNPYValues(s *source, count int, element npyElement) ([]float64, error) {
	values := make([]float64, 0, min(count, npyBlock))
	buffer := make([]byte, element.size*min(count, npyBlock))
	for len(values) < count {
		have, more := len(values), min(count-len(values), npyBlock)
		block := buffer[:element.size*more]
		if got, err := io.ReadFull(s, block); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, s.invalid("TRUNCATED_FILE", "the header claims %d values, but the file ends after %d", count, have+got/element.size)
			}
			return nil, s.readError(err)
		}
		if cap(values) < have+more {
			values = append(make([]float64, 0, min(count, 2*cap(values)+npyBlock)), values...)
		}
		values = values[:have+more]
		element.decode(values[have:], block)
	}
	return values, nil
}
