package auto

import (
	"slices"

	"github.com/cleave-project/cleave/internal/dataset"
)

const (
	// fewValues is how many different numbers a column has at most that may fall into as many parts.
	fewValues = 10
	// sharpEdges is the share of edges between rows of different values, of the share that chance would give, below which a graph
	// of neighbors follows a column. Columns of 0 and 1 and of few words beside a few others have 0.03 and less, columns of few
	// values of real sets 0.23 and more.
	sharpEdges = 0.1
)

// sharpColumn is the first column of few values, or of words, that nearest neighbors nearly always agree in; -1: there is none. Such
// a column cuts the graph of neighbors into parts, whether or not it has to do with any clusters: values of it are far apart only
// because there are none between them.
func sharpColumn(g *dataset.Graph, data dataset.Dataset) int {
	points, dense := data.(*dataset.Points)
	if !dense {
		return -1
	}
	values := make([]int32, points.N) // the number of each row's value
	for f := 0; f < points.D; f++ {
		to := f + 1
		if at := slices.IndexFunc(points.Words, func(w dataset.Words) bool { return w.From == f }); at >= 0 {
			to = points.Words[at].To
		}
		if counts := number(points, f, to, values); follows(g, values, counts) {
			return f
		}
		f = to - 1
	}
	return -1
}

// number gives equal rows of the columns [from, to) equal numbers, and counts the rows of each; nil where a column of numbers has
// more than few values.
func number(points *dataset.Points, from, to int, values []int32) (counts []int) {
	numbers := map[float64]int32{}
	for i := range values {
		v := points.Values[i*points.D+from]
		if to-from > 1 { // one column for each word
			v = float64(slices.Index(points.Values[i*points.D+from:i*points.D+to], 1))
		}
		at, known := numbers[v]
		if !known {
			if at = int32(len(counts)); to-from == 1 && len(counts) == fewValues {
				return nil
			}
			numbers[v] = at
			counts = append(counts, 0)
		}
		values[i] = at
		counts[at]++
	}
	return counts
}

// follows tells whether few edges of a graph are between rows of different values.
func follows(g *dataset.Graph, values []int32, counts []int) bool {
	if len(counts) < 2 {
		return false
	}
	across, all := 0, 0
	for i := range g.N {
		neighbors, _ := g.Row(i)
		for _, j := range neighbors {
			if all++; values[i] != values[j] {
				across++
			}
		}
	}
	byChance := 1.0
	for _, count := range counts {
		share := float64(count) / float64(g.N)
		byChance -= float64(share * share)
	}
	return float64(across) < float64(sharpEdges*byChance*float64(all))
}
