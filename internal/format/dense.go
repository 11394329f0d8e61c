package format

import (
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// matrix is a dense matrix as read: row by row, not yet checked by the dataset package.
type matrix struct {
	rows, columns int
	values        []float64
	header        []string        // nil when the file has none
	points        *dataset.Points // what was wanted, checked; nil: there are values
}

// ReadPoints reads rows of features, and the names of the columns, which are nil if the file has none.
func ReadPoints(r io.Reader, name string) (*dataset.Points, []string, error) {
	return readNamed(r, name, nil)
}

func readNamed(r io.Reader, name string, names []string) (*dataset.Points, []string, error) {
	m, err := readMatrix(r, name, func(s *source) { s.asPoints, s.names = true, names })
	if err != nil {
		return nil, nil, err
	}
	if m.points != nil {
		return m.points, m.header, nil
	}
	points, err := dataset.NewPoints(m.rows, m.columns, m.values)
	if err != nil {
		return nil, nil, fault.Wrap(err, "%s", name)
	}
	return points, m.header, nil
}

// LoadPoints is ReadPoints of a path.
func LoadPoints(path string) (*dataset.Points, []string, error) { return LoadPointsOf(path, nil) }

// LoadPointsOf is LoadPoints where the names of the columns are known, if the file has any: years, which are names of columns too,
// are no row then.
func LoadPointsOf(path string, names []string) (*dataset.Points, []string, error) {
	var header []string
	points, err := load(path, func(r io.Reader, name string) (points *dataset.Points, err error) {
		points, header, err = readNamed(r, name, names)
		return points, err
	})
	return points, header, err
}

// ReadKernel reads a symmetric kernel matrix.
func ReadKernel(r io.Reader, name string) (*dataset.Kernel, error) {
	m, err := readMatrix(r, name, nil)
	if err != nil {
		return nil, err
	}
	kernel, err := dataset.NewKernel(m.rows, m.columns, m.values)
	if err != nil {
		return nil, fault.Wrap(err, "%s", name)
	}
	return kernel, nil
}

// LoadKernel is ReadKernel of a path.
func LoadKernel(path string) (*dataset.Kernel, error) { return load(path, ReadKernel) }

// readMatrix reads a matrix; set says what else is wanted, if it is not nil.
func readMatrix(r io.Reader, name string, set func(s *source)) (*matrix, error) {
	s, read, err := denseFormats.open(r, name)
	if err != nil {
		return nil, err
	}
	if set != nil {
		set(s)
	}
	return read(s)
}

// delimited is the reader of tables whose cells are separated by a comma or a tab.
func delimited(separator byte) denseReader {
	return func(s *source) (*matrix, error) { return readDelimited(newLines(s, separator)) }
}

// readDelimited reads a table of numbers, which may have a header.
func readDelimited(l *lines) (*matrix, error) {
	m := &matrix{}
	err := l.eachRow(func(cells [][]byte) error {
		if m.columns == 0 {
			m.columns = len(cells)
			kind := kindOfRow(cells)
			if slices.EqualFunc(cells, l.names, func(cell []byte, name string) bool { return string(cell) == name }) {
				kind = rowOfNames
			}
			switch kind {
			case rowOfNames:
				for _, cell := range cells {
					m.header = append(m.header, string(cell))
				}
				return nil
			case rowOfNumbersAndNames:
				// If it were taken for a header by mistake, every index after it would be off by one.
				return l.invalid("AMBIGUOUS_HEADER",
					"the first line has both numbers and names; a header must have names only, and data numbers only")
			}
		}
		return m.appendRow(l, cells)
	})
	if err != nil {
		return nil, err
	}
	if m.rows == 0 {
		return nil, l.source.invalid("EMPTY_DATA", "the file has no rows of data")
	}
	return m, nil
}

func (m *matrix) appendRow(l *lines, cells [][]byte) error {
	if len(cells) != m.columns {
		return l.invalid("RAGGED_ROWS", "the line has %s where the first has %d; every row needs the same number", text.Plural(len(cells), "cell"), m.columns).
			With("row", strconv.Itoa(m.rows))
	}
	for column, cell := range cells {
		value, ok := parseFloat(cell)
		var bad *fault.Error
		switch {
		case ok && finite(value):
			m.values = append(m.values, value)
			continue
		case l.readsAsNaN(cell):
			m.values = append(m.values, math.NaN())
			continue
		case ok:
			bad = l.invalid("NOT_FINITE", "row %d, %s is %s; every value must be a finite number", m.rows, m.nameOf(column), quoted(cell))
		case isMissing(cell):
			bad = l.invalid("MISSING_VALUE", "row %d, %s has no value (%s); fill it in or remove the row", m.rows, m.nameOf(column), quoted(cell))
		default:
			bad = l.invalid("NOT_A_NUMBER", "row %d, %s is %s, which is no number", m.rows, m.nameOf(column), quoted(cell))
		}
		return bad.With("row", strconv.Itoa(m.rows)).With("column", strconv.Itoa(column))
	}
	m.rows++
	return nil
}

// nameOf is a column as errors call it.
func (m *matrix) nameOf(column int) string {
	if column < len(m.header) {
		return "column " + strconv.Quote(m.header[column])
	}
	return "column " + strconv.Itoa(column)
}

// transpose puts a matrix that is stored column by column in the order of its rows.
func transpose(values []float64, rows, columns int) []float64 {
	if rows == 1 || columns == 1 {
		return values
	}
	byRow := make([]float64, len(values))
	for column := range columns {
		for row, v := range values[column*rows : (column+1)*rows] {
			byRow[row*columns+column] = v
		}
	}
	return byRow
}

// isAddressable tells whether rows x columns values of a size in bytes fit into an address space, so
// that computing with these sizes does not overflow.
func isAddressable(rows, columns, size int64) bool {
	const maxBytes = 1 << 62
	return rows >= 0 && columns >= 0 && (columns == 0 || rows <= maxBytes/columns) && rows*columns <= maxBytes/size
}
