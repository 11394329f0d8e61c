package dataset

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naiveQuantile counts: the values with at most so many others below them are interpolated where they meet.
func naiveQuantile(column []float64, quarters int) float64 {
	sorted := slices.Sorted(slices.Values(column))
	whole, rest := quarters*(len(sorted)-1)/4, quarters*(len(sorted)-1)%4
	if rest == 0 {
		return sorted[whole]
	}
	return (sorted[whole]*float64(4-rest) + sorted[whole+1]*float64(rest)) / 4
}

func TestUnitsByTheirDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		column := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 1, 40).Draw(rt, "column")
		points := columns(t, column, slices.Repeat([]float64{0.1}, len(column)))

		u := UnitsBy(MinMax, points)
		width := slices.Max(column) - slices.Min(column)
		if u.Rule != MinMax || u.Center[0] != slices.Min(column) || u.Scale[0] != width && width > 0 {
			rt.Fatalf("minmax: %v of %v", u, column)
		}
		scaled := inside(rt, u, points)
		if low, high := scaled.Row(slices.Index(column, slices.Min(column)))[0],
			scaled.Row(slices.Index(column, slices.Max(column)))[0]; low != 0 || high != 1 && width > 0 {
			rt.Fatalf("minmax spans %v to %v", low, high)
		}

		u = UnitsBy(Robust, points)
		between := naiveQuantile(column, 3) - naiveQuantile(column, 1)
		if u.Rule != Robust || !near(u.Center[0], naiveQuantile(column, 2), 1e-15) ||
			between > 1e-9 && !near(u.Scale[0], between, 1e-12) {
			rt.Fatalf("robust: %v of %v; want %v, %v", u, column, naiveQuantile(column, 2), between)
		}
		inside(rt, u, points)
	})
}

// inside are the points in units, of which the last column does not vary.
func inside(rt *rapid.T, u *Units, p *Points) *Points {
	scaled, err := u.Apply(p)
	if err != nil {
		rt.Fatal(err)
	}
	for i := range p.N {
		if v := scaled.(*Points).Row(i)[p.D-1]; v != 0 {
			rt.Fatalf("a constant column became %v", v)
		}
	}
	return scaled.(*Points)
}

func TestRobustUnits(t *testing.T) {
	for _, c := range []struct {
		name          string
		column        []float64
		center, scale float64
	}{
		{"an extreme value", []float64{4, 1, 1e9, 3, 2}, 3, 2},
		{"halves", []float64{1, 2, 3, 4}, 2.5, 1.5},
		{"mostly 0", []float64{0, 0, 0, 0, 0, 0, 0, 50}, 0, 50},
		{"one", []float64{7}, 7, 1},
		{"huge", []float64{-math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, 0, math.MaxFloat64},
	} {
		if u := UnitsBy(Robust, columns(t, c.column)); u.Center[0] != c.center || u.Scale[0] != c.scale {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, u.Center[0], u.Scale[0], c.center, c.scale)
		}
	}
}

// A range that no number holds is refused where it is used.
func TestMinMaxOfHugeValues(t *testing.T) {
	points := columns(t, []float64{-math.MaxFloat64, math.MaxFloat64})
	if _, err := UnitsBy(MinMax, points).Apply(points); err == nil {
		t.Error("a range beyond all numbers was taken")
	}
}
