// Package array reads dense and sparse matrices: tables of numbers, NPY and NPZ files of NumPy and SciPy, Matrix Market
// and svmlight.
package array

import (
	"math"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/text"
)

// Matrix is a dense matrix as read, in row-major order and not yet validated by the dataset package.
type Matrix struct {
	Rows, Columns int
	Values        []float64
	Header        []string        // nil if the file has none
	Points        *dataset.Points // set instead of Values if the source asked for points
}

// Dense reads a matrix from the decompressed bytes of a file.
type Dense func(s *scan.Source) (*Matrix, error)

// Delimited returns a reader of tables of numbers with the given cell separator, a comma or a tab.
func Delimited(separator byte) Dense {
	return func(s *scan.Source) (*Matrix, error) { return readDelimited(scan.NewLines(s, separator)) }
}

// readDelimited reads a table of numbers with an optional header.
func readDelimited(l *scan.Lines) (*Matrix, error) {
	m := &Matrix{}
	err := l.EachRow(func(cells [][]byte) error {
		if m.Columns == 0 {
			m.Columns = len(cells)
			kind := scan.KindOfRow(cells)
			if slices.EqualFunc(cells, l.Names, func(cell []byte, name string) bool { return string(cell) == name }) {
				kind = scan.RowOfNames
			}
			switch kind {
			case scan.RowOfNames:
				for _, cell := range cells {
					m.Header = append(m.Header, string(cell))
				}
				return nil
			case scan.RowOfNumbersAndNames:
				// Mistaking this line for a header would shift the index of every row by one.
				return l.Invalid("AMBIGUOUS_HEADER",
					"the first line has both numbers and names; a header must have names only, and data numbers only")
			}
		}
		return m.appendRow(l, cells)
	})
	if err != nil {
		return nil, err
	}
	if m.Rows == 0 {
		return nil, l.Source.Invalid("EMPTY_DATA", "the file has no rows of data")
	}
	return m, nil
}

// appendRow appends a line, which must have as many finite numbers as the first.
func (m *Matrix) appendRow(l *scan.Lines, cells [][]byte) error {
	if len(cells) != m.Columns {
		return l.Invalid("RAGGED_ROWS", "the line has %s, but the first line has %d; every row needs the same number",
			text.Plural(len(cells), "cell"), m.Columns).
			With("row", strconv.Itoa(m.Rows))
	}
	for column, cell := range cells {
		value, ok := scan.ParseFloat(cell)
		var bad *fault.Error
		switch {
		case ok && scan.IsFinite(value):
			m.Values = append(m.Values, value)
			continue
		case l.ReadsAsNaN(cell):
			m.Values = append(m.Values, math.NaN())
			continue
		case ok:
			bad = l.Invalid("NOT_FINITE", "row %d, %s is %s; every value must be a finite number", m.Rows,
				m.nameOf(column), scan.Quote(cell))
		case scan.IsMissing(cell):
			bad = l.Invalid("MISSING_VALUE", "row %d, %s has no value (%s); fill it in or remove the row", m.Rows,
				m.nameOf(column), scan.Quote(cell))
		default:
			bad = l.Invalid("NOT_A_NUMBER", "row %d, %s is %s, which is not a number", m.Rows, m.nameOf(column),
				scan.Quote(cell))
		}
		return bad.With("row", strconv.Itoa(m.Rows)).With("column", strconv.Itoa(column))
	}
	m.Rows++
	return nil
}

// nameOf returns the name of a column for errors.
func (m *Matrix) nameOf(column int) string {
	if column < len(m.Header) {
		return "column " + strconv.Quote(m.Header[column])
	}
	return "column " + strconv.Itoa(column)
}

// transpose converts column-major values to row-major order.
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

// isAddressable reports whether rows x columns values of size bytes each fit into the address space, so that computing
// with these sizes cannot overflow.
func isAddressable(rows, columns, size int64) bool {
	const maxBytes = 1 << 62
	return rows >= 0 && columns >= 0 && (columns == 0 || rows <= maxBytes/columns) && rows*columns <= maxBytes/size
}

// Sparse is a sparse matrix in compressed rows as read, not yet validated by the dataset package.
type Sparse struct {
	features int
	starts   []int64 // where each row starts in columns and values, and where the last one ends
	columns  []int32 // from 0
	values   []float64
}

// SparseReader reads a sparse matrix. If features is 0, the file determines their number.
type SparseReader func(s *scan.Source, features int) (*Sparse, error)

func (s *Sparse) rows() int { return len(s.starts) - 1 }

// Points validates the matrix and returns it as points. name is the file, for errors.
func (s *Sparse) Points(name string) (*dataset.SparsePoints, error) {
	points, err := dataset.NewSparsePoints(s.rows(), s.features, s.starts, s.columns, s.values)
	return points, fault.Wrap(err, "%s", name)
}

// DropIncomplete removes the rows that contain NaN and returns their numbers. Infinite values are a fault, reported
// here because the original row numbers are lost afterward.
func (m *Matrix) DropIncomplete(name string) (incomplete []int32, err error) {
	kept := 0
	for i := range m.Rows {
		row := m.Values[i*m.Columns : (i+1)*m.Columns]
		gap := false
		for column, v := range row {
			if math.IsInf(v, 0) {
				return nil,
					fault.Invalid("NOT_FINITE", "%s: row %d, column %d is %v; every value must be a finite number",
						name, i, column, v).
						With("row", strconv.Itoa(i)).With("column", strconv.Itoa(column))
			}
			gap = gap || math.IsNaN(v)
		}
		if gap {
			incomplete = append(incomplete, int32(i))
			continue
		}
		kept += copy(m.Values[kept:], row)
	}
	m.Values = m.Values[:kept]
	m.Rows -= len(incomplete)
	return incomplete, checkRowsLeft(name, m.Rows, len(incomplete))
}

// DropIncomplete removes the rows that contain NaN and returns their numbers.
func (s *Sparse) DropIncomplete(name string) (incomplete []int32, err error) {
	rows, kept := 0, int64(0)
	for i := range s.rows() {
		from, to := s.starts[i], s.starts[i+1]
		gap := false
		for _, v := range s.values[from:to] {
			gap = gap || math.IsNaN(v)
		}
		if gap {
			incomplete = append(incomplete, int32(i))
			continue
		}
		copy(s.columns[kept:], s.columns[from:to])
		kept += int64(copy(s.values[kept:], s.values[from:to]))
		rows++
		s.starts[rows] = kept // index i+1 at most, which has already been read
	}
	s.starts, s.columns, s.values = s.starts[:rows+1], s.columns[:kept], s.values[:kept]
	return incomplete, checkRowsLeft(name, rows, len(incomplete))
}

func checkRowsLeft(name string, rows, incomplete int) error {
	if rows > 0 || incomplete == 0 {
		return nil
	}
	return fault.Invalid("EMPTY_DATA", "%s: no row is left: all %d rows have missing values", name, incomplete)
}
