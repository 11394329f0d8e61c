package array

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// sparseArrays are in every NPZ file that scipy.sparse.save_npz writes: format (csr, csc or coo), shape and data. The
// positions of the values are in indices and indptr, or in row and col.
var sparseArrays = []string{"format", "shape", "data"}

// isSparseNPZ reports whether an archive was written by scipy.sparse.save_npz.
func isSparseNPZ(archive *zip.Reader) bool {
	found := 0
	for _, entry := range archive.File {
		if name, isArray := strings.CutSuffix(entry.Name, scan.NPYSuffix); isArray &&
			slices.Contains(sparseArrays, name) {
			found++
		}
	}
	return found == len(sparseArrays)
}

// HoldsSparse reports whether an NPZ file holds a sparse matrix, without consuming the source. If the source is not a
// file, it checks whether the name of the first array is the one that scipy writes first.
func HoldsSparse(s *scan.Source) bool {
	if file, size := s.RegularFile(); file != nil {
		archive, err := zip.NewReader(file, size)
		return err == nil && isSparseNPZ(archive)
	}
	const nameLength, nameStart = 26, 30 // offsets in the header of the first entry
	head, _ := s.Peek(nameStart + 16)
	if len(head) < nameStart {
		return false
	}
	name := head[nameStart:]
	name = name[:min(len(name), int(binary.LittleEndian.Uint16(head[nameLength:])))]
	return bytes.Equal(name, []byte("indices.npy")) || bytes.Equal(name, []byte("row.npy"))
}

// sparseNPZ holds the entries of a sparse matrix.
type sparseNPZ struct {
	*scan.Source
	archive       *zip.Reader
	rows, columns int
	row, column   []int32
	values        []float64
}

// ReadSparseNPZ reads sparse points. If features is not 0, the matrix must have at most that many columns.
func ReadSparseNPZ(s *scan.Source, features int) (*Sparse, error) {
	m, err := sparseEntries(s)
	if err != nil {
		return nil, err
	}
	if features > 0 && m.columns > features {
		return nil, s.Invalid("SIZE_MISMATCH", "the matrix has %d columns; %d are expected", m.columns, features)
	}
	return m.compress(max(features, m.columns)), nil
}

// ReadSparseEntries reads the entries of a sparse matrix as edges from row to column, if check accepts its size.
func ReadSparseEntries(s *scan.Source,
	check func(rows, columns int) error) (rows int, entries []dataset.Edge, err error) {
	m, err := sparseEntries(s)
	if err == nil {
		err = check(m.rows, m.columns)
	}
	if err != nil {
		return 0, nil, err
	}
	entries = make([]dataset.Edge, len(m.values))
	for at, value := range m.values {
		if !scan.IsFinite(value) {
			return 0, nil, s.Invalid("NOT_FINITE",
				"the weight of row %d and column %d is %v; weights must be finite numbers", m.row[at],
				m.column[at], value)
		}
		entries[at] = dataset.Edge{Source: m.row[at], Target: m.column[at], Weight: value}
	}
	return m.rows, entries, nil
}

