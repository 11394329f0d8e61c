package kernelkmeans

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/text"
)

// weightedMatrix is what is known here about the matrix M and the weights a of its points (Kulis2009 Table 3), from
// which objectives are computed.
//
//	objective           weights a    M
//	kernel-kmeans       given or 1   a_i a_j k(x_i, x_j) + W
//	ratio-association   1            A + W
//	ratio-cut           1            A - D + W
//	normalized-cut      degrees      A + W
type weightedMatrix struct {
	p            *Problem
	weights      []float64
	weightGrid   kernel.Grid
	isolated     []bool          // points of degree 0 under normalized cut; nil if there are none
	active       int             // number of other points
	constraints  *constraint.Set // the constraints in W, without those of isolated points
	diagonal     []float64       // M_ii
	diagonalTerm float64         // sum_i M_ii / a_i
	diagonalSize float64         // sum_i |M_ii| / a_i
}

// Setup holds what all runs over one matrix share. It implements clustering.Setup.
type Setup struct {
	p      *Problem
	server *server
	matrix *weightedMatrix
	shift  *float64 // what autoShift found; nil if not yet known
	// J and the objective of the unconstrained answer, if it is known.
	unconstrainedValue, unconstrainedReported float64
}

// NewSetup sets the operands of the executor, reads the diagonal, and warns about constraint weights that outweigh the
// data.
func NewSetup(ctx context.Context, p *Problem, x Executor, o clustering.Observer) (*Setup, error) {
	server := newServer(p, x, p.Lanes())
	matrix, err := newWeightedMatrix(ctx, server)
	if err != nil {
		return nil, err
	}
	s := &Setup{server: server, p: p, matrix: matrix}
	typical := medianMagnitude(matrix.diagonal)
	s.warnCoarseGrid(o, typical)
	s.warnHeavyConstraints(o, typical)
	return s, nil
}

// newWeightedMatrix finds the weights, sets the operands of the executor, and reads its diagonal.
func newWeightedMatrix(ctx context.Context, s *server) (*weightedMatrix, error) {
	p, m := s.p, s.x.Matrix()
	w := &weightedMatrix{
		p: p, weights: p.weights, weightGrid: p.weightGrid, active: p.n, constraints: p.Constraints,
	}
	var sparseDiagonal []float64
	if p.isCut() {
		degrees, err := m.Degrees(ctx)
		if err != nil {
			return nil, err
		}
		if p.Objective == ObjectiveNormalizedCut {
			w.weights = degrees
			w.weightGrid = p.Matrix.Grid // exact sums of grid multiples
			w.setIsolated()
		} else {
			sparseDiagonal = make([]float64, p.n)
			for i, d := range degrees {
				sparseDiagonal[i] = -d
			}
		}
	}
	if w.weights == nil {
		w.weights = clustering.Ones(p.n)
	}
	sparse, err := sparsePart(p.n, w.constraints, p.Matrix.Grid, sparseDiagonal, nil)
	if err != nil {
		return nil, err
	}
	if err := s.setOperands(ctx, w.rowWeights(), sparse); err != nil {
		return nil, err
	}
	w.diagonal, err = m.Diagonal(ctx)
	if err != nil {
		return nil, err
	}
	w.diagonalTerm = partition.SumByTile(p.n, w.diagonalShare)
	w.diagonalSize = partition.SumByTile(p.n, func(i int) float64 { return math.Abs(w.diagonalShare(i)) })
	return w, nil
}

func medianMagnitude(values []float64) float64 {
	magnitudes := make([]float64, len(values))
	for i, v := range values {
		magnitudes[i] = math.Abs(v)
	}
	slices.Sort(magnitudes)
	return magnitudes[len(magnitudes)/2]
}

// heavyConstraint is how many times the median diagonal entry a default weight may be. Heavier pairs are placed by
// their constraint alone, whatever the data says.
const heavyConstraint = 5

