package dataset

import (
	"math"
	"slices"
)

// Rule is how units are found from the points that they are for.
type Rule uint8

// The rules.
const (
	Given    Rule = iota // they are not found, but told
	Standard             // every column gets the mean 0 and the variance 1
	MinMax               // every column spans 0 to 1
	Robust               // every column gets the median 0 and quartiles that are 1 apart
	Raw                  // columns of numbers stay as they are
)

// UnitsBy finds units of points by a rule. A column of numbers that does not vary becomes 0, unless all stay as they are. A column
// of words weighs as much as one of numbers.
func UnitsBy(rule Rule, p *Points) *Units {
	var u *Units
	switch rule {
	case Raw:
		u = &Units{Center: make([]float64, p.D), Scale: slices.Repeat([]float64{1}, p.D), Rule: Raw}
	case MinMax:
		u = minMaxUnits(p)
	case Robust:
		u = robustUnits(p)
	default:
		spread := ColumnSpread(p)
		u = spread.standardUnits()
		u.weighWords(p, spread)
		return u
	}
	if len(p.Words) > 0 {
		u.weighWords(p, ColumnSpread(p))
	}
	return u
}

func minMaxUnits(p *Points) *Units {
	u := &Units{Center: slices.Clone(p.Row(0)), Scale: slices.Clone(p.Row(0)), Rule: MinMax}
	for i := range p.N {
		for f, v := range p.Row(i) {
			u.Center[f], u.Scale[f] = min(u.Center[f], v), max(u.Scale[f], v)
		}
	}
	for f, largest := range u.Scale {
		u.Scale[f] = positive(largest - u.Center[f])
	}
	return u
}

// robustUnits measure columns by their quartiles, which a few extreme values do not change. A column whose quartiles are
// equal, as where most values are 0, is measured by its range instead, so that it does not decide alone.
func robustUnits(p *Points) *Units {
	u := &Units{Center: make([]float64, p.D), Scale: make([]float64, p.D), Rule: Robust}
	column := make([]float64, p.N)
	for f := range p.D {
		for i := range column {
			column[i] = p.Row(i)[f]
		}
		slices.Sort(column)
		u.Center[f] = quantile(column, 0.5)
		if u.Scale[f] = quantile(column, 0.75) - quantile(column, 0.25); u.Scale[f] == 0 {
			u.Scale[f] = column[p.N-1] - column[0]
		}
		u.Scale[f] = positive(u.Scale[f])
	}
	return u
}

// quantile is the value that a share of sorted values is at most as large as; between two of them it is interpolated.
func quantile(sorted []float64, share float64) float64 {
	at := float64(share * float64(len(sorted)-1))
	below := math.Floor(at)
	low, high := sorted[int(below)], sorted[int(math.Ceil(at))]
	between := at - below
	return float64(low*(1-between)) + float64(high*between)
}

// positive makes a width something to divide by: 1 where there is none, and the largest number where it is none.
func positive(width float64) float64 {
	if width == 0 {
		return 1
	}
	return min(width, math.MaxFloat64)
}
