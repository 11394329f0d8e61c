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

// components are the connected components of a graph, numbered by their first vertices. A matrix of
// points or a given one counts as connected: its affinities vanish only by rounding.
func (r *method) components() (of []int32, count int) {
	of = make([]int32, r.n)
	graph, isGraph := r.data.(*dataset.Graph)
	if !isGraph || r.joined {
		return of, 1
	}
	for i := range of {
		of[i] = -1
	}
	var queue []int32
	for i := range r.n {
		if of[i] >= 0 {
			continue
		}
		of[i] = int32(count)
		for queue = append(queue[:0], int32(i)); len(queue) > 0; {
			v := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			neighbours, weights := graph.Row(int(v))
			for at, u := range neighbours {
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

// nullVectors are what Lbar takes to 0: D^1/2 1 on each connected component.
func (r *method) nullVectors() [][]float64 {
	of, count := r.components()
	null := make([][]float64, count)
	for c := range null {
		null[c] = make([]float64, r.n)
	}
	for i, c := range of {
		null[c][i] = math.Sqrt(r.degrees[i])
	}
	return null
}

// settleComponents says that a graph is in pieces, between which every cut costs nothing, or joins them.
func (r *method) settleComponents(ctx context.Context) error {
	of, count := r.components()
	if count == 1 {
		return nil
	}
	if !r.options.JoinComponents {
		remedy := ""
		if r.options.Algorithm == Constrained { // which alone has the option
			remedy = "; --components join connects them by weak edges"
		}
		r.family.Warn(r.o, "DISCONNECTED_GRAPH", fmt.Sprintf(
			"the graph has %d connected components; cuts between them cost nothing, so that they decide the answer%s", count, remedy))
		return nil
	}
	return r.join(ctx, of, count)
}

// join connects each component to the next, first vertex to first vertex, by the smallest weight that the
// graph has. The edges are the sparse part of the matrix; degrees count them.
func (r *method) join(ctx context.Context, of []int32, count int) error {
	least := math.Inf(1)
	for _, w := range r.data.(*dataset.Graph).Weight {
		if w > 0 {
			least = min(least, w)
		}
	}
	least = r.Matrix.Grid.Round(least)
	first := make([]int32, count)
	for i := len(of) - 1; i >= 0; i-- {
		first[of[i]] = int32(i)
	}
	bridges := newSymmetric(r.n)
	for c := 1; c < count; c++ {
		bridges.add(first[c-1], first[c], least)
	}
	bridges.finish()
	sparse := &kernel.Sparse{RowStart: make([]int64, r.n+1), Column: bridges.column, Value: bridges.value}
	r.degrees = slices.Clone(r.degrees)
	for i := range r.n {
		sparse.RowStart[i+1] = int64(bridges.start[i+1])
		_, values := bridges.row(i)
		for _, v := range values {
			r.degrees[i] += v
		}
	}
	r.joined = true
	r.setDegrees()
	r.family.SetWeights(r.degrees)
	r.family.Warn(r.o, "COMPONENTS_JOINED", fmt.Sprintf("the graph had %d connected components; they are joined by edges of weight %g", count, least))
	return r.x.Arm(ctx, kernel.Armament{ID: 2, K: r.spec.K, Weights: r.degrees, Sparse: sparse})
}

// Products is how many vectors the matrix is multiplied with at a time.
func (p *Problem) Products() int { return embedding.ProductsAtOnce }

// SparseEntries is how many entries the sparse part of the matrix has at most.
func (p *Problem) SparseEntries() int64 {
	entries := 2 * int64(p.Constraints.Len())
	if p.options.JoinComponents {
		entries += 2 * int64(p.n)
	}
	return entries
}
