package array

import (
	"errors"
	"io"
	"math"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/text"
)

// mmHeader holds the banner and the size line of a Matrix Market file.
type mmHeader struct {
	Coordinate bool // lists row, column and value of each entry; otherwise all values in column-major order
	pattern    bool // entries have no values and count as 1
	Symmetric  bool // only the lower triangle is stored
	Rows       int
	Columns    int
	Entries    int64 // lines in a coordinate file, values in an array file
}

// MatrixMarket reads the body of a file after its header.
type MatrixMarket struct {
	mmHeader
	*scan.Lines
}

// OpenMatrixMarket reads the header of a file.
func OpenMatrixMarket(s *scan.Source) (*MatrixMarket, error) {
	l := scan.NewLines(s, scan.AnyWhiteSpace)
	l.AllowBlankLines = true
	m := &MatrixMarket{Lines: l}
	banner, err := l.ReadLine()
	if errors.Is(err, io.EOF) {
		return nil, l.Source.Invalid("EMPTY_DATA", "the file is empty")
	}
	if err != nil {
		return nil, err
	}
	if err := m.parseBanner(strings.Fields(strings.ToLower(string(banner)))); err != nil {
		return nil, err
	}
	l.Comments = "%"
	cells, err := m.NextRow()
	if errors.Is(err, io.EOF) {
		return nil, l.Source.Invalid("TRUNCATED_FILE", "the line with the matrix's size is missing")
	}
	if err != nil {
		return nil, err
	}
	return m, m.parseSize(cells)
}

// parseBanner reads the first line, which says how the matrix is stored.
func (m *MatrixMarket) parseBanner(words []string) error {
	if len(words) != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix" {
		return m.Invalid("NOT_MATRIX_MARKET", "the first line must look like %q",
			"%%MatrixMarket matrix coordinate real symmetric")
	}
	unsupported := func(word, use string) error {
		return m.Invalid("UNSUPPORTED_MATRIX", "Matrix Market files of kind %q are not supported; use %s", word, use)
	}
	switch words[2] {
	case "coordinate":
		m.Coordinate = true
	case "array":
	default:
		return unsupported(words[2], "coordinate or array")
	}
	switch {
	case words[3] == "real", words[3] == "integer", words[3] == "double":
	case words[3] == "pattern" && m.Coordinate:
		m.pattern = true
	default:
		return unsupported(words[3], "real or integer, or pattern with coordinate")
	}
	switch words[4] {
	case "general":
	case "symmetric":
		m.Symmetric = true
	default:
		return unsupported(words[4], "general or symmetric")
	}
	return nil
}

// parseSize reads the line of counts. Nothing is allocated by them.
func (m *MatrixMarket) parseSize(cells [][]byte) error {
	sizes := [3]int64{}
	want := 2
	if m.Coordinate {
		want = 3
	}
	bad := m.Invalid("BAD_SIZE_LINE", "the size line must hold %d counts (rows, columns%s)", want,
		map[bool]string{true: ", entries"}[m.Coordinate])
	if len(cells) != want {
		return bad
	}
	for at, cell := range cells {
		size, ok := scan.ParseInteger(cell)
		if !ok || size < 0 {
			return bad
		}
		sizes[at] = size
	}
	rows, columns := sizes[0], sizes[1]
	if rows > dataset.MaxRows || columns > math.MaxInt32 || !m.Coordinate && !isAddressable(rows, columns, 8) {
		return m.Invalid("SIZE_OVERFLOW", "the header claims %d x %d values, more than can be addressed", rows, columns)
	}
	if m.Symmetric && rows != columns {
		return m.Invalid("NOT_SQUARE", "the header says symmetric, but the matrix has %d rows and %d columns",
			rows, columns)
	}
	m.Rows, m.Columns, m.Entries = int(rows), int(columns), sizes[2]
	if !m.Coordinate {
		m.Entries = rows * columns
		if m.Symmetric {
			m.Entries = rows * (rows + 1) / 2
		}
	}
	return nil
}

// cells returns the number of cells on a line of a coordinate file.
func (h *mmHeader) cells() int {
	if h.pattern {
		return 2
	}
	return 3
}

// Coordinates reads all entries of a coordinate file as edges from row to column, numbered from 0.
func (m *MatrixMarket) Coordinates() ([]dataset.Edges, error) {
	rows := scan.EdgeRows{
		Lines: m.Lines, Parse: m.ParseEntry, LeastCells: m.cells(), MostCells: m.cells(),
		Base: 1, SourceLimit: int64(m.Rows) + 1, TargetLimit: int64(m.Columns) + 1,
	}
	var lists []dataset.Edges
	left := m.Entries
	err := rows.ReadAll(func(entries dataset.Edges, err error, lineOf func(int) int) error {
		if count := int64(entries.Len()); count > left || count == left && err != nil {
			m.LineNumber = lineOf(int(left))
			return m.Invalid("TRAILING_DATA", "the header claims %d entries, but the file has more", m.Entries)
		}
		lists, left = append(lists, entries), left-int64(entries.Len())
		return err
	})
	if err != nil {
		return nil, err
	}
	if left > 0 {
		return nil, m.Source.Invalid("TRUNCATED_FILE", "the header claims %d entries, but the file ends after %d",
			m.Entries, m.Entries-left)
	}
	return lists, nil
}

