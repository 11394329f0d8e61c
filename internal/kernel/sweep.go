package kernel

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// Load sets the labels of all n points in every lane, computes the sums of the given tiles, and returns their
// share of the self-affinities Q_c in grid units.
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

// Update brings the given tiles from step to step+1 by the points that moved, and returns their share of the
// new Q_c. Tiles that are at step+1 already are not changed again.
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

// shape says which labels and moves fit the operands.
func (s *Shard) shape() labeling.Shape {
	return labeling.Shape{Points: s.source.Rows(), Clusters: s.operands.K, Lanes: s.operands.lanes()}
}

// planDelta plans to change sums by the points that moved or, where that is less work, to recompute them.
func (s *Shard) planDelta(ctx context.Context, tiles []*tile, step uint64, moves []labeling.Move) (*plan, error) {
	if s.source.graph != nil {
		return s.planGraphDelta(ctx, tiles, step, moves)
	}
	return s.planDenseDelta(moves), nil
}

// sweep brings the given tiles to a step, unless they are there already, and adds up their rows' own sums,
// Q_c = sum of S_ic over i in c, as 128-bit integers, which is exact in any order.
func (s *Shard) sweep(ctx context.Context, tiles []*tile, step uint64, p *plan) ([]Int128, error) {
	for _, t := range tiles {
		if dense, is := t.base.(*denseTile); is && !t.at(step) {
			p.layout(dense.chunking(p))
		}
	}
	s.workspaces.reset(s.operands.clusters())
	s.activeStep = step
	if err := s.parallel(ctx, len(tiles), s.sweepTile); err != nil {
		return nil, err
	}
	s.totals = resized(s.totals, s.operands.clusters())
	clear(s.totals)
	for _, w := range s.workspaces.idle {
		for c, q := range w.self {
			s.totals[c] = s.totals[c].Add(q)
		}
	}
	return s.totals, nil
}

// at tells whether the tile's sums are those of a step.
func (t *tile) at(step uint64) bool { return t.loaded && t.step == step }

// sweepOne follows the plan on one tile.
func (s *Shard) sweepOne(t *tile) error {
	p, w := &s.plan, s.workspaces.borrow()
	if !t.at(s.activeStep) {
		t.loaded = false // until the sweep has succeeded
		if t.sums == nil {
			t.sums, t.own = t.base.newSums(&s.operands), make([]float64, s.operands.lanes()*t.rows.Len())
		}
		if err := t.sums.sweep(t, p, w); err != nil {
			return err
		}
		t.step, t.loaded = s.activeStep, true
	}
	toUnits := math.Ldexp(1, -int(s.source.spec.Grid))
	for lane := range s.operands.lanes() {
		own := t.own[lane*t.rows.Len():]
		for r, c := range p.labelsOf(lane)[t.rows.From:t.rows.To] {
			if c >= 0 {
				w.self[c] = w.self[c].AddInt64(int64(own[r] * toUnits))
			}
		}
	}
	s.workspaces.giveBack(w)
	return nil
}
