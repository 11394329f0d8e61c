package kernel

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fault"
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
	if s.source.graph != nil {
		s.terms[0].sortBySquare()
	}
	s.activeStats = stats
	err = s.parallel(ctx, len(tiles), s.assignTile)
	s.activeStats = nil
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
	for asked := range s.activeStats {
		w.assignment = s.assignment(t, s.activeStats[asked].Lane)
		w.terms = &s.terms[asked]
		t.moves = t.sums.assign(t.moves, w)
	}
	s.workspaces.giveBack(w)
	return nil
}

func (s *Shard) assignment(t *tile, lane int) assignment {
	return assignment{
		rows: t.rows, diagonal: t.diagonal, first: int32(lane * s.operands.K),
		labels: s.labels[lane*s.source.Rows():][t.rows.From:t.rows.To], weights: s.operands.Weights[t.rows.From:t.rows.To],
	}
}

// Farthest returns, for each lane with stats, the point with the largest a_i d_i,l(i), considering only clusters of at
// least two points. Ties go to the lowest point.
func (s *Shard) Farthest(ctx context.Context, numbers []int, step uint64, stats []ClusterStats) ([]labeling.Candidate, error) {
	tiles, err := s.ready(numbers, step, stats)
	if err != nil {
		return nil, err
	}
	s.workspaces.reset(s.operands.clusters())
	err = s.parallel(ctx, len(tiles), func(at int) error {
		if err := s.loadDiagonal(tiles[at]); err != nil {
			return err
		}
		w := s.workspaces.borrow()
		for len(w.farthest) < len(stats) {
			w.farthest = append(w.farthest, labeling.Candidate{})
		}
		for asked := range stats {
			w.farthest[asked] = s.farthestInTile(w.farthest[asked], tiles[at], &stats[asked], &s.terms[asked])
		}
		s.workspaces.giveBack(w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	best := make([]labeling.Candidate, len(stats))
	for _, w := range s.workspaces.idle {
		for asked := range min(len(best), len(w.farthest)) {
			best[asked] = best[asked].Farther(w.farthest[asked])
		}
	}
	return best, nil
}

func (s *Shard) farthestInTile(best labeling.Candidate, t *tile, stats *ClusterStats, terms *clusterTerms) labeling.Candidate {
	asked := s.assignment(t, stats.Lane)
	for r, a := range asked.weights {
		c := asked.own(r)
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

// ready returns the tiles with the given numbers and prepares the cluster terms from the stats. It returns ErrNotReady
// unless labels and tiles are loaded at the step, and another error if the stats do not fit the operands.
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
	for at, of := range stats {
		if of.Lane < 0 || of.Lane >= s.operands.lanes() || len(of.Weight) != k || len(of.SelfAffinity) != k || len(of.Count) != k {
			return nil, ErrNotReady
		}
		if at == len(s.terms) {
			s.terms = append(s.terms, clusterTerms{})
		}
		s.terms[at].set(of)
	}
	return tiles, nil
}

// Bounds holds upper bounds of magnitudes in the base matrix. They depend only on the data and the kernel, never on
// constraints.
type Bounds struct {
	RowSum float64 // bounds the sum of |M_ij| in every row; the grid is chosen from it
	Entry  float64 // bounds |M_ij|; the scale of half precision is chosen from it
}

// HalfScale returns the power of two that entries are divided by before they are rounded to half precision.
func (e Bounds) HalfScale() float64 { return halfScaleFor(e.Entry) }

// FindBounds returns bounds of the base matrix without building it.
//
// For positive semidefinite kernels Cauchy-Schwarz gives sum_j |M_ij| <= sqrt(M_ii) sum_j sqrt(M_jj). The simpler
// bound, n times the largest diagonal entry, would waste bits on a single outlier.
func FindBounds(spec MatrixSpec, data dataset.Dataset) (Bounds, error) {
	switch data := data.(type) {
	case *dataset.Graph:
		return graphBound(spec, data), nil
	case *dataset.Kernel:
		return givenBound(spec, data)
	case *dataset.Points, *dataset.SparsePoints:
		source, err := NewSource(spec, data, nil)
		if err != nil {
			return Bounds{}, err
		}
		return source.pointsBound()
	}
	return Bounds{}, fault.Invalid("UNSUPPORTED_DATA", "a kernel matrix cannot be made from this kind of data")
}

func (s *Source) pointsBound() (Bounds, error) {
	if s.spec.Function.directional() {
		for i, norm := range s.points.norms {
			if norm == 0 {
				return Bounds{}, fault.InRow(i, "ZERO_ROW", " is all zeros, which has no direction; the %s kernel needs non-zero rows", s.spec.Function)
			}
		}
	}
	if largest, indefinite := s.spec.indefiniteBound(slices.Max(s.points.norms)); indefinite {
		if s.spec.Scale != nil {
			heaviest := slices.Max(s.spec.Scale)
			largest *= heaviest * heaviest
		}
		if !(largest <= math.MaxFloat32) {
			return Bounds{}, outOfRange(0, 0, largest)
		}
		return Bounds{RowSum: largest * float64(s.spec.Rows), Entry: largest}, nil
	}
	largest, total := 0.0, 0.0
	for i := range s.spec.Rows {
		entry := s.diagonalEntry(i)
		if !(entry <= math.MaxFloat32) {
			return Bounds{}, outOfRange(i, i, entry)
		}
		root := math.Sqrt(max(0, entry))
		largest = max(largest, root)
		total += root
	}
	return Bounds{RowSum: largest * total, Entry: largest * largest}, nil
}

func givenBound(spec MatrixSpec, k *dataset.Kernel) (Bounds, error) {
	var bound Bounds
	for i := range k.N {
		row := 0.0
		for j, v := range k.Row(i) {
			if spec.Scale != nil {
				v *= spec.Scale[i] * spec.Scale[j]
			}
			if !(math.Abs(v) <= math.MaxFloat32) {
				return Bounds{}, outOfRange(i, j, v)
			}
			row += math.Abs(v)
			bound.Entry = max(bound.Entry, math.Abs(v))
		}
		bound.RowSum = max(bound.RowSum, row)
	}
	return bound, nil
}

func graphBound(spec MatrixSpec, g *dataset.Graph) Bounds {
	var bound Bounds
	for i := range g.N {
		row := 0.0
		columns, weights := g.Row(i)
		for at, w := range weights {
			if spec.Scale != nil {
				w *= spec.Scale[i] * spec.Scale[columns[at]]
			}
			magnitude := math.Abs(w)
			row += magnitude
			if magnitude > bound.Entry {
				bound.Entry = magnitude
			}
		}
		bound.RowSum = max(bound.RowSum, row)
	}
	return bound
}

func outOfRange(i, j int, v float64) error {
	return fault.Invalid("OUT_OF_FLOAT32_RANGE",
		"the kernel value of rows %d and %d is %g, beyond what float32 holds (%g); scale the data or choose another kernel", i, j, v, math.MaxFloat32)
}
