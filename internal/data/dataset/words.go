package dataset

import (
	"math"
	"slices"
)

// Words are the columns [From, To) of points that one column of words became: a column for each word, which is 1 in the rows
// that have it and 0 in all others. A single column tells two words apart.
type Words struct{ From, To int }

// numbers tells for every column whether it is one of numbers.
func (p *Points) numbers() []bool {
	are := slices.Repeat([]bool{true}, p.D)
	for _, w := range p.Words {
		for f := w.From; f < w.To; f++ {
			are[f] = false
		}
	}
	return are
}

// weighWords lets every column of words weigh as much as one column of numbers, however many words it has: two different words
// are as far apart as two rows are in the mean in a column of numbers, by twice its variance in these units. So the variance of all
// its columns together, 1 - sum p^2 over the shares p of the words, is nearly that of a column of numbers where there are many
// words, half of it where there are two, and less where nearly all rows have the same one.
func (u *Units) weighWords(p *Points, spread *Spread) {
	deviation := u.meanDeviation(p, spread)
	for _, w := range p.Words {
		scale := 1 / deviation
		if w.To-w.From == 1 {
			scale /= math.Sqrt2 // no second column is as far apart
		}
		scale = min(max(scale, 1e-307), math.MaxFloat64) // so that 1 becomes a number
		for f := w.From; f < w.To; f++ {
			u.Scale[f] = scale
			if u.Center[f] = 0; u.Rule == Standard {
				u.Center[f] = spread.Mean[f]
			}
		}
	}
}

// meanDeviation is the square root of the mean variance of the columns of numbers in these units, of those that vary; 1 where
// none does.
func (u *Units) meanDeviation(p *Points, spread *Spread) float64 {
	switch u.Rule {
	case Standard:
		return 1
	case Robust:
		// That of a normal distribution whose quartiles are 1 apart: the variance itself depends on a few extreme values.
		return 0.7413
	}
	numbers := p.numbers()
	largest, varying := 0.0, 0
	for f, deviation := range spread.Deviation {
		if numbers[f] && deviation > 0 {
			largest = max(largest, deviation/u.Scale[f])
			varying++
		}
	}
	if varying == 0 {
		return 1
	}
	sum := 0.0
	for f, deviation := range spread.Deviation {
		if numbers[f] {
			v := deviation / u.Scale[f] / largest
			sum += float64(v * v)
		}
	}
	return float64(largest * math.Sqrt(sum/float64(varying)))
}
