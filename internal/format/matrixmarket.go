package format

import (
	"errors"
	"io"
	"math"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// mmHeader is the banner and the size line of a Matrix Market file.
type mmHeader struct {
	coordinate bool // row, column and value of each entry; otherwise array: all values, column by column
	pattern    bool // entries have no value and count as 1
	symmetric  bool // only the lower triangle is stored
	rows       int
	columns    int
	entries    int64 // lines of a coordinate file, values of an array
}

// matrixMarket reads the body of a file after its header.
type matrixMarket struct {
	mmHeader
	*lines
}

func openMatrixMarket(s *source) (*matrixMarket, error) {
	l := newLines(s, anyWhiteSpace)
	l.allowBlankLines = true
	m := &matrixMarket{lines: l}
	banner, err := l.read()
	if errors.Is(err, io.EOF) {
		return nil, l.source.invalid("EMPTY_DATA", "the file is empty")
	}
	if err != nil {
		return nil, err
	}
	if err := m.parseBanner(strings.Fields(strings.ToLower(string(banner)))); err != nil {
		return nil, err
	}
	l.comments = "%"
	cells, err := m.nextRow()
	if errors.Is(err, io.EOF) {
		return nil, l.source.invalid("TRUNCATED_FILE", "the line with the matrix's size is missing")
	}
	if err != nil {
		return nil, err
	}
	return m, m.parseSize(cells)
}

func (m *matrixMarket) parseBanner(words []string) error {
	if len(words) != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix" {
		return m.invalid("NOT_MATRIX_MARKET", "the first line must be like %q", "%%MatrixMarket matrix coordinate real symmetric")
	}
	unsupported := func(word, use string) error {
		return m.invalid("UNSUPPORTED_MATRIX", "Matrix Market files of kind %q are not supported; use %s", word, use)
	}
	switch words[2] {
	case "coordinate":
		m.coordinate = true
	case "array":
	default:
		return unsupported(words[2], "coordinate or array")
	}
	switch {
	case words[3] == "real", words[3] == "integer", words[3] == "double":
	case words[3] == "pattern" && m.coordinate:
		m.pattern = true
	default:
		return unsupported(words[3], "real or integer, or pattern with coordinate")
	}
	switch words[4] {
	case "general":
	case "symmetric":
		m.symmetric = true
	default:
		return unsupported(words[4], "general or symmetric")
	}
	return nil
}

func (m *matrixMarket) parseSize(cells [][]byte) error {
	sizes := [3]int64{}
	want := 2
	if m.coordinate {
		want = 3
	}
	bad := m.invalid("BAD_SIZE_LINE", "the size line must hold %d counts (rows, columns%s)", want, map[bool]string{true: ", entries"}[m.coordinate])
	if len(cells) != want {
		return bad
	}
	for at, cell := range cells {
		size, ok := parseInteger(cell)
		if !ok || size < 0 {
			return bad
		}
		sizes[at] = size
	}
	rows, columns := sizes[0], sizes[1]
	if rows > dataset.MaxRows || columns > math.MaxInt32 || !m.coordinate && !isAddressable(rows, columns, 8) {
		return m.invalid("SIZE_OVERFLOW", "the header claims %d x %d values, more than can be addressed", rows, columns)
	}
	if m.symmetric && rows != columns {
		return m.invalid("NOT_SQUARE", "the matrix is said to be symmetric but has %d rows and %d columns", rows, columns)
	}
	m.rows, m.columns, m.entries = int(rows), int(columns), sizes[2]
	if !m.coordinate {
		m.entries = rows * columns
		if m.symmetric {
			m.entries = rows * (rows + 1) / 2
		}
	}
	return nil
}

// coordinates reads every entry of a coordinate file, as edges from row to column, counted from 0.
func (m *matrixMarket) coordinates() ([]dataset.Edges, error) {
	cells := 3
	if m.pattern {
		cells = 2
	}
	rows := edgeRows{
		lines: m.lines, parse: m.parseEntry, leastCells: cells, mostCells: cells,
		base: 1, sourceLimit: int64(m.rows) + 1, targetLimit: int64(m.columns) + 1,
	}
	var lists []dataset.Edges
	left := m.entries
	err := rows.read(func(entries dataset.Edges, err error, lineOf func(int) int) error {
		if count := int64(entries.Len()); count > left || count == left && err != nil {
			m.lineNumber = lineOf(int(left))
			return m.invalid("TRAILING_DATA", "the header claims %d entries, but here is another", m.entries)
		}
		lists, left = append(lists, entries), left-int64(entries.Len())
		return err
	})
	if err != nil {
		return nil, err
	}
	if left > 0 {
		return nil, m.source.invalid("TRUNCATED_FILE", "the header claims %d entries, but the file ends after %d", m.entries, m.entries-left)
	}
	return lists, nil
}

// parseEntry parses a line of a coordinate file.
func (m *matrixMarket) parseEntry(l *lines, cells [][]byte) (entry dataset.Edge, err error) {
	want := 3
	if m.pattern {
		want = 2
	}
	if len(cells) != want {
		return entry, l.invalid("RAGGED_ROWS", "the entry has %d numbers; %d are needed", len(cells), want)
	}
	row, rowOK := parseInteger(cells[0])
	column, columnOK := parseInteger(cells[1])
	if !rowOK || !columnOK || row < 1 || row > int64(m.rows) || column < 1 || column > int64(m.columns) {
		return entry, l.invalid("INDEX_OUT_OF_RANGE", "entry (%s, %s) is outside the %d x %d matrix (Matrix Market counts from 1)",
			cells[0], cells[1], m.rows, m.columns)
	}
	entry = dataset.Edge{Source: int32(row - 1), Target: int32(column - 1), Weight: 1}
	if !m.pattern {
		entry.Weight, err = matrixValue(l, cells[2])
	}
	return entry, err
}

func matrixValue(l *lines, cell []byte) (float64, error) {
	if l.readsAsNaN(cell) {
		return math.NaN(), nil
	}
	value, ok := parseFloat(cell)
	if !ok {
		return 0, l.invalid("NOT_A_NUMBER", "%s is no number", quoted(cell))
	}
	if !finite(value) {
		return 0, l.invalid("NOT_FINITE", "the value is %s; every value must be a finite number", quoted(cell))
	}
	return value, nil
}

// array reads every value of an array file, in the file's order.
func (m *matrixMarket) array() ([]float64, error) {
	var values []float64
	err := m.eachRow(func(cells [][]byte) error {
		for _, cell := range cells {
			if int64(len(values)) == m.entries {
				return m.invalid("TRAILING_DATA", "the header claims %d values, but here is another", m.entries)
			}
			value, err := matrixValue(m.lines, cell)
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
	if int64(len(values)) < m.entries {
		return nil, m.source.invalid("TRUNCATED_FILE", "the header claims %d values, but the file ends after %d", m.entries, len(values))
	}
	return values, nil
}
