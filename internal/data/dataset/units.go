package dataset

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/invalid"
)

// Units scales the columns of points: a value v of column f becomes (v - Center[f]) / Scale[f]. nil leaves points
// unchanged.
type Units struct {
	Center, Scale []float64
	Rule          Rule // how they were found
}

// NewUnits checks units and keeps the slices. The error is an *invalid.Error.
func NewUnits(center, scale []float64) (*Units, error) {
	if len(center) != len(scale) {
		return nil, invalid.New(invalid.UnitCounts, "centers", len(center), "scales", len(scale))
	}
	for f := range center {
		if !finite(center[f]) || !finite(scale[f]) || scale[f] <= 0 {
			return nil, invalid.New(invalid.UnitOfColumn, "column", f, "center", center[f], "scale", scale[f])
		}
	}
	return &Units{Center: center, Scale: scale}, nil
}

// Apply returns the points in these units. It fails unless they are dense: centering would make sparse
// points dense. The error is an *invalid.Error.
func (u *Units) Apply(d Dataset) (Dataset, error) {
	if u == nil {
		return d, nil
	}
	points, dense := d.(*Points)
	if !dense {
		return nil, invalid.New(invalid.UnitsNeedPoints, "kind", d.Kind())
	}
	return u.ApplyToRows(points, 0)
}

// ApplyToRows returns some rows of points in these units. The first of them has the given number, for messages.
func (u *Units) ApplyToRows(points *Points, first int) (*Points, error) {
	if u == nil {
		return points, nil
	}
	if len(u.Center) != points.D || len(u.Scale) != points.D {
		return nil, invalid.New(invalid.UnitColumns, "columns", points.D, "units", len(u.Center))
	}
	values := make([]float64, len(points.Values))
	for i := range points.N {
		row := values[i*points.D : (i+1)*points.D]
		for f, v := range points.Row(i) {
			row[f] = (v - u.Center[f]) / u.Scale[f]
			if !finite(row[f]) {
				return nil, invalid.InRow(first+i, invalid.ScaledValue, "value", v, "column", f, "scaled", row[f])
			}
		}
	}
	return NewPoints(points.N, points.D, values)
}

// Undo converts rows of values back from these units: v becomes v Scale[f] + Center[f].
func (u *Units) Undo(values []float64) []float64 {
	if u == nil {
		return values
	}
	undone := make([]float64, len(values))
	for at, v := range values {
		f := at % len(u.Center)
		undone[at] = float64(v*u.Scale[f]) + u.Center[f]
	}
	return undone
}

// Rule tells how units are found.
type Rule uint8

// The rules.
const (
	Given    Rule = iota // the user gave them
	Standard             // every column gets the mean 0 and the variance 1
	MinMax               // every column spans 0 to 1
	Robust               // every column gets the median 0 and an interquartile range of 1
	Raw                  // numeric columns stay as they are
)

// UnitsBy finds units for points by a rule. A constant numeric column becomes 0, except with Raw. A categorical column
// gets the weight of a numeric one.
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
		u.weighCategories(p, spread)
		return u
	}
	if len(p.Categorical) > 0 {
		u.weighCategories(p, ColumnSpread(p))
	}
	return u
}

// minMaxUnits maps the range of each column to 0..1. A constant column keeps its unit.
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

// robustUnits scales columns by their interquartile range, which a few extreme values do not change. Where that is 0,
// as where most values are 0, it takes the range, so that the column does not outweigh all others.
func robustUnits(p *Points) *Units {
	u := &Units{Center: make([]float64, p.D), Scale: make([]float64, p.D), Rule: Robust}
	column := make([]float64, p.N)
	for f := range p.D {
		for i := range column {
			column[i] = p.Row(i)[f]
		}
		slices.Sort(column)
		u.Center[f] = quantile(column, 0.5)
		u.Scale[f] = quantile(column, 0.75) - quantile(column, 0.25)
		if u.Scale[f] == 0 {
			u.Scale[f] = column[p.N-1] - column[0]
		}
		u.Scale[f] = positive(u.Scale[f])
	}
	return u
}

// quantile returns the quantile of sorted values at a share from 0 to 1, interpolated between neighbors.
func quantile(sorted []float64, share float64) float64 {
	at := float64(share * float64(len(sorted)-1))
	below := math.Floor(at)
	low := sorted[int(below)]
	high := sorted[int(math.Ceil(at))]
	if low == high {
		return low // the sum below may be rounded to another number
	}
	between := at - below
	return float64(low*(1-between)) + float64(high*between)
}

// positive makes a width a valid scale: it replaces 0 by 1 and infinity by the largest finite number.
func positive(width float64) float64 {
	if width == 0 {
		return 1
	}
	return min(width, math.MaxFloat64)
}

// Categorical holds the columns [From, To) that encode one categorical column: one column per category, which is 1 in
// the rows of that category and 0 elsewhere. A single column encodes two categories.
type Categorical struct{ From, To int }

// numbers reports for every column whether it is numeric.
func (p *Points) numbers() []bool {
	are := slices.Repeat([]bool{true}, p.D)
	for _, w := range p.Categorical {
		for f := w.From; f < w.To; f++ {
			are[f] = false
		}
	}
	return are
}

// weighCategories gives every categorical column the weight of one numeric column, however many categories it has: the
// squared distance of two categories is the mean squared distance of two rows in a numeric column, twice its variance
// in these units. So the total variance of its columns, 1 - sum p^2 over the shares p of the categories, is close to
// that of a numeric column if there are many categories, half of it if there are two, and less if nearly all rows
// share one.
func (u *Units) weighCategories(p *Points, spread *Spread) {
	deviation := u.meanDeviation(p, spread)
	for _, w := range p.Categorical {
		scale := 1 / deviation
		if w.To-w.From == 1 {
			scale /= math.Sqrt2 // there is no second column to contribute as much
		}
		scale = min(max(scale, 1e-307), math.MaxFloat64) // 1/scale must be finite
		for f := w.From; f < w.To; f++ {
			u.Scale[f] = scale
			u.Center[f] = 0
			if u.Rule == Standard {
				u.Center[f] = spread.Mean[f]
			}
		}
	}
}

// meanDeviation returns the root of the mean variance of the numeric columns that vary, in these units, or 1 if none
// varies.
func (u *Units) meanDeviation(p *Points, spread *Spread) float64 {
	switch u.Rule {
	case Standard:
		return 1
	case Robust:
		// The deviation of a normal distribution with an interquartile range of 1. A few extreme values decide the
		// variance itself.
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
