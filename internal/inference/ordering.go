package inference

import (
	"context"
	"slices"
)

// elimination is an order of the points that keeps the factor of the Newton matrix sparse, with the structure of the
// factor.
type elimination struct {
	order []int32
	later [][]int32 // per point: the later points with rows in its column of blocks
	work  float64   // multiplications of one factorization
	size  float64   // numbers in the factor
}

// minimumDegree always eliminates the point with the fewest rows in its column next, and connects its neighbors to a
// clique, as the elimination does. ok is false if the work or the memory exceeds its limit. The width of a point is the
// size of its block.
func minimumDegree(ctx context.Context, g *graph, width []int32,
	workLimit, sizeLimit float64) (e *elimination, ok bool, err error) {
	n := g.size()
	e = &elimination{order: make([]int32, 0, n), later: make([][]int32, n)}
	near := make([][]int32, n) // neighbors that are not yet eliminated, ascending
	rows := make([]float64, n) // the sum of their widths
	var queue pointQueue
	for i := range n {
		near[i] = slices.Clone(g.to[g.start[i]:g.start[i+1]])
		rows[i] = totalWidth(near[i], width)
		queue.add(rows[i], int32(i))
	}
	done := make([]bool, n)
	var union []int32
	merged, entries := 0.0, float64(len(g.to)) // the work of merging the lists, and their total length
	for len(e.order) < n {
		next := queue.take()
		i := next.point
		if done[i] || next.key != rows[i] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		done[i] = true
		e.order = append(e.order, i)
		e.later[i] = near[i]
		own := float64(width[i])
		e.work += float64(own * (own + rows[i]) * (own + rows[i]))
		e.size += float64(own * (own + rows[i]))
		if e.work > workLimit || e.size > sizeLimit {
			return nil, false, nil
		}
		if len(near[i]) == n-len(e.order) { // the rest is a clique, so any order is equally good
			for at, j := range near[i] {
				e.order = append(e.order, j)
				e.later[j] = near[i][at+1:]
				rest := totalWidth(near[i][at:], width)
				e.work += float64(float64(width[j]) * rest * rest)
				e.size += float64(float64(width[j]) * rest)
			}
			break
		}
		for _, j := range near[i] {
			merged += float64(len(near[j]) + len(near[i]))
			union = unionExcept(union[:0], near[j], near[i], i, j)
			entries += float64(len(union) - len(near[j]))
			near[j] = append(near[j][:0], union...)
			rows[j] = totalWidth(near[j], width)
			queue.add(rows[j], j)
		}
		if merged > workLimit || entries/2 > sizeLimit { // each entry will need memory in the factor
			return nil, false, nil
		}
	}
	return e, e.work <= workLimit && e.size <= sizeLimit, nil
}

func totalWidth(points, width []int32) float64 {
	total := 0.0
	for _, i := range points {
		total += float64(width[i])
	}
	return total
}

// unionExcept merges two ascending lists, except for two points.
func unionExcept(into, a, b []int32, except1, except2 int32) []int32 {
	for len(a) > 0 || len(b) > 0 {
		var next int32
		switch {
		case len(b) == 0 || len(a) > 0 && a[0] < b[0]:
			next, a = a[0], a[1:]
		case len(a) == 0 || b[0] < a[0]:
			next, b = b[0], b[1:]
		default:
			next, a, b = a[0], a[1:], b[1:]
		}
		if next != except1 && next != except2 {
			into = append(into, next)
		}
	}
	return into
}
