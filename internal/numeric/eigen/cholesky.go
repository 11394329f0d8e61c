package eigen

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/partition"
)

// Cholesky factorizes a matrix that is positive definite except for rounding. If rounding has spoiled that, its
// diagonal is raised by the smallest sufficient power of two times its largest entry. ok is false if an entry is not
// finite.
func Cholesky(a *mat.SymDense) (factor *mat.Cholesky, ok bool) {
	if checkFinite(a) != nil {
		return nil, false
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
func Factorize(a *mat.SymDense) (factor *mat.Cholesky, ok bool) {
	factor = new(mat.Cholesky)
	n := a.SymmetricDim()
	if n <= 4*panelRows {
		return factor, factor.Factorize(a)
	}
	lower := mat.NewDense(n, n, nil)
	for from := 0; from < n; from += panelRows {
		if !factorizePanel(a, lower, from, min(from+panelRows, n)) {
			return nil, false
		}
	}
	upper := mat.NewTriDense(n, mat.Upper, nil)
	for i := range n {
		for j := i; j < n; j++ {
			upper.SetTri(i, j, lower.At(j, i))
		}
	}
	factor.SetFromU(upper)
	return factor, true
}

// factorizePanel computes some columns of the lower triangle from those before.
func factorizePanel(a *mat.SymDense, lower *mat.Dense, from, to int) bool {
	n := a.SymmetricDim()
	width := to - from
	subtractBefore(a, lower, from, to, from, to)
	square := mat.NewSymDense(width, nil)
	for i := range width {
		for j := i; j < width; j++ {
			square.SetSym(i, j, lower.At(from+j, from+i))
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(square) {
		return false
	}
	diagonal := Lower(&factor)
	for i := range width {
		for j := range i + 1 {
			lower.Set(from+i, from+j, diagonal.At(i, j))
		}
	}
	ranges(n-to, rowsAtATime, func(first, last int) {
		subtractBefore(a, lower, from, to, to+first, to+last)
		below := lower.Slice(to+first, to+last, from, to).(*mat.Dense)
		blas64.Trsm(blas.Right, blas.Trans, 1, diagonal.RawTriangular(), below.RawMatrix())
	})
	return true
}

// subtractBefore sets some rows of the columns of a panel to those of A minus the products of the columns before.
func subtractBefore(a *mat.SymDense, lower *mat.Dense, from, to, firstRow, lastRow int) {
	panel := make([][]float64, to-from)
	rows := make([][]float64, lastRow-firstRow)
	for j := range panel {
		panel[j] = lower.RawRowView(from + j)
	}
	for i := range rows {
		rows[i] = lower.RawRowView(firstRow + i)
	}
	products := Columns(len(panel), len(rows))
	dots(rows, panel, partition.Range{From: 0, To: from}, products)
	for i, row := range rows {
		for j := range panel {
			row[from+j] = a.At(firstRow+i, from+j) - products[i][j]
		}
	}
}

// Lower returns the lower triangle G of a factorization G G'.
func Lower(c *mat.Cholesky) *mat.TriDense {
	var lower mat.TriDense
	c.LTo(&lower)
	return &lower
}
