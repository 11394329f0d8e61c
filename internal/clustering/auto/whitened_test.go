package auto

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Distances between whitened rows are (x - y)' V^-1 (x - y), with V = (W + (tr W / count) I) / (count + d) by
// definition, and the model measures the same between points in the units of the data.
func TestWhitening(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	const n, d = 12, 3
	values := make([]float64, n*d)
	for i := range values {
		values[i] = rng.NormFloat64() * float64(1+i%d)
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	must := func(i, j int32) constraint.Constraint {
		return constraint.Constraint{I: i, J: j, Kind: constraint.MustLink, Weight: 1}
	}
	set, err := constraint.NewSet(n, []constraint.Constraint{must(0, 1), must(1, 2), must(5, 9)}, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	units, err := dataset.NewUnits([]float64{1, -2, 3}, []float64{2, 1, 4})
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWhitening(units, points, set.Components())
	if err != nil {
		t.Fatal(err)
	}
	product := new(mat.Dense)
	product.Mul(w.covariance.Lower(), w.covariance.Lower().T())

	var v [d][d]float64
	groups := [][]int{{0, 1, 2}, {5, 9}}
	count := 3
	trace := 0.0
	for f := range d {
		for g := range d {
			for _, group := range groups {
				for _, i := range group {
					meanF, meanG := 0.0, 0.0
					for _, j := range group {
						meanF += points.Row(j)[f] / float64(len(group))
						meanG += points.Row(j)[g] / float64(len(group))
					}
					v[f][g] += (points.Row(i)[f] - meanF) * (points.Row(i)[g] - meanG)
				}
			}
		}
		trace += v[f][f]
	}
	for f := range d {
		v[f][f] += trace / float64(count)
		for g := range d {
			v[f][g] /= float64(count + d)
			if got := product.At(f, g); math.Abs(got-v[f][g]) > 1e-12 {
				t.Errorf("entry (%d,%d) of G G' is %v, want %v", f, g, got, v[f][g])
			}
		}
	}

	whitened, err := w.apply(t.Context(), points)
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := w.model(&model.Model{K: 2, D: d, Centroids: slices.Concat(whitened.Row(3), whitened.Row(7))})
	if err != nil {
		t.Fatal(err)
	}
	if fitted.Metric.Form() != metric.Full || fitted.Units != units {
		t.Fatalf("the model has a metric of form %v", fitted.Metric.Form())
	}
	for c, of := range []int{3, 7} {
		for f, x := range points.Row(of) {
			if want := x*units.Scale[f] + units.Center[f]; math.Abs(fitted.Centroids[c*d+f]-want) > 1e-9 {
				t.Errorf("centroid %d has %v in column %d, want %v", c, fitted.Centroids[c*d+f], f, want)
			}
		}
	}
	for i := range n {
		want := 0.0
		for f := range d {
			difference := whitened.Row(i)[f] - whitened.Row(3)[f]
			want += difference * difference
		}
		if got := fitted.Metric.Distance(points.Row(i), points.Row(3)); math.Abs(got-want) > 1e-9*(1+want) {
			t.Errorf("row %d is %v away, whitened %v", i, got, want)
		}
	}
}

func TestWhiteningWithoutScatter(t *testing.T) {
	points, err := dataset.NewPoints(3, 2, []float64{1, 2, 1, 2, 5, 6})
	if err != nil {
		t.Fatal(err)
	}
	for name, given := range map[string][]constraint.Constraint{
		"no must-links": nil,
		"equal rows":    {{I: 0, J: 1, Kind: constraint.MustLink, Weight: 1}},
	} {
		set, err := constraint.NewSet(3, given, constraint.UnitWeight)
		if err != nil {
			t.Fatal(err)
		}
		w, err := newWhitening(nil, points, set.Components())
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.apply(t.Context(), points)
		if err != nil || !slices.Equal(got.Values, points.Values) {
			t.Errorf("%s: whitened to %v, %v", name, got, err)
		}
	}
}
