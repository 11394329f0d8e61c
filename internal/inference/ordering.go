package inference

import "slices"

// elimination is an order of the points in which a factor of the interior point's matrix stays
// sparse, and which blocks of the factor there are.
type elimination struct {
	order []int32
	later [][]int32 // of each point: those after it that its column of blocks has rows for
	work  float64   // multiplications of one factorization
	room  float64   // numbers in the factor
}

// minimumDegree eliminates next the point with the fewest rows in its column, and joins its neighbors
// into a clique, as the elimination does. It stops when the work or the room is over its limit.
// The width of a point is the size of its block.
func minimumDegree(g *graph, width []int32, workLimit, roomLimit float64) (*elimination, bool) {
	n := g.size()
	e := &elimination{order: make([]int32, 0, n), later: make([][]int32, n)}
	near := make([][]int32, n) // neighbors that are left, ascending
	rows := make([]float64, n) // their widths together
	var queue pointQueue
	for i := range n {
		near[i] = slices.Clone(g.to[g.start[i]:g.start[i+1]])
		rows[i] = totalWidth(near[i], width)
		queue.add(rows[i], int32(i))
	}
	done := make([]bool, n)
	var union []int32
	merged, entries := 0.0, float64(len(g.to)) // what keeping the lists has cost, and how long they are
	for len(e.order) < n {
		next := queue.take()
		i := next.point
		if done[i] || next.key != rows[i] {
			continue
		}
		done[i] = true
		e.order = append(e.order, i)
		e.later[i] = near[i]
		own := float64(width[i])
		e.work += float64(own * (own + rows[i]) * (own + rows[i]))
		e.room += float64(own * (own + rows[i]))
		if e.work > workLimit || e.room > roomLimit {
			return nil, false
		}
		if len(near[i]) == n-len(e.order) { // what is left is a clique: any order is as good
			for at, j := range near[i] {
				e.order = append(e.order, j)
				e.later[j] = near[i][at+1:]
				rest := totalWidth(near[i][at:], width)
				e.work += float64(float64(width[j]) * rest * rest)
				e.room += float64(float64(width[j]) * rest)
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
		if merged > workLimit || entries/2 > roomLimit { // each entry will need room in the factor
			return nil, false
		}
	}
	return e, e.work <= workLimit && e.room <= roomLimit
}

func totalWidth(points, width []int32) float64 {
	total := 0.0
	for _, i := range points {
		total += float64(width[i])
	}
	return total
}

// unionExcept merges two ascending lists, leaving out two points.
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
