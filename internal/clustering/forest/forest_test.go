package forest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// drawn returns points with few distinct values, so that some coincide, their classes and their weights.
func drawn(t *rapid.T) (points *dataset.Points, classes []int32, weights []float64, k int) {
	n := rapid.IntRange(1, 30).Draw(t, "points")
	d := rapid.IntRange(1, 5).Draw(t, "columns")
	k = rapid.IntRange(1, 4).Draw(t, "classes")
	points = &dataset.Points{N: n, D: d,
		Values: rapid.SliceOfN(rapid.Map(rapid.IntRange(-3, 3), func(v int) float64 { return float64(v) }), n*d,
			n*d).Draw(t, "values")}
	classes = rapid.SliceOfN(rapid.Int32Range(0, int32(k-1)), n, n).Draw(t, "of")
	weights = rapid.SliceOfN(rapid.Float64Range(0.1, 1), n, n).Draw(t, "weights")
	return points, classes, weights, k
}

// Trees grow until their leaves are pure, so every tree assigns a point to its own class, or if points coincide to the
// class of most of their weight.
func TestTreesKnowTheirPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, classes, weights, k := drawn(t)
		f, err := Fit(t.Context(), points, classes, weights, k, 5, newRand(1), 2)
		if err != nil {
			t.Fatal(err)
		}
		scores := make([]float64, k)
		for i := range points.N {
			of := make([]float64, k)
			for j := range points.N {
				if slices.Equal(points.Row(i), points.Row(j)) {
					of[classes[j]] += weights[j]
				}
			}
			if f.Score(points.Row(i), scores); scores[slices.Index(of, slices.Max(of))] < 1-1e-12 && !nearlyTied(of) {
				t.Fatalf("point %d, whose classes weigh %v, has the scores %v", i, of, scores)
			}
		}
	})
}

// nearlyTied reports whether rounding may decide which value is the largest.
func nearlyTied(values []float64) bool {
	sorted := slices.Sorted(slices.Values(values))
	return len(sorted) > 1 && sorted[len(sorted)-1]-sorted[len(sorted)-2] < 1e-9
}

// The forest does not depend on the number of threads, and its values are all of it.
func TestValuesAreTheForest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points, classes, weights, k := drawn(t)
		f, err := Fit(t.Context(), points, classes, weights, k, 7, newRand(2), 1)
		if err != nil {
			t.Fatal(err)
		}
		other, err := Fit(t.Context(), points, classes, weights, k, 7, newRand(2), 3)
		if err != nil || !slices.Equal(f.Values(), other.Values()) {
			t.Fatalf("on 3 threads it is another forest: %v", err)
		}
		again, err := New(k, points.D, f.Values())
		if err != nil || !slices.Equal(f.nodes, again.nodes) || !slices.Equal(f.roots, again.roots) || f.Trees() != 7 ||
			f.Nodes() != len(f.Values())/ValueColumns {
			t.Fatalf("%+v comes back as %+v, %v", f, again, err)
		}
	})
}

// The trees are those of the columns in other units: thresholds are drawn relative to the values of a node.
func TestUnitsDoNotMatter(t *testing.T) {
	rng := newRand(3)
	points := &dataset.Points{N: 60, D: 3, Values: make([]float64, 180)}
	scaled := &dataset.Points{N: 60, D: 3, Values: make([]float64, 180)}
	classes := make([]int32, 60)
	weights := slices.Repeat([]float64{1}, 60)
	for i := range points.Values {
		points.Values[i] = rng.NormFloat64()
		scaled.Values[i] = points.Values[i] * []float64{1, 1024, 1. / 4096}[i%3] // exact
		classes[i/3] = int32(i / 3 % 3)
	}
	one, err := Fit(t.Context(), points, classes, weights, 3, 20, newRand(4), 1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Fit(t.Context(), scaled, classes, weights, 3, 20, newRand(4), 1)
	if err != nil {
		t.Fatal(err)
	}
	a := make([]float64, 3)
	b := make([]float64, 3)
	for range 200 {
		x := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		one.Score(x, a)
		other.Score([]float64{x[0], x[1] * 1024, x[2] / 4096}, b)
		if !slices.Equal(a, b) {
			t.Fatalf("%v has the scores %v, in other units %v", x, a, b)
		}
	}
}

// On one column a forest of many trees interpolates: between neighbors of different classes, thresholds are uniform, so
// the score falls linearly from one to the other (Geurts et al. 2006, section 5.3).
func TestScoresOfOneColumnAreLinear(t *testing.T) {
	points := &dataset.Points{N: 2, D: 1, Values: []float64{2, 4}}
	f, err := Fit(t.Context(), points, []int32{0, 1}, []float64{1, 1}, 2, 4000, newRand(5), 2)
	if err != nil {
		t.Fatal(err)
	}
	scores := make([]float64, 2)
	for _, x := range []float64{1, 2, 2.5, 3, 3.75, 4, 9} {
		f.Score([]float64{x}, scores)
		want := min(max((x-2)/2, 0), 1)
		if deviation := 4 * math.Sqrt(want*(1-want)/4000); math.Abs(scores[1]-want) > deviation ||
			math.Abs(scores[0]+scores[1]-1) > 1e-12 {
			t.Errorf("the scores of %v are %v; want %.3f", x, scores, want)
		}
	}
}

func TestBadValues(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   string
	}{
		"no tree":            {nil, "lacks a part"},
		"no children":        {[]float64{0, 1}, "lacks a part"},
		"no right child":     {[]float64{0, 1, -1, 0}, "lacks a part"},
		"a column too many":  {[]float64{2, 1, -1, 0, -1, 1}, "compares column 2 of 2"},
		"part of a column":   {[]float64{0.5, 1, -1, 0, -1, 1}, "compares column 0.5 of 2"},
		"a negative column":  {[]float64{-2, 1}, "compares column -2"},
		"not a column":       {[]float64{math.NaN(), 1}, "compares column NaN"},
		"a class too many":   {[]float64{-1, 3}, "class 3 of 3"},
		"part of a class":    {[]float64{-1, 0.5}, "class 0.5"},
		"a bad threshold":    {[]float64{0, math.Inf(1), -1, 0, -1, 1}, "threshold of node 0 is +Inf"},
		"a second part tree": {[]float64{-1, 0, 1, 1}, "lacks a part"},
	} {
		if f, err := New(3, 2, c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}
