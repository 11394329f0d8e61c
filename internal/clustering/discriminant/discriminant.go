// Package discriminant predicts the class of every row from the rows whose class is known. It fits kernel ridge
// regression to indicators of the classes,
//
//	minimize  sum_i w_i |t_i - f(x_i)|^2 + penalty |f|^2,    f(x) = sum_j k(x, x_j) A_j,    (K + penalty W^-1) A = T,
//
// where t_i is 1 - 1/k for the class of row i and -1/k for all others. The weights w_i give every class the same total,
// so that large classes do not absorb small ones. A row goes to the class with the largest f.
//
// Leave-one-out residuals have a closed form, A_i / ((K + penalty W^-1)^-1)_ii, so the kernel, its width and the
// penalty are chosen without refitting.
package discriminant

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Known holds the rows whose class is known, ascending.
type Known struct {
	Rows    []int32
	Classes []int32   // of each row, 0 to k-1
	Weights []float64 // the certainty of each class, above 0 and at most 1
}

// ClassWeights returns the weight of each of k classes, that of its rows together.
func (n *Known) ClassWeights(k int) []float64 { return classWeights(n.Classes, n.Weights, k) }

func classWeights(classes []int32, weights []float64, k int) []float64 {
	sums := make([]float64, k)
	for i, class := range classes {
		sums[class] += weights[i]
	}
	return sums
}

// Rule is a kernel and a penalty, with the error by which rules are compared.
type Rule struct {
	Function   kernel.Function // Polynomial of degree 1, which is linear with an intercept, Gaussian, or Laplacian
	Rho, Gamma float64         // the width of the kernel, or the factor of inner products
	Penalty    float64
	Error      float64 // weighted mean square of the leave-one-out residuals
}

// Candidates: widths relative to the median distance between known rows, and penalties.
var (
	widths    = []float64{0.1, 0.3, 1, 3}
	penalties = []float64{0.001, 0.01, 0.1, 1}
)

const (
	// firstPenalty is the penalty by which widths are compared.
	firstPenalty = 0.1
	// linearPenalty is an additional candidate for the linear kernel.
	linearPenalty = 10
	// maxCompared is the maximum number of rows by which a rule is chosen, in time cubic in it.
	maxCompared = 256
)

// Choose returns the rule with the smallest leave-one-out error on points with known classes. If there are many points,
// it uses a sample of each class.
func Choose(ctx context.Context, points *dataset.Points, classes []int32, trust []float64, k int) (Rule, error) {
	if len(classes) > maxCompared {
		sampled := Sample(classes, k, maxCompared)
		points, classes, trust = points.Take(sampled), choose.At(classes, sampled), choose.At(trust, sampled)
	}
	squared := medianSquaredDistance(points)
	best := Rule{Error: math.Inf(1)}
	try := func(r Rule, matrix *mat.SymDense) {
		r.Error = leaveOneOut(matrix, classes, trust, k, r.Penalty)
		if r.Error < best.Error {
			best = r
		}
	}
	if err := ctx.Err(); err != nil {
		return Rule{}, err
	}
	linear := Rule{Function: kernel.Polynomial, Gamma: 1 / meanSquaredLength(points)}
	matrix, err := linear.matrix(points)
	if err != nil {
		return Rule{}, err
	}
	for _, penalty := range append(slices.Clone(penalties), linearPenalty) {
		linear.Penalty = penalty
		try(linear, matrix)
	}
	for _, function := range []kernel.Function{kernel.Gaussian, kernel.Laplacian} {
		bestWidth := Rule{Error: math.Inf(1)}
		matrixOfBest := (*mat.SymDense)(nil)
		for _, width := range widths {
			if err := ctx.Err(); err != nil {
				return Rule{}, err
			}
			r := Rule{Function: function, Rho: math.Sqrt(squared / (2 * width)), Penalty: firstPenalty}
			if function == kernel.Laplacian {
				r.Rho = math.Sqrt(squared) / width
			}
			matrix, err := r.matrix(points)
			if err != nil {
				return Rule{}, err
			}
			r.Error = leaveOneOut(matrix, classes, trust, k, r.Penalty)
			if r.Error < bestWidth.Error {
				bestWidth, matrixOfBest = r, matrix
			}
		}
		for _, penalty := range penalties {
			bestWidth.Penalty = penalty
			try(bestWidth, matrixOfBest)
		}
	}
	return best, nil
}

// Fit returns A, k values for each known point.
func (r Rule) Fit(points *dataset.Points, classes []int32, trust []float64, k int) ([]float64, error) {
	matrix, err := r.matrix(points)
	if err != nil {
		return nil, err
	}
	_, coefficients, ok := solve(matrix, classes, trust, k, r.Penalty)
	if !ok {
		return nil, errOverflow()
	}
	return coefficients.RawMatrix().Data, nil
}

func errOverflow() error {
	return invalid.New(invalid.ProductOverflow)
}

