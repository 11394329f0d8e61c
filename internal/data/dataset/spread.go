package dataset

import "math"

// Spread is how the columns of points vary: the mean of each, and the square root of its variance.
type Spread struct{ Mean, Deviation []float64 }

// ColumnSpread is the spread of the columns, taken in row order. No sum overflows or vanishes, whatever the values are,
// and a column that does not vary has a deviation of exactly 0.
func ColumnSpread(p *Points) *Spread {
	s := &Spread{Mean: make([]float64, p.D), Deviation: make([]float64, p.D)}
	p.EachColumns(func(from, to int) { s.take(p, from, to) })
	return s
}

// take computes the spread of the columns [from, to).
func (s *Spread) take(p *Points, from, to int) {
	// A quarter of a value is exact, and the difference of two quarters is finite.
	const quarter = 0.25
	mean, squares := s.Mean[from:to], s.Deviation[from:to]
	least, most, unit := make([]float64, to-from), make([]float64, to-from), make([]float64, to-from)
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
	// The largest difference is that of the least or of the most value, because rounding keeps the order. Differences are below 1
	// in units of a power of two.
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

// standardUnits give every column the mean 0 and the variance 1. A column that does not vary becomes 0.
func (s *Spread) standardUnits() *Units {
	scale := make([]float64, len(s.Deviation))
	for f, deviation := range s.Deviation {
		if scale[f] = deviation; deviation == 0 {
			scale[f] = 1
		}
	}
	return &Units{Center: s.Mean, Scale: scale, Rule: Standard}
}

// Widest is the column of numbers with the largest variance, the first of equal ones, its share of the variance of all of them,
// 0 where none varies, and how many vary. The spread is that of the points.
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
