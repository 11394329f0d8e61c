package dataset

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// withWords are points of a column of numbers, one of three words, one of yes and no, and another of numbers.
func withWords(t rapid.TB, rng *rand.Rand, n int) *Points {
	var values []float64
	for i := range n {
		row := []float64{50 * rng.NormFloat64(), 0, 0, 0, float64(rng.IntN(2)), rng.NormFloat64()}
		row[1+rng.IntN(3)] = 1
		if i < 3 { // each word is there
			row[1], row[2], row[3] = 0, 0, 0
			row[1+i] = 1
		}
		values = append(values, row...)
	}
	p, err := NewPoints(n, 6, values)
	if err != nil {
		t.Fatal(err)
	}
	p.Categorical = []Categorical{{1, 4}, {4, 5}}
	return p
}

// In any units two different words are as far apart as two rows are in the mean in a column of numbers, and the
// columns of numbers are as they are without words.
func TestWordsWeighAsNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		p := withWords(rt, rng, rapid.IntRange(4, 60).Draw(rt, "rows"))
		rule := rapid.SampledFrom([]Rule{Standard, MinMax, Robust, Raw}).Draw(rt, "rule")
		u := UnitsBy(rule, p)
		if u.Rule != rule {
			rt.Fatalf("the rule is %v", u.Rule)
		}
		plain := UnitsBy(rule, &Points{N: p.N, D: p.D, Values: p.Values})
		scaled, err := u.Apply(p)
		if err != nil {
			rt.Fatal(err)
		}
		spread := ColumnSpread(scaled.(*Points))
		variance := 0.0
		for _, f := range []int{0, 5} {
			if u.Center[f] != plain.Center[f] || u.Scale[f] != plain.Scale[f] {
				rt.Fatalf("column %d is %v, %v; without words %v, %v", f, u.Center[f], u.Scale[f], plain.Center[f],
					plain.Scale[f])
			}
			variance += spread.Deviation[f] * spread.Deviation[f] / 2
		}
		if rule == Robust {
			variance = 0.7413 * 0.7413
		}
		three, two := 2/(u.Scale[1]*u.Scale[1]), 1/(u.Scale[4]*u.Scale[4])
		if math.Abs(three/variance-2) > 1e-9 || math.Abs(two/variance-2) > 1e-9 || u.Scale[1] != u.Scale[2] ||
			u.Scale[1] != u.Scale[3] {
			rt.Fatalf("words are %v and %v apart, numbers vary by %v", three, two, variance)
		}
	})
}

func TestUnitsOfWordsAlone(t *testing.T) {
	for name, c := range map[string]struct {
		columns [][]float64
		want    float64
	}{
		"no numbers":           {[][]float64{{0, 1, 0}, {1, 0, 1}}, 1},
		"numbers do not vary":  {[][]float64{{0, 1, 0}, {1, 0, 1}, {7, 7, 7}}, 1},
		"large numbers":        {[][]float64{{0, 1, 0}, {1, 0, 1}, {-math.MaxFloat64, math.MaxFloat64, 0}}, 0},
		"the smallest numbers": {[][]float64{{0, 1, 0}, {1, 0, 1}, {0, 1e-309, 0}}, math.MaxFloat64},
	} {
		p := columns(t, c.columns...)
		p.Categorical = []Categorical{{0, 2}}
		u := UnitsBy(Raw, p)
		if _, err := u.Apply(p); err != nil || c.want > 0 && u.Scale[0] != c.want ||
			c.want == 0 && u.Scale[0] > 1e-300 {
			t.Errorf("%s: %v, %v", name, u, err)
		}
	}
}

func TestSpans(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	table := func(n int, spans ...float64) *Points {
		values := make([]float64, 0, n*len(spans))
		for range n {
			for _, span := range spans {
				values = append(values, 1e3+span*rng.Float64())
			}
		}
		return &Points{N: n, D: len(spans), Values: values}
	}
	outlier := table(200, 10, 8, 12)
	outlier.Values[3*57] = 1e12
	sparse := table(200, 1, 1, 1)
	for i := range sparse.N {
		sparse.Row(i)[1] = 0
	}
	sparse.Row(7)[1] = 2
	words := table(200, 1000, 1, 900)
	words.Categorical = []Categorical{{1, 2}}
	for name, c := range map[string]struct {
		points       *Points
		alike        bool
		narrow, wide int
	}{
		"one unit":                {table(200, 5, 2, 9, 1), true, 3, 2},
		"years and a share":       {table(200, 60, 1), false, 1, 0},
		"a small one among three": {table(200, 1000, 1, 1500, 900), false, 1, 2},
		"a large one among three": {table(200, 1, 1, 50, 1), false, -1, 2},
		"one of twenty counts little": {table(200, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9),
			true, 0, -1},
		"an extreme value":     {outlier, true, 1, 2},
		"mostly the same":      {sparse, true, -1, 1},
		"words are no numbers": {words, true, 2, 0},
		"many rows":            {table(30_000, 1, 3000), false, 0, 1},
		"one column":           {table(20, 7), true, 0, 0},
		"nothing varies":       {table(20, 0, 0), true, 0, 0},
		"beyond what differences can be": {columns(t, []float64{-math.MaxFloat64, math.MaxFloat64},
			[]float64{0, 1e308}), true, 1, 0},
	} {
		s := ColumnSpans(c.points)
		if s.SameUnit != c.alike || c.narrow >= 0 && s.Narrow != c.narrow || c.wide >= 0 && s.Wide != c.wide {
			t.Errorf("%s: %+v", name, s)
		}
	}
}
