package metric

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

const (
	floor    = 1e-9  // relative to the largest entry or eigenvalue: smaller ones are raised to it
	rounding = 1e-14 // relative to the terms that were added and subtracted: smaller results count as 0
)

// Step is the input to one update of the metric: everything that the labels and means determine while A is optimized.
// M-KMeans, which has no constraints, is a Step without links.
type Step struct {
	PenaltyKind PenaltyKind
	Scatter     []float64 // sum over points of (x - mu)(x - mu)', in the metric's form
	Links       []Link    // all constrained pairs, violated or not
	Ranges      []float64 // per feature, largest minus smallest value; only Bilenko2004 needs them
}

// proposal is the metric where the derivative of J vanishes, as far as one exists.
type proposal struct {
	Metric  *Metric
	Kept    int // entries or eigenvalues that kept their old value because they were not positive
	Floored int // entries or eigenvalues that were raised to 1e-9 of the largest
}

// propose solves dJ/dA = 0 for the metric's form. Labels, means, the bound of Basu2003, and which links are at their
// floor or cap are held fixed as they are under the old metric. J then contains tr(A B) - log det A, where B is
// computed by inverse, so the solution is A = B^-1.
//
// B need not be positive definite: a feature may be constant, there may be fewer points than features, and the
// must-links of Basu2003 are subtracted. Where an entry of a diagonal B, or an eigenvalue of a full B with eigenvector
// v, is not positive, A keeps its old entry, or v'A_old v. Entries and eigenvalues of A below 1e-9 of the largest are
// raised to that value.
func (s *Step) propose(ctx context.Context, old *Metric) (proposal, error) {
	if err := s.check(old); err != nil {
		return proposal{}, err
	}
	switch old.form {
	case Diagonal:
		return s.proposeDiagonal(ctx, old)
	case Full:
		return s.proposeFull(ctx, old)
	}
	return proposal{Metric: old}, nil
}

func (s *Step) check(old *Metric) error {
	if want := old.form.Size(old.d); len(s.Scatter) != want {
		return fmt.Errorf("metric: the scatter for a %s metric has %d values, want %d", old.form, len(s.Scatter), want)
	}
	if s.PenaltyKind == Bilenko2004 && len(s.Links) > 0 && len(s.Ranges) != old.d {
		return fmt.Errorf("metric: Ranges has %d entries, want %d", len(s.Ranges), old.d)
	}
	return nil
}

// proposeDiagonal proposes the inverses of the sums of the columns. A weight whose sum is not positive beyond
// rounding stays as it is.
func (s *Step) proposeDiagonal(ctx context.Context, old *Metric) (proposal, error) {
	inverse, sizes, err := s.inverse(ctx, old)
	if err != nil {
		return proposal{}, err
	}
	weights := make([]float64, old.d)
	kept := 0
	for i, b := range inverse {
		weights[i] = 1 / b
		if !(b > rounding*sizes[i]) || math.IsInf(weights[i], 1) {
			weights[i] = old.values[i]
			kept++
		}
	}
	floored := raiseToFloor(weights)
	m, err := NewDiagonal(weights)
	if err != nil {
		return proposal{Metric: old, Kept: old.d}, nil
	}
	return proposal{m, kept, floored}, nil
}

// proposeFull proposes the inverse of the matrix of sums. Along eigenvectors whose eigenvalue is not positive beyond
// rounding, the old metric stays.
func (s *Step) proposeFull(ctx context.Context, old *Metric) (proposal, error) {
	d := old.d
	unchanged := proposal{Metric: old, Kept: d}
	inverse, sizes, err := s.inverse(ctx, old)
	if err != nil {
		return proposal{}, err
	}
	noise := 0.0
	for i, size := range sizes {
		noise += float64(rounding * size)
		for j := range d { // sums overflowed, so nothing can be learned from them
			if isNotFinite(inverse[i*d+j]) {
				return unchanged, nil
			}
		}
	}
	all := func(values []float64) int { return len(values) }
	eigenvalues, vectors, err := eigen.LeadingEigenpairs(ctx, mat.NewSymDense(d, inverse), all)
	if err != nil {
		return proposal{}, err
	}
	kept := 0
	origin := make([]float64, d)
	for c, b := range eigenvalues {
		eigenvalues[c] = 1 / b
		if !(b > noise) || math.IsInf(eigenvalues[c], 1) {
			eigenvalues[c] = old.Distance(mat.Col(nil, c, vectors), origin)
			kept++
		}
	}
	floored := raiseToFloor(eigenvalues)
	m, err := NewFull(d, compose(eigenvalues, vectors))
	if err != nil {
		return unchanged, nil
	}
	return proposal{m, kept, floored}, nil
}

// raiseToFloor raises values to floor times the largest, in place, and returns how many were below it.
func raiseToFloor(values []float64) (raised int) {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, v)
	}
	for i, v := range values {
		if lowest := floor * largest; v < lowest {
			values[i] = lowest
			raised++
		}
	}
	return raised
}

// compose returns the matrix with these eigenvalues and eigenvectors, row by row. It is exactly symmetric.
func compose(eigenvalues []float64, vectors *mat.Dense) []float64 {
	var scaled, product mat.Dense
	scaled.Mul(vectors, mat.NewDiagDense(len(eigenvalues), eigenvalues))
	product.Mul(&scaled, vectors.T())
	return mat.DenseCopyOf(eigen.Upper(&product)).RawMatrix().Data
}
