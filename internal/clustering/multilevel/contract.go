package multilevel

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/parallel"
)

// contractRows is the number of merged vertices that one thread contracts at a time.
const contractRows = 1 << 13

// contract merges all vertices that have the same number, 0..count-1, into one. The result does not depend on the
// number of threads: rows list neighbors in the order in which they are met.
func contract(ctx context.Context, g *Graph, into []int32, count int,
	pool *parallel.Pool) (*Graph, error) {
	members, start := group(into, count)
	c := &Graph{
		Start: make([]int64, count+1), Diagonal: make([]float64, count), Mass: make([]float64, count),
		Apart: g.Apart.merged(into), Penalties: g.Penalties.merged(into, count),
	}
	parts := make([]rows, (count+contractRows-1)/contractRows)
	var scratch parallel.Workspaces[[]int32]
	err := pool.Run(ctx, len(parts), func(at int) error {
		place := scratch.Borrow()
		if *place == nil {
			*place = make([]int32, count)
		}
		from := at * contractRows
		to := min(count, (at+1)*contractRows)
		entries := int64(0)
		for _, i := range members[start[from]:start[to]] {
			entries += g.Start[i+1] - g.Start[i]
		}
		p := &parts[at]
		p.column = make([]int32, 0, entries)
		p.weight = make([]float64, 0, entries)
		for v := from; v < to; v++ {
			before := len(p.column)
			p.add(c, g, int32(v), members[start[v]:start[v+1]], into, *place)
			c.Start[v+1] = int64(len(p.column) - before)
		}
		scratch.GiveBack(place)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for v := range count {
		c.Start[v+1] += c.Start[v]
	}
	c.Column = make([]int32, c.Start[count])
	c.Weight = make([]float64, c.Start[count])
	err = pool.Run(ctx, len(parts), func(at int) error {
		from := c.Start[at*contractRows]
		copy(c.Column[from:], parts[at].column)
		copy(c.Weight[from:], parts[at].weight)
		parts[at] = rows{}
		return nil
	})
	return c, err
}

// rows holds some rows of a contracted graph.
type rows struct {
	column []int32
	weight []float64
}

// add appends the row of one merged vertex and computes its weight and diagonal entry. place holds the index of each
// neighbor in this row plus 1; it is all 0 before and after.
func (r *rows) add(c, g *Graph, v int32, members, into, place []int32) {
	from := len(r.column)
	for _, i := range members {
		c.Mass[v] += g.Mass[i]
		c.Diagonal[v] += g.diagonal(i)
		neighbors, weights := g.row(i)
		for n, j := range neighbors {
			to := into[j]
			switch {
			case j == i:
			case to == v:
				c.Diagonal[v] += weights[n]
			case place[to] == 0:
				r.column = append(r.column, to)
				r.weight = append(r.weight, weights[n])
				place[to] = int32(len(r.column) - from)
			default:
				r.weight[from+int(place[to])-1] += weights[n]
			}
		}
	}
	for _, to := range r.column[from:] {
		place[to] = 0
	}
}

// group lists the vertices by number: those with number v are members[start[v]:start[v+1]], ascending.
func group(into []int32, count int) (members []int32, start []int64) {
	start = make([]int64, count+1)
	for _, v := range into {
		start[v+1]++
	}
	for v := range count {
		start[v+1] += start[v]
	}
	members = make([]int32, len(into))
	next := slices.Clone(start[:count])
	for i, v := range into {
		members[next[v]] = int32(i)
		next[v]++
	}
	return members, start
}
