package kernel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/parallel"
)

// Load sets the labels of all n points in every lane, computes the sums of the given tiles, and returns the tiles'
// share of the self-affinities Q_c in grid units. It requires operands. Repeating it at the same step changes nothing.
func (s *Shard) Load(ctx context.Context, numbers []int, step uint64, labels []int32) ([]Int128, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if s.operands.K == 0 {
		return nil, ErrNotReady
	}
	if err := s.shape().CheckLabels(labels); err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	if !s.loaded || s.labelsStep != step {
		s.labels = append(s.labels[:0], labels...)
		s.labelsStep, s.loaded = step, true
	}
	return s.sweep(ctx, tiles, step, s.planFullSweep())
}

// Update advances the given tiles from step to step+1 by the points that moved, and returns the tiles' share of the new
// Q_c. Tiles that are already at step+1 are not changed again, so it is safe to retry.
func (s *Shard) Update(ctx context.Context, numbers []int, step uint64, moves []labeling.Move) ([]Int128, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if !s.loaded || (s.labelsStep != step && s.labelsStep != step+1) {
		return nil, ErrNotReady
	}
	for _, t := range tiles {
		if !t.loaded || (t.step != step && t.step != step+1) {
			return nil, ErrNotReady
		}
	}
	if s.labelsStep == step {
		if err := s.shape().Apply(s.labels, moves); err != nil {
			return nil, fmt.Errorf("kernel: %w", err)
		}
		s.labelsStep = step + 1
	} else if err := s.shape().CheckApplied(s.labels, moves); err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	p, err := s.planDelta(ctx, tiles, step+1, moves)
	if err != nil {
		return nil, err
	}
	return s.sweep(ctx, tiles, step+1, p)
}

// shape returns the shape that labels and moves must have to fit the operands.
func (s *Shard) shape() labeling.Shape {
	return labeling.Shape{Points: s.source.Rows(), Clusters: s.operands.K, Lanes: s.operands.lanes()}
}

// planDelta plans to update sums by the points that moved or, if that is less work, to recompute them.
func (s *Shard) planDelta(ctx context.Context, tiles []*tile, step uint64, moves []labeling.Move) (*plan, error) {
	if s.source.graph != nil {
		return s.planGraphDelta(ctx, tiles, step, moves)
	}
	return s.planDenseDelta(moves), nil
}

// sweep brings the given tiles to a step, unless they are already there, and adds up their rows' own sums, Q_c = sum of
// S_ic over i in c, as 128-bit integers, which is exact in any order.
func (s *Shard) sweep(ctx context.Context, tiles []*tile, step uint64, p *plan) ([]Int128, error) {
	for _, t := range tiles {
		if dense, ok := t.base.(*denseTile); ok && !t.at(step) {
			p.layout(dense.windowing(p))
		}
	}
	s.workspaces.reset(s.operands.clusters())
	s.operation = operation{tiles: tiles, step: step, plan: p}
	if err := s.parallel(ctx, len(tiles), s.sweepTile); err != nil {
		return nil, err
	}
	s.totals = parallel.Resized(s.totals, s.operands.clusters())
	clear(s.totals)
	for _, w := range s.workspaces.Idle {
		for c, q := range w.self {
			s.totals[c] = s.totals[c].Add(q)
		}
	}
	return s.totals, nil
}

// sweepOne applies the plan of the operation to one tile. If it fails, the tile is no longer loaded.
func (s *Shard) sweepOne(t *tile) error {
	step, p := s.operation.step, s.operation.plan
	w := s.workspaces.borrow()
	if !t.at(step) {
		t.loaded = false // until the sweep has succeeded
		if t.sums == nil {
			t.sums, t.own = t.base.newSums(&s.operands), make([]float64, s.operands.lanes()*t.rows.Len())
		}
		if err := t.sums.sweep(t, p, w); err != nil {
			return err
		}
		t.step, t.loaded = step, true
	}
	half, rest := s.source.spec.Grid.Scale()
	for lane := range s.operands.lanes() {
		own := t.own[lane*t.rows.Len():]
		for r, c := range p.labelsOf(lane)[t.rows.From:t.rows.To] {
			if c >= 0 {
				w.self[c] = w.self[c].AddInt64(int64(own[r] * half * rest))
			}
		}
	}
	s.workspaces.GiveBack(w)
	return nil
}

// tieTolerance is how close two distances must be to count as equal, relative to the terms that they are
// computed from.
const tieTolerance = 1e-11

// clusterTerms holds the parts of Kulis2009 (1) that depend only on the cluster.
type clusterTerms struct {
	sigma     float64
	weight    []float64 // s_c
	square    []float64 // (Q_c + sigma s_c) / s_c^2; infinite for empty clusters
	nonEmpty  []int32   // the clusters that are not empty, ascending
	maxSquare float64   // max_c |square|
	// Only for graphs, where the sums of a row are 0 for most clusters, so that their squares alone decide:
	bySquare   []int32 // the non-empty clusters, by square, then by number
	nextSquare []int32 // per index of bySquare: the first index with a larger square
}

// set computes the terms from stats, reusing buffers. It keeps stats.Weight.
func (terms *clusterTerms) set(stats ClusterStats) {
	terms.sigma, terms.weight = stats.Sigma, stats.Weight
	terms.square = parallel.Resized(terms.square, len(stats.Weight))
	terms.nonEmpty = terms.nonEmpty[:0]
	terms.maxSquare = 0
	for c, weight := range stats.Weight {
		if stats.Count[c] == 0 {
			terms.square[c] = math.Inf(1)
			continue
		}
		terms.square[c] = (stats.SelfAffinity[c] + float64(stats.Sigma*weight)) / (weight * weight)
		terms.maxSquare = max(terms.maxSquare, math.Abs(terms.square[c]))
		terms.nonEmpty = append(terms.nonEmpty, int32(c))
	}
}

// sortBySquare computes bySquare and nextSquare. Call it after set.
func (terms *clusterTerms) sortBySquare() {
	terms.bySquare = append(terms.bySquare[:0], terms.nonEmpty...)
	slices.SortFunc(terms.bySquare, func(a, b int32) int {
		return cmp.Or(cmp.Compare(terms.square[a], terms.square[b]), cmp.Compare(a, b))
	})
	terms.nextSquare = parallel.Resized(terms.nextSquare, len(terms.bySquare))
	for at := len(terms.bySquare) - 1; at >= 0; at-- {
		terms.nextSquare[at] = int32(at + 1)
		if at+1 < len(terms.bySquare) && terms.square[terms.bySquare[at]] == terms.square[terms.bySquare[at+1]] {
			terms.nextSquare[at] = terms.nextSquare[at+1]
		}
	}
}

// distancePart returns d_ic without its first term M_ii/a_i^2, which is the same for every cluster.
func (terms *clusterTerms) distancePart(c int32, sum, a float64) float64 {
	return terms.square[c] - 2*sum/float64(a*terms.weight[c])
}

// shifted adds the diagonal shift to the sum of a point's own cluster: S_ic + sigma a_i.
func (terms *clusterTerms) shifted(sum, a float64) float64 { return sum + float64(terms.sigma*a) }
