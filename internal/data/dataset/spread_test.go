package dataset

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The bits of a spread are part of answers. They are those of this sequence of operations on each column.
func TestSpreadHasTheseBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][2]int{{1, 1}, {2, 3}, {1000, 7}, {9000, 8}, {9000, 9}, {5000, 40}} {
		n, d := shape[0], shape[1]
		values := make([]float64, n*d)
		for at := range values {
			values[at] = math.Ldexp(rng.NormFloat64(), at%d*50%2000-1000)
		}
		p := &Points{N: n, D: d, Values: values}
		got := ColumnSpread(p)
		for f := range d {
			mean, unit, squares := 0.0, 0.0, 0.0
			for i := range n {
				mean += float64((float64(p.Row(i)[f]*0.25) - mean) * (1 / float64(i+1)))
			}
			for i := range n {
				unit = max(unit, math.Abs(float64(p.Row(i)[f]*0.25)-mean))
			}
			_, exponent := math.Frexp(unit)
			unit = math.Ldexp(1, -max(exponent, -1000))
			for i := range n {
				off := float64((float64(p.Row(i)[f]*0.25) - mean) * unit)
				squares += float64(off * off)
			}
			want := min(4*(math.Sqrt(squares/float64(n))/unit), math.MaxFloat64)
			if got.Mean[f] != 4*mean || got.Deviation[f] != want {
				t.Errorf("%d x %d, column %d: %v, %v; want %v, %v", n, d, f, got.Mean[f], got.Deviation[f],
					4*mean, want)
			}
		}
	}
}

func TestEachColumnIsVisitedOnce(t *testing.T) {
	for _, d := range []int{1, 7, 8, 9, 64, 65} {
		p := &Points{N: 10_000, D: d, Values: make([]float64, 10_000*d)}
		visits := make([]int, d)
		p.EachColumns(func(from, to int) {
			for f := from; f < to; f++ {
				visits[f]++
			}
		})
		if slices.Min(visits) != 1 || slices.Max(visits) != 1 {
			t.Errorf("%d columns were visited %v times", d, visits)
		}
	}
}

// Equal quantiles have no span, whatever their value: interpolating between equal numbers does not round.
func TestSpansOfEqualQuantiles(t *testing.T) {
	for n := 40; n < 120; n++ {
		for tenths := 1; tenths < 60; tenths++ {
			constant := make([]float64, 0, 2*n)
			nearly := make([]float64, 0, 2*n)
			for i := range n {
				v := float64(tenths) / 10
				constant = append(constant, float64(i), v)
				if i == n/2 {
					v += float64(n)
				}
				nearly = append(nearly, float64(i), v)
			}
			for name, values := range map[string][]float64{"all": constant, "all but one": nearly} {
				if s := ColumnSpans(&Points{N: n, D: 2, Values: values}); s.Ratio > 2 || !s.SameUnit {
					t.Fatalf("%d rows, %s of which are %v: %+v", n, name, float64(tenths)/10, s)
				}
			}
		}
	}
}
