package embedding

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/spectral"
)

// solverSteps let an observer hear the eigensolvers of a run, one after the other.
type Steps struct {
	o        clustering.Observer
	steps    int
	forecast forecast
}

func NewSteps(o clustering.Observer) *Steps { return &Steps{o: o} }

// mostProducts is what an eigensolver may ask for before it returns its best so far.
const maxProducts = 20_000

// options are those of a solver that the observer hears.
func (s *Steps) Options(tolerance float64) spectral.Options {
	return spectral.Options{Tolerance: tolerance, MaxProducts: maxProducts, Observe: func(p spectral.Progress) {
		if p.Iteration == 1 { // another search
			s.forecast = forecast{tolerance: p.Tolerance, products: maxProducts}
		}
		s.steps++
		step := clustering.SolverStep{
			Step: s.steps, Products: p.Products, Residual: p.Residual, Tolerance: p.Tolerance, Converged: p.Converged, Wanted: p.Wanted,
		}
		if left, known := s.forecast.next(p.Residual, p.Products); known {
			step.StepsLeft = &left
		}
		s.o.Solver(step)
	}}
}

// productsAtOnce is how many vectors the matrix is multiplied with at a time where eigenvectors are wanted.
const ProductsAtOnce = 16

// What holds where nothing else is asked for.
const (
	DefaultRestarts   = 10   // starts of k-means on eigenvectors
	DefaultIterations = 300  // of each
	DefaultTolerance  = 1e-8 // of residuals, relative to the largest eigenvalue
)
