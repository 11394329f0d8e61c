// Package krange runs a job for every k in a range and proposes one k. It scores each k on held-out constraints where
// there are enough of them, and otherwise by how well the clusters are found again in part of the data. The caller
// supplies the function that clusters, so every algorithm can be used.
package krange

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// Solver clusters for one k. The specs that it is given have no range.
type Solver interface {
	// Solve runs the job, wherever its data live; of specs that differ in k, constraints and seeds alone it may share
	// whatever these have in common.
	Solve(ctx context.Context, spec clustering.Spec, o clustering.Observer) (*clustering.Result, error)
	// Small runs a job on a part of the data in this process. Of jobs on the same part, which is told by its number, it may share as
	// much; they come one after the other, those on different parts side by side.
	Small(ctx context.Context, part int, data dataset.Dataset, spec clustering.Spec) (*clustering.Result, error)
}

// Job is data and what is asked of them.
type Job struct {
	Data dataset.Dataset
	Spec clustering.Spec
}

// run is a range that is being run.
type run struct {
	data    dataset.Dataset
	spec    clustering.Spec
	origin  Job
	solver  Solver
	threads int
	o       clustering.Observer
	folds   *folds // nil: too few constraints
	parts   []part // of the data, where there are no folds
	// firstPart is the number of the first part for the solver.
	firstPart int
	gaps      []float64 // of a graph, for each k; nil: they are not known
}

// Run runs every k of the spec's range and returns the result of the one that is proposed, with the scores and the labels
// of all. When the context ends, it is one of those that were done by then. Where the data of the job were made of others, as a
// graph of neighbors is, origin is the same job on these, so that parts are made anew; else it is the job.
func Run(ctx context.Context, job, origin Job, s Solver, threads int, o clustering.Observer) (*clustering.Result, error) {
	data, spec := job.Data, job.Spec
	r := &run{data: data, spec: spec, origin: origin, solver: s, threads: threads, o: o}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	if graph, is := data.(*dataset.Graph); is {
		gaps, err := Eigengaps(snapshot.Within(ctx, "eigengaps"), graph, spec.MaxK, threads, spec)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		r.gaps = gaps
	}
	var results []*clustering.Result
	report := &clustering.KSelection{Min: spec.K, Max: spec.MaxK}
	for k := spec.K; k <= spec.MaxK; k++ {
		o.K(clustering.KStarted{K: k, Min: spec.K, Max: spec.MaxK})
		result, score, err := r.one(snapshot.Within(ctx, fmt.Sprintf("k %d", k)), k)
		if ctx.Err() != nil && len(results) > 0 {
			break // with those that are done
		}
		if err != nil {
			return nil, err
		}
		results, report.Scores = append(results, result), append(report.Scores, score)
		if ctx.Err() != nil {
			break
		}
	}
	pairs := 0
	if r.folds != nil {
		pairs = len(r.folds.Pairs)
	}
	decide(report, pairs, partsOf(origin.Data))
	if err := r.compareWithCloud(ctx, report, partsOf(origin.Data)); err != nil && ctx.Err() == nil {
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
		o.Notice(notice)
	}
	if report.Confidence == clustering.Unsure {
		notice := clustering.Notice{Code: "UNSURE_K", Message: report.Reason}
		best.Warnings = append(best.Warnings[:len(best.Warnings):len(best.Warnings)], notice)
		o.Notice(notice)
	}
	return &best, nil
}

// prepare makes what all k share.
func (r *run) prepare() (err error) {
	if r.folds, err = newFolds(r.data.Rows(), r.spec); err != nil {
		return err
	}
	if r.folds == nil {
		r.parts, err = newParts(r.origin.Data, r.spec)
	}
	return err
}

// one runs one k and scores it.
func (r *run) one(ctx context.Context, k int) (*clustering.Result, clustering.KScore, error) {
	spec, score := withK(r.spec, k), clustering.KScore{K: k}
	result, err := r.solver.Solve(ctx, spec, withoutNotices{r.o})
	if err != nil || ctx.Err() != nil {
		return result, score, err
	}
	score.Objective = result.Objective
	if result.Choice != nil {
		score.Space = result.Choice.Chosen.Space
	}
	if r.folds != nil {
		score.Agreement, err = r.agreement(ctx, spec, result)
	} else {
		score.Stability, err = r.stability(ctx, withK(r.origin.Spec, k), result.Labels)
	}
	if err != nil {
		return nil, score, err
	}
	if graph, is := r.data.(*dataset.Graph); is {
		modularity := Modularity(graph, result.Labels, k)
		score.Modularity = &modularity
		if r.gaps != nil {
			score.Eigengap = &r.gaps[k]
		}
		return result, score, nil
	}
	score.Silhouette, err = r.silhouette(ctx, result, k)
	return result, score, err
}

// withK is a spec for one k.
func withK(spec clustering.Spec, k int) clustering.Spec {
	spec.K, spec.MaxK = k, 0
	return spec
}

// withoutNotices passes on all but notices: those of the k that is proposed are told at the end.
type withoutNotices struct{ clustering.Observer }

func (withoutNotices) Notice(clustering.Notice) {}
