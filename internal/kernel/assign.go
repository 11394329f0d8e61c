package kernel

import (
	"context"
	"math"
	"slices"
)

// tieTolerance: distances this close, relative to the terms they are made of, are equal.
const tieTolerance = 1e-11

// clusterTerms are the parts of Kulis2009 (1) that belong to a cluster alone.
type clusterTerms struct {
	sigma   float64
	weight  []float64 // s_c
	square  []float64 // (Q_c + sigma s_c) / s_c^2
	filled  []int     // the clusters that are not empty, ascending
	largest float64   // max_c |square|
}

func newClusterTerms(stats Stats) clusterTerms {
	terms := clusterTerms{sigma: stats.Sigma, weight: stats.Weight, square: make([]float64, len(stats.Weight))}
	for c, weight := range stats.Weight {
		if stats.Count[c] == 0 {
			continue
		}
		terms.square[c] = (stats.SelfAffinity[c] + float64(stats.Sigma*weight)) / (weight * weight)
		terms.largest = max(terms.largest, math.Abs(terms.square[c]))
		terms.filled = append(terms.filled, c)
	}
	return terms
}

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
	terms := newClusterTerms(stats)
	parts := make([][]Move, len(tiles))
	err = s.parallel(ctx, len(tiles), func(at int) error {
		if err := s.loadDiagonal(tiles[at]); err != nil {
			return err
		}
		parts[at] = s.assignTile(tiles[at], terms)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.Concat(parts...), nil
}

// distancePart is d_ic without its first term, which is the same for every cluster.
func (terms *clusterTerms) distancePart(c int, sum, a float64) float64 {
	return terms.square[c] - 2*sum/float64(a*terms.weight[c])
}

// shifted is S_ic + sigma a_i for the point's own cluster, S_ic for the others.
func (terms *clusterTerms) shifted(sum, a float64) float64 { return sum + float64(terms.sigma*a) }

func (s *Shard) assignTile(t *tile, terms clusterTerms) []Move {
	height := t.rows.Len()
	labels, weights := s.labels[t.rows.From:t.rows.To], s.armament.Weights[t.rows.From:t.rows.To]
	part := func(c, r int) float64 {
		sum := t.sums[c*t.stride+r]
		if int32(c) == labels[r] {
			sum = terms.shifted(sum, weights[r])
		}
		return terms.distancePart(c, sum, weights[r])
	}
	// Cluster by cluster over the rows of the tile: the sums of a cluster are contiguous.
	nearest := make([]float64, height)
	for at, c := range terms.filled {
		for r := range nearest {
			if d := part(c, r); at == 0 || d < nearest[r] {
				nearest[r] = d
			}
		}
	}
	var moves []Move
	for r, least := range nearest {
		if len(terms.filled) == 0 {
			break
		}
		a := weights[r]
		tolerance := tieTolerance * (math.Abs(terms.shifted(t.diagonal[r], a))/float64(a*a) + terms.largest)
		if own := labels[r]; own >= 0 && part(int(own), r) <= least+tolerance {
			continue
		}
		for _, c := range terms.filled {
			if part(c, r) <= least+tolerance {
				moves = append(moves, Move{Point: int32(t.rows.From + r), From: labels[r], To: int32(c)})
				break
			}
		}
	}
	return moves
}

// Farthest finds the point with the largest a_i d_i,l(i) among clusters of at least two points;
// of equals the lowest.
func (s *Shard) Farthest(ctx context.Context, numbers []int, step uint64, stats Stats) (Candidate, error) {
	tiles, err := s.ready(numbers, step, stats)
	if err != nil {
		return Candidate{}, err
	}
	terms := newClusterTerms(stats)
	parts := make([]Candidate, len(tiles))
	err = s.parallel(ctx, len(tiles), func(at int) error {
		if err := s.loadDiagonal(tiles[at]); err != nil {
			return err
		}
		parts[at] = s.farthestInTile(tiles[at], terms, stats.Count)
		return nil
	})
	best := Candidate{}
	for _, part := range parts {
		best = best.Farther(part)
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

func (s *Shard) farthestInTile(t *tile, terms clusterTerms, count []int32) Candidate {
	best, height := Candidate{}, t.rows.Len()
	for r := range height {
		i := t.rows.From + r
		c, a := s.labels[i], s.armament.Weights[i]
		if c < 0 || count[c] < 2 {
			continue
		}
		own := terms.shifted(t.sums[int(c)*t.stride+r], a)
		d := terms.shifted(t.diagonal[r], a)/float64(a*a) + terms.distancePart(int(c), own, a)
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
