package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

// positiveRow draws a row with a few zeros, as counts have them.
func positiveRow(rng *rand.Rand, d int) []float64 {
	row := make([]float64, d)
	for i := range row {
		if rng.IntN(4) > 0 {
			row[i] = rng.ExpFloat64()
		}
	}
	row[rng.IntN(d)] = 1
	return row
}

func prepared(t *testing.T, distortion Distortion, row []float64) []float64 {
	t.Helper()
	row = slices.Clone(row)
	if err := distortion.Prepare(0, row); err != nil {
		t.Fatal(err)
	}
	return row
}

// naiveDistortion computes a distortion from rows that are not prepared.
func naiveDistortion(distortion Distortion, x, y []float64) float64 {
	dot, xx, yy, sumX, sumY := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range x {
		dot, xx, yy = dot+x[i]*y[i], xx+x[i]*x[i], yy+y[i]*y[i]
		sumX, sumY = sumX+x[i]+1e-12, sumY+y[i]+1e-12
	}
	if distortion == Cosine {
		return 1 - dot/math.Sqrt(xx*yy)
	}
	sum := 0.0
	for i := range x {
		p, q := x[i]+1e-12, y[i]+1e-12
		if distortion == KL {
			sum += p / sumX * (math.Log(p/sumX) - math.Log(q/sumY))
		} else {
			sum += p*(math.Log(p)-math.Log(q)) - p + q
		}
	}
	return sum
}

func TestDistortionsAgainstTheirFormulas(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 500 {
		d := 1 + rng.IntN(6)
		x := positiveRow(rng, d)
		y := positiveRow(rng, d)
		for _, distortion := range []Distortion{Cosine, KL, IDivergence} {
			m := Measure{Distortion: distortion}
			px := prepared(t, distortion, x)
			py := prepared(t, distortion, y)
			forth := naiveDistortion(distortion, x, y)
			back := naiveDistortion(distortion, y, x)
			if got := toCentroid(m, px, py); !near(got, forth, forth) {
				t.Fatalf("%s(%v, %v) is %g, want %g", distortion, x, y, got, forth)
			}
			if got, want := m.Between(px, py), (forth+back)/2; !near(got, want, want) || got != m.Between(py, px) {
				t.Fatalf("%s between %v and %v is %g, want %g", distortion, x, y, got, want)
			}
			if got := toCentroid(m, px, px); got < 0 || got > 1e-15 {
				t.Fatalf("%s of a point and itself is %g", distortion, got)
			}
		}
		a := randomMetric(t, rng, Full, d)
		m := Measure{SquaredEuclidean, a}
		px := prepared(t, SquaredEuclidean, x)
		if want := naiveDistance(matrixOf(a), x, y); !slices.Equal(px, x) || !near(m.Between(px, y), want, want) {
			t.Fatalf("squared Euclidean: %g, want %g", m.Between(px, y), want)
		}
	}
}

// The property that k-means relies on: no centroid is better than the (normalized) mean.
func TestMeansAreTheBestCentroids(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		d := 1 + rng.IntN(5)
		n := 1 + rng.IntN(6)
		for _, distortion := range []Distortion{SquaredEuclidean, Cosine, KL, IDivergence} {
			m := Measure{distortion, randomMetric(t, rng, Full, d)}
			mean := make([]float64, d)
			var rows [][]float64
			for range n {
				row := prepared(t, distortion, positiveRow(rng, d))
				for i, v := range row {
					mean[i] += v / float64(n)
				}
				rows = append(rows, row)
			}
			if !distortion.NormalizeMean(mean) {
				t.Fatal("positive rows have no direction")
			}
			total := func(centroid []float64) (sum float64) {
				for _, row := range rows {
					sum += toCentroid(m, row, centroid)
				}
				return sum
			}
			other := prepared(t, distortion, positiveRow(rng, d))
			for _, share := range []float64{1e-3, 0.1, 1} {
				candidate := slices.Clone(mean)
				for i := range candidate {
					candidate[i] += share * (other[i] - candidate[i])
				}
				distortion.NormalizeMean(candidate)
				if best, got := total(mean), total(candidate); got < best-1e-12*(1+best) {
					t.Fatalf("%s: the mean costs %g, another centroid %g", distortion, best, got)
				}
			}
		}
	}
}

func TestPreparedRows(t *testing.T) {
	unit := prepared(t, Cosine, []float64{3e200, 0, -4e200})
	if !near(unit[0], 0.6, 1) || unit[1] != 0 || !near(unit[2], -0.8, 1) {
		t.Errorf("a large row: %v", unit)
	}
	if tiny := prepared(t, Cosine, []float64{0, 5e-324}); tiny[1] != 1 {
		t.Errorf("a tiny row: %v", tiny)
	}
	sum := 0.0
	for _, v := range prepared(t, KL, []float64{3, 0, 1}) {
		if v <= 0 {
			t.Error("a zero was left")
		}
		sum += v
	}
	if !near(sum, 1, 1) {
		t.Errorf("sum %g", sum)
	}
	if even := prepared(t, KL, []float64{0, 0}); even[0] != 0.5 || even[1] != 0.5 {
		t.Errorf("a row of zeros: %v", even)
	}
	for name, c := range map[string]struct {
		distortion   Distortion
		row          []float64
		reason, says string
	}{
		"zero":      {Cosine, []float64{0, 0}, "ZERO_ROW", "row 7"},
		"negative":  {KL, []float64{1, -2}, "NEGATIVE_VALUE", "row 7, column 1"},
		"negative ": {IDivergence, []float64{-1, 2}, "NEGATIVE_VALUE", "row 7, column 0"},
		"overflow":  {KL, []float64{math.MaxFloat64, math.MaxFloat64}, "VALUE_TOO_LARGE", "row 7"},
	} {
		if err := c.distortion.Prepare(7, c.row); !fault.Is(refusal.Of(err), c.reason) ||
			!strings.Contains(refusal.Of(err).Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if Cosine.NormalizeMean([]float64{0, 0}) || !KL.NormalizeMean([]float64{0, 0}) {
		t.Error("unit vectors that cancel out have a direction")
	}
}