// ParseEntry parses a line of a coordinate file.
func (m *MatrixMarket) ParseEntry(l *scan.Lines, cells [][]byte) (entry dataset.Edge, err error) {
	if len(cells) != m.cells() {
		return entry, l.Invalid("RAGGED_ROWS", "the entry has %s, but needs %d", text.Plural(len(cells), "number"),
			m.cells())
	}
	row, rowOK := scan.ParseInteger(cells[0])
	column, columnOK := scan.ParseInteger(cells[1])
	switch {
	case !rowOK || !columnOK:
		return entry, l.Invalid("INDEX_OUT_OF_RANGE",
			"the entry is in row %s and column %s, which are not both whole numbers", scan.Quote(cells[0]),
			scan.Quote(cells[1]))
	case row < 1 || row > int64(m.Rows) || column < 1 || column > int64(m.Columns):
		return entry, l.Invalid("INDEX_OUT_OF_RANGE",
			"entry (%d, %d) is outside the %d x %d matrix (Matrix Market indices start at 1)", row, column,
			m.Rows, m.Columns)
	}
	entry = dataset.Edge{Source: int32(row - 1), Target: int32(column - 1), Weight: 1}
	if !m.pattern {
		entry.Weight, err = matrixValue(l, cells[2])
	}
	return entry, err
}

// matrixValue parses a value, which must be finite; with AllowMissing, words for missing values are NaN.
func matrixValue(l *scan.Lines, cell []byte) (float64, error) {
	if l.ReadsAsNaN(cell) {
		return math.NaN(), nil
	}
	value, ok := scan.ParseFloat(cell)
	if !ok {
		return 0, l.Invalid("NOT_A_NUMBER", "%s is not a number", scan.Quote(cell))
	}
	if !scan.IsFinite(value) {
		return 0, l.Invalid("NOT_FINITE", "the value is %s; every value must be a finite number", scan.Quote(cell))
	}
	return value, nil
}

// array reads all values of an array file in the order of the file.
func (m *MatrixMarket) array() ([]float64, error) {
	var values []float64
	err := m.EachRow(func(cells [][]byte) error {
		for _, cell := range cells {
			if int64(len(values)) == m.Entries {
				return m.Invalid("TRAILING_DATA", "the header claims %d values, but the file has more", m.Entries)
			}
			value, err := matrixValue(m.Lines, cell)
			if err != nil {
				return err
			}
			values = append(values, value)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if int64(len(values)) < m.Entries {
		return nil, m.Source.Invalid("TRUNCATED_FILE", "the header claims %d values, but the file ends after %d",
			m.Entries, len(values))
	}
	return values, nil
}

// A coordinate file omits zeros, so a short file can describe a huge matrix. A dense matrix may have baseDenseLimit
// values, and more only up to densePerEntry for each entry in the file.
const (
	baseDenseLimit = 1 << 22
	densePerEntry  = 32
)

// ReadDenseMatrixMarket reads a matrix, filling in zeros if the file is in coordinate form.
func ReadDenseMatrixMarket(s *scan.Source) (*Matrix, error) {
	m, err := OpenMatrixMarket(s)
	if err != nil {
		return nil, err
	}
	if m.Coordinate {
		return m.denseFromCoordinates()
	}
	values, err := m.array()
	if err != nil {
		return nil, err
	}
	dense := &Matrix{Rows: m.Rows, Columns: m.Columns}
	if m.Symmetric {
		dense.Values = unpackTriangle(values, m.Rows)
	} else {
		dense.Values = transpose(values, m.Rows, m.Columns)
	}
	return dense, nil
}

// denseFromCoordinates returns a dense matrix. It refuses one that has far more zeros than entries, so that a short
// file cannot take much memory.
func (m *MatrixMarket) denseFromCoordinates() (*Matrix, error) {
	entries, err := m.Coordinates()
	if err != nil {
		return nil, err
	}
	if m.Rows == 0 || m.Columns == 0 {
		return &Matrix{Rows: m.Rows, Columns: m.Columns}, nil
	}
	if count := dataset.CountEdges(entries); m.Rows*m.Columns > max(baseDenseLimit, densePerEntry*count) {
		return nil, m.Source.Invalid("TOO_SPARSE",
			"the %d x %d matrix has only %d entries, too few for a dense matrix; if it is a graph, use --graph",
			m.Rows, m.Columns, count)
	}
	dense := &Matrix{Rows: m.Rows, Columns: m.Columns, Values: make([]float64, m.Rows*m.Columns)}
	for e := range dataset.EachEdge(entries) {
		row, column := int(e.Source), int(e.Target)
		dense.Values[row*m.Columns+column] += e.Weight
		if m.Symmetric && row != column {
			dense.Values[column*m.Columns+row] += e.Weight
		}
	}
	return dense, nil
}

// unpackTriangle expands a lower triangle in column-major order to the full symmetric matrix.
func unpackTriangle(triangle []float64, n int) []float64 {
	values := make([]float64, n*n)
	at := 0
	for column := range n {
		for row := column; row < n; row++ {
			values[row*n+column], values[column*n+row] = triangle[at], triangle[at]
			at++
		}
	}
	return values
}
