package spectral

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/clustering/component"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/text"
)

// pieces returns the connected parts of a graph. An affinity of points or a given matrix counts as connected, because
// its entries are 0 only by rounding, and so does a graph that was joined.
func (m *method) pieces(together *constraint.Components) (pieces component.Pieces, isGraph bool) {
	if m.Graph() == nil || m.joined {
		return component.Pieces{}, false
	}
	return m.Pieces(together), true
}

// components returns the connected component of each included vertex, numbered by their first vertices, and how many
// there are.
func (m *method) components() (component []int32, count int) {
	pieces, isGraph := m.pieces(nil)
	if !isGraph || m.rows() == 0 {
		return make([]int32, m.rows()), min(1, m.rows())
	}
	return choose.Numbers(m.kept.Kept(), m.n, func(i int32) int32 { return pieces.Piece[i] })
}

// nullVectors spans what Lbar maps to 0: D^1/2 1 on each connected component.
func (m *method) nullVectors() [][]float64 {
	component, count := m.components()
	null := eigen.Columns(m.rows(), count)
	for i, c := range component {
		null[c][i] = math.Sqrt(m.degrees[m.kept.Row(i)])
	}
	return null
}

// handleComponents joins the pieces of a graph, or leaves out what is isolated or too small. It warns about remaining
// pieces, which are cut apart at no cost.
func (m *method) handleComponents(ctx context.Context) error {
	if m.options.Components == ComponentsJoin {
		return m.join(ctx)
	}
	m.leaveOut()
	if _, count := m.components(); count > 1 {
		m.warn("DISCONNECTED_GRAPH", fmt.Sprintf(
			"the graph has %d connected components; cuts between them cost nothing and so determine the answer; set "+
				"components to join to connect them by weak edges", count))
	}
	return nil
}

// leaveOut decides which vertices are included: none of degree 0 and, by the policy auto, none in small pieces. If
// must-links are part of the matrix, vertices that they connect to a larger piece belong to it.
func (m *method) leaveOut() {
	left := make([]bool, m.n)
	if isolated := m.setup.Isolated(); isolated != nil {
		copy(left, isolated)
		m.setup.WarnIsolated(m.o)
	}
	together := m.given.Components()
	if m.options.Algorithm == Constrained {
		together = nil
	}
	if pieces, isGraph := m.pieces(together); isGraph && m.options.Components == ComponentsAuto {
		keep := pieces.Included(m.spec.K)
		vertices, small := 0, map[int32]bool{}
		for i, c := range pieces.Piece {
			if !keep[c] && !left[i] {
				left[i], small[c] = true, true
				vertices++
			}
		}
		if vertices > 0 {
			m.warn("SMALL_PIECES", fmt.Sprintf(
				"%s too small to be one of %s (%s in all): each is assigned to the cluster of most of its "+
					"must-linked points, else to the largest; set components to \"keep\" so that they can be clusters",
				text.Count(len(small), "component of the graph is", "components of the graph are"),
				text.Plural(m.spec.K, "cluster"), text.Count(vertices, "vertex", "vertices")))
		}
	}
	m.setKept(left)
	if m.rows() < m.spec.K {
		m.warn("EMPTY_CLUSTERS", fmt.Sprintf(
			"%s an affinity to others, fewer than the %d clusters: some clusters are empty",
			text.Count(m.rows(), "point has", "points have"), m.spec.K))
	}
}

// join connects each component to the next by an edge between their first vertices, with the smallest weight that the
// graph has on the grid. The new edges count in the degrees.
func (m *method) join(ctx context.Context) error {
	pieces, isGraph := m.pieces(nil)
	if !isGraph || pieces.Count() == 1 {
		m.leaveOut() // points can be isolated
		return nil
	}
	least := math.Inf(1)
	for _, w := range m.Graph().Weight {
		w = m.EdgeWeight(w)
		if w > 0 {
			least = min(least, w)
		}
	}
	if math.IsInf(least, 1) {
		least = m.Matrix.Grid.Round(1) // there are no edges
	}
	var first []int32 // vertices of the pieces, which are numbered in this order
	for i, c := range pieces.Piece {
		if int(c) == len(first) {
			first = append(first, int32(i))
		}
	}
	var bridges []dataset.Edge
	for at, i := range first[1:] {
		bridges = append(bridges, dataset.Edge{Source: first[at], Target: i, Weight: least})
	}
	m.joined = true
	m.warn("COMPONENTS_JOINED",
		fmt.Sprintf("the graph had %d connected components; they are joined by edges of weight %g", pieces.Count(),
			m.FromUnit(least)))
	if err := m.setup.AddEdges(ctx, bridges); err != nil {
		return err
	}
	return m.loadDegrees(ctx)
}

// VectorsPerProduct returns how many vectors the matrix is multiplied with at a time.
func (p *Problem) VectorsPerProduct() int { return embedding.ProductsAtOnce }

// SparseEntries returns an upper bound of the number of entries in the sparse part of the matrix.
func (p *Problem) SparseEntries() int64 {
	entries := 2 * int64(p.Constraints.Len())
	if p.options.Components == ComponentsJoin && p.Matrix.Function == kernel.Adjacency {
		entries += 2 * int64(p.n)
	}
	return entries
}
