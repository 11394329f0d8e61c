package auto

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/span"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// foldSample is the number of points by which cuts compare their candidates in a fold.
const foldSample = 5000

// eigenspan holds more than k eigenvectors of a graph. Constraints select coordinates from their span.
type eigenspan struct {
	vectors [][]float64
	costs   []float64 // 1 - eigenvalue
}

// openSpan computes the eigenvectors on the first call. The first coordinate is fixed as (d + t)^1/2, which is close to
// the leading eigenvector; see leading. Eigenvectors after the k-th may be rough, because only their span matters.
func (f *fitter) openSpan(ctx context.Context, s *space) error {
	if s.span != nil {
		return nil
	}
	keep, _ := f.spaces.includedVertices(s.graph, f.p.none)
	c := newContraction(s.graph, s.adjacency, keep, f.p.none.Components())
	count := span.Size(c.Rows(), f.p.spec.K, len(f.p.supervision.Pairs))
	whole := make([]float64, c.Rows())
	square := 0.0
	for i, f := range c.factor {
		whole[i] = 1
		if f > 0 { // without edges all vertices are alike
			whole[i] = 1 / f
		}
		square += float64(whole[i] * whole[i])
	}
	for i := range whole {
		whole[i] /= math.Sqrt(square)
	}
	found, err := f.spaces.leading(snapshot.Within(ctx, s.name.String()+" span"), s, c, [][]float64{whole}, count-1,
		eigen.Options{Tolerance: eigenTolerance, MaxProducts: embedding.MaxProducts, Rough: count - f.p.spec.K,
			Scale: 1})
	if err != nil {
		return err
	}
	s.span = &eigenspan{vectors: [][]float64{whole}, costs: []float64{0}}
	for j, v := range found.Vectors {
		s.span.vectors = append(s.span.vectors, v)
		s.span.costs = append(s.span.costs, 1-found.Values[j])
	}
	return nil
}

// fitCuts lets the constraints select coordinates.
func (f *fitter) fitCuts(ctx context.Context, s *space, t task, set *constraint.Set) (*answer, error) {
	kept, err := constraint.NewSet(len(s.plain.kept), s.plain.among(f.p.n, f.p.shown(t)), constraint.UnitWeight)
	if err != nil {
		return nil, err
	}
	problem := &span.Problem{
		K: f.p.spec.K, Vectors: s.span.vectors, Costs: s.span.costs, Pairs: kept.Pairs(),
		Random: f.p.spec.Random(clustering.StreamCuts + uint64(t.fold+1)), Starts: f.p.spec.Restarts, Quick: true,
	}
	if t.fold != heldout.None {
		problem.Sample = foldSample
	}
	found, err := span.Choose(snapshot.Without(ctx), problem)
	if err != nil {
		return nil, err
	}
	at := &coordinates{kept: s.plain.kept, columns: found.Embedding.Columns, values: found.Embedding.Values}
	result := &clustering.Result{
		Labels:        found.Labels,
		StopReason:    clustering.StopConverged,
		ObjectiveName: "normalized-cut",
	}
	all := f.spaces.expand(s, at, result, set)
	all.result.Runs = found.Runs
	all.result.Objective = normalizedCut(s.graph, all.labels, f.p.spec.K)
	return all, nil
}

// loosest returns the cluster whose rows agree least, the one with the shortest mean.
func (e *coordinates) loosest(labels []int32, k int) int32 {
	sums := make([]float64, k*e.columns)
	sizes := make([]float64, k)
	for row, c := range labels {
		sizes[c]++
		for f, v := range e.values[row*e.columns : (row+1)*e.columns] {
			sums[int(c)*e.columns+f] += v
		}
	}
	best := int32(0)
	least := math.Inf(1)
	for c := range k {
		square := 0.0
		for _, v := range sums[c*e.columns : (c+1)*e.columns] {
			square += float64(v * v)
		}
		if size := sizes[c]; size > 0 && square/(size*size) < least {
			best = int32(c)
			least = square / (size * size)
		}
	}
	return best
}
