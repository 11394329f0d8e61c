// Package krange runs a job for every k in a range and proposes one k. It scores each k on held-out constraints where
// there are enough of them, and otherwise by how well the clusters are found again in part of the data. The caller
// supplies the function that clusters, so every algorithm can be used.
package krange

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// Solver clusters for one k. The specs that it is given have no range.
type Solver interface {
	// Solve runs the job on the whole data. Specs that differ only in k, constraints and seeds may share intermediate
	// results.
	Solve(ctx context.Context, spec clustering.Spec, o clustering.Observer) (*clustering.Result, error)
	// Small runs a job on a part of the data in this process. Jobs on the same part, identified by its number, may
	// share intermediate results; they run one after another. Jobs on different parts run concurrently.
	Small(
		ctx context.Context, part int, data dataset.Dataset, spec clustering.Spec, threads int,
	) (*clustering.Result, error)
}

// Job is a data set and the spec to cluster it by.
type Job struct {
	Data dataset.Dataset
	Spec clustering.Spec
}

// run is the state of Run.
type run struct {
	data    dataset.Dataset
	spec    clustering.Spec
	origin  Job
	solver  Solver
	threads int
	o       clustering.Observer
	folds   *heldout.Supervision // nil if there are too few constraints
	parts   []part               // samples of the data; nil if folds is set
	// firstPart is the number of parts[0] for the solver.
	firstPart int
}

