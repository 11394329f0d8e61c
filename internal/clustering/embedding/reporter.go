package embedding

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// Reporter reports the steps of a run's eigensolvers, numbered consecutively, to an observer.
type Reporter struct {
	o        clustering.Observer
	steps    int
	forecast forecast
}

// NewReporter returns a reporter to an observer.
func NewReporter(o clustering.Observer) *Reporter { return &Reporter{o: o} }

// MaxProducts is the number of products after which an eigensolver returns its best approximation.
const MaxProducts = 20_000

// SolverOptions returns the options of an eigensolver whose steps are reported.
func (r *Reporter) SolverOptions(tolerance float64) eigen.Options {
	return eigen.Options{Tolerance: tolerance, MaxProducts: MaxProducts, Observe: func(p eigen.Progress) {
		if p.Iteration == 1 { // a new search begins
			r.forecast = forecast{tolerance: p.Tolerance, products: MaxProducts}
		}
		r.steps++
		step := clustering.SolverStep{
			Step: r.steps, Products: p.Products, Residual: p.Residual, Tolerance: p.Tolerance, Converged: p.Converged,
			Wanted: p.Wanted,
		}
		if left, known := r.forecast.next(p.Residual, p.Products); known {
			step.StepsLeft = &left
		}
		r.o.Observe(step)
	}}
}

// ProductsAtOnce is how many vectors an eigensolver multiplies the matrix with at a time.
const ProductsAtOnce = 16

// The defaults of spectral methods.
const (
	DefaultRestarts   = 10   // restarts of k-means on eigenvectors
	DefaultIterations = 300  // iterations of each restart
	DefaultTolerance  = 1e-8 // of residuals, relative to the largest eigenvalue
)