// warnHeavyConstraints warns if few constraints on many points share the total weight n/k, so that each is heavy enough
// to shrink clusters to the constrained pairs.
func (s *Setup) warnHeavyConstraints(o clustering.Observer, typical float64) {
	count := s.p.Constraints.Len()
	if count == 0 || s.p.spec.Choose || !slices.ContainsFunc(s.p.spec.Supervision.Constraints,
		func(c constraint.Constraint) bool { return !c.Weighted }) {
		return
	}
	if weight := constraint.KulisWeight(s.p.n, s.p.spec.K)(count); typical > 0 && weight > heavyConstraint*typical {
		warn(o, "HEAVY_CONSTRAINTS", fmt.Sprintf(
			"%s on %d points: each weighs %.4g by default, n/(k m), while a typical kernel value is %.4g, so "+
				"clusters may shrink to the constrained pairs; give weights of about %.4g",
			text.Plural(count, "constraint"), s.p.n, weight, typical, typical))
	}
}

// maxStartShare is the share of all points that may start in one cluster without a warning.
const maxStartShare = 0.95

// unbalancedStart warns if nearly all points start in one cluster. In a sparse graph most vertices have no edge to the
// few chosen ones, so all clusters are equally far and the first gets them all.
func (s *Setup) unbalancedStart(labels []int32) []clustering.Notice {
	sizes := make([]int, s.p.spec.K)
	for _, c := range labels {
		if c >= 0 {
			sizes[c]++
		}
	}
	if s.p.startOpen() { // other restarts start otherwise
		return nil
	}
	start := s.p.plan.Starts[0]
	if largest := slices.Max(sizes); s.p.spec.K > 1 && start != clustering.StartLabels &&
		start != clustering.StartRandom &&
		float64(largest) > maxStartShare*float64(s.matrix.active) && s.matrix.active >= 20*s.p.spec.K {
		return []clustering.Notice{{Code: "LOPSIDED_START", Message: fmt.Sprintf(
			"%d of %d points start in one cluster, because most are equally far from the chosen starting points; try "+
				"a random start", largest, s.matrix.active)}}
	}
	return nil
}

// warnCoarseGrid warns if a few large values make the grid so coarse that other entries lose most of their bits.
func (s *Setup) warnCoarseGrid(o clustering.Observer, typical float64) {
	if spacing := s.p.Matrix.Grid.Spacing(); typical > 0 && spacing > 0x1p-24*typical {
		warn(o, "COARSE_GRID", fmt.Sprintf(
			"entries are rounded to multiples of %g, coarse compared with the median diagonal entry %g: a few rows "+
				"or constraint weights outweigh the rest", spacing, typical))
	}
}

func warn(o clustering.Observer, code, message string) {
	o.Observe(clustering.Notice{Code: code, Message: message})
}

// Weights returns a_i.
func (s *Setup) Weights() []float64 { return s.matrix.weights }

// ObjectiveOf returns the objective of labels as kernel k-means reports it, and the objective without constraints; see
// clustering.Result.PlainObjective.
func (s *Setup) ObjectiveOf(ctx context.Context, labels []int32) (objective float64, plain *float64, err error) {
	l, err := s.assignmentOf(ctx, labels)
	if err != nil {
		return 0, nil, err
	}
	return s.matrix.objective(l), s.matrix.plainObjective(l), nil
}

// autoShift returns the least shift that makes the kernel positive semidefinite, max(0, -lambda_min) of diag(a)^-1/2 M
// diag(a)^-1/2. The Ritz value that approximates lambda_min lies above it, so its residual is subtracted, and 2.5
// percent are added in case lambda_min is still lower.
func (s *Setup) autoShift(ctx context.Context) (float64, error) {
	if s.shift != nil {
		return *s.shift, nil
	}
	roots := make([]float64, s.p.n)
	for i, a := range s.matrix.weights {
		roots[i] = math.Sqrt(a)
		if a == 0 {
			roots[i] = math.Inf(1) // the matrix without isolated points
		}
	}
	scaled := make([]float64, s.p.n)
	apply := func(ctx context.Context, v []float64) ([]float64, error) {
		for i := range v {
			scaled[i] = v[i] / roots[i]
		}
		products, err := s.server.x.Matrix().Multiply(ctx, [][]float64{scaled})
		if err != nil {
			return nil, err
		}
		y := products[0]
		for i := range y {
			y[i] /= roots[i]
		}
		return y, nil
	}
	least, err := eigen.Least(ctx, s.p.n, apply, s.p.Source(clustering.StreamLanczos))
	if err != nil {
		return 0, err
	}
	shift := max(0, float64(1.025*(least.Residual-least.Value)))
	s.shift = &shift
	return shift, nil
}
