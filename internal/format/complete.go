package format

import (
	"io"
	"math"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// The functions in this file leave out rows with a missing value: an empty cell, "?", "NA", "NaN" and the
// like. The readers of all formats turn such a value into NaN if they are told to (source.allowMissing).
// Everything else that is wrong with a file is still a fault.

// ReadCompletePoints is ReadPoints without the incomplete rows, whose numbers it returns in ascending
// order.
func ReadCompletePoints(r io.Reader, name string) (points *dataset.Points, header []string, incomplete []int32, err error) {
	m, err := readMatrix(r, name, func(s *source) { s.allowMissing = true })
	if err != nil {
		return nil, nil, nil, err
	}
	if incomplete, err = m.dropIncomplete(name); err != nil {
		return nil, nil, nil, err
	}
	if points, err = dataset.NewPoints(m.rows, m.columns, m.values); err != nil {
		return nil, nil, nil, fault.Wrap(err, "%s", name)
	}
	return points, m.header, incomplete, nil
}

// LoadCompletePoints is ReadCompletePoints of a path.
func LoadCompletePoints(path string) (points *dataset.Points, header []string, incomplete []int32, err error) {
	points, err = load(path, func(r io.Reader, name string) (points *dataset.Points, err error) {
		points, header, incomplete, err = ReadCompletePoints(r, name)
		return points, err
	})
	return points, header, incomplete, err
}

// dropIncomplete removes the rows that have a NaN. It also refuses infinite values, as long as the number
// of their row is known.
func (m *matrix) dropIncomplete(name string) (incomplete []int32, err error) {
	kept := 0
	for i := range m.rows {
		row := m.values[i*m.columns : (i+1)*m.columns]
		gap := false
		for column, v := range row {
			if math.IsInf(v, 0) {
				return nil, fault.Invalid("NOT_FINITE", "%s: row %d, column %d is %v; every value must be a finite number", name, i, column, v).
					With("row", strconv.Itoa(i)).With("column", strconv.Itoa(column))
			}
			gap = gap || math.IsNaN(v)
		}
		if gap {
			incomplete = append(incomplete, int32(i))
			continue
		}
		kept += copy(m.values[kept:], row)
	}
	m.values = m.values[:kept]
	m.rows -= len(incomplete)
	return incomplete, checkRowsLeft(name, m.rows, len(incomplete))
}

// ReadCompleteSparsePoints is ReadSparsePoints without the incomplete rows, whose numbers it returns in
// ascending order. The number of features is that of the whole file.
func ReadCompleteSparsePoints(r io.Reader, name string) (points *dataset.SparsePoints, incomplete []int32, err error) {
	m, err := readSparseMatrix(r, name, 0, true)
	if err != nil {
		return nil, nil, err
	}
	if incomplete, err = m.dropIncomplete(name); err != nil {
		return nil, nil, err
	}
	points, err = m.points(name)
	return points, incomplete, err
}

// LoadCompleteSparsePoints is ReadCompleteSparsePoints of a path.
func LoadCompleteSparsePoints(path string) (points *dataset.SparsePoints, incomplete []int32, err error) {
	points, err = load(path, func(r io.Reader, name string) (points *dataset.SparsePoints, err error) {
		points, incomplete, err = ReadCompleteSparsePoints(r, name)
		return points, err
	})
	return points, incomplete, err
}

// dropIncomplete removes the rows that have a NaN.
func (s *sparseMatrix) dropIncomplete(name string) (incomplete []int32, err error) {
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
		s.starts[rows] = kept // at or before starts[i+1], which has been read
	}
	s.starts, s.columns, s.values = s.starts[:rows+1], s.columns[:kept], s.values[:kept]
	return incomplete, checkRowsLeft(name, rows, len(incomplete))
}

func checkRowsLeft(name string, rows, incomplete int) error {
	if rows > 0 || incomplete == 0 {
		return nil
	}
	return fault.Invalid("EMPTY_DATA", "%s: no row is left; all %d have missing values", name, incomplete)
}
