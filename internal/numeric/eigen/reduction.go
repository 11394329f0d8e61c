package eigen

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// reduction is a CutProblem from which the null vectors Z of Lbar are eliminated.
//
// For lambda = 1/mu other than 0, B v = mu Lbar v implies Z'B v = 0. With v = w + Z c and w orthogonal to Z, c
// follows from w, and what is left is a pencil with a positive definite Lbar:
//
//	B_S w = mu Lbar w,  B_S = B - B Z (Z'B Z)^-1 Z'B.
//
// Feasible solutions are those with mu > 0. (A shifted pencil, Lbar - t B, would be definite too, but if Z'B Z has
// eigenvalues of both signs, as it can with several components, there is no such t.)
//
// Z is chosen such that Z'B Z is diagonal. A z with z'B z = 0, as in a graph whose 1'Q1 is beta, is called
// singular here: it has no Schur complement. Instead w must be orthogonal to B z, and the share of z in v follows
// from the part of the equation along B z.
type reduction struct {
	CutProblem
	null, images   [][]float64 // Z and B Z
	forms          []float64   // the diagonal of Z'B Z; 0 for singular z
	singularImages [][]float64 // B z of the singular z, orthonormalized
	excluded       [][]float64 // Z and singularImages: the search stays orthogonal to them
}

const (
	nullResidual = 1e-6  // the largest |Lbar z| of a unit vector z that counts as a null vector
	vanishing    = 1e-12 // relative to |B z|: a smaller z'B z is 0 except for rounding
)

// reduce eliminates the null vectors of a problem. It fails if they are dependent or not in the null space.
func reduce(ctx context.Context, p CutProblem, work *Work) (*reduction, error) {
	n := p.Affinity.Rows()
	r := &reduction{CutProblem: p}
	for i, z := range p.Null {
		if len(z) != n {
			return nil, fmt.Errorf("%w: vector %d has %d entries, the graph %d vertices", errNullVectors, i, len(z), n)
		}
	}
	r.null = Orthonormalize(n, cloneColumns(p.Null))
	if len(r.null) < len(p.Null) {
		return nil, fmt.Errorf("%w: %d of %d are zero, not finite or depend on the others", errNullVectors,
			len(p.Null)-len(r.null), len(p.Null))
	}
	residuals, images, err := r.both(ctx, work, r.null)
	if err != nil {
		return nil, err
	}
	for i := range residuals {
		if l := length(residuals[i]); !(l <= nullResidual) {
			return nil, fmt.Errorf("%w: the image of vector %d under the Laplacian has length %g", errNullVectors, i, l)
		}
	}
	forms, rotation := DenseEigenpairs(Upper(Gram(n, r.null, images)))
	r.null = Combination(n, r.null, rotation)
	r.images = Combination(n, images, rotation)
	r.forms = forms
	var demands [][]float64
	for i, g := range r.images {
		if size := length(g); math.Abs(forms[i]) <= vanishing*size || size <= vanishing {
			r.forms[i] = 0
			if size > vanishing {
				demands = append(demands, append([]float64(nil), g...))
			}
		}
	}
	r.singularImages = Orthonormalize(n, demands, r.null)
	r.excluded = append(append([][]float64(nil), r.null...), r.singularImages...)
	return r, nil
}

// both computes Lbar x and B x. Only products of the affinity count as work.
func (r *reduction) both(ctx context.Context, work *Work, x [][]float64) (lx, bx [][]float64, err error) {
	lx, err = work.multiply(ctx, r.Affinity, x)
	if err != nil {
		return nil, nil, err
	}
	lx = cloneColumns(lx)
	bx, err = new(Work).multiply(ctx, r.Beliefs, x)
	if err != nil {
		return nil, nil, err
	}
	bx = cloneColumns(bx)
	for j := range x {
		for i, v := range x[j] {
			lx[j][i] = v - lx[j][i]
			bx[j][i] -= float64(r.Ratio * v)
		}
	}
	return lx, bx, nil
}

// products computes Lbar x and B_S x.
func (r *reduction) products(ctx context.Context, work *Work, x [][]float64) (lx, bx [][]float64, err error) {
	lx, bx, err = r.both(ctx, work, x)
	if err == nil {
		combine(len(x[0]), bx, r.images, r.shares(x))
	}
	return lx, bx, err
}

// shares computes the coefficients c of Z, -(Z'B Z)^-1 Z'B x, for every x; 0 for singular z.
func (r *reduction) shares(x [][]float64) *mat.Dense {
	shares := Gram(len(x[0]), r.images, x)
	for i, form := range r.forms {
		row := shares.RawRowView(i)
		if form == 0 {
			clear(row)
			continue
		}
		for j := range row {
			row[j] /= -form
		}
	}
	return shares
}

// lift computes v = w + Z c.
func (r *reduction) lift(mu []float64, w, lw, bw [][]float64) [][]float64 {
	n := len(w[0])
	shares := r.shares(w)
	if len(r.singularImages) > 0 {
		combine(n, bw, r.images, shares)
		for j := range bw { // mu Lbar w - B_S w is the sum of the images of the singular z times their shares
			for i, v := range lw[j] {
				bw[j][i] = float64(mu[j]*v) - bw[j][i]
			}
		}
		r.solveSingular(n, bw, shares)
	}
	v := cloneColumns(w)
	combine(n, v, r.null, shares)
	return v
}

// solveSingular solves for the shares of the singular z, by least squares in the span of their images.
func (r *reduction) solveSingular(n int, right [][]float64, shares *mat.Dense) {
	var images [][]float64
	var which []int
	for i, g := range r.images {
		if r.forms[i] == 0 && length(g) > vanishing {
			images = append(images, g)
			which = append(which, i)
		}
	}
	squares := Gram(n, images, images)
	sides := Gram(n, images, right)
	values, vectors := DenseEigenpairs(Upper(squares))
	for j := range right {
		for e, value := range values {
			if value <= float64(vanishing*values[0]) {
				continue
			}
			part := 0.0
			for i := range images {
				part += float64(vectors.At(i, e) * sides.At(i, j))
			}
			for i, at := range which {
				shares.Set(at, j, shares.At(at, j)+float64(vectors.At(i, e)*part)/value)
			}
		}
	}
}
