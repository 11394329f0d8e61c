package neighbor

import "math"

// nearest keeps the count nearest rows seen so far, nearest first. Ties are ordered by row number.
type nearest struct {
	distances []float64
	rows      []int32
	count     int // how many rows to keep
}

func (l *nearest) reset(count int) {
	l.distances, l.rows, l.count = l.distances[:0], l.rows[:0], count
}

// limit returns the distance beyond which no row can be among the nearest; +Inf until count rows are known.
func (l *nearest) limit() float64 {
	if len(l.rows) < l.count {
		return math.Inf(1)
	}
	return l.distances[l.count-1]
}

// add inserts a row if it is among the nearest.
func (l *nearest) add(distance float64, row int32) {
	if len(l.rows) < l.count {
		l.distances = append(l.distances, 0)
		l.rows = append(l.rows, 0)
	} else if last := l.count - 1; distance > l.distances[last] || distance == l.distances[last] && row > l.rows[last] {
		return
	}
	at := len(l.rows) - 1
	for ; at > 0 && (distance < l.distances[at-1] || distance == l.distances[at-1] && row < l.rows[at-1]); at-- {
		l.distances[at], l.rows[at] = l.distances[at-1], l.rows[at-1]
	}
	l.distances[at], l.rows[at] = distance, row
}

// write copies the rows to out and fills the remainder with None.
func (l *nearest) write(out []int32) {
	for at := copy(out, l.rows); at < len(out); at++ {
		out[at] = None
	}
}
