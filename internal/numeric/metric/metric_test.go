package metric

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/refusal"
)

func TestMetricAgainstItsFormulas(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		for _, form := range []Form{Identity, Diagonal, Full} {
			d := 1 + rng.IntN(7)
			m := randomMetric(t, rng, form, d)
			a := matrixOf(m)
			x := randomRow(rng, d)
			y := randomRow(rng, d)
			if got, want := m.Distance(x, y), naiveDistance(a, x, y); !near(got, want, want) ||
				got != m.Distance(y, x) {
				t.Fatalf("%s distance %g, want %g", form, got, want)
			}
			if got, want := m.LogDet(), naiveLogDet(a); !near(got, want, want) {
				t.Fatalf("%s log det %g, want %g", form, got, want)
			}
			for i := range d { // A = L L'
				for j := range d {
					product := 0.0
					for k := range d {
						product += factorAt(m, i, k) * factorAt(m, j, k)
					}
					if !near(product, a[i][j], a[i][j]) {
						t.Fatalf("%s factor gives %g at (%d,%d), want %g", form, product, i, j, a[i][j])
					}
				}
			}
			scatter := make([]float64, form.Size(d))
			total := 0.0
			for range 5 {
				x := randomRow(rng, d)
				y := randomRow(rng, d)
				form.addOuter(scatter, 1, x, y)
				total += naiveDistance(a, x, y)
			}
			if got := m.totalDistance(scatter); !near(got, total, total) {
				t.Fatalf("%s scatter gives %g, the points %g", form, got, total)
			}
		}
	}
}

// factorOf returns L with A = L L': a lower triangle row by row, or the diagonal.
func factorOf(m *Metric) []float64 {
	if m.Form() == Full {
		factor, _ := eigen.Factorize(mat.NewSymDense(m.d, m.values))
		return mat.DenseCopyOf(factor.Lower()).RawMatrix().Data
	}
	factor := make([]float64, len(m.values))
	for i, w := range m.values {
		factor[i] = math.Sqrt(w)
	}
	return factor
}

func factorAt(m *Metric, i, k int) float64 {
	switch {
	case m.Form() == Full:
		return factorOf(m)[i*m.d+k]
	case i != k:
		return 0
	case m.Form() == Diagonal:
		return factorOf(m)[i]
	}
	return 1
}

// No two points of the box are farther apart than phi_max, and for a diagonal metric two corners are that far apart.
func TestPhiMaxBoundsTheBox(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		for _, form := range []Form{Identity, Diagonal, Full} {
			d := 1 + rng.IntN(5)
			m := randomMetric(t, rng, form, d)
			ranges := make([]float64, d)
			low := make([]float64, d)
			high := make([]float64, d)
			for i := range ranges {
				ranges[i] = rng.Float64() * 10
				high[i] = ranges[i]
			}
			bound := m.phiMax(ranges)
			naive := 0.0
			for i, row := range matrixOf(m) {
				for j, a := range row {
					naive += math.Abs(a) * ranges[i] * ranges[j]
				}
			}
			if !near(bound, naive, naive) {
				t.Fatalf("%s: %g, want %g", form, bound, naive)
			}
			if form != Full && !near(m.Distance(low, high), bound, bound) {
				t.Fatalf("%s: corners are %g apart, the bound is %g", form, m.Distance(low, high), bound)
			}
			for range 20 {
				x := make([]float64, d)
				y := make([]float64, d)
				for i, r := range ranges {
					x[i], y[i] = r*float64(rng.IntN(2)), r*rng.Float64()
				}
				if phi := m.Distance(x, y); phi > bound*(1+1e-12) {
					t.Fatalf("%s: %g is beyond %g", form, phi, bound)
				}
			}
		}
	}
}

func TestSpread(t *testing.T) {
	diagonal, err := NewDiagonal([]float64{2, 8, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	full, err := NewFull(2, []float64{5, 3, 3, 5}) // eigenvalues 8 and 2
	if err != nil {
		t.Fatal(err)
	}
	if spreadOf(t, NewIdentity(3)) != 1 || spreadOf(t, diagonal) != 16 || !near(spreadOf(t, full), 4, 4) {
		t.Errorf("%g %g %g", spreadOf(t, NewIdentity(3)), spreadOf(t, diagonal), spreadOf(t, full))
	}
}

func TestUnitMetricsAreTheIdentity(t *testing.T) {
	x := []float64{1, 2, 3}
	y := []float64{0, 4, 6}
	for _, form := range []Form{Identity, Diagonal, Full} {
		m, err := NewUnit(form, 3)
		if err != nil || m.Form() != form || m.d != 3 || m.Distance(x, y) != 14 || m.LogDet() != 0 {
			t.Errorf("%s: %+v, %v", form, m, err)
		}
	}
}

func TestBadMetricsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		make   func() (*Metric, error)
		reason string
		says   string
	}{
		"zero weight": {func() (*Metric, error) { return NewDiagonal([]float64{1, 0}) }, "NOT_POSITIVE_DEFINITE",
			"feature 1"},
		"NaN weight": {func() (*Metric, error) { return NewDiagonal([]float64{math.NaN()}) },
			"NOT_POSITIVE_DEFINITE", "feature 0"},
		"infinite weight": {func() (*Metric, error) { return NewDiagonal([]float64{math.Inf(1)}) },
			"NOT_POSITIVE_DEFINITE", "feature 0"},
		"indefinite": {func() (*Metric, error) { return NewFull(2, []float64{1, 2, 2, 1}) },
			"NOT_POSITIVE_DEFINITE", ""},
		"infinite": {func() (*Metric, error) { return NewFull(1, []float64{math.Inf(1)}) },
			"NOT_POSITIVE_DEFINITE", ""},
		"asymmetric": {func() (*Metric, error) { return NewFull(2, []float64{1, 0, 0.5, 1}) },
			"ASYMMETRIC_METRIC", "(1,0)"},
		"short": {func() (*Metric, error) { return NewFull(2, []float64{1}) }, "SIZE_MISMATCH", "4 values"},
		"wide":  {func() (*Metric, error) { return NewUnit(Full, 60_000) }, "TOO_MANY_COLUMNS", "diagonal"},
	} {
		if _, err := c.make(); !fault.Is(refusal.Of(err), c.reason) ||
			!strings.Contains(refusal.Of(err).Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
