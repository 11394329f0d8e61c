package clustering

import "math"

// Distances returns, for every row, the squared distance from the mean of its own cluster and from the nearest mean of
// another cluster, +Inf if there is none. Only the rows in kept, which is ascending, have coordinates; the others do
// not count toward the means, and their distances are +Inf. If kept is nil, all rows have coordinates.
func (e *Embedding) Distances(labels []int32, k int, kept []int32) (own, next []float64) {
	if kept == nil {
		kept = make([]int32, e.Rows)
		for i := range kept {
			kept[i] = int32(i)
		}
	}
	means, sizes := make([]float64, k*e.Columns), make([]float64, k)
	for _, i := range kept {
		c := labels[i]
		sizes[c]++
		mean := means[int(c)*e.Columns:][:e.Columns]
		for f, v := range e.row(i) {
			mean[f] += v
		}
	}
	for c, size := range sizes {
		for f := range e.Columns {
			means[c*e.Columns+f] /= max(1, size)
		}
	}
	own, next = make([]float64, e.Rows), make([]float64, e.Rows)
	for i := range own {
		own[i], next[i] = math.Inf(1), math.Inf(1)
	}
	for _, i := range kept {
		row := e.row(i)
		for c, size := range sizes {
			if size == 0 {
				continue
			}
			distance := 0.0
			for f, v := range means[c*e.Columns:][:e.Columns] {
				distance += float64((row[f] - v) * (row[f] - v))
			}
			if int32(c) == labels[i] {
				own[i] = distance
			} else {
				next[i] = min(next[i], distance)
			}
		}
	}
	return own, next
}

func (e *Embedding) row(i int32) []float64 { return e.Values[int(i)*e.Columns:][:e.Columns] }
