// Package knn turns a job on rows into one on their nearest-neighbor graph. The caller decides where the rows are
// stored and who finds the neighbors.
package knn

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
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
		return nil, invalid.New(invalid.NeighborsOfGraph, "kind", data.Kind())
	}
	if err := clustering.ValidateNeighbors(data.Rows(), spec); err != nil {
		return nil, err
	}
	scale := spec.Scale
	if scale == clustering.ScaleDefault && data.Kind() == dataset.KindPoints {
		scale = clustering.ScaleAuto
	}
	p := &Problem{Count: spec.Neighbors.Count, weights: cmp.Or(spec.Neighbors.Weights, neighbor.Unweighted), Spec: spec}
	var err error
	p.scaled, p.Units, p.notices, err = clustering.InUnits(data, scale)
	p.Spec.Neighbors.Count, p.Spec.Neighbors.Weights, p.Spec.Scale = 0, 0, clustering.ScaleDefault
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

// defaultVoters is the number of nearest neighbors that vote on the label of a new point.
const defaultVoters = 10

// Predict labels new points by a vote among their nearest neighbors in a labeled data set, in the units of the scale.
// If voters is 0, ten vote. Ties go to the nearest neighbor's label. A sparse point with no neighbor at all joins the
// largest cluster.
func Predict(
	ctx context.Context, scale clustering.Scale, voters int, trained dataset.Dataset, labels []int32,
	fresh dataset.Dataset, threads int,
) ([]int32, error) {
	voters = cmp.Or(voters, defaultVoters)
	trained, fresh, err := inUnits(scale, trained, fresh)
	if err != nil {
		return nil, err
	}
	search, err := neighbor.NewSearch(trained)
	if err != nil {
		return nil, err
	}
	nearest, err := search.Of(ctx, fresh, voters, threads)
	if err != nil {
		return nil, err
	}
	sizes := make([]int, slices.Max(labels)+1)
	for _, label := range labels {
		sizes[label]++
	}
	largest := int32(slices.Index(sizes, slices.Max(sizes)))
	count := min(voters, len(labels))
	predicted := make([]int32, fresh.Rows())
	votes := make([]int, len(sizes))
	for i := range predicted {
		clear(votes)
		predicted[i] = largest
		near := nearest[i*count : (i+1)*count]
		for _, j := range near {
			if j != neighbor.None {
				votes[labels[j]]++
			}
		}
		best := 0
		for _, j := range near { // nearest first, so that ties go to the nearest
			if j != neighbor.None && votes[labels[j]] > best {
				predicted[i], best = labels[j], votes[labels[j]]
			}
		}
	}
	return predicted, nil
}

// inUnits converts old and new points to the same units. It fails if they cannot be compared.
func inUnits(scale clustering.Scale, trained, fresh dataset.Dataset) (old, later dataset.Dataset, err error) {
	if trained.Kind() != dataset.KindPoints && trained.Kind() != dataset.KindSparsePoints {
		return nil, nil, invalid.New(invalid.NewPointsForKind, "kind", trained.Kind())
	}
	if fresh.Kind() != trained.Kind() {
		return nil, nil, invalid.New(invalid.OtherKind, "clustered", trained.Kind(), "given", fresh.Kind())
	}
	if before, after := columnsOf(trained), columnsOf(fresh); before != after {
		return nil, nil, invalid.New(invalid.OtherColumns, "columns", after, "clustered", before)
	}
	trained, units, _, err := clustering.InUnits(trained, scale)
	if err != nil {
		return nil, nil, err
	}
	fresh, err = units.Apply(fresh)
	return trained, fresh, err
}

func columnsOf(data dataset.Dataset) int {
	if sparse, ok := data.(*dataset.SparsePoints); ok {
		return sparse.D
	}
	return data.(*dataset.Points).D
}
