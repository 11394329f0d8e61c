package format

import (
	"io"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// sparseMatrix is a sparse matrix as read: compressed rows, not yet checked by the dataset package.
type sparseMatrix struct {
	features int
	starts   []int64 // where each row starts in columns and values, and where the last one ends
	columns  []int32 // counted from 0
	values   []float64
}

func (s *sparseMatrix) rows() int { return len(s.starts) - 1 }

// points checks the matrix.
func (s *sparseMatrix) points(name string) (*dataset.SparsePoints, error) {
	points, err := dataset.NewSparsePoints(s.rows(), s.features, s.starts, s.columns, s.values)
	if err != nil {
		return nil, fault.Wrap(err, "%s", name)
	}
	return points, nil
}

// readSparseMatrix reads a sparse matrix. With allowMissing a missing value is NaN, otherwise it is a
// fault.
func readSparseMatrix(r io.Reader, name string, features int, allowMissing bool) (*sparseMatrix, error) {
	s, read, err := sparseFormats.open(r, name)
	if err != nil {
		return nil, err
	}
	s.allowMissing = allowMissing
	return read(s, features)
}

// ReadSparsePoints reads rows of sparse features; labels in the file are ignored. With features 0 the
// largest index tells their number.
func ReadSparsePoints(r io.Reader, name string, features int) (*dataset.SparsePoints, error) {
	m, err := readSparseMatrix(r, name, features, false)
	if err != nil {
		return nil, err
	}
	return m.points(name)
}

// LoadSparsePoints is ReadSparsePoints of a path.
func LoadSparsePoints(path string, features int) (*dataset.SparsePoints, error) {
	return loadSized(path, features, ReadSparsePoints)
}
