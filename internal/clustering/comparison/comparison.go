// Package comparison tells who names an algorithm when the default would do better. Both are fitted to a part of the
// supervision and compared by the pairs that they were not shown, in this process, where that takes little time.
package comparison

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

const (
	// clearlyBetter is by how many standard errors the default must agree better with the held-out pairs, and worthTelling
	// by how much: many pairs of seeds tell differences that matter to nobody.
	clearlyBetter = 2.0
	worthTelling  = 0.05
)

// Comparison is a job that names an algorithm, the same job by the default, and their supervision in folds.
type Comparison struct {
	data        dataset.Dataset
	spec        clustering.Spec
	byDefault   *auto.Problem
	supervision *heldout.Supervision
}

// New prepares the comparison; nil where there is none to make: the algorithm is the default, it would take long, as for a range of k, or too
// few pairs can be held out to tell anything.
func New(data dataset.Dataset, spec clustering.Spec) *Comparison {
	if !takenByDefault(spec.Algorithm) || !small(data, spec) || spec.MaxK > 0 {
		return nil
	}
	problem, err := auto.Prepare(data, clustering.Spec{
		K: spec.K, Seed: spec.Seed, MaxIterations: clustering.DefaultMaxIterations, Scale: spec.Scale,
		Constraints: spec.Constraints, Seeds: spec.Seeds, Algorithm: &auto.Options{},
	})
	if err != nil {
		return nil // what is wrong is for the job to say
	}
	c := &Comparison{data, spec, problem, problem.Supervision()}
	must, cannot := c.supervision.Kinds()
	if must == 0 || cannot == 0 || must+cannot < heldout.EnoughPairs || len(c.supervision.Constraints) > mostPairs || len(c.supervision.Seeds) > mostSeeds {
		return nil
	}
	return c
}

// takenByDefault tells whether the default could be given the same supervision.
func takenByDefault(a clustering.Algorithm) bool {
	switch options := a.(type) {
	case *auto.Options:
		return false
	case *spectral.Options:
		return len(options.Beliefs) == 0 && !options.Transfer
	}
	return true
}

// Run makes the comparison. It returns what is to be said, nil if there is nothing.
func (c *Comparison) Run(ctx context.Context, threads int) (*clustering.Notice, error) {
	named, err := c.named(ctx, threads)
	if err != nil {
		return nil, err
	}
	perfect := make([]bool, len(named))
	for at := range perfect {
		perfect[at] = true
	}
	if !c.beats(perfect, named) { // so that the default would not either
		return nil, nil
	}
	other, err := auto.HeldOut(ctx, c.byDefault, local.Executors(c.data, threads))
	if err != nil || !c.beats(other, named) {
		return nil, err
	}
	return &clustering.Notice{Code: "DEFAULT_IS_BETTER", Message: fmt.Sprintf(
		"of %d held-out pairs the default has %d right, %s %d (agreement beyond chance %.2f and %.2f, %.1f standard errors apart): run without naming an algorithm, or options that only it has",
		len(other), count(other), c.spec.Algorithm.Name(), count(named), c.supervision.Agreement(other), c.supervision.Agreement(named), c.supervision.Advantage(other, named))}, nil
}

// named tells which pairs the named algorithm has right when it is not shown them.
func (c *Comparison) named(ctx context.Context, threads int) ([]bool, error) {
	spec := c.spec
	spec.Restarts = min(spec.Restarts, clustering.DefaultRestarts)
	var labels [][]int32
	for fold := range auto.DefaultFolds {
		result, err := local.Solve(ctx, c.data, c.supervision.Spec(spec, fold), threads, clustering.NopObserver{})
		if err == nil {
			err = ctx.Err() // if there is one, the labels are those so far
		}
		if err != nil {
			return nil, err
		}
		labels = append(labels, result.Labels)
	}
	return c.supervision.Right(labels...), nil
}

// beats tells whether one answer is so much better than another that it is worth telling.
func (c *Comparison) beats(right, other []bool) bool {
	return c.supervision.Agreement(right) > c.supervision.Agreement(other)+worthTelling && c.supervision.Advantage(right, other) > clearlyBetter
}

// count is how many are right.
func count(right []bool) (count int) {
	for _, is := range right {
		if is {
			count++
		}
	}
	return count
}
