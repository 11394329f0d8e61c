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
	"github.com/cleave-project/cleave/internal/clustering/landmark"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
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
		return solveNeighbors(ctx, data, spec, threads, nil, o)
	}
	if spec.MaxK > 0 {
		job := krange.Job{Data: data, Spec: spec}
		return solveRange(ctx, job, job, threads, o)
	}
	return solveOne(ctx, data, spec, threads, nil, o)
}

// solveOne runs a job for one k on the data as it is. If shared is not nil, it shares work with other jobs.
func solveOne(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int, shared *Shared,
	o clustering.Observer) (*clustering.Result, error) {
	ctx = parallel.WithThreads(ctx, threads)
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
		return p.RunAndScore(ctx, x, o)
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
		return p.RunAndScore(ctx, x, o)
	}
	if landmark.Is(spec) { // k-means on the features of landmarks
		p, err := landmark.Prepare(ctx, data, spec)
		if err != nil {
			return nil, err
		}
		x, err := kmeans.NewLocal(ctx, p.Problem, data, threads)
		if err != nil {
			return nil, err
		}
		return p.RunAndScore(ctx, x, o)
	}
	p, err := kernelkmeans.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	x, err := kernelkmeans.NewLocal(ctx, p, data, threads)
	if err != nil {
		return nil, err
	}
	return p.RunAndScore(ctx, x, o)
}

// solveRange runs a job with a range of k; see krange.Run.
func solveRange(ctx context.Context, job, origin krange.Job, threads int,
	o clustering.Observer) (*clustering.Result, error) {
	s := &solver{data: job.Data, threads: threads, shared: NewShared(job.Spec.MaxK), Parts: NewParts(job.Spec.MaxK)}
	return krange.Run(ctx, job, origin, s, threads, o)
}

// solver implements krange.Solver within this process.
type solver struct {
	data    dataset.Dataset
	threads int
	shared  *Shared
	*Parts
}

// Solve implements krange.Solver.
func (s *solver) Solve(ctx context.Context, spec clustering.Spec, o clustering.Observer) (*clustering.Result, error) {
	return solveOne(ctx, s.data, spec, s.threads, s.shared, o)
}

// solveNeighbors runs a job on the nearest-neighbor graph of its rows. If shared is not nil, it shares the graph with
// other jobs.
func solveNeighbors(
	ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int, shared *Shared, o clustering.Observer,
) (*clustering.Result, error) {
	p, err := knn.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	p.Observe(o)
	graph, err := shared.neighborGraph(func() (*dataset.Graph, error) {
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
		result, err = solveOne(ctx, graph, p.Spec, threads, shared, o)
	}
	if err != nil {
		return nil, err
	}
	p.FillResult(result, graph)
	return result, nil
}

// Shared holds what jobs on the same data have in common if they differ only in k, constraints and seeds. It is not
// safe for concurrent use.
type Shared struct {
	Auto  *auto.Shared
	Cut   *spectral.Shared
	graph *dataset.Graph // nearest-neighbor graph; nil until it is computed
}

// NewShared returns an empty Shared for jobs of at most maxK clusters.
func NewShared(maxK int) *Shared {
	return &Shared{Auto: auto.NewShared(maxK), Cut: spectral.NewShared(maxK)}
}

// neighborGraph returns the nearest-neighbor graph and computes it only once. s may be nil.
func (s *Shared) neighborGraph(find func() (*dataset.Graph, error)) (_ *dataset.Graph, err error) {
	if s == nil {
		return find()
	}
	if s.graph == nil {
		s.graph, err = find()
	}
	return s.graph, err
}

// Parts runs jobs on parts of the data of a job with a range of k. Jobs on the same part share what they can.
type Parts struct {
	maxK int
	mu   sync.Mutex
	of   map[int]*Shared
}

// NewParts returns Parts for jobs of at most maxK clusters.
func NewParts(maxK int) *Parts { return &Parts{maxK: maxK, of: map[int]*Shared{}} }

// Small implements krange.Solver. Jobs on the same part must not run concurrently.
func (p *Parts) Small(ctx context.Context, part int, data dataset.Dataset, spec clustering.Spec,
	threads int) (*clustering.Result, error) {
	p.mu.Lock()
	shared := p.of[part]
	if shared == nil {
		shared = NewShared(p.maxK)
		p.of[part] = shared
	}
	p.mu.Unlock()
	if spec.Neighbors.Count > 0 {
		return solveNeighbors(ctx, data, spec, threads, shared, clustering.NopObserver{})
	}
	return solveOne(ctx, data, spec, threads, shared, clustering.NopObserver{})
}
