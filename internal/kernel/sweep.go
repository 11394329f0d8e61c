package kernel

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Load sets the labels of all n points (-1: none), computes the sums of the given tiles anew and
// returns their share of the self-affinities Q_c in grid units.
func (s *Shard) Load(ctx context.Context, numbers []int, step uint64, labels []int32) ([]Int128, error) {
	tiles, err := s.find(numbers)
	if err != nil {
		return nil, err
	}
	if s.armament.K == 0 {
		return nil, ErrNotReady
	}
	if err := s.checkLabels(labels); err != nil {
		return nil, err
	}
	if !s.loaded || s.labelsStep != step {
		s.labels = append(s.labels[:0], labels...)
		s.labelsStep, s.loaded = step, true
	}
	return s.sweep(ctx, tiles, step, s.planFull())
}

// Update takes the given tiles from step to step+1 by the points that moved, and returns their
// share of the new Q_c. Tiles that are at step+1 already only answer again.
func (s *Shard) Update(ctx context.Context, numbers []int, step uint64, moves []Move) ([]Int128, error) {
	tiles, err := s.find(numbers)
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
		if err := s.applyMoves(moves); err != nil {
			return nil, err
		}
		s.labelsStep = step + 1
	} else if err := s.checkApplied(moves); err != nil {
		return nil, err
	}
	p, err := s.planDelta(ctx, tiles, step+1, moves)
	if err != nil {
		return nil, err
	}
	return s.sweep(ctx, tiles, step+1, p)
}

func (s *Shard) checkLabels(labels []int32) error {
	if len(labels) != s.source.Rows() {
		return fmt.Errorf("kernel: %d labels for %d rows", len(labels), s.source.Rows())
	}
	for i, c := range labels {
		if c < -1 || int(c) >= s.armament.K {
			return fmt.Errorf("kernel: row %d has label %d of %d", i, c, s.armament.K)
		}
	}
	return nil
}

// applyMoves changes the labels, all of them or none. A point moves once.
func (s *Shard) applyMoves(moves []Move) error {
	undo := func(done []Move) {
		for _, m := range slices.Backward(done) {
			s.labels[m.Point] = m.From
		}
	}
	for at, m := range moves {
		if !s.valid(m) || s.labels[m.Point] != m.From {
			undo(moves[:at])
			return misfit(m)
		}
		s.labels[m.Point] = m.To
	}
	err := s.checkApplied(moves)
	if err != nil {
		undo(moves)
	}
	return err
}

// checkApplied makes sure that the labels are those that the moves lead to.
func (s *Shard) checkApplied(moves []Move) error {
	for _, m := range moves {
		if !s.valid(m) || s.labels[m.Point] != m.To {
			return misfit(m)
		}
	}
	return nil
}

func (s *Shard) valid(m Move) bool {
	k := int32(s.armament.K)
	return m.Point >= 0 && int(m.Point) < len(s.labels) && m.From >= -1 && m.From < k && m.To >= -1 && m.To < k
}

func misfit(m Move) error {
	return fmt.Errorf("kernel: move of point %d from %d to %d does not fit the labels", m.Point, m.From, m.To)
}

// planFull makes all sums anew.
func (s *Shard) planFull() *plan {
	if s.source.graph != nil {
		return &plan{full: true, labels: s.labels}
	}
	return fullPlan(s.labels, s.armament.K)
}

// planDelta changes sums by the points that moved or, where that is less work, makes them anew.
// Sums being exact, their bits are the same.
func (s *Shard) planDelta(ctx context.Context, tiles []*tile, step uint64, moves []Move) (*plan, error) {
	if s.source.graph != nil {
		return s.planGraphDelta(ctx, tiles, step, moves)
	}
	// A delta reads the columns that moved and writes two sums for each, a full sweep reads them all.
	if 4*len(moves) > 3*len(s.labels) {
		return s.planFull(), nil
	}
	return deltaPlan(s.labels, moves), nil
}

// loadOwn takes out of the sums of row r that of its own cluster.
func (t *tile) loadOwn(r int, labels []int32) {
	t.own[r] = 0
	if c := labels[t.rows.From+r]; c >= 0 {
		t.own[r] = t.sums.of(r, c)
	}
}

// sweep brings the given tiles to a step, where they are not there yet, and adds up their rows' own
// sums, Q_c = sum of S_ic over i in c, as 128-bit integers: exact in any order.
func (s *Shard) sweep(ctx context.Context, tiles []*tile, step uint64, p *plan) ([]Int128, error) {
	s.workspaces.reset(s.armament.K)
	toUnits := math.Ldexp(1, -int(s.source.spec.Grid))
	err := s.parallel(ctx, len(tiles), func(at int) error {
		t, w := tiles[at], s.workspaces.borrow()
		if !t.loaded || t.step != step {
			t.loaded = false // until it is done
			if t.sums == nil {
				t.sums, t.own = t.base.newSums(&s.armament), make([]float64, t.rows.Len())
			}
			if err := t.sums.sweep(t, p, w); err != nil {
				return err
			}
			t.step, t.loaded = step, true
		}
		for r, c := range s.labels[t.rows.From:t.rows.To] {
			if c >= 0 {
				w.self[c] = w.self[c].AddInt64(int64(t.own[r] * toUnits))
			}
		}
		s.workspaces.giveBack(w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	total := make([]Int128, s.armament.K)
	for _, w := range s.workspaces.idle {
		for c, q := range w.self {
			total[c] = total[c].Add(q)
		}
	}
	return total, nil
}
