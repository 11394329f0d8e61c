package cut

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
)

// components are the connected components of a graph: that of each vertex, in the order of their first vertices, and
// how many there are. An affinity of points or a given matrix counts as connected: entries are 0 only by rounding.
func (m *method) components() (of []int32, count int) {
	of = make([]int32, m.n)
	graph, isGraph := m.data.(*dataset.Graph)
	if !isGraph || m.joined {
		return of, 1
	}
	for i := range of {
		of[i] = -1
	}
	var queue []int32
	for i := range m.n {
		if of[i] >= 0 {
			continue
		}
		of[i] = int32(count)
		for queue = append(queue[:0], int32(i)); len(queue) > 0; {
			v := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			neighbors, weights := graph.Row(int(v))
			for at, u := range neighbors {
				if of[u] < 0 && weights[at] != 0 {
					of[u] = int32(count)
					queue = append(queue, u)
				}
			}
		}
		count++
	}
	return of, count
}

// nullVectors span what Lbar maps to 0: D^1/2 1 on each connected component.
func (m *method) nullVectors() [][]float64 {
	of, count := m.components()
	null := make([][]float64, count)
	for c := range null {
		null[c] = make([]float64, m.n)
	}
	for i, c := range of {
		null[c][i] = math.Sqrt(m.degrees[i])
	}
	return null
}

// handleComponents warns of a graph that is not connected, whose components are cut apart at no cost, or joins them.
func (m *method) handleComponents(ctx context.Context) error {
	of, count := m.components()
	if count == 1 {
		return nil
	}
	if !m.options.JoinComponents {
		remedy := ""
		if m.options.Algorithm == Constrained { // the only one with this option
			remedy = "; components: join connects them by weak edges"
		}
		m.family.Warn(m.o, "DISCONNECTED_GRAPH", fmt.Sprintf(
			"the graph has %d connected components; cuts between them cost nothing, so that they decide the answer%s", count, remedy))
		return nil
	}
	return m.join(ctx, of, count)
}

// join connects each component to the next by an edge between their first vertices, of the smallest weight that the
// graph has. The new edges are the sparse part of the matrix, and count in the degrees.
func (m *method) join(ctx context.Context, of []int32, count int) error {
	least := math.Inf(1)
	for _, w := range m.data.(*dataset.Graph).Weight {
		if w > 0 {
			least = min(least, w)
		}
	}
	least = m.Matrix.Grid.Round(least)
	first := make([]int32, count)
	for i := len(of) - 1; i >= 0; i-- {
		first[of[i]] = int32(i)
	}
	bridges := newSymmetric(m.n)
	for c := 1; c < count; c++ {
		bridges.add(first[c-1], first[c], least)
	}
	bridges.finish()
	sparse := &kernel.Sparse{RowStart: make([]int64, m.n+1), Column: bridges.column, Value: bridges.value}
	m.degrees = slices.Clone(m.degrees)
	for i := range m.n {
		sparse.RowStart[i+1] = int64(bridges.start[i+1])
		_, values := bridges.row(i)
		for _, v := range values {
			m.degrees[i] += v
		}
	}
	m.joined = true
	m.setDegrees()
	m.family.SetWeights(m.degrees)
	m.family.Warn(m.o, "COMPONENTS_JOINED", fmt.Sprintf("the graph had %d connected components; they are joined by edges of weight %g", count, least))
	return m.x.SetOperands(ctx, kernel.Operands{ID: 2, K: m.spec.K, Weights: m.degrees, Sparse: sparse})
}

// VectorsPerProduct is how many vectors the matrix is multiplied with at a time.
func (p *Problem) VectorsPerProduct() int { return embedding.ProductsAtOnce }

// SparseEntries is how many entries the sparse part of the matrix has at most.
func (p *Problem) SparseEntries() int64 {
	entries := 2 * int64(p.Constraints.Len())
	if p.options.JoinComponents {
		entries += 2 * int64(p.n)
	}
	return entries
}
