package kernel

import (
	"context"
	"slices"
)

// Assign finds the points of the given tiles that are nearer to another cluster, in row order:
//
//	argmin_c d_ic,  d_ic = M_ii/a_i^2 - 2 S_ic/(a_i s_c) + Q_c/s_c^2      Kulis2009 (1)
//
// Of clusters as near as the nearest (ties) the current one is kept, else the lowest is taken.
func (s *Shard) Assign(ctx context.Context, numbers []int, step uint64, stats Stats) ([]Move, error) {
	tiles, err := s.ready(numbers, step, stats)
	if err != nil {
		return nil, err
	}
	s.terms.set(stats)
	if s.source.graph != nil {
		s.terms.sort()
	}
	err = s.parallel(ctx, len(tiles), func(at int) error {
		t := tiles[at]
		if err := s.loadDiagonal(t); err != nil {
			return err
		}
		w := s.workspaces.borrow()
		w.assignment = assignment{
			terms: &s.terms, rows: t.rows, diagonal: t.diagonal,
			labels: s.labels[t.rows.From:t.rows.To], weights: s.armament.Weights[t.rows.From:t.rows.To],
		}
		t.moves = t.sums.assign(t.moves[:0], w)
		s.workspaces.giveBack(w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	total := 0
	for _, t := range tiles {
		total += len(t.moves)
	}
	moves := make([]Move, 0, total)
	for _, t := range tiles {
		moves = append(moves, t.moves...)
	}
	return moves, nil
}

// Farthest finds the point with the largest a_i d_i,l(i) among clusters of at least two points;
// of equals the lowest.
func (s *Shard) Farthest(ctx context.Context, numbers []int, step uint64, stats Stats) (Candidate, error) {
	tiles, err := s.ready(numbers, step, stats)
	if err != nil {
		return Candidate{}, err
	}
	s.terms.set(stats)
	s.workspaces.reset(s.armament.K)
	err = s.parallel(ctx, len(tiles), func(at int) error {
		if err := s.loadDiagonal(tiles[at]); err != nil {
			return err
		}
		w := s.workspaces.borrow()
		w.farthest = s.farthestInTile(w.farthest, tiles[at], stats.Count)
		s.workspaces.giveBack(w)
		return nil
	})
	best := Candidate{}
	for _, w := range s.workspaces.idle {
		best = best.Farther(w.farthest)
	}
	return best, err
}

// Farther is the farther of two candidates; of equals the one with the lower point.
func (c Candidate) Farther(other Candidate) Candidate {
	if !other.Found || (c.Found && (c.Distance > other.Distance || (c.Distance == other.Distance && c.Point < other.Point))) {
		return c
	}
	return other
}

func (s *Shard) farthestInTile(best Candidate, t *tile, count []int32) Candidate {
	terms := &s.terms
	for r := range t.rows.Len() {
		i := t.rows.From + r
		c, a := s.labels[i], s.armament.Weights[i]
		if c < 0 || count[c] < 2 {
			continue
		}
		own := terms.shifted(t.own[r], a)
		d := terms.shifted(t.diagonal[r], a)/float64(a*a) + terms.distancePart(c, own, a)
		best = best.Farther(Candidate{Found: true, Point: int32(i), Distance: a * d})
	}
	return best
}

// loadDiagonal makes M_ii without shift: the tile's own entries and the sparse part's.
func (s *Shard) loadDiagonal(t *tile) error {
	if t.diagonal != nil {
		return nil
	}
	diagonal := make([]float64, t.stride)
	if err := t.base.diagonal(diagonal); err != nil {
		return err
	}
	for r := range t.rows.Len() {
		i := t.rows.From + r
		columns, values := s.armament.Sparse.Row(i)
		if at, found := slices.BinarySearch(columns, int32(i)); found {
			diagonal[r] += values[at]
		}
	}
	t.diagonal = diagonal
	return nil
}

// ready checks that the tiles are loaded at the step and the stats fit the armament.
func (s *Shard) ready(numbers []int, step uint64, stats Stats) ([]*tile, error) {
	tiles, err := s.find(numbers)
	if err != nil {
		return nil, err
	}
	if !s.loaded || s.labelsStep != step || len(stats.Weight) != s.armament.K ||
		len(stats.SelfAffinity) != s.armament.K || len(stats.Count) != s.armament.K {
		return nil, ErrNotReady
	}
	for _, t := range tiles {
		if !t.loaded || t.step != step {
			return nil, ErrNotReady
		}
	}
	return tiles, nil
}
