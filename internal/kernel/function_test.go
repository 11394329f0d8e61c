package kernel

import (
	"math"
	"testing"
)

// kernels are the functions of points.
func kernels() (all []Function) {
	for f := Function(1); f.String() != ""; f++ {
		if f != Given && f != Adjacency {
			all = append(all, f)
		}
	}
	return all
}

// formulas are the kernel functions as the catalog writes them: of x.y, |x-y|, |x| and |y|.
var formulas = map[Function]func(s MatrixSpec, product, distance, x, y float64) float64{
	Linear: func(_ MatrixSpec, product, _, _, _ float64) float64 { return product },
	Gaussian: func(s MatrixSpec, _, distance, _, _ float64) float64 {
		return math.Exp(-distance * distance / (2 * s.Rho * s.Rho))
	},
	Laplacian: func(s MatrixSpec, _, distance, _, _ float64) float64 { return math.Exp(-distance / s.Rho) },
	Polynomial: func(s MatrixSpec, product, _, _, _ float64) float64 {
		return math.Pow(s.Gamma*product+s.Coef0, float64(s.Degree))
	},
	Sigmoid: func(s MatrixSpec, product, _, _, _ float64) float64 { return math.Tanh(s.Gamma*product + s.Coef0) },
	Cosine:  func(_ MatrixSpec, product, _, x, y float64) float64 { return product / (x * y) },
}

// The entries of every kernel are those of its formula.
func TestEntriesEqualTheirFormulas(t *testing.T) {
	x := []float64{1, -2, 0.5}
	y := []float64{0.25, -1, 3}
	product, squares := 0.0, [3]float64{} // of x-y, x and y
	for f := range x {
		product += x[f] * y[f]
		squares[0] += (x[f] - y[f]) * (x[f] - y[f])
		squares[1] += x[f] * x[f]
		squares[2] += y[f] * y[f]
	}
	for _, function := range kernels() {
		formula := formulas[function]
		if formula == nil {
			t.Errorf("%v has no formula here", function)
			continue
		}
		spec := MatrixSpec{Function: function, Rho: 1.5, Gamma: 0.2, Coef0: 0.5, Degree: 3, Rows: 2, Columns: 3}
		got := spec.Value(product, squares[1], squares[2])
		want := formula(spec, product, math.Sqrt(squares[0]), math.Sqrt(squares[1]), math.Sqrt(squares[2]))
		if math.Abs(got-want) > 1e-14*math.Abs(want) {
			t.Errorf("%v of two points is %g, want %g", function, got, want)
		}
	}
}
