// Package knn turns a job on rows into one on their nearest-neighbor graph. The caller decides where the rows are
// stored and who finds the neighbors.
package knn

import (
	"cmp"
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// Problem is a job on the nearest-neighbor graph of its rows.
type Problem struct {
	Count int             // neighbors of each row
	Units *dataset.Units  // the units that neighbors are found in; nil if unchanged
	Spec  clustering.Spec // the spec of the job on the graph

	scaled  dataset.Dataset // the data in Units
	weights neighbor.Weights
	notices []clustering.Notice
}

// Prepare creates the problem of a spec that asks for neighbors. By default, columns are standardized if their units
// seem to differ.
func Prepare(data dataset.Dataset, spec clustering.Spec) (*Problem, error) {
	switch data.(type) {
	case *dataset.Points, *dataset.SparsePoints, *dataset.Kernel:
	default:
		return nil, fault.Invalid("OPTION_DOES_NOT_APPLY", "neighbors are found among points or in a kernel matrix; a %s has edges instead", data.Kind()).OnField(clustering.FieldNeighbors)
	}
	if err := clustering.ValidateNeighbors(data.Rows(), spec); err != nil {
		return nil, err
	}
	scale := spec.Scale
	if scale == clustering.ScaleDefault && data.Kind() == dataset.KindPoints {
		scale = clustering.ScaleAuto
	}
	p := &Problem{Count: spec.Neighbors, weights: cmp.Or(spec.NeighborWeights, neighbor.Unweighted), Spec: spec}
	var err error
	p.scaled, p.Units, p.notices, err = clustering.InUnits(data, scale)
	p.Spec.Neighbors, p.Spec.NeighborWeights, p.Spec.Scale = 0, 0, clustering.ScaleDefault
	return p, err
}

// Graph builds the graph from the neighbors of all rows, Count for each, as returned by neighbor.Search.All.
func (p *Problem) Graph(ctx context.Context, nearest []int32, threads int) (*dataset.Graph, error) {
	g, err := neighbor.Graph(p.scaled.Rows(), p.Count, nearest)
	if err != nil || p.weights != neighbor.Gaussian {
		return g, err
	}
	return g, neighbor.Weigh(ctx, g, p.scaled, p.Count, nearest, threads)
}

// Search finds the neighbors of all rows in this process.
func (p *Problem) Search(ctx context.Context, threads int) ([]int32, error) {
	search, err := neighbor.NewSearch(p.scaled)
	if err != nil {
		return nil, err
	}
	return search.All(ctx, p.Count, threads)
}

// Outline returns a path graph of the same rows, which suffices to validate a job before the neighbors are known.
func (p *Problem) Outline() (*dataset.Graph, error) {
	edges := make([]dataset.Edge, p.scaled.Rows()-1)
	for i := range edges {
		edges[i] = dataset.Edge{Source: int32(i), Target: int32(i) + 1, Weight: 1}
	}
	return dataset.NewGraph(p.scaled.Rows(), edges)
}

// MaxGraphBytes returns an upper bound of the size of the graph: every neighbor is an edge, stored in both directions.
func (p *Problem) MaxGraphBytes() int64 {
	n := int64(p.scaled.Rows())
	return dataset.CompressedBytes(n, min(2*n*int64(p.Count), n*(n-1)))
}

// Observe reports the notices of the problem.
func (p *Problem) Observe(o clustering.Observer) {
	for _, notice := range p.notices {
		o.Observe(notice)
	}
}

// FillResult adds the graph, the units and the notices to the result of the job on the graph.
func (p *Problem) FillResult(result *clustering.Result, g *dataset.Graph) {
	result.NeighborGraph = &clustering.NeighborGraph{Graph: g, Count: p.Count, Weights: p.weights}
	result.Units = p.Units
	result.Warnings = append(p.notices[:len(p.notices):len(p.notices)], result.Warnings...)
}

// Nearest returns the neighbors of all rows; see Remember.
func (p *Problem) Nearest(ctx context.Context, find func(ctx context.Context) ([]int32, error)) ([]int32, error) {
	return Remember(ctx, p.scaled.Rows(), p.Count, find)
}

// Remember returns count nearest neighbors of each of n rows, from a snapshot or by calling find.
func Remember(ctx context.Context, n, count int, find func(ctx context.Context) ([]int32, error)) ([]int32, error) {
	return snapshot.Once(ctx, "neighbors", (*snapshot.Writer).Int32s, func(r *snapshot.Reader) []int32 {
		nearest := r.Int32s()
		r.Check(len(nearest) == n*count)
		for _, i := range nearest {
			r.Check(i == neighbor.None || i >= 0 && int(i) < n)
		}
		return nearest
	}, find)
}
