// Package comparison warns users who named an algorithm if auto agrees clearly better with held-out pairs. It fits both
// to part of the supervision, in this process, if that takes little time.
package comparison

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

const (
	// auto must agree better by more than clearlyBetter standard errors and by more than worthTelling: with many pairs
	// of seeds, even irrelevant differences are significant.
	clearlyBetter = 2.0
	worthTelling  = 0.05
)

// Comparison is a job that names an algorithm, the same job by auto, and their supervision in folds.
type Comparison struct {
	data        dataset.Dataset
	spec        clustering.Spec
	byDefault   *auto.Problem
	supervision *heldout.Supervision
}

// New prepares a comparison. It returns nil if there is none to make: the algorithm is auto, the comparison would take
// long, as for a range of k, or too few pairs can be held out.
func New(data dataset.Dataset, spec clustering.Spec) *Comparison {
	if !takenByDefault(spec.Algorithm) || !small(data, spec) || spec.MaxK > 0 {
		return nil
	}
	problem, err := auto.Prepare(data, clustering.Spec{
		K: spec.K, Seed: spec.Seed, MaxIterations: clustering.DefaultMaxIterations, Scale: spec.Scale,
		Supervision: clustering.Supervision{
			Constraints: spec.Supervision.Constraints, Seeds: spec.Supervision.Seeds,
		}, Algorithm: &auto.Options{},
	})
	if err != nil {
		return nil // the job itself reports what is wrong
	}
	c := &Comparison{data, spec, problem, problem.Supervision()}
	must, cannot := c.supervision.CountPairs()
	if must == 0 || cannot == 0 || must+cannot < heldout.EnoughPairs || len(c.supervision.Constraints) > maxPairs || len(c.supervision.Seeds) > maxSeeds {
		return nil
	}
	return c
}

// takenByDefault reports whether auto accepts the same supervision.
func takenByDefault(a clustering.Algorithm) bool {
	switch options := a.(type) {
	case *auto.Options:
		return false
	case *spectral.Options:
		return len(options.Beliefs) == 0 && !options.Transfer
	}
	return true
}

// Run compares. It returns a notice, or nil if auto is not clearly better.
func (c *Comparison) Run(ctx context.Context, threads int) (*clustering.Notice, error) {
	named, err := c.named(ctx, threads)
	if err != nil {
		return nil, err
	}
	perfect := slices.Repeat([]bool{true}, len(named))
	if !c.beats(perfect, named) { // so auto could not either
		return nil, nil
	}
	other, err := auto.HeldOut(ctx, c.byDefault, local.Executors(c.data, threads))
	if err != nil || !c.beats(other, named) {
		return nil, err
	}
	return &clustering.Notice{Code: "DEFAULT_IS_BETTER", Message: fmt.Sprintf(
		"of %d held-out pairs, the default got %d right and %s %d (agreement beyond chance %.2f and %.2f, %.1f standard errors apart); leave out the algorithm and the options that only it has",
		len(other), count(other), c.spec.Algorithm.Name(), count(named), c.supervision.Agreement(other), c.supervision.Agreement(named), c.supervision.Advantage(other, named))}, nil
}

// named reports which held-out pairs the named algorithm has right.
func (c *Comparison) named(ctx context.Context, threads int) ([]bool, error) {
	spec := c.spec
	spec.Restarts = min(spec.Restarts, clustering.DefaultRestarts)
	var labels [][]int32
	for fold := range auto.DefaultFolds {
		result, err := local.Solve(ctx, c.data, c.supervision.Spec(spec, fold), threads, clustering.NopObserver{})
		if err == nil {
			err = ctx.Err() // a canceled run returns its labels so far
		}
		if err != nil {
			return nil, err
		}
		labels = append(labels, result.Labels)
	}
	return c.supervision.Correct(labels...), nil
}

// beats reports whether one answer is so much better than another that the user should know.
func (c *Comparison) beats(right, other []bool) bool {
	return c.supervision.Agreement(right) > c.supervision.Agreement(other)+worthTelling && c.supervision.Advantage(right, other) > clearlyBetter
}

func count(right []bool) (count int) {
	for _, is := range right {
		if is {
			count++
		}
	}
	return count
}

// Limits of the jobs that are compared, which take about a second of processor time. They depend only on the shape of
// the job, because the notice must not depend on which workers are available or how busy they are.
const (
	maxCells   = 4_000     // rows times clusters
	maxValues  = 100_000   // of points, or edges of a graph
	maxEntries = 1_000_000 // of a kernel matrix
	maxPairs   = 1_000     // held out
	maxSeeds   = 100       // each makes a pair with every other
	// constrained-spectral solves from all entries of its matrix, in every fold.
	maxDenseRows = 400
)

// small reports whether a comparison takes little time.
func small(data dataset.Dataset, spec clustering.Spec) bool {
	rows := data.Rows()
	if options, cuts := spec.Algorithm.(*spectral.Options); cuts && options.Algorithm == spectral.Constrained && rows > maxDenseRows {
		return false
	}
	if rows > maxCells/max(1, spec.K) {
		return false
	}
	switch data := data.(type) {
	case *dataset.Points:
		return rows*data.D <= maxValues
	case *dataset.SparsePoints:
		return data.NonZeros() <= maxValues
	case *dataset.Graph:
		return len(data.Column) <= 2*maxValues
	case *dataset.Kernel:
		return rows*rows <= maxEntries
	}
	return false
}
