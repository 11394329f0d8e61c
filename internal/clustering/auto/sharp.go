package auto

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// sharpColumn returns the first column of few values, or of words, in which nearest neighbors nearly always agree, or
// -1. Such a column splits the neighbor graph whether or not it is related to any clusters, because there are no values
// between its own.
func sharpColumn(g *dataset.Graph, data dataset.Dataset) int {
	points, dense := data.(*dataset.Points)
	if !dense {
		return -1
	}
	values := make([]int32, points.N) // the number of each row's value
	for f := 0; f < points.D; f++ {
		to, words := f+1, false
		if at := slices.IndexFunc(points.Categorical, func(c dataset.Categorical) bool {
			return c.From == f
		}); at >= 0 {
			to, words = points.Categorical[at].To, true
		}
		if counts := number(points, f, to, words, values); follows(g, values, counts) {
			return f
		}
		f = to - 1
	}
	return -1
}

// otherValue marks a row with none of the few values.
const otherValue = -1

// number gives rows with equal values in columns [from, to) equal numbers and counts the rows of each. It returns nil
// if more than 10% of the rows have other values than the first few, as filled gaps may. A filled gap in a column of
// words may lie between words and counts as the most likely one.
func number(points *dataset.Points, from, to int, words bool, values []int32) (counts []int) {
	numbers, others := map[float64]int32{}, 0
	for i := range values {
		row := points.Values[i*points.D+from : i*points.D+to]
		v := row[0]
		switch {
		case words && len(row) == 1:
			v = math.Round(v)
		case words:
			v = float64(slices.Index(row, slices.Max(row)))
		}
		at, known := numbers[v]
		switch {
		case known:
		case len(row) == 1 && len(counts) == fewValues:
			at, others = otherValue, others+1
			if 10*others > points.N {
				return nil
			}
		default:
			at = int32(len(counts))
			numbers[v], counts = at, append(counts, 0)
		}
		values[i] = at
		if at != otherValue {
			counts[at]++
		}
	}
	return counts
}

// follows reports whether few edges of a graph join rows with different values.
func follows(g *dataset.Graph, values []int32, counts []int) bool {
	if len(counts) < 2 {
		return false
	}
	across, all, rows := 0, 0, 0
	for i := range g.N {
		neighbors, _ := g.Row(i)
		for _, j := range neighbors {
			if values[i] == otherValue || values[j] == otherValue {
				continue
			}
			all++
			if values[i] != values[j] {
				across++
			}
		}
	}
	for _, count := range counts {
		rows += count
	}
	byChance := 1.0
	for _, count := range counts {
		share := float64(count) / float64(rows)
		byChance -= float64(share * share)
	}
	return float64(across) < float64(sharpEdges*byChance*float64(all))
}
