package local

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/clustering/krange"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// solveNeighbors runs a job on the graph of the nearest neighbors of its rows, which is shared with others, if that is not nil.
func solveNeighbors(ctx context.Context, data dataset.Dataset, spec clustering.Spec, threads int, shared *Shared, o clustering.Observer) (*clustering.Result, error) {
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
		result, err = solveRange(ctx, krange.Job{Data: graph, Spec: p.Spec}, krange.Job{Data: data, Spec: spec}, threads, o)
	} else {
		result, err = solveOne(ctx, graph, p.Spec, threads, shared, o)
	}
	if err != nil {
		return nil, err
	}
	p.FillResult(result, graph)
	return result, nil
}
