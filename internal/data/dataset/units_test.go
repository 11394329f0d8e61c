package dataset

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

// columns makes points of columns of equal length.
func columns(t testing.TB, list ...[]float64) *Points {
	t.Helper()
	n, values := len(list[0]), []float64{}
	for i := range n {
		for _, column := range list {
			values = append(values, column[i])
		}
	}
	points, err := NewPoints(n, len(list), values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// spreadOf is the mean and the standard deviation by their definitions.
func spreadOf(column []float64) (mean, deviation float64) {
	for _, v := range column {
		mean += v / float64(len(column))
	}
	for _, v := range column {
		deviation += (v - mean) * (v - mean) / float64(len(column))
	}
	return mean, math.Sqrt(deviation)
}

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

func TestSpreadByItsDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		column := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 1, 50).Draw(rt, "column")
		s := ColumnSpread(columns(t, column, slices.Repeat([]float64{0.1}, len(column))))
		mean, deviation := spreadOf(column)
		if !near(s.Mean[0], mean, 1e-12) || !near(s.Deviation[0], deviation, 1e-9) {
			rt.Fatalf("mean %v, deviation %v; want %v, %v", s.Mean[0], s.Deviation[0], mean, deviation)
		}
		if s.Mean[1] != 0.1 || s.Deviation[1] != 0 {
			rt.Fatalf("a constant column has mean %v, deviation %v", s.Mean[1], s.Deviation[1])
		}
	})
}

// Values whose squares or sums are no float64 have a spread all the same.
func TestSpreadOfExtremeValues(t *testing.T) {
	const huge = math.MaxFloat64
	for _, c := range []struct {
		column          []float64
		mean, deviation float64
	}{
		{[]float64{huge, -huge, huge, -huge}, 0, huge},
		{[]float64{huge, huge}, huge, 0},
		{[]float64{1e300, 3e300}, 2e300, 1e300},
		{[]float64{1e-200, 3e-200}, 2e-200, 1e-200},
		{[]float64{1e15, 1e15 + 1, 1e15 + 2, 1e15 + 3}, 1e15 + 1.5, math.Sqrt(1.25)},
	} {
		s := ColumnSpread(columns(t, c.column))
		if math.Abs(s.Mean[0]/max(c.mean, 1e-300)-c.mean/max(c.mean, 1e-300)) > 1e-14 ||
			math.Abs(s.Deviation[0]-c.deviation) > 1e-14*c.deviation {
			t.Errorf("%v: mean %v, deviation %v; want %v, %v", c.column, s.Mean[0], s.Deviation[0], c.mean, c.deviation)
		}
	}
}

// In standard units columns have mean 0 and variance 1, also with an offset that is far larger than the spread;
// undoing them gives the values again.
func TestStandardUnits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	list := make([][]float64, 3)
	for range 500 {
		list[0] = append(list[0], rng.NormFloat64())
		list[1] = append(list[1], 1e9+1e-3*rng.Float64())
		list[2] = append(list[2], -7)
	}
	points := columns(t, list...)
	units := UnitsBy(Standard, points)
	scaled, err := units.Apply(points)
	if err != nil {
		t.Fatal(err)
	}
	again := ColumnSpread(scaled.(*Points))
	for f, want := range []float64{1, 1, 0} {
		if math.Abs(again.Mean[f]) > 1e-2 || !near(again.Deviation[f], want, 1e-6) {
			t.Errorf("column %d: mean %v, deviation %v", f, again.Mean[f], again.Deviation[f])
		}
	}
	for at, v := range units.Undo(scaled.(*Points).Values) {
		if !near(v, points.Values[at], 1e-15) {
			t.Fatalf("value %d was %v and is %v", at, points.Values[at], v)
		}
	}
	if same, err := (*Units)(nil).Apply(points); err != nil || same != Dataset(points) {
		t.Errorf("no units: %v, %v", same, err)
	}
}

func TestWidestColumn(t *testing.T) {
	unit := []float64{-1, 1}
	times := func(factor float64) []float64 { return []float64{-factor, factor} }
	for _, c := range []struct {
		name    string
		columns [][]float64
		words   []Categorical
		widest  int
		share   float64
		varying int
	}{
		{"alike", [][]float64{unit, unit, unit}, nil, 0, 1.0 / 3, 3},
		{"one of three", [][]float64{unit, times(1e300), unit}, nil, 1, 1, 3},
		{"constant columns do not count", [][]float64{{3, 3}, times(10), {3, 3}}, nil, 1, 1, 1},
		{"nothing varies", [][]float64{{3, 3}, {4, 4}}, nil, 0, 0, 0},
		{"nine tenths", [][]float64{unit, times(3)}, nil, 1, 0.9, 2},
		{"words do not count", [][]float64{times(1e-3), {0, 1}, {1, 0}, times(1e-3)}, []Categorical{{1, 3}}, 0, 0.5, 2},
	} {
		p := columns(t, c.columns...)
		p.Categorical = c.words
		widest, share, varying := ColumnSpread(p).Widest(p)
		if widest != c.widest || !near(share, c.share, 1e-9) || varying != c.varying {
			t.Errorf("%s: %d with %v of %d", c.name, widest, share, varying)
		}
	}
}

func TestUnitsThatDoNotFit(t *testing.T) {
	points := columns(t, []float64{1, 2}, []float64{3, 4})
	sparse, err := NewSparsePoints(1, 2, []int64{0, 1}, []int32{1}, []float64{5})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		units  Units
		data   Dataset
		reason string
		says   string
	}{
		{Units{Center: []float64{0}, Scale: []float64{1}}, points, "SIZE_MISMATCH",
			"the points have 2 columns, but their units are for 1"},
		{Units{Center: []float64{0, 0}, Scale: []float64{1, 1}}, sparse, "UNSUPPORTED_DATA",
			"only dense points have columns to scale; this data set is a different kind of data (sparse points)"},
		{Units{Center: []float64{0, 0}, Scale: []float64{1, 1e-308}}, columns(t, []float64{0}, []float64{1e10}),
			"BAD_UNITS", "row 0 has the value 1e+10 in column 1, which becomes +Inf when it is scaled"},
	} {
		_, err := c.units.Apply(c.data)
		if err = refusal.Of(err); !fault.Is(err, c.reason) || err.Error() != c.says {
			t.Errorf("%v: %v", c.units, err)
		}
	}
	for _, bad := range []Units{
		{Center: []float64{0}}, {Center: []float64{0}, Scale: []float64{0}},
		{Center: []float64{0}, Scale: []float64{-1}},
		{Center: []float64{math.NaN()}, Scale: []float64{1}}, {Center: []float64{0}, Scale: []float64{math.Inf(1)}},
	} {
		if _, err := NewUnits(bad.Center, bad.Scale); !fault.Is(refusal.Of(err), "BAD_UNITS") {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
