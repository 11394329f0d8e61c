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
	full := fullPlan(s.labels, s.armament.K)
	return s.selfAffinities(ctx, tiles, func(t *tile) error {
		if t.loaded && t.step == step {
			return nil
		}
		t.loaded = false // until it is done
		if err := s.recompute(t, full); err != nil {
			return err
		}
		t.step, t.loaded = step, true
		return nil
	})
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
	}
	// A delta reads the columns that moved and writes two sums for each, a full sweep reads them all.
	p, how := deltaPlan(s.labels, moves), s.applyDelta
	if 4*len(moves) > 3*len(s.labels) {
		p, how = fullPlan(s.labels, s.armament.K), s.recompute
	}
	return s.selfAffinities(ctx, tiles, func(t *tile) error {
		if t.step == step+1 {
			return nil
		}
		t.loaded = false // until it is done
		if err := how(t, p); err != nil {
			return err
		}
		t.step, t.loaded = step+1, true
		return nil
	})
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

func (s *Shard) applyMoves(moves []Move) error {
	for _, m := range moves {
		if m.Point < 0 || int(m.Point) >= len(s.labels) || m.To < -1 || int(m.To) >= s.armament.K || s.labels[m.Point] != m.From {
			return fmt.Errorf("kernel: move of point %d from %d to %d does not fit the labels", m.Point, m.From, m.To)
		}
	}
	for _, m := range moves {
		s.labels[m.Point] = m.To
	}
	return nil
}

// recompute is the full sweep: S_ic = sum of M_ij over j in c.
func (s *Shard) recompute(t *tile, full *plan) error {
	if t.sums == nil {
		t.sums = make([]float64, t.stride*s.armament.K)
	} else {
		clear(t.sums)
	}
	if err := t.base.apply(t.sums, full); err != nil {
		return err
	}
	for r := range t.rows.Len() {
		columns, values := s.armament.Sparse.Row(t.rows.From + r)
		for at, j := range columns {
			if c := full.labels[j]; c >= 0 {
				t.sums[int(c)*t.stride+r] += values[at]
			}
		}
	}
	return nil
}

// applyDelta is the sweep over moved points only; sums being exact, its bits are recompute's.
func (s *Shard) applyDelta(t *tile, delta *plan) error {
	if err := t.base.apply(t.sums, delta); err != nil {
		return err
	}
	for _, m := range delta.moves {
		s.sparseColumn(t, m.Point, func(r int, v float64) {
			if m.From >= 0 {
				t.sums[int(m.From)*t.stride+r] -= v
			}
			if m.To >= 0 {
				t.sums[int(m.To)*t.stride+r] += v
			}
		})
	}
	return nil
}

// sparseColumn visits the sparse part of column j within the tile.
func (s *Shard) sparseColumn(t *tile, j int32, visit func(r int, v float64)) {
	columns, values := s.armament.Sparse.Row(int(j)) // symmetric: row j is column j
	at, _ := slices.BinarySearch(columns, int32(t.rows.From))
	for ; at < len(columns) && int(columns[at]) < t.rows.To; at++ {
		visit(int(columns[at])-t.rows.From, values[at])
	}
}

// selfAffinities prepares each tile and adds up its rows' own sums, Q_c = sum of S_ic over i in c,
// as 128-bit integers: exact in any order.
func (s *Shard) selfAffinities(ctx context.Context, tiles []*tile, prepare func(*tile) error) ([]Int128, error) {
	parts := make([][]Int128, len(tiles))
	toUnits := math.Ldexp(1, -int(s.source.spec.Grid))
	err := s.parallel(ctx, len(tiles), func(at int) error {
		t := tiles[at]
		if err := prepare(t); err != nil {
			return err
		}
		part := make([]Int128, s.armament.K)
		for r := range t.rows.Len() {
			if c := s.labels[t.rows.From+r]; c >= 0 {
				part[c] = part[c].AddInt64(int64(t.sums[int(c)*t.stride+r] * toUnits))
			}
		}
		parts[at] = part
		return nil
	})
	if err != nil {
		return nil, err
	}
	total := make([]Int128, s.armament.K)
	for _, part := range parts {
		for c, q := range part {
			total[c] = total[c].Add(q)
		}
	}
	return total, nil
}
