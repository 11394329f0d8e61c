package auto

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

const (
	// fewValues is how many different numbers a column has at most that may fall into as many parts.
	fewValues = 10
	// sharpEdges is the share of edges between rows of different values, of the share that chance would give, below which a graph
	// of neighbors follows a column. Columns of 0 and 1 and of few words beside a few of numbers have up to 0.11 in made tables,
	// columns of few values of real sets 0.23 and more.
	sharpEdges = 0.15
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
		to, words := f+1, false
		if at := slices.IndexFunc(points.Words, func(w dataset.Words) bool { return w.From == f }); at >= 0 {
			to, words = points.Words[at].To, true
		}
		if counts := number(points, f, to, words, values); follows(g, values, counts) {
			return f
		}
		f = to - 1
	}
	return -1
}

// none is the number of a row that has none of the few values.
const none = -1

// number gives rows of equal values in the columns [from, to) equal numbers, and counts the rows of each; nil where more than a tenth
// of the rows have other values than a few, as they may where gaps were filled. What fills the gap of a word may be between words,
// and is taken for the most likely.
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
			if at, others = none, others+1; 10*others > points.N {
				return nil
			}
		default:
			at = int32(len(counts))
			numbers[v], counts = at, append(counts, 0)
		}
		if values[i] = at; at != none {
			counts[at]++
		}
	}
	return counts
}

// follows tells whether few edges of a graph are between rows of different values.
func follows(g *dataset.Graph, values []int32, counts []int) bool {
	if len(counts) < 2 {
		return false
	}
	across, all, rows := 0, 0, 0
	for i := range g.N {
		neighbors, _ := g.Row(i)
		for _, j := range neighbors {
			if values[i] == none || values[j] == none {
				continue
			}
			if all++; values[i] != values[j] {
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
