package picture

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/connected"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

// maxLayoutVertices is the largest number of vertices that LayoutGraph accepts.
const maxLayoutVertices = 2000

const (
	spectralProducts = 1200
	forceIterations  = 120
	// The time of an iteration grows with the square of the number of vertices, so large graphs get fewer iterations.
	manyVertices          = 600
	forceIterationsOfMany = 50
)

// LayoutGraph places the vertices of a small graph: every connected component starts from its spectral
// embedding and is refined by forces (Fruchterman and Reingold 1991); then the components are put side
// by side. If the graph has more than maxLayoutVertices vertices, ok is false; use ClusterGraphPlot for those.
// Negative weights count with their absolute value; loops are ignored. The same seed gives the same layout.
func LayoutGraph(g *dataset.Graph, seed uint64) (xy [][2]float64, ok bool) {
	if g.N > maxLayoutVertices {
		return nil, false
	}
	generator := rand.New(rand.NewPCG(seed, 0x6c61796f7574)) // "layout"
	var placed []component
	for _, vertices := range connectedComponents(g) {
		c := newComponent(g, vertices)
		c.spectralStart()
		c.applyForces(generator)
		placed = append(placed, c)
	}
	xy = make([][2]float64, g.N)
	packComponents(placed, xy)
	return xy, true
}

// component is one connected component of a graph. Its vertices are numbered from 0 in the order of vertices.
type component struct {
	vertices []int32 // ascending
	edges    []link
	degree   []float64 // sums of weights
	xy       [][2]float64
}

// link is an edge with a weight relative to the component's mean weight.
type link struct {
	a, b   int
	weight float64
}

// connectedComponents lists the vertices of each connected component, in ascending order. The largest
// component is first, and of equally large ones the one with the smallest vertex.
func connectedComponents(g *dataset.Graph) [][]int32 {
	var joined []int32
	parts := connected.Parts(g.N, choose.All[int32](g.N), func(v int32) []int32 {
		joined = joined[:0]
		neighbors, weights := g.Row(int(v))
		for e, j := range neighbors {
			if weights[e] != 0 {
				joined = append(joined, j)
			}
		}
		return joined
	})
	slices.SortStableFunc(parts, func(a, b []int32) int { return cmp.Compare(len(b), len(a)) })
	return parts
}

// newComponent returns the edges among some vertices, with weights of mean 1, and the sum of them at each vertex.
// Signs do not matter, and neither do the vertices' numbers: a component counts its own from 0.
func newComponent(g *dataset.Graph, vertices []int32) component {
	c := component{vertices: vertices, degree: make([]float64, len(vertices)), xy: make([][2]float64, len(vertices))}
	number := make(map[int32]int, len(vertices))
	for at, v := range vertices {
		number[v] = at
	}
	largest := 0.0
	for a, v := range vertices {
		neighbors, weights := g.Row(int(v))
		for e, j := range neighbors {
			if j > v && weights[e] != 0 {
				c.edges = append(c.edges, link{a: a, b: number[j], weight: math.Abs(weights[e])})
				largest = math.Max(largest, math.Abs(weights[e]))
			}
		}
	}
	mean := 0.0
	for at := range c.edges {
		c.edges[at].weight /= largest // at most 1, so that sums cannot overflow
		mean += c.edges[at].weight / float64(len(c.edges))
	}
	for at := range c.edges {
		e := &c.edges[at]
		// Keep weights away from 0, because spectralStart divides by degrees.
		e.weight = math.Max(e.weight/mean, 1e-6)
		c.degree[e.a] += e.weight
		c.degree[e.b] += e.weight
	}
	return c
}

// spectralStart sets the coordinates to the second and third eigenvectors of the normalized Laplacian
// I - D^-1/2 A D^-1/2, that is the second and third largest of (I + D^-1/2 A D^-1/2) / 2, whose
// eigenvalues lie in 0..1. The first, D^1/2 1, is projected out.
func (c *component) spectralStart() {
	n := len(c.vertices)
	if n < 2 {
		return
	}
	first := make([]float64, n)
	for i, d := range c.degree {
		first[i] = math.Sqrt(d)
	}
	length := norm(first)
	for i := range first {
		first[i] /= length
	}
	normalized := make([]float64, len(c.edges))
	for at, e := range c.edges {
		normalized[at] = e.weight / math.Sqrt(c.degree[e.a]*c.degree[e.b])
	}
	_, vectors := leadingEigenpairs(n, spectralProducts, func(dst, src [][]float64) {
		for v, in := range src {
			out := dst[v]
			copy(out, in)
			addScaled(out, -elementary.Dot(first, in), first)
			clean := slices.Clone(out)
			for at, e := range c.edges {
				w := normalized[at]
				out[e.a] += w * clean[e.b]
				out[e.b] += w * clean[e.a]
			}
			for i := range out {
				out[i] /= 2
			}
			addScaled(out, -elementary.Dot(first, out), first)
		}
	})
	for axis, vector := range vectors {
		sign := canonicalSign(vector)
		largest := 0.0
		for i := range vector {
			c.xy[i][axis] = sign * vector[i] / math.Sqrt(c.degree[i])
			largest = math.Max(largest, math.Abs(c.xy[i][axis]))
		}
		// Fill a square of area n, so that neighboring vertices are about one unit apart.
		for i := range vector {
			if largest > 0 {
				c.xy[i][axis] *= math.Sqrt(float64(n)) / 2 / largest
			}
		}
	}
}

