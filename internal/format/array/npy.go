package array

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// The NPY format: "\x93NUMPY", a version of two bytes, the length of the header (uint16 in version 1, uint32 in later
// ones), the header, which is a Python dictionary (see parseNPYHeader), and the values in binary. This reader is our
// own because libraries allocate what the header claims.
const maxNPYHeader = 64 << 10

// ReadNPY reads an array as a matrix.
func ReadNPY(s *scan.Source) (*Matrix, error) {
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
	m := &Matrix{Rows: int(rows), Columns: int(columns)}
	switch read := npyFile(s, m.Rows*m.Columns, element); {
	case read != nil && s.AsPoints && !header.fortran:
		m.Points, err = dataset.MakePoints(context.Background(), m.Rows, m.Columns,
			func(from, _ int, values []float64) error { return read(from*m.Columns, values) })
		return m, s.Named(err)
	case read != nil:
		m.Values, err = loadNPYValues(m.Rows*m.Columns, read)
	default:
		m.Values, err = readNPYValues(s, m.Rows*m.Columns, element)
		if err == nil {
			err = expectEnd(s, rows, columns)
		}
	}
	if err != nil {
		return nil, err
	}
	if header.fortran {
		m.Values = transpose(m.Values, m.Rows, m.Columns)
	}
	return m, nil
}

// expectEnd returns an error if bytes follow the values.
func expectEnd(s *scan.Source, rows, columns int64) error {
	if _, err := s.ReadByte(); err == nil {
		return s.Invalid("TRAILING_DATA", "the file has more bytes than the %d x %d values of its header need",
			rows, columns)
	} else if !errors.Is(err, io.EOF) {
		return s.ReadError(err)
	}
	return nil
}

// readNPYHeader reads the magic string, the version and the dictionary that describes the array.
func readNPYHeader(s *scan.Source) (*npyHeader, error) {
	start := make([]byte, len(scan.NPYMagic)+2)
	if _, err := io.ReadFull(s, start); err != nil {
		return nil, npyHeaderError(s, err)
	}
	if string(start[:len(scan.NPYMagic)]) != scan.NPYMagic {
		return nil, s.Invalid("NOT_NPY", "the file does not start like an NPY file")
	}
	lengthSize := 4
	switch version := start[len(scan.NPYMagic)]; version {
	case 1:
		lengthSize = 2
	case 2, 3:
	default:
		return nil, s.Invalid("NOT_NPY", "NPY version %d is not supported; use version 1, 2 or 3", version)
	}
	var lengthBytes [4]byte
	if _, err := io.ReadFull(s, lengthBytes[:lengthSize]); err != nil {
		return nil, npyHeaderError(s, err)
	}
	length := binary.LittleEndian.Uint32(lengthBytes[:])
	if length > maxNPYHeader {
		return nil, s.Invalid("NOT_NPY", "the NPY header claims %d bytes; at most %d are supported",
			length, maxNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(s, text); err != nil {
		return nil, npyHeaderError(s, err)
	}
	header, problem := parseNPYHeader(string(text))
	if problem != "" {
		return nil, s.Invalid("NOT_NPY", "the NPY header cannot be parsed: %s", problem)
	}
	return header, nil
}

func npyHeaderError(s *scan.Source, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.Invalid("TRUNCATED_FILE", "the file ends inside its NPY header")
	}
	return s.ReadError(err)
}

// npyShape returns the number of rows and columns. A one-dimensional array is a single column.
func npyShape(s *scan.Source, shape []int64, size int) (rows, columns int64, err error) {
	switch len(shape) {
	case 1:
		rows, columns = shape[0], 1
	case 2:
		rows, columns = shape[0], shape[1]
	default:
		return 0, 0, s.Invalid("WRONG_SHAPE", "the array has %d dimensions; it must have rows and columns only",
			len(shape))
	}
	if rows < 0 || columns < 0 || rows > dataset.MaxRows || !isAddressable(rows, columns, int64(max(size, 8))) {
		return 0, 0, s.Invalid("SIZE_OVERFLOW", "the header claims %d x %d values, more than can be addressed",
			rows, columns)
	}
	return rows, columns, nil
}

// npyHeader is the header dictionary of an NPY file.
type npyHeader struct {
	descr   string
	fortran bool
	shape   []int64
}

// parseNPYHeader parses a Python literal such as
//
//	{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
//
// with its keys in any order. problem is empty on success.
func parseNPYHeader(text string) (header *npyHeader, problem string) {
	p := &pythonParser{rest: text}
	header = &npyHeader{}
	seen := map[string]bool{}
	p.expect("{")
	for p.problem == "" && !p.take("}") {
		key := p.quoted()
		p.expect(":")
		if seen[key] {
			p.fail("duplicate key %q", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			header.descr = p.quoted()
		case "fortran_order":
			header.fortran = p.boolean()
		case "shape":
			header.shape = p.tuple()
		default:
			p.fail("unknown key %q", key)
		}
		if !p.take(",") && p.problem == "" {
			p.expect("}")
			break
		}
	}
	if p.problem == "" && (!seen["descr"] || !seen["fortran_order"] || !seen["shape"]) {
		p.fail("descr, fortran_order and shape are all required")
	}
	if p.problem == "" && strings.TrimSpace(p.rest) != "" {
		p.fail("text after the dictionary")
	}
	return header, p.problem
}

// pythonParser parses Python literals.
type pythonParser struct {
	rest    string // what is left to parse
	problem string // the first error, "" if none
}

func (p *pythonParser) fail(format string, args ...any) {
	if p.problem == "" {
		p.problem = fmt.Sprintf(format, args...)
	}
}

func (p *pythonParser) take(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	rest, found := strings.CutPrefix(p.rest, token)
	if found {
		p.rest = rest
	}
	return found
}

func (p *pythonParser) expect(token string) {
	if !p.take(token) {
		p.fail("%q is missing", token)
	}
}

// quoted parses a string without escapes, which NumPy does not write.
func (p *pythonParser) quoted() string {
	for _, quote := range []string{"'", `"`} {
		if !p.take(quote) {
			continue
		}
		text, rest, closed := strings.Cut(p.rest, quote)
		if !closed {
			p.fail("a string does not end")
		}
		p.rest = rest
		return text
	}
	p.fail("a string is missing (records of several fields are not supported)")
	return ""
}

func (p *pythonParser) boolean() bool {
	if p.take("True") {
		return true
	}
	p.expect("False")
	return false
}

// tuple reads a tuple of sizes, such as (3, 4) or (3,).
func (p *pythonParser) tuple() []int64 {
	var numbers []int64
	p.expect("(")
	for p.problem == "" && !p.take(")") {
		p.take("") // leading space
		digits := 0
		for digits < len(p.rest) && p.rest[digits] >= '0' && p.rest[digits] <= '9' {
			digits++
		}
		number, err := strconv.ParseInt(p.rest[:digits], 10, 64)
		if err != nil {
			p.fail("the shape contains an invalid or too large size")
			return nil
		}
		p.rest = p.rest[digits:]
		p.take("L") // suffix of integers written by Python 2
		numbers = append(numbers, number)
		if !p.take(",") {
			p.expect(")")
			break
		}
	}
	return numbers
}
