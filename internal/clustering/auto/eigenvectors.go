package auto

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/component"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// Eigenvectors. In a fold less precision suffices, because methods are only compared.
const (
	// regularization is added to every degree, in units of the mean degree, so that dangling vertices do not dominate
	// eigenvectors. Without it the classes of polblogs have an ARI of 0, with it .64.
	regularization = 0.01
	// eigenTolerance bounds the residuals of eigenvectors: a smaller bound does not change the labels of k-means on
	// them. foldTolerance is used instead for contracted graphs in folds.
	eigenTolerance = 1e-5
	foldTolerance  = 1e-3
	// Filters find eigenvectors faster from filteredRows rows on. Without constraints they are used for filteredPairs
	// or more: the few leading eigenvalues of a large graph can be so close to each other that filters do not separate
	// them, as with two moons of 200,000 points.
	filteredRows  = 1000
	filteredPairs = 8
)

// coordinates holds the points of a space of eigenvectors: those of the kept vertices, in ascending order.
type coordinates struct {
	kept    []int32
	columns int
	values  []float64 // row by row
	// Set for a graph without contraction: the eigenvectors, and 1 / sqrt(d + t) of every row.
	vectors [][]float64
	factor  []float64
}

// rater returns the rater of labels of n points that were found in coordinates, which it makes the embedding of the
// result.
func (e *coordinates) rater(n, k int) rater {
	return func(_ context.Context, result *clustering.Result) error {
		of := clustering.Embedding{Rows: len(e.kept), Columns: e.columns, Values: e.values}
		result.Spectral.Embedding = of.Among(n, e.kept)
		own, next := result.Spectral.Embedding.Distances(result.Labels, k, e.kept)
		result.SetDistances(clustering.MeasureEmbedding, own, next)
		return nil
	}
}

// near returns starting vectors for the eigensolver of a contraction: the eigenvectors v of the whole graph as H^-1 u,
// with u the mean of H v over each block, weighted by degree. It returns nil for a nil e.
func (e *coordinates) near(c *contraction) [][]float64 {
	if e == nil {
		return nil
	}
	start := eigen.Columns(c.Rows(), len(e.vectors))
	for j, v := range e.vectors {
		for row, i := range e.kept {
			if b := c.block[i]; b >= 0 && e.factor[row] > 0 {
				start[j][b] += float64(c.factor[b]*v[row]) / e.factor[row]
			}
		}
	}
	return start
}

// among returns the constraints between points that have coordinates, by row of e. A nil e has all points.
func (e *coordinates) among(n int, all []constraint.Constraint) []constraint.Constraint {
	if e == nil {
		return all
	}
	return constraint.Among(n, e.kept, all)
}

// contraction is the operator
//
//	H B H,  B = P A P' without the edges between vertices of a block,  H = diag(1 / sqrt(d_b + t))
//
// where P sums the vertices of each block (a must-link component), d holds the row sums of B over the kept blocks, and
// t is the regularization. Products with A are computed wherever its rows are stored.
type contraction struct {
	adjacency embedding.Multiplier
	block     []int32   // of each vertex; -1 if it is left out
	within    []float64 // of each block: the sum of the edges between its vertices, in both directions
	factor    []float64 // of each block: 1 / sqrt(d + t)
}

// newContraction returns the contraction of the vertices that are kept, with blocks numbered by their first vertices.
func newContraction(
	g *dataset.Graph, adjacency embedding.Multiplier, keep []bool, components *constraint.Components,
) *contraction {
	c := &contraction{adjacency: adjacency, block: make([]int32, g.N)}
	number := map[int32]int32{}
	for i := range c.block {
		c.block[i] = -1
		if !keep[i] {
			continue
		}
		component := components.Of(int32(i))
		if _, known := number[component]; !known {
			number[component] = int32(len(number))
		}
		c.block[i] = number[component]
	}
	c.within = make([]float64, len(number))
	degree := make([]float64, len(number))
	for i, b := range c.block {
		if b < 0 {
			continue
		}
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			switch other := c.block[j]; {
			case other == b && int(j) != i:
				c.within[b] += weights[at]
			case other >= 0:
				degree[b] += weights[at]
			}
		}
	}
	total := 0.0
	for _, d := range degree {
		total += d
	}
	c.factor = make([]float64, len(degree))
	for b, d := range degree {
		d += float64(regularization * total / float64(len(degree)))
		if d > 0 {
			c.factor[b] = 1 / math.Sqrt(d)
		}
	}
	return c
}

