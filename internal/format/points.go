package format

import (
	"io"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/array"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// ReadPoints reads rows of features. header holds the names of the columns, nil if the file has none.
func ReadPoints(r io.Reader, name string) (*dataset.Points, []string, error) {
	return readNamed(r, name, nil)
}

// readNamed is ReadPoints for a file whose column names, if it has any, are known; nil if they are not.
func readNamed(r io.Reader, name string, names []string) (*dataset.Points, []string, error) {
	m, err := readMatrix(r, name, func(s *scan.Source) { s.AsPoints, s.Names = true, names })
	if err != nil {
		return nil, nil, err
	}
	if m.Points != nil {
		return m.Points, m.Header, nil
	}
	points, err := dataset.NewPoints(m.Rows, m.Columns, m.Values)
	return points, m.Header, fault.Wrap(err, "%s", name)
}

// LoadPoints opens path and calls ReadPoints.
func LoadPoints(path string) (*dataset.Points, []string, error) { return LoadPointsOf(path, nil) }

// LoadPointsOf is LoadPoints for a file whose column names, if it has any, are known. A first line of these names is a
// header even if they are numbers, such as years.
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
	kernel, err := dataset.NewKernel(m.Rows, m.Columns, m.Values)
	return kernel, fault.Wrap(err, "%s", name)
}

// readMatrix reads a matrix. If set is not nil, it configures the source before reading.
func readMatrix(r io.Reader, name string, set func(s *scan.Source)) (*array.Matrix, error) {
	s, read, err := denseFormats.open(r, name)
	if err != nil {
		return nil, err
	}
	if set != nil {
		set(s)
	}
	return read(s)
}

// readSparseMatrix reads a sparse matrix. Missing values are NaN with allowMissing, and a fault without.
func readSparseMatrix(r io.Reader, name string, features int, allowMissing bool) (*array.Sparse, error) {
	s, read, err := sparseFormats.open(r, name)
	if err != nil {
		return nil, err
	}
	s.AllowMissing = allowMissing
	return read(s, features)
}

// ReadSparsePoints reads rows of sparse features and ignores labels in the file. If features is 0, the largest index
// determines their number.
func ReadSparsePoints(r io.Reader, name string, features int) (*dataset.SparsePoints, error) {
	m, err := readSparseMatrix(r, name, features, false)
	if err != nil {
		return nil, err
	}
	return m.Points(name)
}

// The functions below drop rows with a missing value: an empty cell, "?", "NA", "NaN" and the like. With
// scan.Source.AllowMissing, the readers of all formats return such values as NaN. Any other mistake in a file is still
// a fault.

// ReadCompletePoints is ReadPoints without the incomplete rows, whose numbers it returns in ascending order.
func ReadCompletePoints(r io.Reader, name string) (points *dataset.Points, header []string, incomplete []int32, err error) {
	m, err := readMatrix(r, name, func(s *scan.Source) { s.AllowMissing = true })
	if err != nil {
		return nil, nil, nil, err
	}
	if incomplete, err = m.DropIncomplete(name); err != nil {
		return nil, nil, nil, err
	}
	points, err = dataset.NewPoints(m.Rows, m.Columns, m.Values)
	return points, m.Header, incomplete, fault.Wrap(err, "%s", name)
}

// ReadCompleteSparsePoints is ReadSparsePoints without the incomplete rows, whose numbers it returns in ascending
// order. Incomplete rows still count for the number of features.
func ReadCompleteSparsePoints(r io.Reader, name string) (points *dataset.SparsePoints, incomplete []int32, err error) {
	m, err := readSparseMatrix(r, name, 0, true)
	if err != nil {
		return nil, nil, err
	}
	if incomplete, err = m.DropIncomplete(name); err != nil {
		return nil, nil, err
	}
	points, err = m.Points(name)
	return points, incomplete, err
}