// applyForces moves the vertices by forces whose ideal edge length is 1: every two vertices repel each
// other with the force 1/d, an edge attracts its ends with w d^2, and a falling temperature limits the
// steps. A little noise at the start separates vertices that have the same spectral embedding.
func (c *component) applyForces(generator *rand.Rand) {
	n := len(c.vertices)
	if n < 2 {
		return
	}
	for i := range c.xy {
		for axis := range c.xy[i] {
			c.xy[i][axis] += 0.1 * (generator.Float64() - 0.5)
		}
	}
	// Attraction is divided by the mean degree, because dense graphs would collapse otherwise.
	pull := math.Min(1, 4*float64(n)/float64(2*len(c.edges)))
	rounds := forceIterations
	if n > manyVertices {
		rounds = forceIterationsOfMany
	}
	force := make([][2]float64, n)
	for round := range rounds {
		clear(force)
		c.repel(force)
		c.attract(force, pull)
		temperature := math.Sqrt(float64(n)) * 0.1 * (1 - float64(round)/float64(rounds))
		for i, f := range force {
			length := math.Hypot(f[0], f[1])
			if length == 0 {
				continue
			}
			step := math.Min(length, temperature) / length
			c.xy[i][0] += f[0] * step
			c.xy[i][1] += f[1] * step
		}
	}
}

// repel adds to the force on each vertex that of all others, 1/d away from them; d is at least 0.01.
func (c *component) repel(force [][2]float64) {
	for i := range c.xy {
		p := c.xy[i]
		var fx, fy float64
		for j := range i {
			dx, dy := p[0]-c.xy[j][0], p[1]-c.xy[j][1]
			by := 1 / max(dx*dx+dy*dy, 1e-4)
			fx += dx * by
			fy += dy * by
			force[j][0] -= dx * by
			force[j][1] -= dy * by
		}
		force[i][0] += fx
		force[i][1] += fy
	}
}

// attract adds to the force on the ends of each edge pull w d^2 toward each other.
func (c *component) attract(force [][2]float64, pull float64) {
	for _, e := range c.edges {
		dx, dy := c.xy[e.b][0]-c.xy[e.a][0], c.xy[e.b][1]-c.xy[e.a][1]
		by := pull * e.weight * math.Hypot(dx, dy)
		force[e.a][0] += dx * by
		force[e.a][1] += dy * by
		force[e.b][0] -= dx * by
		force[e.b][1] -= dy * by
	}
}

// packComponents puts the components in rows, in their order, within about a square, and writes the final
// coordinates.
func packComponents(parts []component, xy [][2]float64) {
	const gap = 1.5
	type box struct{ left, bottom, width, height float64 }
	boxes := make([]box, len(parts))
	area, widest := 0.0, 0.0
	for at, c := range parts {
		x := make([]float64, len(c.xy))
		y := make([]float64, len(c.xy))
		for i, p := range c.xy {
			x[i], y[i] = p[0], p[1]
		}
		b := box{left: slices.Min(x), bottom: slices.Min(y)}
		b.width = slices.Max(x) - b.left + gap
		b.height = slices.Max(y) - b.bottom + gap
		boxes[at] = b
		area += b.width * b.height
		widest = math.Max(widest, b.width)
	}
	limit := math.Max(widest, 1.3*math.Sqrt(area))
	left, top, tallest := 0.0, 0.0, 0.0
	for at, c := range parts {
		b := boxes[at]
		if left > 0 && left+b.width > limit {
			left, top, tallest = 0, top-tallest, 0
		}
		for i, p := range c.xy {
			// The boxes of a row are aligned at their tops.
			xy[c.vertices[i]] = [2]float64{p[0] - b.left + left, p[1] - b.bottom - b.height + top}
		}
		left += b.width
		tallest = math.Max(tallest, b.height)
	}
}
