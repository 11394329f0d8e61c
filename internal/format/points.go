package format

import (
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/array"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// LoadPoints opens path and reads rows of features. header holds the names of the columns, nil if the file has none.
func LoadPoints(path string) (points *dataset.Points, header []string, err error) {
	return Input{Path: path}.LoadPoints()
}

// LoadPoints reads rows of features. header holds the names of the columns, nil if the file has none.
func (in Input) LoadPoints() (points *dataset.Points, header []string, err error) {
	points, header, _, err = in.points(false)
	return points, header, err
}

// points reads rows of features. If drop is set, it drops rows with a missing value (an empty cell, "?", "NA", "NaN"
// and the like) and returns their numbers in ascending order; otherwise such a row is a fault.
func (in Input) points(drop bool) (points *dataset.Points, header []string, incomplete []int32, err error) {
	m, err := in.matrix(scan.Options{AllowMissing: drop, AsPoints: !drop})
	if err != nil {
		return nil, nil, nil, err
	}
	if m.Points != nil {
		return m.Points, m.Header, nil, nil
	}
	if drop {
		incomplete, err = m.DropIncomplete(in.Name())
		if err != nil {
			return nil, nil, nil, err
		}
	}
	points, err = dataset.NewPoints(m.Rows, m.Columns, m.Values)
	return points, m.Header, incomplete, fault.Wrap(err, "%s", in.Name())
}

// LoadKernel reads a symmetric kernel matrix.
func (in Input) LoadKernel() (*dataset.Kernel, error) {
	m, err := in.matrix(scan.Options{})
	if err != nil {
		return nil, err
	}
	kernel, err := dataset.NewKernel(m.Rows, m.Columns, m.Values)
	return kernel, fault.Wrap(err, "%s", in.Name())
}

// matrix reads a dense matrix.
func (in Input) matrix(o scan.Options) (*array.Matrix, error) {
	return readInput(in, o, func(s *scan.Source) (*array.Matrix, error) {
		read, err := denseFormats.reader(s)
		if err != nil {
			return nil, err
		}
		return read(s)
	})
}

// LoadSparsePoints reads rows of sparse features and ignores labels in the file. If features is 0, the largest index
// determines their number.
func (in Input) LoadSparsePoints(features int) (*dataset.SparsePoints, error) {
	points, _, err := in.sparsePoints(features, false)
	return points, err
}

// sparsePoints is LoadSparsePoints that treats incomplete rows as points does. Rows that are dropped still count for
// the number of features.
func (in Input) sparsePoints(features int, drop bool) (points *dataset.SparsePoints, incomplete []int32, err error) {
	m, err := readInput(in, scan.Options{AllowMissing: drop}, func(s *scan.Source) (*array.Sparse, error) {
		read, err := sparseFormats.reader(s)
		if err != nil {
			return nil, err
		}
		return read(s, features)
	})
	if err != nil {
		return nil, nil, err
	}
	if drop {
		incomplete, err = m.DropIncomplete(in.Name())
		if err != nil {
			return nil, nil, err
		}
	}
	points, err = m.Points(in.Name())
	return points, incomplete, err
}