// sparseEntries reads all arrays of the matrix.
func sparseEntries(s *scan.Source) (*sparseNPZ, error) {
	archive, end, err := openZip(s)
	if err != nil {
		return nil, err
	}
	defer end.Close()
	if !isSparseNPZ(archive) {
		return nil, s.Invalid("NOT_SPARSE",
			"the file does not hold a sparse matrix; write one with scipy.sparse.save_npz, or use --kernel-matrix "+
				"for a dense matrix of similarities")
	}
	m := &sparseNPZ{Source: s, archive: archive}
	layout, err := m.word("format")
	if err == nil && layout != "csr" && layout != "csc" && layout != "coo" {
		err = s.Invalid("UNSUPPORTED_MATRIX",
			"the matrix is stored as %s; only csr, csc and coo are supported; save it with "+
				"scipy.sparse.save_npz(FILE, matrix.tocsr())", scan.Quote([]byte(layout)))
	}
	if err == nil {
		err = m.readShape()
	}
	if err == nil {
		m.values, err = m.numbers("data")
	}
	if err != nil {
		return nil, err
	}
	switch layout {
	case "csr":
		m.row, m.column, err = m.compressed(m.rows, m.columns)
	case "csc":
		m.column, m.row, err = m.compressed(m.columns, m.rows)
	default:
		m.row, err = m.places("row", m.rows)
		if err == nil {
			m.column, err = m.places("col", m.columns)
		}
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// open opens an array by name.
func (m *sparseNPZ) open(name string) (*scan.Source, error) {
	for _, entry := range m.archive.File {
		if entry.Name == name+scan.NPYSuffix {
			return openArray(m.Source, entry)
		}
	}
	return nil, m.Invalid("NO_SUCH_ARRAY", "the sparse matrix has no array %q; save it with scipy.sparse.save_npz",
		name)
}

// word reads an array that is a single string, stored as bytes or as four-byte characters.
func (m *sparseNPZ) word(name string) (string, error) {
	array, err := m.open(name)
	if err != nil {
		return "", err
	}
	header, err := readNPYHeader(array)
	if err != nil {
		return "", err
	}
	const longest = 16
	length := 0
	width := map[byte]int{'S': 1, 'U': 4}
	if len(header.descr) > 2 {
		length, _ = strconv.Atoi(header.descr[2:])
	}
	if length < 1 || length > longest || width[header.descr[1]] == 0 || len(header.shape) > 0 {
		return "", array.Invalid("UNSUPPORTED_DTYPE", "the type is %s; a string is expected",
			scan.Quote([]byte(header.descr)))
	}
	text := make([]byte, length*width[header.descr[1]])
	if _, err := io.ReadFull(array, text); err != nil {
		return "", npyHeaderError(array, err)
	}
	return strings.ReplaceAll(string(text), "\x00", ""), nil
}

// numbers reads a one-dimensional array.
func (m *sparseNPZ) numbers(name string) ([]float64, error) {
	array, err := m.open(name)
	if err != nil {
		return nil, err
	}
	values, err := ReadNPY(array)
	if err != nil {
		return nil, err
	}
	if values.Columns != 1 && values.Rows*values.Columns > 0 {
		return nil, array.Invalid("WRONG_SHAPE", "the array has %d columns; a sparse matrix has lists of numbers",
			values.Columns)
	}
	return values.Values, nil
}

// readShape reads the numbers of rows and columns. Empty rows and columns cost memory too, so their number is limited
// relative to the number of entries.
func (m *sparseNPZ) readShape() error {
	shape, err := m.numbers("shape")
	if err != nil {
		return err
	}
	if len(shape) != 2 {
		return m.Invalid("WRONG_SHAPE", "the sparse matrix has %d dimensions; it must have rows and columns only",
			len(shape))
	}
	for at, limit := range []float64{dataset.MaxRows, dataset.MaxColumns} {
		if size := shape[at]; !(size >= 0 && size <= limit && size == math.Trunc(size)) {
			return m.Invalid("SIZE_OVERFLOW",
				"the matrix claims %.0f x %.0f values; at most %d rows and %d columns are supported", shape[0],
				shape[1], dataset.MaxRows, dataset.MaxColumns)
		}
	}
	m.rows, m.columns = int(shape[0]), int(shape[1])
	return nil
}

// places reads row or column numbers, each below limit.
func (m *sparseNPZ) places(name string, limit int) ([]int32, error) {
	numbers, err := m.numbers(name)
	if err != nil {
		return nil, err
	}
	if len(numbers) != len(m.values) {
		return nil, m.Invalid("SIZE_MISMATCH", "array %s has %d numbers for %d values; each value needs one", name,
			len(numbers), len(m.values))
	}
	if most := dataset.MaxInferredVertices(len(numbers)); max(m.rows, m.columns) > most {
		return nil, m.Invalid("SIZE_OVERFLOW",
			"the matrix claims %d x %d values but has only %d; with so few, at most %d rows and columns are supported",
			m.rows, m.columns, len(numbers), most)
	}
	places := make([]int32, len(numbers))
	for at, v := range numbers {
		if !(v >= 0 && v < float64(limit) && v == math.Trunc(v)) {
			return nil, m.Invalid("INDEX_OUT_OF_RANGE",
				"array %s has %v at position %d; it must be 0 to %d in a matrix of %d x %d", name, v, at, limit-1,
				m.rows, m.columns)
		}
		places[at] = int32(v)
	}
	return places, nil
}

// compressed reads the positions of values in compressed rows or columns: the row (or column) of each value, and its
// position within.
func (m *sparseNPZ) compressed(lines, places int) (line, place []int32, err error) {
	place, err = m.places("indices", places)
	if err != nil {
		return nil, nil, err
	}
	starts, err := m.numbers("indptr")
	if err != nil {
		return nil, nil, err
	}
	if len(starts) != lines+1 || starts[0] != 0 || starts[lines] != float64(len(place)) || !slices.IsSorted(starts) {
		return nil, nil, m.Invalid("BAD_ROW_STARTS",
			"array indptr does not match the other arrays: it must ascend from 0 to %d, the number of values, in "+
				"%d steps", len(place), lines)
	}
	line = make([]int32, 0, len(place))
	for at := range lines {
		for end := int(starts[at+1]); len(line) < end; {
			line = append(line, int32(at))
		}
	}
	return line, place, nil
}

// compress sorts the entries by row and column. Values at the same position are added, as scipy does.
func (m *sparseNPZ) compress(features int) *Sparse {
	result := &Sparse{features: features, starts: make([]int64, 1, m.rows+1)}
	order := make([]int, len(m.values))
	for at := range order {
		order[at] = at
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(m.row[a], m.row[b]), cmp.Compare(m.column[a], m.column[b]), cmp.Compare(a, b))
	})
	at := 0
	for row := range m.rows {
		first := len(result.columns)
		for ; at < len(order) && int(m.row[order[at]]) == row; at++ {
			column, value := m.column[order[at]], m.values[order[at]]
			if last := len(result.columns) - 1; last >= first && result.columns[last] == column {
				result.values[last] += value
				continue
			}
			result.columns = append(result.columns, column)
			result.values = append(result.values, value)
		}
		result.starts = append(result.starts, int64(len(result.columns)))
	}
	return result
}
