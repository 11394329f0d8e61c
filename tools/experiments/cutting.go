package experiments

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/refusal"
)

// The rows of the tables about cuts.
const (
	rowStrict        = "constrained, one vector"
	rowAuto          = "constrained, beta auto"
	rowLearning      = "spectral learning"
	rowKernel        = "kernel k-means"
	rowUnconstrained = "unconstrained"
)

// cutMethod is a method that cuts a graph, or points by their affinity.
type cutMethod struct {
	name string
	spec func(a affinity) clustering.Spec
}

// affinity says how points are turned into a graph: by the gaussian kernel of a width, with the diagonal of
// ones that the kernel has. Without the diagonal a far point has almost no degree, and as Qbar is divided by
// degrees, constraints on such points would outweigh all others. A graph is used as it is.
type affinity struct {
	rho          float64 // 0: the median distance
	keepDiagonal bool
}

func affinityOf(data dataset.Dataset, rho float64) affinity {
	return affinity{rho: rho, keepDiagonal: data.Kind() != dataset.KindGraph}
}

func spectralMethod(name string, o spectral.Options) cutMethod {
	return cutMethod{name, func(a affinity) clustering.Spec {
		o := o
		o.Rho, o.KeepDiagonal = a.rho, a.keepDiagonal
		return clustering.Spec{Algorithm: &o}
	}}
}

var (
	unconstrained = spectralMethod(rowUnconstrained, spectral.Options{Algorithm: spectral.Spectral})
	strictCut     = spectralMethod(rowStrict, spectral.Options{Algorithm: spectral.Constrained,
		BetaRule: spectral.BetaStrict})
	autoCut = spectralMethod(rowAuto, spectral.Options{Algorithm: spectral.Constrained,
		BetaRule: spectral.BetaPaper})
	learningCut = spectralMethod(rowLearning, spectral.Options{Algorithm: spectral.Learning})
	kernelCut   = cutMethod{rowKernel, func(a affinity) clustering.Spec {
		return clustering.Spec{MaxIterations: 100, Algorithm: &kernelkmeans.Options{
			Objective: kernelkmeans.ObjectiveNormalizedCut, Rho: a.rho, KeepDiagonal: a.keepDiagonal,
		}}
	}}
)

// cut is the result of one run and its scores.
type cutRun struct {
	labels    []int32
	vector    []float64 // the eigenvector u of a constrained cut
	scores    evaluate.Scores
	satisfied float64 // share of the constraints
	found     bool    // false: the constraints allow no cut, and all points are in one cluster
	seconds   float64
	rho       float64 // the width that was used
}

// solveCut runs a method with constraints and scores it on the points of `on`, or on all if it is nil.
func solveCut(ctx context.Context, s set, m cutMethod, rho float64, list []constraint.Constraint,
	on []int32) (cutRun, error) {
	spec := m.spec(affinityOf(s.data, rho))
	spec.K, spec.Supervision.Constraints = s.k, list
	begun := time.Now()
	result, err := local.Solve(ctx, s.data, spec, 1, clustering.NopObserver{})
	c := cutRun{seconds: time.Since(begun).Seconds()}
	switch {
	case fault.Is(refusal.Of(err), "INFEASIBLE_BETA") || fault.Is(refusal.Of(err), "TOO_FEW_CUTS"):
		c.labels = make([]int32, s.data.Rows())
	case err != nil:
		return c, err
	default:
		c.labels, c.found, c.rho = result.Labels, true, result.Kernel.Matrix.Rho
		if result.Spectral.Embedding != nil && result.Spectral.Embedding.Columns == 1 {
			c.vector = result.Spectral.Embedding.Values
		}
	}
	if c.scores, err = evaluate.Compare(c.labels, s.truth, on); err != nil {
		return c, err
	}
	kept := 0
	for _, pair := range list {
		if (c.labels[pair.I] == c.labels[pair.J]) == (pair.Kind == constraint.MustLink) {
			kept++
		}
	}
	c.satisfied = float64(kept) / float64(max(1, len(list)))
	return c, nil
}

// cell does the runs of one cell of a table, several at a time.
func (r *runner) cell(ctx context.Context, runs int, run func(run int) (cutRun, error)) ([]cutRun, error) {
	cuts := make([]cutRun, runs)
	err := parallel.Run(ctx, r.Threads, runs, func(at int) (err error) {
		cuts[at], err = run(at)
		return err
	})
	return cuts, err
}

// valuesOf returns one number of every cut.
func valuesOf(cuts []cutRun, number func(c cutRun) float64) numbers {
	x := make(numbers, len(cuts))
	for at, c := range cuts {
		x[at] = number(c)
	}
	return x
}

func ariOf(c cutRun) float64       { return c.scores.ARI }
func nmiOf(c cutRun) float64       { return c.scores.NMI }
func satisfiedOf(c cutRun) float64 { return c.satisfied }
func secondsOf(c cutRun) float64   { return c.seconds }

// degreesOf returns the degrees of the gaussian affinity with its diagonal.
func degreesOf(points *dataset.Points, rho float64) numbers {
	degrees := make(numbers, points.N)
	for i := range degrees {
		for j := range points.N {
			square := 0.0
			for f, v := range points.Row(i) {
				square += (v - points.Row(j)[f]) * (v - points.Row(j)[f])
			}
			degrees[i] += math.Exp(-square / (2 * rho * rho))
		}
	}
	return degrees
}

// participationNumber returns (sum v_i^2)^2 / sum v_i^4 with v = D^1/2 u, the number of points that make up the
// vector: n if all entries have the same absolute value, 1 if only one is not 0.
func participationNumber(u []float64, degrees numbers) float64 {
	squares, fourths := 0.0, 0.0
	for i, v := range u {
		square := degrees[i] * v * v
		squares, fourths = squares+square, fourths+square*square
	}
	return squares * squares / fourths
}

// wrongPairs returns the true constraints of all pairs that the labels get wrong, in a random order: Wang2014
// 7.3 draws its constraints from the pairs that the unconstrained cut gets wrong.
func wrongPairs(labels []int32, truth []int64, rng *rand.Rand) []constraint.Constraint {
	var list []constraint.Constraint
	for i := range labels {
		for j := range i {
			same := truth[i] == truth[j]
			if same == (labels[i] == labels[j]) {
				continue
			}
			kind := constraint.CannotLink
			if same {
				kind = constraint.MustLink
			}
			list = append(list, constraint.Constraint{I: int32(j), J: int32(i), Kind: kind})
		}
	}
	rng.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
	return list
}

// standardized gives every feature the mean 0 and the standard deviation 1; a constant feature becomes 0.
func standardized(points *dataset.Points) (*dataset.Points, error) {
	n, d := points.N, points.D
	values := make([]float64, n*d)
	for f := range d {
		column := make(numbers, n)
		for i := range n {
			column[i] = points.Row(i)[f]
		}
		mean := column.mean()
		square := 0.0
		for _, v := range column {
			square += (v - mean) * (v - mean)
		}
		deviation := math.Sqrt(square / float64(n))
		for i, v := range column {
			if deviation > 0 {
				values[i*d+f] = (v - mean) / deviation
			}
		}
	}
	return dataset.NewPoints(n, d, values)
}
