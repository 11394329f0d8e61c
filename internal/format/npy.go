package format

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// The NPY format: "\x93NUMPY", a version of two bytes, the length of the header (uint16 in version 1,
// uint32 in later ones), the header, which is a Python dictionary (npyheader.go), and the values in
// binary. Libraries allocate what the header claims; this reader does not.
const (
	npyMagic     = "\x93NUMPY"
	maxNPYHeader = 64 << 10
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
	if s.asPoints && !header.fortran {
		var points *dataset.Points
		did, err := loadNPY(s, int(rows*columns), element, func(read func(from int, values []float64) error) (err error) {
			points, err = dataset.MakePoints(int(rows), int(columns), func(from, _ int, values []float64) error { return read(from*int(columns), values) })
			return err
		})
		if err != nil {
			return nil, s.named(err)
		}
		if did {
			return &matrix{rows: points.N, columns: points.D, points: points}, nil
		}
	}
	values, err := loadNPYValues(s, int(rows*columns), element)
	if values == nil && err == nil { // not from a file that can be read at several places
		if values, err = readNPYValues(s, int(rows*columns), element); err == nil {
			err = s.expectEnd(rows, columns)
		}
	}
	if err != nil {
		return nil, err
	}
	m := &matrix{rows: int(rows), columns: int(columns), values: values}
	if header.fortran {
		m.values = transpose(values, m.rows, m.columns)
	}
	return m, nil
}

// expectEnd refuses bytes after the values.
func (s *source) expectEnd(rows, columns int64) error {
	if _, err := s.ReadByte(); err == nil {
		return s.invalid("TRAILING_DATA", "the file has more bytes than the %d x %d values of its header need", rows, columns)
	} else if !errors.Is(err, io.EOF) {
		return s.readError(err)
	}
	return nil
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
