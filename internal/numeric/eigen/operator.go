// Package eigen computes eigenvalues and eigenvectors of symmetric matrices. DenseEigenpairs takes a matrix of gonum,
// and Cholesky factorizes one; Largest and Constrained take products of a large one with blocks of vectors, which
// workers compute; Filtered takes a sparse matrix; Least finds only the least eigenvalue.
//
// Largest and Constrained share one search (search.go): Rayleigh-Ritz over a basis that grows by the residuals of
// the wanted pairs, with thick restarts from its best half and the pairs' previous approximations. A block of vectors
// costs one round trip to workers, like a single vector, and finds repeated eigenvalues. Products are kept with the
// basis, so residuals are those of the returned vectors, and the generalized problem needs no second algorithm; that
// takes twice the memory of block Lanczos. docs/adr/0006-eigenvectors.md compares it with other searches.
//
// Matrices of gonum/mat are small ones: forms, factors, covariances, kernels of few points. Columns [][]float64 are
// tall blocks of vectors, with one value for each point.
//
// All arithmetic of such blocks has a fixed order (routines.go), and sums over rows are taken per tile and then in tile
// order. So the same operator gives the same bits, wherever its products are computed, on any number of threads. The
// bits of gonum's arithmetic are those of the architecture.
package eigen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/invalid"
)

// Operator is a symmetric matrix that can only be multiplied with vectors.
type Operator interface {
	// Rows returns the number of rows, which is also that of columns.
	Rows() int
	// Multiply computes M x for every column x. The result is valid at least until the next call. Multiply neither
	// changes nor keeps the columns.
	Multiply(ctx context.Context, columns [][]float64) ([][]float64, error)
}

// Eigenpairs holds eigenvalues, largest first, with their eigenvectors. Vectors[j] has length 1, and its entry of
// largest magnitude (the first of equals) is positive. Residuals[j] is |M v - value v|.
type Eigenpairs struct {
	Values    []float64
	Vectors   [][]float64
	Residuals []float64
	Work
	Converged bool // every residual is within the tolerance
}

// First returns the first count eigenpairs, with lists of their own.
func (p Eigenpairs) First(count int) Eigenpairs {
	p.Values = slices.Clone(p.Values[:count])
	p.Vectors = slices.Clone(p.Vectors[:count])
	p.Residuals = slices.Clone(p.Residuals[:count])
	return p
}

// Work counts the products of a search.
type Work struct {
	Rounds   int // calls of Multiply
	Products int // columns multiplied
}

// Errors of callers and operators that are not as their contracts say.
var (
	errCount       = errors.New("eigen: the number of eigenvectors is out of range")
	errProblem     = errors.New("eigen: the parts of a problem do not fit together")
	errNullVectors = errors.New("eigen: the null vectors are no basis of a null space")
	errProducts    = errors.New("eigen: an operator returned products of another shape")
)

// multiply calls op.Multiply, counts the work, and checks the result.
func (w *Work) multiply(ctx context.Context, op Operator, columns [][]float64) ([][]float64, error) {
	w.Rounds++
	w.Products += len(columns)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	products, err := op.Multiply(ctx, columns)
	if err != nil {
		return nil, err
	}
	if len(products) != len(columns) {
		return nil, fmt.Errorf("%w: %d columns of %d", errProducts, len(products), len(columns))
	}
	for _, y := range products {
		if len(y) != op.Rows() {
			return nil, fmt.Errorf("%w: a column of %d rows by an operator of %d", errProducts, len(y), op.Rows())
		}
		for _, v := range y {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, invalid.New(invalid.MatrixNotFinite, "rows", op.Rows())
			}
		}
	}
	return products, nil
}

// entries returns all entries of a small matrix, row by row, as products with unit vectors.
func (w *Work) entries(ctx context.Context, op Operator) ([][]float64, error) {
	n := op.Rows()
	rows := make([][]float64, 0, n)
	for from := 0; from < n; from += unitsPerCall {
		products, err := w.multiply(ctx, op, unitVectors(n, from))
		if err != nil {
			return nil, err
		}
		rows = append(rows, cloneColumns(products)...)
	}
	return rows, nil
}

const unitsPerCall = 64

// unitVectors returns unitsPerCall unit vectors, starting with number from, or fewer at the end.
func unitVectors(n, from int) [][]float64 {
	some := Columns(n, min(unitsPerCall, n-from))
	for j := range some {
		some[j][from+j] = 1
	}
	return some
}

// Orient changes the sign of a vector so that its entry of largest magnitude, the first of equals, is positive.
func Orient(v []float64) {
	largest := 0.0
	for _, x := range v {
		if math.Abs(x) > math.Abs(largest) {
			largest = x
		}
	}
	if largest < 0 {
		for i := range v {
			v[i] = -v[i]
		}
	}
}
