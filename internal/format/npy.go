package format

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/format/raw"
)

// The NPY format: "\x93NUMPY", a version of two bytes, the length of the header (uint16 in version 1,
// uint32 in later ones), the header, which is a Python dictionary (npyheader.go), and the values in
// binary. Libraries allocate what the header claims; this reader does not.
const (
	npyMagic     = "\x93NUMPY"
	maxNPYHeader = 64 << 10
	npyBlock     = 8192 // values converted at a time
)

func readNPY(s *source) (*matrix, error) {
	header, err := readNPYHeader(s)
	if err != nil {
		return nil, err
	}
	element, err := npyElementOf(s, header.descr)
	if err != nil {
		return nil, err
	}
	rows, columns, err := npyShape(s, header.shape, element.size)
	if err != nil {
		return nil, err
	}
	values, err := readNPYValues(s, int(rows*columns), element)
	if err != nil {
		return nil, err
	}
	if _, err := s.ReadByte(); err == nil {
		return nil, s.invalid("TRAILING_DATA", "the file has more bytes than the %d x %d values of its header need", rows, columns)
	} else if !errors.Is(err, io.EOF) {
		return nil, s.readError(err)
	}
	m := &matrix{rows: int(rows), columns: int(columns), values: values}
	if header.fortran {
		m.values = transpose(values, m.rows, m.columns)
	}
	return m, nil
}

func readNPYHeader(s *source) (*npyHeader, error) {
	start := make([]byte, len(npyMagic)+2)
	if _, err := io.ReadFull(s, start); err != nil {
		return nil, s.npyHeaderError(err)
	}
	if string(start[:len(npyMagic)]) != npyMagic {
		return nil, s.invalid("NOT_NPY", "the file does not start like an NPY file")
	}
	lengthSize := 4
	switch version := start[len(npyMagic)]; version {
	case 1:
		lengthSize = 2
	case 2, 3:
	default:
		return nil, s.invalid("NOT_NPY", "NPY version %d is not known; 1, 2 and 3 are", version)
	}
	var lengthBytes [4]byte
	if _, err := io.ReadFull(s, lengthBytes[:lengthSize]); err != nil {
		return nil, s.npyHeaderError(err)
	}
	length := binary.LittleEndian.Uint32(lengthBytes[:])
	if length > maxNPYHeader {
		return nil, s.invalid("NOT_NPY", "the NPY header claims %d bytes; at most %d are read", length, maxNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(s, text); err != nil {
		return nil, s.npyHeaderError(err)
	}
	header, problem := parseNPYHeader(string(text))
	if problem != "" {
		return nil, s.invalid("NOT_NPY", "the NPY header is not understood: %s", problem)
	}
	return header, nil
}

func (s *source) npyHeaderError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.invalid("TRUNCATED_FILE", "the file ends inside its NPY header")
	}
	return s.readError(err)
}

// npyShape is the number of rows and columns; an array of one dimension is one column.
func npyShape(s *source, shape []int64, size int) (rows, columns int64, err error) {
	switch len(shape) {
	case 1:
		rows, columns = shape[0], 1
	case 2:
		rows, columns = shape[0], shape[1]
	default:
		return 0, 0, s.invalid("WRONG_SHAPE", "the array has %d dimensions; rows and columns are needed", len(shape))
	}
	if rows < 0 || columns < 0 || rows > dataset.MaxRows || !isAddressable(rows, columns, int64(max(size, 8))) {
		return 0, 0, s.invalid("SIZE_OVERFLOW", "the header claims %d x %d values, more than can be addressed", rows, columns)
	}
	return rows, columns, nil
}

// npyElement is how one value is stored.
type npyElement struct {
	size int
	get  func([]byte) float64
}

func npyElementOf(s *source, descr string) (npyElement, error) {
	unsupported := s.invalid("UNSUPPORTED_DTYPE", "values of type %q are not supported; use floats of 2, 4 or 8 bytes, integers or booleans", descr)
	if len(descr) != 3 {
		return npyElement{}, unsupported
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch descr[0] {
	case '<', '|', '=':
	case '>':
		order = binary.BigEndian
	default:
		return npyElement{}, unsupported
	}
	element, known := map[string]npyElement{
		"f8": {8, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }},
		"f4": {4, func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }},
		"f2": {2, func(b []byte) float64 { return raw.Half(order.Uint16(b)) }},
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
	return element, nil
}

// readNPYValues lets its result grow as bytes arrive, so that a false count costs no memory.
func readNPYValues(s *source, count int, element npyElement) ([]float64, error) {
	values := make([]float64, 0, min(count, npyBlock))
	buffer := make([]byte, element.size*min(count, npyBlock))
	for len(values) < count {
		block := buffer[:element.size*min(count-len(values), npyBlock)]
		if got, err := io.ReadFull(s, block); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, s.invalid("TRUNCATED_FILE", "the header claims %d values, but the file ends after %d", count, len(values)+got/element.size)
			}
			return nil, s.readError(err)
		}
		if cap(values)-len(values) < npyBlock && cap(values) < count {
			grown := make([]float64, len(values), min(count, 2*cap(values)+npyBlock))
			copy(grown, values)
			values = grown
		}
		for at := 0; at < len(block); at += element.size {
			values = append(values, element.get(block[at:]))
		}
	}
	return values, nil
}
