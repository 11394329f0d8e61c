package span

import (
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// rhos are the penalties of a completion that are tried.
var rhos = []float64{30, 10, 3, 1, 0.3, 0.1, 0.03}

// leftOut are the losses that completions have on each of some links when it is the only one that they do not know,
// for every rho, without solving (2) so often. With b the residuals of the links and
//
//	K = ((g_i.g_i')(g_j.g_j') + (g_i.g_j')(g_j.g_i')) / 2        of two links (i,j) and (i',j')
//
// X = sum a (g_i g_j' + g_j g_i')/2, a = (K + rho I)^-1 b, solves (2), and a link that is left out is missed by
// a/d, where d is the diagonal of (K + rho I)^-1. With weights W it is W^1/2 K W^1/2 and W^1/2 b, and what is missed is
// W^1/2 as much.
func (c *completion) leftOut(of []int) [][]float64 {
	m := len(of)
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
		losses[at] = make([]float64, m)
		for e, which := range of {
			pair := c.all[which]
			losses[at][e] = loss(pair.target()-a[e]/d[e]/roots[e], pair)
		}
	}
	return losses
}
