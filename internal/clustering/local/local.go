// Package local runs jobs of any algorithm within this process, without a coordinator or workers. A cluster must give
// the same answers, bit for bit.
package local

import (
	"context"
	"sync"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/clustering/krange"
	"github.com/cleave-project/cleave/internal/clustering/prepare"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/parallel"
)

// Solve runs a job from its spec to its result.
func Solve(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int,
	o clustering.Observer) (*clustering.Result, error) {
	result, err := solve(ctx, data, spec, threads, o)
	if err != nil {
		return nil, err
	}
	result.Vote()
	return result, nil
}

func solve(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int,
	o clustering.Observer) (*clustering.Result, error) {
	if spec.Neighbors.Count > 0 {
		return solveNeighbors(ctx, data, spec, threads, &part{}, o)
	}
	if spec.MaxK > 0 {
		job := krange.Job{Data: data, Spec: spec}
		return solveRange(ctx, job, job, threads, o)
	}
	return solveOne(ctx, data, spec, threads, nil, o)
}

// solveOne runs a job for one k on the data as it is. If shared is not nil, it shares work with other jobs.
func solveOne(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int,
	shared *prepare.Shared, o clustering.Observer) (*clustering.Result, error) {
	ctx = parallel.WithThreads(ctx, threads)
	job, err := prepare.New(ctx, data, spec)
	if err != nil {
		return nil, err
	}
	job.Share(shared)
	switch {
	case job.Auto != nil:
		return auto.Run(ctx, job.Auto, Executors(data, threads), o)
	case job.Rows != nil:
		x, err := kmeans.NewLocal(ctx, job.Rows.Problem, data, threads)
		if err != nil {
			return nil, err
		}
		return job.Rows.Run(ctx, x, o)
	}
	x, err := kernelkmeans.NewLocal(ctx, job.Matrix.Problem, data, threads)
	if err != nil {
		return nil, err
	}
	return job.Matrix.Run(ctx, x, o)
}

// solveRange runs a job with a range of k; see krange.Run.
func solveRange(ctx context.Context, job, origin krange.Job, threads int,
	o clustering.Observer) (*clustering.Result, error) {
	s := &solver{
		data: job.Data, threads: threads,
		shared: prepare.NewShared(job.Spec.MaxK),
		Parts:  NewParts(job.Spec.MaxK),
	}
	return krange.Run(ctx, job, origin, s, threads, o)
}

// solver implements krange.Solver within this process.
type solver struct {
	data    dataset.Dataset
	threads int
	shared  *prepare.Shared
	*Parts
}

// Solve implements krange.Solver.
func (s *solver) Solve(ctx context.Context, spec clustering.Spec, o clustering.Observer) (*clustering.Result, error) {
	return solveOne(ctx, s.data, spec, s.threads, s.shared, o)
}

// solveNeighbors runs a job on the nearest-neighbor graph of its rows, and shares the graph with other jobs on the same
// part.
func solveNeighbors(
	ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int, of *part, o clustering.Observer,
) (*clustering.Result, error) {
	p, err := knn.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	p.Observe(o)
	graph, err := of.neighborGraph(func() (*dataset.Graph, error) {
		nearest, err := p.Nearest(ctx, func(ctx context.Context) ([]int32, error) { return p.Search(ctx, threads) })
		if err != nil {
			return nil, err
		}
		return p.Graph(ctx, nearest, threads)
	})
	if err != nil {
		return nil, err
	}
	var result *clustering.Result
	if spec.MaxK > 0 {
		result, err = solveRange(ctx, krange.Job{Data: graph, Spec: p.Spec}, krange.Job{Data: data, Spec: spec},
			threads, o)
	} else {
		result, err = solveOne(ctx, graph, p.Spec, threads, of.shared, o)
	}
	if err != nil {
		return nil, err
	}
	p.FillResult(result, graph)
	return result, nil
}

// part is what jobs on one part of the data have in common.
type part struct {
	shared *prepare.Shared
	graph  *dataset.Graph // nearest-neighbor graph; nil until it is computed
}

// neighborGraph returns the nearest-neighbor graph and computes it only once.
func (p *part) neighborGraph(find func() (*dataset.Graph, error)) (_ *dataset.Graph, err error) {
	if p.graph == nil {
		p.graph, err = find()
	}
	return p.graph, err
}

// Parts runs jobs on parts of the data of a job with a range of k. Jobs on the same part share what they can.
type Parts struct {
	maxK int
	mu   sync.Mutex
	of   map[int]*part
}

// NewParts returns Parts for jobs of at most maxK clusters.
func NewParts(maxK int) *Parts { return &Parts{maxK: maxK, of: map[int]*part{}} }

// Small implements krange.Solver. Jobs on the same part must not run concurrently.
func (p *Parts) Small(ctx context.Context, number int, data dataset.Dataset, spec clustering.Spec,
	threads int) (*clustering.Result, error) {
	p.mu.Lock()
	of := p.of[number]
	if of == nil {
		of = &part{shared: prepare.NewShared(p.maxK)}
		p.of[number] = of
	}
	p.mu.Unlock()
	if spec.Neighbors.Count > 0 {
		return solveNeighbors(ctx, data, spec, threads, of, clustering.NopObserver{})
	}
	return solveOne(ctx, data, spec, threads, of.shared, clustering.NopObserver{})
}
