package dataset

import (
	"math"
	"slices"
)

// Spans are how wide columns of numbers are: what is between the values that a twentieth of the rows are below and above, which
// a few extreme or missing values do not change, or the range of a column where those are equal.
type Spans struct {
	Narrow, Wide int     // the columns of the least and of the largest span that is not 0
	Ratio        float64 // of the two spans
	alike        bool
}

const (
	// wideSpan is how many geometric means of all spans the widest may have. Of sets whose columns are in one unit it has at most
	// 2.1, of glass, where raw columns are better, 4.3, and of those in several units 8.3 and more.
	wideSpan = 6
	// apartSpans is the factor between a span and the geometric mean, as the standard deviation of logarithms, from which on narrow
	// columns count for nothing: for one of 4 columns it takes a hundredth of the others' span. Glass has 6.2.
	apartSpans = 7
	// spanRows is how many rows are looked at, evenly spaced.
	spanRows = 4096
)

// ColumnSpans finds the spans of the columns of numbers.
func ColumnSpans(p *Points) Spans {
	numbers := p.numbers()
	widths := make([]float64, p.D)
	rows := min(p.N, spanRows)
	p.EachColumns(func(from, to int) {
		column := make([]float64, rows)
		for f := from; f < to; f++ {
			if !numbers[f] {
				continue
			}
			for i := range column {
				// A quarter is exact, and the difference of two is finite.
				column[i] = float64(p.Row(int(int64(i) * int64(p.N) / int64(rows)))[f] * 0.25)
			}
			slices.Sort(column)
			if widths[f] = quantile(column, 0.95) - quantile(column, 0.05); widths[f] == 0 {
				widths[f] = column[rows-1] - column[0]
			}
		}
	})
	return spansOf(widths)
}

func spansOf(widths []float64) Spans {
	s := Spans{Ratio: 1, alike: true}
	var logs []float64
	for f, width := range widths {
		if width <= 0 {
			continue
		}
		if logs = append(logs, math.Log(width)); len(logs) == 1 {
			s.Narrow, s.Wide = f, f
		}
		if width < widths[s.Narrow] {
			s.Narrow = f
		}
		if width > widths[s.Wide] {
			s.Wide = f
		}
	}
	if len(logs) < 2 {
		return s
	}
	mean, squares := 0.0, 0.0
	for _, v := range logs {
		mean += v
	}
	mean /= float64(len(logs))
	for _, v := range logs {
		squares += float64((v - mean) * (v - mean))
	}
	widest := math.Log(widths[s.Wide])
	s.Ratio = math.Exp(widest - math.Log(widths[s.Narrow]))
	s.alike = widest-mean < math.Log(wideSpan) && math.Sqrt(squares/float64(len(logs))) < math.Log(apartSpans)
	return s
}

// Alike tells whether the columns may be in one unit. If not, the units of a few columns decide which points are near.
func (s Spans) Alike() bool { return s.alike }
