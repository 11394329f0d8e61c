package eigen

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// gonumRows is the number of rows up to which dense problems are solved by gonum, whose time is that of ours there, or
// less. Above it householder.go is faster, by 3 times for 200 rows and 15 times for 2,000. So large problems occur:
// constrained cuts of up to 2,000 points are found from all entries, and landmarks, learned metrics and searches that
// do not converge have matrices of hundreds of rows.
const gonumRows = 64

// DenseEigenpairs computes all eigenpairs of a symmetric matrix, the largest eigenvalue first. The columns of vectors
// have length 1 and a positive entry of largest magnitude.
//
// It takes no context, so it is for matrices of at most about a thousand rows, a bound that callers keep. A larger
// matrix takes seconds and belongs to LeadingEigenpairs. It panics if an entry is not finite.
func DenseEigenpairs(a *mat.SymDense) (values []float64, vectors *mat.Dense) {
	values, vectors, err := LeadingEigenpairs(context.Background(), a, all)
	if err != nil {
		panic(err) // the matrix is not finite
	}
	return values, vectors
}

func all(values []float64) int { return len(values) }

// LeadingEigenpairs computes all eigenvalues of a matrix as DenseEigenpairs does, but only the vectors of the largest
// ones: as many as count returns, which is called with all eigenvalues. It fails only if the context ends or an
// entry is not finite.
func LeadingEigenpairs(
	ctx context.Context, a *mat.SymDense, count func(values []float64) int,
) (values []float64, vectors *mat.Dense, err error) {
	n := a.SymmetricDim()
	if err := checkFinite(a); err != nil {
		return nil, nil, err
	}
	if n > gonumRows {
		return householder(ctx, a, count)
	}
	if n == 0 {
		return nil, &mat.Dense{}, ctx.Err()
	}
	var found mat.EigenSym
	if !found.Factorize(a, true) {
		return nil, nil, stalled(n)
	}
	ascending := found.Values(nil)
	var whole mat.Dense
	found.VectorsTo(&whole)
	order := choose.All[int](n)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ascending[j], ascending[i]) })
	values = choose.At(ascending, order)
	vectors = newDense(n, count(values))
	for j, from := range order[:columnCount(vectors)] {
		v := mat.Col(nil, from, &whole)
		Orient(v)
		vectors.SetCol(j, v)
	}
	return values, vectors, ctx.Err()
}

// DenseEigenvalues is LeadingEigenpairs without the vectors, in a fraction of the time if the matrix is large.
func DenseEigenvalues(ctx context.Context, a *mat.SymDense) ([]float64, error) {
	if err := checkFinite(a); err != nil {
		return nil, err
	}
	if a.SymmetricDim() > gonumRows {
		return householderValues(ctx, a)
	}
	// With vectors, because gonum 0.17 panics without them if entries are very large or very small.
	values, _, err := LeadingEigenpairs(ctx, a, func([]float64) int { return 0 })
	return values, err
}

func checkFinite(a *mat.SymDense) error {
	raw := a.RawSymmetric()
	for i := range raw.N {
		for _, v := range raw.Data[i*raw.Stride+i : i*raw.Stride+raw.N] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return stalled(raw.N)
			}
		}
	}
	return nil
}

func stalled(n int) error {
	return invalid.New(invalid.MatrixNotFinite, "rows", n)
}

// newDense returns a matrix of zeros, which may be empty.
func newDense(rows, columns int) *mat.Dense {
	if rows == 0 || columns == 0 {
		return &mat.Dense{}
	}
	return mat.NewDense(rows, columns, nil)
}

// NewSymmetric returns a symmetric matrix of zeros, which may be empty.
func NewSymmetric(n int) *mat.SymDense {
	if n == 0 {
		return &mat.SymDense{}
	}
	return mat.NewSymDense(n, nil)
}

// Upper returns the symmetric matrix with the upper triangle of m.
func Upper(m *mat.Dense) *mat.SymDense {
	n, _ := m.Dims()
	s := NewSymmetric(n)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, m.At(i, j))
		}
	}
	return s
}

// symmetricOf returns the symmetric matrix with the upper triangle of these rows.
func symmetricOf(rows [][]float64) *mat.SymDense {
	s := NewSymmetric(len(rows))
	for i, row := range rows {
		for j := i; j < len(rows); j++ {
			s.SetSym(i, j, row[j])
		}
	}
	return s
}

func columnCount(m *mat.Dense) int {
	_, count := m.Dims()
	return count
}

// ColumnsOf returns the columns of a matrix as vectors.
func ColumnsOf(m *mat.Dense) [][]float64 { return columnsOf(m, 0, columnCount(m)) }

// columnsOf returns some columns of a matrix as vectors.
func columnsOf(m *mat.Dense, from, to int) [][]float64 {
	n, _ := m.Dims()
	columns := Columns(n, to-from)
	for j := range columns {
		mat.Col(columns[j], from+j, m)
	}
	return columns
}

// firstColumns returns the first count columns of a matrix, which share its memory.
func firstColumns(m *mat.Dense, count int) *mat.Dense {
	rows, _ := m.Dims()
	return m.Slice(0, rows, 0, count).(*mat.Dense)
}

// matrixOf returns the matrix with these columns of length n.
func matrixOf(n int, columns [][]float64) *mat.Dense {
	m := newDense(n, len(columns))
	for j, column := range columns {
		m.SetCol(j, column)
	}
	return m
}
