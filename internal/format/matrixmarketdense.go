package format

import "github.com/cleave-project/cleave/internal/data/dataset"

// A coordinate file leaves its zeros out, so a short file can stand for a huge matrix. A dense matrix may
// have baseDenseLimit values, and more only if that is at most densePerEntry for each entry in the file.
const (
	baseDenseLimit = 1 << 22
	densePerEntry  = 32
)

func readDenseMatrixMarket(s *source) (*matrix, error) {
	m, err := openMatrixMarket(s)
	if err != nil {
		return nil, err
	}
	if m.coordinate {
		return m.denseFromCoordinates()
	}
	values, err := m.array()
	if err != nil {
		return nil, err
	}
	dense := &matrix{rows: m.rows, columns: m.columns}
	if m.symmetric {
		dense.values = unpackTriangle(values, m.rows)
	} else {
		dense.values = transpose(values, m.rows, m.columns)
	}
	return dense, nil
}

func (m *matrixMarket) denseFromCoordinates() (*matrix, error) {
	entries, err := m.coordinates()
	if err != nil {
		return nil, err
	}
	if m.rows == 0 || m.columns == 0 {
		return &matrix{rows: m.rows, columns: m.columns}, nil
	}
	if count := dataset.CountEdges(entries); m.rows*m.columns > max(baseDenseLimit, densePerEntry*count) {
		return nil, m.source.invalid("TOO_SPARSE", "the %d x %d matrix has only %d entries, too few to be stored densely; if it is a graph, give it as one",
			m.rows, m.columns, count)
	}
	dense := &matrix{rows: m.rows, columns: m.columns, values: make([]float64, m.rows*m.columns)}
	for e := range dataset.EachEdge(entries) {
		row, column := int(e.Source), int(e.Target)
		dense.values[row*m.columns+column] += e.Weight
		if m.symmetric && row != column {
			dense.values[column*m.columns+row] += e.Weight
		}
	}
	return dense, nil
}

// unpackTriangle makes a symmetric matrix from its lower triangle, which is stored column by column.
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