// entries returns the entries of the operator. The eigenvalues of H B H are those of H H B, so the largest sum of
// magnitudes in a row bounds them.
func (c *contraction) entries(g *dataset.Graph) *eigen.Sparse {
	members := make([][]int32, c.Rows())
	for i, b := range c.block {
		if b >= 0 {
			members[b] = append(members[b], int32(i))
		}
	}
	m := &eigen.Sparse{Begin: make([]int, 1, c.Rows()+1)}
	place := make([]int, c.Rows()) // where a column is among the entries of the current row; stale if outside it
	for b, own := range members {
		from := len(m.Column)
		for _, i := range own {
			neighbors, weights := g.Row(int(i))
			for at, j := range neighbors {
				other := c.block[j]
				if other < 0 || int(other) == b && j != i {
					continue
				}
				if to := place[other]; to < from || to >= len(m.Column) || m.Column[to] != other {
					place[other] = len(m.Column)
					m.Column = append(m.Column, other)
					m.Value = append(m.Value, 0)
				}
				m.Value[place[other]] += weights[at]
			}
		}
		sum := 0.0
		for at := from; at < len(m.Column); at++ {
			sum += math.Abs(m.Value[at])
			m.Value[at] *= float64(c.factor[b] * c.factor[m.Column[at]])
		}
		m.Bound = max(m.Bound, float64(sum*float64(c.factor[b]*c.factor[b])))
		m.Begin = append(m.Begin, len(m.Column))
	}
	return m
}

// Rows implements eigen.Operator.
func (c *contraction) Rows() int { return len(c.factor) }

// Multiply implements eigen.Operator.
func (c *contraction) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	wide := eigen.Columns(len(c.block), len(columns))
	for v, column := range columns {
		for i, b := range c.block {
			if b >= 0 {
				wide[v][i] = float64(column[b] * c.factor[b])
			}
		}
	}
	products, err := c.adjacency.Multiply(ctx, wide)
	if err != nil {
		return nil, err
	}
	narrow := eigen.Columns(len(c.factor), len(columns))
	for v := range columns {
		for i, b := range c.block {
			if b >= 0 {
				narrow[v][b] += products[v][i]
			}
		}
		for b, f := range c.factor {
			inner := float64(c.within[b] * float64(columns[v][b]*f))
			narrow[v][b] = float64((narrow[v][b] - inner) * f)
		}
	}
	return narrow, nil
}

// oneAtATime lets concurrent eigensolvers share a multiplier, whose products are valid only until the next call.
type oneAtATime struct {
	embedding.Multiplier
	mu sync.Mutex
}

func (m *oneAtATime) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	products, err := m.Multiplier.Multiply(ctx, x)
	own := make([][]float64, len(products))
	for v, product := range products {
		own[v] = slices.Clone(product)
	}
	return own, err
}

// includedVertices reports which vertices take part in the eigenvectors, and how many: those of large enough
// components, or all if these have fewer vertices than there are clusters.
func (ss *spaces) includedVertices(g *dataset.Graph, set *constraint.Set) (keep []bool, count int) {
	pieces := component.Find(g, set.Components(), 0)
	large := pieces.Included(ss.p.spec.K)
	keep = make([]bool, ss.p.n)
	for i, piece := range pieces.Piece {
		keep[i] = large[piece]
		if keep[i] {
			count++
		}
	}
	if count < ss.p.spec.K {
		return slices.Repeat([]bool{true}, ss.p.n), ss.p.n
	}
	return keep, count
}

