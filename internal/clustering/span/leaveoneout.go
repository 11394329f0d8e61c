package span

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// rhos are the candidate penalties of a completion.
var rhos = []float64{30, 10, 3, 1, 0.3, 0.1, 0.03}

// leftOut returns the losses of completions on each of some links when it is the only one left out, for every rho,
// without solving (2) for each. With b the residuals of the links and
//
//	K = ((g_i.g_i')(g_j.g_j') + (g_i.g_j')(g_j.g_i')) / 2        of two links (i,j) and (i',j')
//
// X = sum a (g_i g_j' + g_j g_i')/2, a = (K + rho I)^-1 b, solves (2), and the error on a left-out link is a/d, where d
// is the diagonal of (K + rho I)^-1. With weights W, use W^1/2 K W^1/2 and W^1/2 b, and divide the error by W^1/2.
//
// K has at most width (width + 1) / 2 nonzero eigenvalues. If these are fewer than links, fewLeftOut is faster.
func (c *completion) leftOut(of []int) [][]float64 {
	m := len(of)
	if c.quick && 2*c.features() <= m {
		return c.fewLeftOut(of)
	}
	matrix, b, roots := c.kernels(of)
	values, vectors := eigen.DenseEigenpairs(m, eigen.Flatten(matrix))
	parts := make([]float64, m) // U'b
	for v, u := range vectors {
		parts[v] = dot(u, b)
	}
	losses := make([][]float64, len(rhos))
	for at, rho := range rhos {
		a, d := make([]float64, m), make([]float64, m)
		for v, u := range vectors {
			inverse := 1 / (max(0, values[v]) + rho)
			part := float64(parts[v] * inverse)
			for e, x := range u {
				a[e] += float64(part * x)
				d[e] += float64(float64(x*x) * inverse)
			}
		}
		losses[at] = c.missed(of, a, d, roots)
	}
	return losses
}

// missed returns the losses of links whose errors are a/d.
func (c *completion) missed(of []int, a, d, roots []float64) []float64 {
	losses := make([]float64, len(of))
	for e, which := range of {
		pair := c.all[which]
		losses[e] = loss(pair.target()-a[e]/d[e]/roots[e], pair)
	}
	return losses
}

// features returns the number of entries of a symmetric matrix of this width.
func (c *completion) features() int { return c.width * (c.width + 1) / 2 }

// fewLeftOut computes leftOut from the features of links, the entries of (g_i g_j' + g_j g_i')/2, with those off the
// diagonal times sqrt 2. With P one row of features per link, K = P P'. With the eigenpairs (e, V) of P'P and U = P V,
//
//	(K + rho I)^-1 = (I - U (e + rho)^-1 U') / rho
func (c *completion) fewLeftOut(of []int) [][]float64 {
	m := len(of)
	b, roots := c.sides(of)
	i, j := c.ends(of, firstEnd), c.ends(of, secondEnd)
	var features [][]float64 // by columns
	for x := range c.width {
		for y := x; y < c.width; y++ {
			column := make([]float64, m)
			for e := range column {
				v := (float64(i[x][e]*j[y][e]) + float64(i[y][e]*j[x][e])) / 2
				if x != y {
					v *= math.Sqrt2
				}
				column[e] = float64(roots[e] * v)
			}
			features = append(features, column)
		}
	}
	size := len(features)
	values, vectors := eigen.DenseEigenpairs(size, eigen.Flatten(eigen.Gram(m, features, features)))
	factors := newFactors(size, size)
	for v, vector := range vectors {
		for at, x := range vector {
			factors[at][v] = x
		}
	}
	images := eigen.Combination(m, features, factors, size) // U
	parts := make([]float64, size)                          // U'b
	for v, u := range images {
		parts[v] = dot(u, b)
	}
	losses := make([][]float64, len(rhos))
	for at, rho := range rhos {
		a, d := append([]float64(nil), b...), clustering.Ones(m) // times rho
		for v, u := range images {
			inverse := 1 / (max(0, values[v]) + rho)
			part := float64(parts[v] * inverse)
			for e, x := range u {
				a[e] -= float64(part * x)
				d[e] -= float64(float64(x*x) * inverse)
			}
		}
		losses[at] = c.missed(of, a, d, roots)
	}
	return losses
}
