package kernel

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// Assign finds the points of the given tiles that are nearer to another cluster than to their own:
//
//	argmin_c d_ic,  d_ic = M_ii/a_i^2 - 2 S_ic/(a_i s_c) + Q_c/s_c^2      Kulis2009 (1)
//
// Among equally near clusters a point keeps its own, or else takes the lowest. Only lanes with stats
// are assigned. The moves of a tile are in the order of the stats, then of the rows.
func (s *Shard) Assign(ctx context.Context, numbers []int, step uint64, stats []ClusterStats) ([]labeling.Move, error) {
	tiles, err := s.ready(numbers, step, stats)
	if err != nil {
		return nil, err
	}
	s.setTerms(stats)
	s.operation.stats = stats
	err = s.parallel(ctx, len(tiles), s.assignTile)
	s.operation.stats = nil // it is the caller's
	if err != nil {
		return nil, err
	}
	s.moves = s.moves[:0]
	for _, t := range tiles {
		s.moves = append(s.moves, t.moves...)
	}
	return s.moves, nil
}

// assignOne finds the moves of one tile and leaves them in t.moves. It runs on the shard's threads, one tile each.
func (s *Shard) assignOne(t *tile) error {
	if err := s.loadDiagonal(t); err != nil {
		return err
	}
	w := s.workspaces.borrow()
	t.moves = t.moves[:0]
	for i, lane := range s.operation.stats {
		w.assignment = s.assignment(t, lane.Lane)
		w.terms = &s.terms[i]
		t.moves = t.sums.assign(t.moves, w)
	}
	s.workspaces.GiveBack(w)
	return nil
}

func (s *Shard) assignment(t *tile, lane int) assignment {
	return assignment{
		rows: t.rows, diagonal: t.diagonal, first: int32(lane * s.operands.K),
		labels:  s.labels[lane*s.source.Rows():][t.rows.From:t.rows.To],
		weights: s.operands.Weights[t.rows.From:t.rows.To],
	}
}

// Farthest returns, for each lane with stats, the point with the largest a_i d_i,l(i), considering only clusters of at
// least two points. Ties go to the lowest point.
func (s *Shard) Farthest(ctx context.Context, numbers []int, step uint64,
	stats []ClusterStats) ([]labeling.Candidate, error) {
	tiles, err := s.ready(numbers, step, stats)
	if err != nil {
		return nil, err
	}
	s.setTerms(stats)
	byTile := make([]labeling.Candidate, len(tiles)*len(stats))
	err = s.parallel(ctx, len(tiles), func(at int) error {
		if err := s.loadDiagonal(tiles[at]); err != nil {
			return err
		}
		for i := range stats {
			byTile[at*len(stats)+i] = s.farthestInTile(tiles[at], &stats[i], &s.terms[i])
		}
		return nil
	})
	best := make([]labeling.Candidate, len(stats))
	for at, found := range byTile {
		best[at%len(stats)] = best[at%len(stats)].Farther(found)
	}
	return best, err
}

// farthestInTile returns the point of a tile with the largest a_i d_ic, among clusters of at least two points.
func (s *Shard) farthestInTile(t *tile, stats *ClusterStats, terms *clusterTerms) (best labeling.Candidate) {
	rows := s.assignment(t, stats.Lane)
	for r, a := range rows.weights {
		c := rows.own(r)
		if c < 0 || stats.Count[c] < 2 {
			continue
		}
		own := terms.shifted(t.own[stats.Lane*t.rows.Len()+r], a)
		d := terms.shifted(t.diagonal[r], a)/float64(a*a) + terms.distancePart(c, own, a)
		best = best.Farther(labeling.Candidate{Found: true, Point: int32(t.rows.From + r), Distance: a * d})
	}
	return best
}

// loadDiagonal computes the tile's diagonal, M_ii without shift, as the sum of the base matrix and the sparse part. It
// does nothing if the diagonal is already loaded.
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
		columns, values := s.operands.Sparse.Row(i)
		if at, found := slices.BinarySearch(columns, int32(i)); found {
			diagonal[r] += values[at]
		}
	}
	t.diagonal = diagonal
	return nil
}

// ready returns the tiles with the given numbers. It returns ErrNotReady unless labels and tiles are loaded at the
// step, and the stats fit the operands.
func (s *Shard) ready(numbers []int, step uint64, stats []ClusterStats) ([]*tile, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if !s.loaded || s.labelsStep != step {
		return nil, ErrNotReady
	}
	for _, t := range tiles {
		if !t.loaded || t.step != step {
			return nil, ErrNotReady
		}
	}
	k := s.operands.K
	for _, lane := range stats {
		if lane.Lane < 0 || lane.Lane >= s.operands.lanes() || len(lane.Weight) != k || len(lane.SelfAffinity) != k ||
			len(lane.Count) != k {
			return nil, ErrNotReady
		}
	}
	return tiles, nil
}

// setTerms prepares the terms of the clusters that distances need, one for each lane with stats.
func (s *Shard) setTerms(stats []ClusterStats) {
	for i, lane := range stats {
		if i == len(s.terms) {
			s.terms = append(s.terms, clusterTerms{})
		}
		s.terms[i].set(lane)
		if s.source.graph != nil {
			s.terms[i].sortBySquare()
		}
	}
}

// Fits returns two lists for each lane with stats, each with one value for every row of the given tiles: the distance
// d_ic of Kulis2009 (1) to the row's own cluster, and the distance to the nearest other non-empty cluster. The first is
// +Inf for a row without a cluster, the second if there is no other cluster.
func (s *Shard) Fits(ctx context.Context, numbers []int, step uint64, stats []ClusterStats) ([][]float64, error) {
	tiles, err := s.ready(numbers, step, stats)
	if err != nil {
		return nil, err
	}
	s.setTerms(stats)
	return s.listsPerRow(ctx, tiles, 2*len(stats), func(t *tile, list int, dst []float64) error {
		if err := s.loadDiagonal(t); err != nil {
			return err
		}
		w := s.workspaces.borrow()
		lane := stats[list/2].Lane
		w.assignment = s.assignment(t, lane)
		w.terms = &s.terms[list/2]
		dst = dst[:t.rows.Len()]
		if list%2 == 0 {
			w.ownParts(dst, t.own[lane*t.rows.Len():])
		} else {
			t.sums.otherParts(dst, w)
		}
		for r, weight := range w.weights[:len(dst)] {
			dst[r] += w.terms.shifted(t.diagonal[r], weight) / float64(weight*weight)
		}
		s.workspaces.GiveBack(w)
		return nil
	})
}

// ownParts computes the distance part of each row's own cluster, where sums[r] is the row's sum over it; +Inf for rows
// without a cluster.
func (a *assignment) ownParts(dst, sums []float64) {
	for r := range dst {
		dst[r] = math.Inf(1)
		if own := a.own(r); own >= 0 {
			dst[r] = a.part(r, own, sums[r])
		}
	}
}