// MatrixSpec returns the kernel of the rule for points, and bounds on its entries. Points are centered at the mean of
// the known ones for shift-invariant kernels, so that a common offset costs no precision.
func (r Rule) MatrixSpec(points dataset.Dataset, known *dataset.Points) (kernel.MatrixSpec, kernel.Bounds, error) {
	spec := kernel.MatrixSpec{Function: r.Function, Rho: r.Rho, Rows: points.Rows(), Columns: known.D}
	if r.Function == kernel.Polynomial {
		spec.Gamma, spec.Coef0, spec.Degree = r.Gamma, 1, 1
	} else {
		spec.Mean = kernel.ColumnMeans(known)
	}
	bounds, err := kernel.FindBounds(spec, points)
	spec.Grid = kernel.GridFor(bounds.RowSum)
	return spec, bounds, err
}

// matrix returns the kernel matrix of points.
func (r Rule) matrix(points *dataset.Points) (*mat.SymDense, error) {
	spec, _, err := r.MatrixSpec(points, points)
	if err != nil {
		return nil, err
	}
	values, err := kernel.Square(spec, points)
	if err != nil {
		return nil, err
	}
	return mat.NewSymDense(points.N, values), nil
}

// solve factorizes K + penalty W^-1, and returns A. It reports false if K is not finite.
func solve(
	matrix *mat.SymDense, classes []int32, trust []float64, k int, penalty float64,
) (factor eigen.Factor, a *mat.Dense, ok bool) {
	m := len(classes)
	sums := classWeights(classes, trust, k)
	system := mat.NewSymDense(m, nil)
	system.CopySym(matrix)
	for i := range m {
		weight := float64(m) * trust[i] / (float64(k) * sums[classes[i]])
		system.SetSym(i, i, system.At(i, i)+penalty/weight)
	}
	factor, ok = eigen.Cholesky(system)
	if !ok {
		return eigen.Factor{}, nil, false
	}
	a = mat.NewDense(m, k, nil) // the targets, and then their coefficients
	for i, g := range classes {
		for c := range k {
			a.Set(i, c, -1/float64(k))
		}
		a.Set(i, int(g), 1-1/float64(k))
	}
	factor.Solve(a)
	return factor, a, true
}

// leaveOneOut returns the mean square of leave-one-out residuals, weighted by trust, with equal weights for all
// classes. It is +Inf if the matrix is not finite.
func leaveOneOut(matrix *mat.SymDense, classes []int32, trust []float64, k int, penalty float64) float64 {
	factor, coefficients, ok := solve(matrix, classes, trust, k, penalty)
	if !ok {
		return math.Inf(1)
	}
	diagonal := inverseDiagonal(factor)
	squares := make([]float64, k)
	totals := make([]float64, k)
	for i := range classes {
		square := 0.0
		for _, a := range coefficients.RawRowView(i) {
			residual := a / diagonal[i]
			square += float64(residual * residual)
		}
		squares[classes[i]] += float64(trust[i] * square)
		totals[classes[i]] += trust[i]
	}
	sum, present := 0.0, 0
	for c, total := range totals {
		if total > 0 {
			sum += squares[c] / total
			present++
		}
	}
	return sum / float64(max(1, present))
}

// inverseDiagonal returns the diagonal of the inverse G^-T G^-1, the squared lengths of the columns of G^-1.
func inverseDiagonal(factor eigen.Factor) []float64 {
	raw := factor.InverseLower().RawTriangular()
	diagonal := make([]float64, raw.N)
	for i := range raw.N {
		for j, v := range raw.Data[i*raw.Stride:][:i+1] {
			diagonal[j] += float64(v * v)
		}
	}
	return diagonal
}

// Sample chooses at most limit rows, evenly spaced within each class. All classes get the same share; what a small
// class leaves unused goes to the others. It returns indices in ascending order.
func Sample(classes []int32, k, limit int) []int32 {
	members := make([][]int32, k)
	for i, g := range classes {
		members[g] = append(members[g], int32(i))
	}
	order := choose.All[int](k)
	slices.SortStableFunc(order, func(a, b int) int { return len(members[a]) - len(members[b]) })
	var chosen []int32
	for at, c := range order {
		share := min(len(members[c]), (limit-len(chosen))/(k-at))
		for j := range share {
			chosen = append(chosen, members[c][j*len(members[c])/share])
		}
	}
	slices.Sort(chosen)
	return chosen
}

// medianSquaredDistance returns the median over all pairs of points, or 1 if it is 0.
func medianSquaredDistance(p *dataset.Points) float64 {
	var all []float64
	for i := range p.N {
		for j := range i {
			all = append(all, metric.SquaredDistance(p.Row(i), p.Row(j)))
		}
	}
	slices.Sort(all)
	if len(all) == 0 || !(all[len(all)/2] > 0) {
		return 1
	}
	return all[len(all)/2]
}

// meanSquaredLength returns the mean squared length of the points, or 1 if it is 0.
func meanSquaredLength(p *dataset.Points) float64 {
	sum := 0.0
	for _, v := range p.Values {
		sum += float64(v * v)
	}
	if !(sum > 0) {
		return 1
	}
	return sum / float64(p.N)
}

// String describes the rule to the user.
func (r Rule) String() string {
	switch r.Function {
	case kernel.Gaussian:
		return fmt.Sprintf("a gaussian kernel of width %.3g", r.Rho)
	case kernel.Laplacian:
		return fmt.Sprintf("a Laplacian kernel of width %.3g", r.Rho)
	}
	return "a linear rule"
}
