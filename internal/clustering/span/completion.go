package span

import (
	"math"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/metric"
	"github.com/cleave-project/cleave/internal/spectral"
)

// completion completes the matrix of all pairs from the known ones, within the span: with y_i the first `width` entries
// of V[i,:]/l_i it looks for a symmetric M near I_k, ones on the first k places of the diagonal, such that y_i'M y_j is 1
// for must-links and 0 for cannot-links,
//
//	M = I_k + H^1/2 X H^1/2,   X = argmin sum weight (y_i'M y_j - [must])^2 + rho |X|^2              (2)
//
// where I_k alone is what spectral clustering takes. H = diag(h) makes vectors of high cost expensive,
//
//	h_a = min(1, p_a/p_k),   p_a = exp(-log(1 - w_a) / log(1 - w_k))
//
// that is heat that has diffused until the k-th vector is down to 1/e.
type completion struct {
	*basis
	*links
	width   int
	damping []float64   // h^1/2
	damped  [][]float64 // g_i = H^1/2 y_i of the constrained points, a column for each vector
}

func (b *basis) newCompletion(l *links, width int) *completion {
	c := &completion{basis: b, links: l, width: width, damping: make([]float64, width), damped: make([][]float64, width)}
	unit := metric.Log(1 - b.costs[b.k-1])
	for a := range c.damping {
		times := metric.Log(1-b.costs[a]) / unit
		c.damping[a] = math.Sqrt(min(1, kernel.Exp(1-times)))
		c.damped[a] = make([]float64, len(l.points))
		for i, row := range l.scaled {
			c.damped[a][i] = float64(c.damping[a] * row[a])
		}
	}
	return c
}

// residual is [must] - y_i' I_k y_j, what is left for X to explain.
func (c *completion) residual(pair link) float64 {
	return pair.target() - dot(c.scaled[pair.i][:c.k], c.scaled[pair.j][:c.k])
}

// products are g_i'X g_j of some links.
func (c *completion) products(x [][]float64, of []int) []float64 {
	images := spectral.Combination(len(c.points), c.damped, x, c.width) // X g_i
	products := make([]float64, len(of))
	for a, image := range images {
		g := c.damped[a]
		for at, which := range of {
			pair := &c.all[which]
			products[at] += float64(image[pair.i] * g[pair.j])
		}
	}
	return products
}

// spread is the adjoint of products: sum of value (g_i g_j' + g_j g_i') / 2.
func (c *completion) spread(values []float64, of []int) [][]float64 {
	sums := make([][]float64, c.width) // for every point the sum of value g over its partners
	for a := range sums {
		sums[a] = make([]float64, len(c.points))
		g, sum := c.damped[a], sums[a]
		for at, which := range of {
			pair := &c.all[which]
			sum[pair.i] += float64(values[at] * g[pair.j])
			sum[pair.j] += float64(values[at] * g[pair.i])
		}
	}
	x := spectral.Gram(len(c.points), c.damped, sums)
	for a := range x {
		for b := range a {
			x[a][b] = (x[a][b] + x[b][a]) / 4
			x[b][a] = x[a][b]
		}
		x[a][a] /= 2
	}
	return x
}

const (
	completionTolerance  = 1e-6 // of the residual, relative to the right side
	completionIterations = 200
)

// solve is X of (2) for some links: the normal equations by conjugate gradients, with width x width unknowns.
func (c *completion) solve(rho float64, of []int) [][]float64 {
	right := make([]float64, len(of))
	for at, which := range of {
		right[at] = float64(c.all[which].weight * c.residual(c.all[which]))
	}
	rest := c.spread(right, of)
	x, direction := newFactors(c.width, c.width), copied(rest)
	square := product(rest, rest)
	enough := float64(completionTolerance * completionTolerance * square)
	for range completionIterations {
		if !(square > enough) {
			break
		}
		images := c.products(direction, of)
		for at, which := range of {
			images[at] *= c.all[which].weight
		}
		normal := c.spread(images, of)
		addMultiple(normal, direction, rho)
		step := square / product(direction, normal)
		addMultiple(x, direction, step)
		addMultiple(rest, normal, -step)
		previous := square
		square = product(rest, rest)
		next := copied(rest)
		addMultiple(next, direction, square/previous)
		direction = next
	}
	return x
}

func copied(x [][]float64) [][]float64 {
	y := newFactors(len(x), len(x))
	addMultiple(y, x, 1)
	return y
}

func addMultiple(to, x [][]float64, factor float64) {
	for a, row := range x {
		for b, v := range row {
			to[a][b] += float64(factor * v)
		}
	}
}

func product(x, y [][]float64) float64 {
	sum := 0.0
	for a, row := range x {
		sum += dot(row, y[a])
	}
	return sum
}

// factors are those of the k coordinates whose inner products are nearest to y_i'M y_j over all points: with
// R R' = Y'Y/n and the k leading eigenpairs (e, U) of R'M R they are R^-T U max(e, 1e-6)^1/2. As rows are scaled to
// length 1, the lengths l do not matter.
func (c *completion) factors(rho float64, of []int) factors {
	const least = 1e-6
	x, half := c.solve(rho, of), c.half()
	size := c.width
	m := newFactors(size, size)
	for a := range size {
		for b := range size {
			m[a][b] = float64(float64(c.damping[a]*x[a][b]) * c.damping[b])
		}
		if a < c.k {
			m[a][a]++
		}
	}
	image, within := newFactors(size, size), make([]float64, size*size) // M R and R'M R
	for a := range size {
		for b := range size {
			for d := b; d < size; d++ { // R is lower triangular
				image[a][b] += float64(m[a][d] * half[d][b])
			}
		}
	}
	for a := range size {
		for d := a; d < size; d++ {
			for b := range size {
				within[a*size+b] += float64(half[d][a] * image[d][b])
			}
		}
	}
	values, vectors := spectral.DenseEigenpairs(size, within)
	f := newFactors(size, c.k)
	for at, u := range vectors[:c.k] {
		spectral.Backward(half[:size], u)
		scale := math.Sqrt(max(values[at], least))
		for a, v := range u {
			f[a][at] = float64(v * scale)
		}
	}
	return f
}

// half is R with R R' = Y'Y/n, lower triangular; its first rows and columns are those of fewer vectors.
func (b *basis) half() [][]float64 {
	if b.whole != nil {
		return b.whole
	}
	scaled := make([][]float64, len(b.vectors))
	for a, v := range b.vectors {
		scaled[a] = make([]float64, b.n)
		for i := range v {
			scaled[a][i] = v[i] / b.lengths[i]
		}
	}
	square := spectral.Gram(b.n, scaled, scaled)
	for _, row := range square {
		for a := range row {
			row[a] /= float64(b.n)
		}
	}
	b.whole = spectral.Cholesky(square)
	return b.whole
}
