// Package spectral finds eigenvalues of a large symmetric operator from its products with vectors.
//
// All arithmetic is scalar Go in a fixed order: the same operator gives the same bits whoever
// computes its products.
package spectral

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cleave-project/cleave/internal/partition"
)

// Operator computes y = M x for a symmetric M of n rows.
type Operator func(ctx context.Context, x []float64) ([]float64, error)

// Extreme is an approximate least eigenvalue: some eigenvalue lies within Residual of Value, and
// Value is never below the least.
type Extreme struct {
	Value, Residual float64
	Steps           int
}

// Bounds of the Lanczos process.
const (
	maxSteps          = 300
	minSteps          = 30    // before a residual is believed: the least may not have shown yet
	relativeResidual  = 1e-3  // of |Value|: good enough for a shift
	negligibleSpread  = 1e-10 // of the largest |eigenvalue|: zero for all purposes
	breakdownRelative = 1e-13
)

// Least finds the least eigenvalue by Lanczos with full reorthogonalisation from a random start.
func Least(ctx context.Context, n int, apply Operator, rng *rand.Rand) (Extreme, error) {
	basis := [][]float64{randomUnit(n, rng)}
	var alpha, beta []float64
	for {
		v := basis[len(basis)-1]
		w, err := apply(ctx, v)
		if err != nil {
			return Extreme{}, err
		}
		w = append([]float64(nil), w...)
		alpha = append(alpha, dot(v, w))
		subtractMultiple(w, v, alpha[len(alpha)-1])
		if last := len(beta) - 1; last >= 0 {
			subtractMultiple(w, basis[last], beta[last])
		}
		norm := orthogonalise(w, basis)
		least, largest, last := extremes(alpha, beta)
		e := Extreme{Value: least, Residual: float64(norm * math.Abs(last)), Steps: len(alpha)}
		scale := max(math.Abs(least), math.Abs(largest))
		switch {
		case len(alpha) == n, norm <= breakdownRelative*scale:
			e.Residual = min(e.Residual, float64(breakdownRelative*scale)) // an invariant subspace
			return e, nil
		case len(alpha) < minSteps:
		case e.Residual <= relativeResidual*math.Abs(least), e.Residual <= negligibleSpread*scale, len(alpha) == maxSteps:
			return e, nil
		}
		for i := range w {
			w[i] /= norm
		}
		beta = append(beta, norm)
		basis = append(basis, w)
	}
}

func randomUnit(n int, rng *rand.Rand) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.Float64() - 0.5
	}
	norm := math.Sqrt(dot(v, v))
	if norm == 0 {
		v[0], norm = 1, 1
	}
	for i := range v {
		v[i] /= norm
	}
	return v
}

// orthogonalise takes from w what rounding left of it along the basis and tells its length. A second
// pass is needed only when the first cancelled much: then what is left is mostly rounding too.
func orthogonalise(w []float64, basis [][]float64) float64 {
	const cancelled = 0.7 // of the length: Kahan's and Parlett's "twice is enough"
	before := math.Sqrt(dot(w, w))
	along := make([]float64, len(basis))
	for range 2 {
		parallel(len(basis), func(j int) { along[j] = dot(basis[j], w) })
		parallel(partition.TileCount(len(w)), func(tile int) {
			rows := partition.Tile(len(w), tile)
			for j, u := range basis {
				subtractMultiple(w[rows.From:rows.To], u[rows.From:rows.To], along[j])
			}
		})
		after := math.Sqrt(dot(w, w))
		if after > cancelled*before {
			return after
		}
		before = after
	}
	return before
}

// parallel calls do for 0..count-1 on all processors; each call is on its own, so the bits of the
// result do not depend on how many there are.
func parallel(count int, do func(at int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), count) {
		group.Go(func() {
			for at := int(next.Add(1)) - 1; at < count; at = int(next.Add(1)) - 1 {
				do(at)
			}
		})
	}
	group.Wait()
}

// dot sums each tile in row order, then the tiles in tile order.
func dot(x, y []float64) float64 {
	total, height := 0.0, partition.TileRows(len(x))
	for len(x) > 0 {
		rows := min(height, len(x))
		part := 0.0
		for i, v := range x[:rows] {
			part += float64(v * y[i])
		}
		total += part
		x, y = x[rows:], y[rows:]
	}
	return total
}

func subtractMultiple(w, u []float64, factor float64) {
	w = w[:len(u)]
	for i, v := range u {
		w[i] -= float64(factor * v)
	}
}
