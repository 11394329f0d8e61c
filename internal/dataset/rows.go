package dataset

import (
	"context"
	"slices"
	"sort"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/parallel"
)

// rows makes the compressed rows of a graph: it counts the entries of each row, enters both directions of every edge
// in the order of the edges, sorts each row, and adds up repeated entries. Every thread does so for some of the
// rows, so that the result does not depend on their number.
type rows struct {
	n       int
	lists   []Edges
	threads int
	pool    *parallel.Pool

	start  []int64
	column []int32
	weight []float64 // nil: all entries are 1
}

func newRows(n int, lists []Edges) *rows {
	threads := threadsFor(CountEdges(lists))
	r := &rows{n: n, lists: lists, threads: threads, pool: parallel.NewPool(threads), start: make([]int64, n+1)}
	r.count()
	r.enter()
	return r
}

// eachPart calls do for parts of the rows.
func (r *rows) eachPart(ends []int, do func(from, to int) error) error {
	return r.pool.Run(context.Background(), r.threads, len(ends)-1, func(at int) error { return do(ends[at], ends[at+1]) })
}

// mustEachPart is eachPart of what cannot fail; what fails still is a mistake here.
func (r *rows) mustEachPart(ends []int, do func(from, to int)) {
	if err := r.eachPart(ends, func(from, to int) error { do(from, to); return nil }); err != nil {
		panic(err)
	}
}

// ends cuts the rows into parts with about the same number of entries.
func (r *rows) ends(parts int) []int {
	ends := make([]int, parts+1)
	for part := 1; part < parts; part++ {
		share := r.start[r.n] / int64(parts) * int64(part)
		ends[part] = max(ends[part-1], sort.Search(r.n, func(i int) bool { return r.start[i] >= share }))
	}
	ends[parts] = r.n
	return ends
}

// count sets start[i] to the first entry of row i.
func (r *rows) count() {
	ends := make([]int, r.threads+1)
	for part := range ends {
		ends[part] = int(int64(r.n) * int64(part) / int64(r.threads))
	}
	r.mustEachPart(ends, func(from, to int) {
		counts, low, size := r.start[1:], int32(from), uint32(to-from)
		for at := range r.lists {
			targets := r.lists[at].Target
			for e, source := range r.lists[at].Source {
				target := targets[e]
				if uint32(source-low) < size {
					counts[source]++
				}
				if uint32(target-low) < size && source != target {
					counts[target]++
				}
			}
		}
	})
	for i := range r.n {
		r.start[i+1] += r.start[i]
	}
}

// enter puts the entries into their rows, in the order of the edges.
func (r *rows) enter() {
	weighted := slices.ContainsFunc(r.lists, func(e Edges) bool { return e.Weight != nil })
	r.column = make([]int32, r.start[r.n])
	if weighted {
		r.weight = make([]float64, r.start[r.n])
	}
	ends := r.ends(r.threads)
	// start[i+1] is the next free place of row i while it is filled, and then the start of row i+1 again.
	copy(r.start[1:], r.start[:r.n])
	r.mustEachPart(ends, func(from, to int) {
		next, low, size := r.start[1:], int32(from), uint32(to-from)
		put := func(row, column int32, weights []float64, e int) {
			place := next[row]
			next[row]++
			r.column[place] = column
			if weighted && weights != nil {
				r.weight[place] = weights[e]
			} else if weighted {
				r.weight[place] = 1
			}
		}
		for at := range r.lists {
			targets, weights := r.lists[at].Target, r.lists[at].Weight
			for e, source := range r.lists[at].Source {
				target := targets[e]
				if uint32(source-low) < size {
					put(source, target, weights, e)
				}
				if uint32(target-low) < size && source != target {
					put(target, source, weights, e)
				}
			}
		}
	})
	clear(r.lists)
}

// graph sorts the rows and adds up the weights of repeated entries.
func (r *rows) graph() (*Graph, error) {
	ends := r.ends(4 * r.threads)
	distinct := make([]int64, r.n+1)
	r.mustEachPart(ends, func(from, to int) {
		var order rowOrder
		for i := from; i < to; i++ {
			r.sortRow(i, &order)
			row := r.column[r.start[i]:r.start[i+1]]
			for at := range row {
				if at == 0 || row[at] != row[at-1] {
					distinct[i+1]++
				}
			}
		}
	})
	for i := range r.n {
		distinct[i+1] += distinct[i]
	}
	g := &Graph{N: r.n, RowStart: distinct, Column: r.column, Weight: r.weight}
	repeated := distinct[r.n] < r.start[r.n]
	if repeated {
		g.Column = make([]int32, distinct[r.n])
	}
	if repeated || r.weight == nil {
		g.Weight = make([]float64, distinct[r.n])
	}
	err := r.eachPart(ends, func(from, to int) error {
		switch {
		case repeated:
			return r.merge(g, from, to)
		case r.weight == nil:
			weights := g.Weight[g.RowStart[from]:g.RowStart[to]]
			for at := range weights {
				weights[at] = 1
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// rowOrder is memory for sorting a row, used again for the next one.
type rowOrder struct {
	keys    []uint64
	weights []float64
}

// sortRow sorts row i by column, repeated ones in the order of the edges.
func (r *rows) sortRow(i int, order *rowOrder) {
	from, to := r.start[i], r.start[i+1]
	columns := r.column[from:to]
	if slices.IsSorted(columns) {
		return
	}
	if r.weight == nil {
		slices.Sort(columns)
		return
	}
	weights := r.weight[from:to]
	order.keys, order.weights = order.keys[:0], append(order.weights[:0], weights...)
	for at, c := range columns {
		order.keys = append(order.keys, uint64(c)<<32|uint64(at)) // distinct, so that any sort is stable
	}
	slices.Sort(order.keys)
	for at, key := range order.keys {
		columns[at], weights[at] = int32(key>>32), order.weights[uint32(key)]
	}
}

// merge writes rows [from, to) into the graph, each column once.
func (r *rows) merge(g *Graph, from, to int) error {
	place := g.RowStart[from] - 1
	for i := from; i < to; i++ {
		for at := r.start[i]; at < r.start[i+1]; at++ {
			w := 1.0
			if r.weight != nil {
				w = r.weight[at]
			}
			if at > r.start[i] && r.column[at] == r.column[at-1] {
				g.Weight[place] += w
				continue
			}
			place++
			g.Column[place], g.Weight[place] = r.column[at], w
		}
		columns, weights := g.Row(i)
		for at, w := range weights {
			if !finite(w) {
				return fault.Invalid("NOT_FINITE", "the weights of edge %d-%d add up to %v", i, columns[at], w)
			}
		}
	}
	return nil
}
