package runner

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/landmark"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
)

// landmarkRunner runs kernel k-means by landmarks: k-means on features that workers compute from the points.
type landmarkRunner struct {
	kmeansRunner
	problem *landmark.Problem
}

func newLandmarkRunner(ctx context.Context, data dataset.Dataset, spec clustering.Spec, bytes int64) (*landmarkRunner, error) {
	problem, err := landmark.Prepare(ctx, data, spec)
	if err != nil {
		return nil, err
	}
	return &landmarkRunner{kmeansRunner{problem: problem.Problem, spec: spec, bytes: bytes}, problem}, nil
}

func (r *landmarkRunner) Objective() string { return kernelkmeans.ObjectiveKernelKmeans.String() }

func (r *landmarkRunner) Need() planning.Workload {
	need, features := r.kmeansRunner.Need(), r.problem.Vectors.Features
	need.Vectors.Features = &planning.Features{Function: features.Matrix.Function, Columns: features.Matrix.Columns, Landmarks: len(features.Landmarks)}
	return need
}

func (r *landmarkRunner) Execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
	task.Vectors, task.Units = r.problem.Vectors, r.problem.Units
	x, err := f.NewKMeansExecutor(ctx, task)
	return runOn(x, err, func() (*clustering.Result, error) { return landmark.Run(ctx, r.problem, x, o) })
}
