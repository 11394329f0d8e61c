// Package local runs a job of any algorithm within this process, without coordinator or workers. A cluster has to give
// the same answer, bit for bit.
package local

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/krange"
	"github.com/cleave-project/cleave/internal/clustering/landmark"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Solve runs a job from its spec to its result.
func Solve(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int, o clustering.Observer) (*clustering.Result, error) {
	result, err := solve(ctx, data, spec, threads, o)
	if err != nil {
		return nil, err
	}
	result.Vote()
	return result, nil
}

func solve(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int, o clustering.Observer) (*clustering.Result, error) {
	if spec.Neighbors > 0 {
		return solveNeighbors(ctx, data, spec, threads, nil, o)
	}
	if spec.MaxK > 0 {
		job := krange.Job{Data: data, Spec: spec}
		return solveRange(ctx, job, job, threads, o)
	}
	return solveOne(ctx, data, spec, threads, nil, o)
}

// solveOne runs a job on the data as they are, for one k. What it has in common with others is shared, if not nil.
func solveOne(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int, shared *Shared, o clustering.Observer) (*clustering.Result, error) {
	switch spec.Algorithm.(type) {
	case *auto.Options:
		p, err := auto.Prepare(data, spec)
		if err != nil {
			return nil, err
		}
		if shared != nil {
			p.Share(shared.Auto)
		}
		return auto.Run(ctx, p, Executors(data, threads), o)
	case *kmeans.Options:
		p, err := kmeans.Prepare(data, spec)
		if err != nil {
			return nil, err
		}
		x, err := kmeans.NewLocal(ctx, p, data, threads)
		if err != nil {
			return nil, err
		}
		return kmeans.RunAndScore(ctx, p, x, o)
	case *spectral.Options:
		p, err := spectral.Prepare(data, spec)
		if err != nil {
			return nil, err
		}
		if shared != nil {
			p.Share(shared.Cut)
		}
		x, err := kernelkmeans.NewLocal(ctx, p.Problem, data, threads)
		if err != nil {
			return nil, err
		}
		return spectral.Run(ctx, p, x, o)
	}
	if landmark.Is(spec) {
		return solveByLandmarks(ctx, data, spec, threads, o)
	}
	p, err := kernelkmeans.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	x, err := kernelkmeans.NewLocal(ctx, p, data, threads)
	if err != nil {
		return nil, err
	}
	return kernelkmeans.RunAndScore(ctx, p, x, o)
}

func solveByLandmarks(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int, o clustering.Observer) (*clustering.Result, error) {
	p, err := landmark.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	x, err := kmeans.NewLocal(ctx, p.Problem, data, threads)
	if err != nil {
		return nil, err
	}
	return landmark.Run(ctx, p, x, o)
}
