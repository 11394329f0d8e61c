package dataset

import (
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/parallel"
)

// Spread holds the mean and the standard deviation of each column.
type Spread struct{ Mean, Deviation []float64 }

// ColumnSpread computes the spread of the columns. No sum overflows or underflows, whatever the values are, and a
// constant column has a deviation of exactly 0.
func ColumnSpread(p *Points) *Spread {
	s := &Spread{Mean: make([]float64, p.D), Deviation: make([]float64, p.D)}
	p.EachColumns(func(from, to int) { s.take(p, from, to) })
	return s
}

// take computes the spread of the columns [from, to).
func (s *Spread) take(p *Points, from, to int) {
	// A quarter of a value is exact, and the difference of two quarters does not overflow.
	const quarter = 0.25
	mean, squares := s.Mean[from:to], s.Deviation[from:to]
	least := make([]float64, to-from)
	most := make([]float64, to-from)
	unit := make([]float64, to-from)
	for f, v := range p.Values[from:to] {
		least[f], most[f] = v, v
	}
	for i := range p.N {
		share := 1 / float64(i+1)
		for f, v := range p.Values[i*p.D+from : i*p.D+to] {
			mean[f] += float64((float64(v*quarter) - mean[f]) * share)
			if v < least[f] {
				least[f] = v
			}
			if v > most[f] {
				most[f] = v
			}
		}
	}
	// Rounding keeps the order, so the least or the largest value has the largest difference. The unit is a power of
	// two that makes differences smaller than 1.
	for f := range unit {
		largest := max(math.Abs(float64(least[f]*quarter)-mean[f]), math.Abs(float64(most[f]*quarter)-mean[f]))
		_, exponent := math.Frexp(largest)
		unit[f] = math.Ldexp(1, -max(exponent, -1000))
	}
	for i := range p.N {
		for f, v := range p.Values[i*p.D+from : i*p.D+to] {
			off := float64((float64(v*quarter) - mean[f]) * unit[f])
			squares[f] += float64(off * off)
		}
	}
	for f := range mean {
		mean[f] *= 4
		squares[f] = min(4*(math.Sqrt(squares[f]/float64(p.N))/unit[f]), math.MaxFloat64)
	}
}

// standardUnits returns units that give every column the mean 0 and the variance 1. A constant column becomes 0.
func (s *Spread) standardUnits() *Units {
	scale := make([]float64, len(s.Deviation))
	for f, deviation := range s.Deviation {
		scale[f] = deviation
		if deviation == 0 {
			scale[f] = 1
		}
	}
	return &Units{Center: s.Mean, Scale: scale, Rule: Standard}
}

// Widest returns the numeric column with the largest variance (the first of equal ones), its share of the total
// variance of numeric columns, and how many of them vary. If none varies, the share is 0. s must be the spread of p.
func (s *Spread) Widest(p *Points) (column int, share float64, varying int) {
	numbers := p.numbers()
	largest := 0.0
	for f, deviation := range s.Deviation {
		if numbers[f] && deviation > largest {
			column, largest = f, deviation
		}
	}
	if largest == 0 {
		return column, 0, 0
	}
	sum := 0.0
	for f, deviation := range s.Deviation {
		if numbers[f] && deviation > 0 {
			v := deviation / largest
			sum += float64(v * v)
			varying++
		}
	}
	return column, 1 / sum, varying
}

// columnsAtOnce is the number of columns that a thread works on: their values in a row fill a cache line.
const columnsAtOnce = 8

// EachColumns calls do with ranges of columns [from, to) that cover all columns, on several threads if there are many
// points. No column is divided, so results do not depend on the number of threads.
func (p *Points) EachColumns(do func(from, to int)) {
	const least = 1 << 16 // values per thread
	threads := min(runtime.GOMAXPROCS(0), 1+len(p.Values)/least)
	groups := (p.D + columnsAtOnce - 1) / columnsAtOnce
	err := parallel.Run(context.Background(), threads, groups, func(group int) error {
		do(group*columnsAtOnce, min((group+1)*columnsAtOnce, p.D))
		return nil
	})
	if err != nil {
		panic(err) // do panicked
	}
}

// Spans compares the spans of numeric columns. The span of a column is the distance of its 5% and 95% quantiles, which
// a few extreme or missing values do not change, or its range if the quantiles are equal.
type Spans struct {
	Narrow, Wide int     // the columns with the smallest and the largest span above 0
	Ratio        float64 // of the two spans
	SameUnit     bool    // columns may share a unit; if not, the units of a few columns decide which points are close
}

const (
	// wideSpan limits the widest span, as a multiple of the geometric mean of all spans. It was measured as at most
	// 2.1 where columns share a unit, 4.3 for glass, where raw columns score better, and at least 8.3 where units
	// differ.
	wideSpan = 6
	// apartSpans limits the typical factor between a span and the geometric mean, exp of the standard deviation of
	// logarithms. Beyond it, narrow columns count for nothing. One of 4 columns with a hundredth of the others' span
	// reaches it; glass has 6.2.
	apartSpans = 7
	// spanRows is the number of rows that are sampled, evenly spaced.
	spanRows = 4096
)

// ColumnSpans finds the spans of the numeric columns.
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
				// A quarter is exact, and the difference of two quarters does not overflow.
				column[i] = float64(p.Row(int(int64(i) * int64(p.N) / int64(rows)))[f] * 0.25)
			}
			slices.Sort(column)
			widths[f] = quantile(column, 0.95) - quantile(column, 0.05)
			if widths[f] == 0 {
				widths[f] = column[rows-1] - column[0]
			}
		}
	})
	return spansOf(widths)
}

// spansOf compares the widths of columns by their logarithms. Constant columns do not count.
func spansOf(widths []float64) Spans {
	s := Spans{Ratio: 1, SameUnit: true}
	var logs []float64
	for f, width := range widths {
		if width <= 0 {
			continue
		}
		logs = append(logs, elementary.Log(width))
		if len(logs) == 1 {
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
	widest := elementary.Log(widths[s.Wide])
	s.Ratio = elementary.Exp(widest - elementary.Log(widths[s.Narrow]))
	s.SameUnit = widest-mean < elementary.Log(wideSpan) &&
		math.Sqrt(squares/float64(len(logs))) < elementary.Log(apartSpans)
	return s
}
