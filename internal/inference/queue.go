package inference

import "container/heap"

// pointQueue returns points by ascending key, and among equal keys by ascending point. To change the key of a point,
// add the point again; the caller must skip the stale entry.
type pointQueue []keyed

// keyed is a point and its key.
type keyed struct {
	key   float64
	point int32
}

func (q pointQueue) Len() int { return len(q) }
func (q pointQueue) Less(a, b int) bool {
	return q[a].key < q[b].key || q[a].key == q[b].key && q[a].point < q[b].point
}
func (q pointQueue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }

// Push is for container/heap; use add.
func (q *pointQueue) Push(x any) { *q = append(*q, x.(keyed)) }

// Pop is for container/heap; use take.
func (q *pointQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

func (q *pointQueue) add(key float64, point int32) { heap.Push(q, keyed{key, point}) }

func (q *pointQueue) take() keyed { return heap.Pop(q).(keyed) }