// leading computes the leading eigenvectors of a contraction besides without, which holds at most one vector, near the
// first eigenvector. With filters they are those of the operator projected onto what is orthogonal to it, otherwise
// those of embedding.Without. It runs in this process, which has the graph.
func (ss *spaces) leading(
	ctx context.Context, s *space, c *contraction, without [][]float64, count int, options eigen.Options,
) (eigen.Eigenpairs, error) {
	source := ss.p.spec.Source(clustering.StreamEigen)
	switch {
	case c.Rows() >= filteredRows:
		return eigen.Filtered(ctx, c.entries(s.graph), without, count, source, options)
	case len(without) > 0:
		return eigen.Largest(ctx, embedding.Without{Operator: c, Vector: without[0]}, count, source, options)
	}
	return eigen.Largest(ctx, c, count, source, options)
}

// eigenvectors returns the coordinates of vertices by the k leading eigenvectors of the contraction, with rows scaled
// to length 1. Small components have no coordinates.
func (ss *spaces) eigenvectors(
	ctx context.Context, s *space, set *constraint.Set, shared *Shared, options eigen.Options,
) (*coordinates, error) {
	keep, kept := ss.includedVertices(s.graph, set)
	c := newContraction(s.graph, s.adjacency, keep, set.Components())
	count := min(ss.p.spec.K, c.Rows())
	options.Start = s.plain.near(c)
	pairs, err := shared.largest(s.name, keep, c.Rows(), count, func(count int) (eigen.Eigenpairs, error) {
		if s.plain == nil && count < filteredPairs {
			return eigen.Largest(ctx, c, count, ss.p.spec.Source(clustering.StreamEigen), options)
		}
		return ss.leading(ctx, s, c, nil, count, options)
	})
	if err != nil {
		return nil, err
	}
	rows := embedding.New(pairs.Vectors, true)
	e := &coordinates{columns: count}
	if c.Rows() == kept {
		e.vectors, e.factor = pairs.Vectors, c.factor
	}
	for i, b := range c.block {
		if b >= 0 {
			e.kept = append(e.kept, int32(i))
			e.values = append(e.values, rows.Values[int(b)*count:(int(b)+1)*count]...)
		}
	}
	return e, nil
}

// Shared holds neighbor graphs and their eigenvectors. Problems on the same data with different k may have one in
// common: a smaller k uses the first of the eigenvectors. The problems must run one after another.
type Shared struct {
	maxK   int
	graphs map[clustering.Space]*dataset.Graph
	eigen  map[clustering.Space]*sharedEigen
}

// sharedEigen holds the eigenvectors of a graph restricted to the kept vertices.
type sharedEigen struct {
	keep  []bool
	pairs eigen.Eigenpairs
}

// NewShared returns a Shared for problems of at most maxK clusters.
func NewShared(maxK int) *Shared {
	return &Shared{maxK: maxK, graphs: map[clustering.Space]*dataset.Graph{},
		eigen: map[clustering.Space]*sharedEigen{}}
}

// Share makes p reuse, and add to, the results of other problems. It must be called before Run.
func (p *Problem) Share(s *Shared) { p.shared = s }

// graph returns the neighbor graph of a space. It calls find on the first call.
func (s *Shared) graph(name clustering.Space, find func() (*dataset.Graph, error)) (*dataset.Graph, error) {
	if g := s.graphs[name]; g != nil {
		return g, nil
	}
	g, err := find()
	if err == nil {
		s.graphs[name] = g
	}
	return g, err
}

// largest returns the leading eigenvectors of the graph of a space, restricted to the kept vertices, with so many rows.
// It calls search, for the largest k, on the first call. A nil s shares nothing.
func (s *Shared) largest(
	name clustering.Space, keep []bool, rows, count int, search func(count int) (eigen.Eigenpairs, error),
) (eigen.Eigenpairs, error) {
	if s == nil {
		return search(count)
	}
	found := s.eigen[name]
	if found == nil || len(found.pairs.Vectors) < count || !slices.Equal(found.keep, keep) {
		pairs, err := search(min(s.maxK, rows))
		if err != nil {
			return pairs, err
		}
		found = &sharedEigen{keep, pairs}
		s.eigen[name] = found
	}
	return found.pairs.First(count), nil
}