// Run runs every k in the range of the spec and returns the result of the proposed k, with the scores and labels of all
// k. If the context ends, it chooses among those that are complete. If the data of the job was derived from other data,
// as a neighbor graph is, origin is the job on that data, from which parts are derived again; otherwise origin equals
// job.
func Run(
	ctx context.Context, job, origin Job, s Solver, threads int, o clustering.Observer,
) (*clustering.Result, error) {
	data, spec := job.Data, job.Spec
	r := &run{data: data, spec: spec, origin: origin, solver: s, threads: threads, o: o}
	var err error
	r.folds, err = newFolds(data.Rows(), spec)
	if err != nil {
		return nil, err
	}
	if r.folds == nil {
		r.parts, err = newParts(origin.Data, spec)
		if err != nil {
			return nil, err
		}
	}
	results, report, err := r.each(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.propose(ctx, report); err != nil {
		return nil, err
	}
	best := *results[report.Proposed-spec.K]
	if ctx.Err() != nil {
		best.StopReason = clustering.StopCanceled
	}
	for _, result := range results {
		report.Labels = append(report.Labels, result.Labels)
	}
	best.KSelection = report
	for _, notice := range best.Warnings {
		o.Observe(notice)
	}
	if report.Confidence == clustering.Unsure {
		notice := clustering.Notice{Code: "UNSURE_K", Message: report.Reason}
		best.Warnings = append(best.Warnings[:len(best.Warnings):len(best.Warnings)], notice)
		o.Observe(notice)
	}
	return &best, nil
}

// each runs and scores every k. If the context ends, it returns those that are complete. If none is, it returns the
// first without its scores, or fails if that has no labels.
func (r *run) each(ctx context.Context) ([]*clustering.Result, *clustering.KSelection, error) {
	var results []*clustering.Result
	report := &clustering.KSelection{Min: r.spec.K, Max: r.spec.MaxK}
	for k := r.spec.K; k <= r.spec.MaxK && (len(results) == 0 || ctx.Err() == nil); k++ {
		r.o.Observe(clustering.KStarted{K: k, Min: r.spec.K, Max: r.spec.MaxK})
		result, score, err := r.one(snapshot.Within(ctx, fmt.Sprintf("k %d", k)), k)
		if len(results) > 0 && ctx.Err() != nil {
			break
		}
		if err != nil && (result == nil || ctx.Err() == nil) {
			return nil, nil, err
		}
		results = append(results, result)
		report.Scores = append(report.Scores, score)
	}
	return results, report, nil
}

// propose chooses a number of clusters by the scores.
func (r *run) propose(ctx context.Context, report *clustering.KSelection) error {
	first := report.Scores[0]
	if ctx.Err() != nil && len(report.Scores) == 1 && first.Agreement == nil && first.Stability == nil {
		report.Proposed = first.K
		report.Plausible = []int{first.K}
		report.Confidence = clustering.Unsure
		report.Reason = "the run ended before any number of clusters was scored"
		return nil
	}
	pairs := 0
	if r.folds != nil {
		pairs = len(r.folds.Pairs)
	}
	part := partsOf(r.origin.Data)
	decide(report, pairs, part)
	if err := r.compareWithCloud(ctx, report, part); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// one runs and scores one k. If scoring fails, it returns the result and the error.
func (r *run) one(ctx context.Context, k int) (*clustering.Result, clustering.KScore, error) {
	spec := withK(r.spec, k)
	score := clustering.KScore{K: k}
	result, err := r.solver.Solve(ctx, spec, withoutNotices{r.o})
	if err != nil {
		return nil, score, err
	}
	score.Objective = result.Objective
	if result.Auto.Choice != nil {
		score.Space = result.Auto.Choice.Chosen.Space
	}
	if ctx.Err() != nil {
		return result, score, nil
	}
	if r.folds != nil {
		score.Agreement, err = r.agreement(ctx, spec, result)
	} else {
		score.Stability, err = r.stability(ctx, withK(r.origin.Spec, k), result.Labels)
	}
	if err != nil {
		return result, score, err
	}
	if graph, ok := r.data.(*dataset.Graph); ok {
		modularity := Modularity(graph, result.Labels, k)
		score.Modularity = &modularity
		return result, score, nil
	}
	score.Silhouette, err = r.silhouette(ctx, result, k)
	return result, score, err
}

// withK returns a spec for a single k.
func withK(spec clustering.Spec, k int) clustering.Spec {
	spec.K, spec.MaxK = k, 0
	return spec
}

// withoutNotices drops notices: only those of the proposed k are reported, at the end.
type withoutNotices struct{ clustering.Observer }

func (w withoutNotices) Observe(e clustering.Event) {
	if _, ok := e.(clustering.Notice); !ok {
		w.Observer.Observe(e)
	}
}

// newFolds divides the supervision of a job into folds. It returns nil if there is too little of it, or only pairs of
// one kind, which a single cluster or very many would always satisfy best.
func newFolds(n int, spec clustering.Spec) (*heldout.Supervision, error) {
	if len(spec.Supervision.Constraints)+len(spec.Supervision.Seeds) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to divide
	}
	spec.Supervision.Entail = false // implied pairs follow from those that are not held out
	spec.Supervision.EntailSmall = false
	set, err := clustering.NewConstraintSet(n, spec, constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	s := heldout.New(set, spec.Supervision.Seeds, spec.MaxK, auto.DefaultFolds, spec.Random(clustering.StreamFolds))
	if must, cannot := s.CountPairs(); must == 0 || cannot == 0 || must+cannot < heldout.EnoughPairs {
		return nil, nil //nolint:nilnil // there is too little
	}
	return s, nil
}

// agreement returns how well the job agrees with held-out supervision. auto has already compared its methods that way;
// other algorithms run once more for each fold.
func (r *run) agreement(ctx context.Context, spec clustering.Spec, result *clustering.Result) (*float64, error) {
	if result.Auto.Choice != nil {
		for _, tried := range result.Auto.Choice.Tried {
			if tried.Method == result.Auto.Choice.Chosen {
				agreement := tried.Agreement()
				return &agreement, nil
			}
		}
	}
	var labels [][]int32
	for fold := range auto.DefaultFolds {
		found, err := snapshot.Once(ctx, fmt.Sprintf("fold %d", fold), (*snapshot.Writer).Int32s,
			func(reader *snapshot.Reader) []int32 { return reader.Labels(len(result.Labels), spec.K) },
			func(ctx context.Context) ([]int32, error) {
				found, err := r.solver.Solve(ctx, r.folds.Spec(spec, fold), clustering.NopObserver{})
				if err != nil {
					return nil, err
				}
				return found.Labels, ctx.Err()
			})
		if err != nil {
			return nil, err
		}
		labels = append(labels, found)
	}
	agreement := r.folds.Agreement(r.folds.Correct(labels...))
	return &agreement, nil
}
