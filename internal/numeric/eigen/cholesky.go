package eigen

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/partition"
)

// Factor is the Cholesky factorization U'U of a positive definite matrix, with U upper triangular. That of gonum/mat
// also estimates a condition number, which takes longer than the rest for a small matrix, and which nothing asks for.
type Factor struct{ upper, lower *mat.TriDense } // U and U' are the two halves of one square

// Lower returns the lower triangle U'. It must not be changed.
func (f Factor) Lower() *mat.TriDense { return f.lower }

// Solve replaces B by the solution X of U'U X = B.
func (f Factor) Solve(b *mat.Dense) {
	lapack64.Potrs(f.upper.RawTriangular(), b.RawMatrix())
}

// Inverse returns the inverse of the matrix.
func (f Factor) Inverse() *mat.SymDense {
	triangle := mat.NewTriDense(f.upper.RawTriangular().N, mat.Upper, nil)
	triangle.Copy(f.upper)
	inverse, _ := lapack64.Potri(triangle.RawTriangular()) // the diagonal is positive
	return mat.NewSymDense(inverse.N, inverse.Data)
}

// InverseLower returns the inverse of the lower triangle.
func (f Factor) InverseLower() *mat.TriDense {
	inverse := mat.NewTriDense(f.lower.RawTriangular().N, mat.Lower, nil)
	inverse.Copy(f.lower)
	_ = lapack64.Trtri(inverse.RawTriangular()) // the diagonal is positive
	return inverse
}

// Cholesky factorizes a matrix that is positive definite except for rounding. If rounding has spoiled that, its
// diagonal is raised by the smallest sufficient power of two times its largest entry. ok is false if an entry is not
// finite.
func Cholesky(a *mat.SymDense) (factor Factor, ok bool) {
	if checkFinite(a) != nil {
		return Factor{}, false
	}
	if factor, ok := Factorize(a); ok {
		return factor, true
	}
	n := a.SymmetricDim()
	largest := max(mat.Max(a), -mat.Min(a), math.SmallestNonzeroFloat64)
	raised := mat.NewSymDense(n, nil)
	for share := 0x1p-52; ; share *= 2 {
		raised.CopySym(a)
		for i := range n {
			raised.SetSym(i, i, a.At(i, i)+float64(share*largest))
		}
		if factor, ok := Factorize(raised); ok {
			return factor, true
		}
	}
}

// panelRows is the number of rows that gonum factorizes at a time if there are more than four times as many.
const panelRows = 64

// Factorize factorizes a finite matrix. It reports false if the matrix is not positive definite.
//
// Large matrices are divided into panels of columns. gonum factorizes the block of each on the diagonal and solves for
// the rows below it. The products with the columns before, which take nearly all the time, are those of Gram: for 2,000
// rows, such as those of a classifier, they take a quarter of gonum's time.
func Factorize(a *mat.SymDense) (factor Factor, ok bool) {
	n := a.SymmetricDim()
	square := mat.NewDense(n, n, nil)
	if n <= 4*panelRows {
		from := a.RawSymmetric()
		for i := range n {
			copy(square.RawRowView(i)[i:], from.Data[i*from.Stride+i:i*from.Stride+n])
		}
		if !factorizeUpper(square.RawMatrix()) {
			return Factor{}, false
		}
	} else {
		for from := 0; from < n; from += panelRows {
			if !factorizePanel(a, square, from, min(from+panelRows, n)) {
				return Factor{}, false
			}
		}
		lowerToUpper(square.RawMatrix())
	}
	values := square.RawMatrix().Data
	return Factor{upper: mat.NewTriDense(n, mat.Upper, values), lower: mat.NewTriDense(n, mat.Lower, values)}, true
}

// factorizeUpper replaces the upper half of a symmetric matrix by U, and the lower one by U'.
func factorizeUpper(square blas64.General) bool {
	_, ok := lapack64.Potrf(blas64.Symmetric{
		Uplo: blas.Upper, N: square.Rows, Data: square.Data, Stride: square.Stride,
	})
	upperToLower(square)
	return ok
}

// factorizePanel computes some columns of the lower half from those before.
func factorizePanel(a *mat.SymDense, square *mat.Dense, from, to int) bool {
	n := a.SymmetricDim()
	subtractBefore(a, square, from, to, from, to)
	diagonal := square.Slice(from, to, from, to).(*mat.Dense).RawMatrix()
	lowerToUpper(diagonal)
	if !factorizeUpper(diagonal) {
		return false
	}
	lower := blas64.Triangular{
		Uplo: blas.Lower, Diag: blas.NonUnit, N: to - from, Data: diagonal.Data, Stride: diagonal.Stride,
	}
	ranges(n-to, rowsAtATime, func(first, last int) {
		subtractBefore(a, square, from, to, to+first, to+last)
		below := square.Slice(to+first, to+last, from, to).(*mat.Dense)
		blas64.Trsm(blas.Right, blas.Trans, 1, lower, below.RawMatrix())
	})
	return true
}

// subtractBefore sets some rows of the columns of a panel to those of A minus the products of the columns before. In
// the block on the diagonal only the lower half counts.
func subtractBefore(a *mat.SymDense, square *mat.Dense, from, to, firstRow, lastRow int) {
	panel := make([][]float64, to-from)
	for j := range panel {
		panel[j] = square.RawRowView(from + j)
	}
	rows := make([][]float64, lastRow-firstRow)
	entries := make([][]float64, len(rows))
	for i := range rows {
		rows[i] = square.RawRowView(firstRow + i)
		entries[i] = rows[i][from:to]
	}
	dots(rows, panel, partition.Range{From: 0, To: from}, entries)
	upper := a.RawSymmetric()
	for j := range panel {
		column := upper.Data[(from+j)*upper.Stride+firstRow:]
		for i, row := range entries {
			row[j] = column[i] - row[j]
		}
	}
}

// lowerToUpper makes a square symmetric by its lower half.
func lowerToUpper(square blas64.General) {
	eachBelow(square, func(i, j int) { square.Data[j*square.Stride+i] = square.Data[i*square.Stride+j] })
}

// upperToLower makes a square symmetric by its upper half.
func upperToLower(square blas64.General) {
	eachBelow(square, func(i, j int) { square.Data[i*square.Stride+j] = square.Data[j*square.Stride+i] })
}

// eachBelow calls do for all entries below the diagonal, in blocks whose transposes stay in the cache.
func eachBelow(square blas64.General, do func(i, j int)) {
	const block = 16
	n := square.Rows
	for rows := 0; rows < n; rows += block {
		for columns := 0; columns <= rows; columns += block {
			for i := rows; i < min(rows+block, n); i++ {
				for j := columns; j < min(columns+block, i); j++ {
					do(i, j)
				}
			}
		}
	}
}
