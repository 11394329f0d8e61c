package span

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// thetas are the candidate demands: how well the cuts must satisfy the pairs, relative to the best possible.
var thetas = []float64{-4, -1, 0, 0.25, 0.5}

// pairMatrix returns G = Z'QZ of some links with Z = V[:,2..r] / l, the constraints of Wang2014 within the span. Q is 1
// for a must-link and -1/(k-1) for a cannot-link, times their weights, because k equal clusters have (k-1) times as
// many pairs apart as together.
func (b *basis) pairMatrix(l *links, subset []int) *mat.SymDense {
	size := len(b.vectors) - 1
	sums := eigen.Columns(size, size) // above and on the diagonal
	for _, which := range subset {
		pair := l.all[which]
		q := pair.weight
		if !pair.must {
			q /= -float64(max(1, b.k-1))
		}
		x, y := l.scaled[pair.i][1:], l.scaled[pair.j][1:]
		for a, row := range sums {
			byX, byY := float64(q*x[a]), float64(q*y[a])
			for c := a; c < size; c++ {
				row[c] += float64(byX*y[c]) + float64(byY*x[c])
			}
		}
	}
	g := eigen.NewSymmetric(size)
	for a, row := range sums {
		for c := a; c < size; c++ {
			g.SetSym(a, c, row[c])
		}
	}
	return g
}

// pencil is Wang2014 (13) within the span of the first vectors,
//
//	(G - beta I) c = mu diag(w_2..w_width) c
//
// where a large mu is a cheap cut that satisfies the pairs: c'Gc > beta c'c.
type pencil struct {
	*basis
	width       int
	g           *mat.SymDense
	eigenvalues []float64 // of the part of G within the width, descending
}

func (b *basis) newPencil(width int, g *mat.SymDense) *pencil {
	p := &pencil{basis: b, width: width, g: g}
	var err error // only if G is not finite, because the context does not end
	within := p.matrix(func(a, c int) float64 { return g.At(a, c) })
	p.eigenvalues, err = eigen.DenseEigenvalues(context.Background(), within)
	if err != nil {
		panic(err)
	}
	return p
}

// matrix returns the symmetric matrix of width - 1 rows with these entries.
func (p *pencil) matrix(entry func(a, c int) float64) *mat.SymDense {
	size := p.width - 1
	m := eigen.NewSymmetric(size)
	for a := range size {
		for c := a; c < size; c++ {
			m.SetSym(a, c, entry(a, c))
		}
	}
	return m
}

// beta returns theta times the largest eigenvalue of G or, if theta is positive, times the (k-1)-th, so that all k - 1
// cuts reach it. It returns false if the eigenvalue has the wrong sign, so that theta is not usable.
func (p *pencil) beta(theta float64) (float64, bool) {
	if theta > 0 {
		value := p.eigenvalues[p.k-2]
		return float64(theta * value), value > 0
	}
	return float64(theta * p.eigenvalues[0]), p.eigenvalues[0] >= 0
}

// factors returns those of [v_1, V[:,2..width] C], where the columns of C are the k - 1 vectors c with the largest mu,
// orthonormalized. It returns nil if theta is not usable.
func (p *pencil) factors(theta float64) *mat.Dense {
	beta, usable := p.beta(theta)
	if !usable {
		return nil
	}
	size := p.width - 1
	roots := make([]float64, size) // diag(w)^1/2
	for a := range roots {
		roots[a] = math.Sqrt(p.costs[a+1])
	}
	_, vectors := eigen.DenseEigenpairs(p.matrix(func(a, c int) float64 {
		v := p.g.At(a, c)
		if a == c {
			v -= beta
		}
		return v / float64(roots[a]*roots[c])
	}))
	cuts := make([][]float64, p.k-1)
	for i := range cuts {
		cuts[i] = mat.Col(nil, i, vectors)
		for a := range roots {
			cuts[i][a] /= roots[a]
		}
	}
	f := newFactors(p.width, p.k)
	f.Set(0, 0, 1)
	for i, c := range eigen.Orthonormalize(size, cuts) {
		for a, v := range c {
			f.Set(a+1, i+1, v)
		}
	}
	return f
}
