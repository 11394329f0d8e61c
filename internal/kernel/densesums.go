package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// denseSums holds all k sums of every row in every lane, cluster by cluster, so that adding a column of the matrix is
// one contiguous pass: S_rc is values[c*stride+r].
type denseSums struct {
	rows     partition.Range
	k        int
	stride   int
	sparse   *Sparse
	values   []float64
	routines *routines
}

func (t *denseTile) newSums(a *Operands) rowSums {
	return &denseSums{rows: t.rows, k: a.K, stride: t.stride, sparse: a.Sparse,
		values: make([]float64, t.stride*a.clusters()), routines: &t.source.routines}
}

func (s *denseSums) of(r int, c int32) float64 { return s.values[int(c)*s.stride+r] }

func (s *denseSums) add(r int, c int32, v float64) {
	if c >= 0 {
		s.values[int(c)*s.stride+r] += v
	}
}

// sweep reads t.base every time, because its storage may have changed since the last sweep.
func (s *denseSums) sweep(t *tile, p *plan, w *workspace) error {
	for lane, recompute := range p.recompute {
		if recompute {
			clear(s.values[lane*s.k*s.stride : (lane+1)*s.k*s.stride])
		}
	}
	if err := t.base.(*denseTile).apply(s.values, p, &w.dense); err != nil {
		return err
	}
	s.moveSparse(p.moves)
	for lane, recompute := range p.recompute {
		if recompute {
			s.addSparse(p.labelsOf(lane))
		}
		if p.counts[lane] > 0 {
			s.loadOwn(t.own[lane*s.rows.Len():], p.labelsOf(lane)[s.rows.From:s.rows.To])
		}
	}
	return nil
}

// loadOwn sets own[r] to the sum of row r over its own cluster, or 0 if it has none.
func (s *denseSums) loadOwn(own []float64, labels []int32) {
	for r, c := range labels {
		own[r] = 0
		if c >= 0 {
			own[r] = s.values[int(c)*s.stride+r]
		}
	}
}

// addSparse adds the sparse part of every row to the sums of a lane.
func (s *denseSums) addSparse(labels []int32) {
	for r := range s.rows.Len() {
		columns, values := s.sparse.Row(s.rows.From + r)
		for i, j := range columns {
			s.add(r, labels[j], values[i])
		}
	}
}

// moveSparse moves the sparse part of moved columns from one cluster's sums to another's.
func (s *denseSums) moveSparse(moves []labeling.Move) {
	for _, m := range moves {
		rows, values := s.sparse.column(m.Point, s.rows)
		for at, i := range rows {
			r := int(i) - s.rows.From
			s.add(r, m.From, -values[at])
			s.add(r, m.To, values[at])
		}
	}
}

// assign appends the moves of a tile. A point whose own cluster is farther than the nearest one by more than
// rounding moves to the first cluster that is not.
func (s *denseSums) assign(moves []labeling.Move, w *workspace) []labeling.Move {
	a := &w.assignment
	if len(a.terms.nonEmpty) == 0 {
		return moves
	}
	s.findNearest(w)
	for r, least := range w.nearest {
		own := a.own(r)
		part := math.Inf(1)
		if own >= 0 {
			part = a.part(r, own, s.of(r, a.labels[r]))
		}
		if part <= least {
			continue // the usual case, needs no tolerance
		}
		limit := least + a.tolerance(r)
		if own >= 0 && part <= limit {
			continue
		}
		for _, c := range a.terms.nonEmpty {
			if a.part(r, c, s.of(r, a.first+c)) <= limit {
				moves = append(moves, a.move(r, c))
				break
			}
		}
	}
	return moves
}

// findNearest computes the smallest distance of every row into w.nearest. It iterates over clusters, because the sums
// of a cluster are contiguous.
func (s *denseSums) findNearest(w *workspace) {
	a := &w.assignment
	w.nearest = parallel.Resized(w.nearest, s.rows.Len())
	for r := range w.nearest {
		w.nearest[r] = math.Inf(1)
	}
	for _, c := range a.terms.nonEmpty {
		sums := s.values[int(a.first+c)*s.stride:][:s.rows.Len()]
		if a.terms.sigma >= 0 {
			s.routines.distances(w.nearest, sums, a.weights, a.terms.square[c], a.terms.weight[c])
			continue
		}
		for r, sum := range sums {
			if d := a.part(r, c, sum); d < w.nearest[r] {
				w.nearest[r] = d
			}
		}
	}
	if a.terms.sigma <= 0 {
		return
	}
	// The loop above ignores the shift, which only affects a row's own cluster. A positive shift can only lower that
	// distance, because every step of the formula is monotone, rounding included.
	for r := range w.nearest {
		if own := a.own(r); own >= 0 {
			if d := a.part(r, own, s.of(r, a.labels[r])); d < w.nearest[r] {
				w.nearest[r] = d
			}
		}
	}
}

// otherParts iterates over clusters, because the sums of a cluster are contiguous.
func (s *denseSums) otherParts(dst []float64, w *workspace) {
	for r := range dst {
		dst[r] = math.Inf(1)
	}
	a := &w.assignment
	for _, c := range a.terms.nonEmpty {
		for r, sum := range s.values[int(a.first+c)*s.stride:][:len(dst)] {
			if a.own(r) != c {
				dst[r] = min(dst[r], a.terms.distancePart(c, sum, a.weights[r]))
			}
		}
	}
}

// joining iterates over clusters, because the sums of a cluster are contiguous.
func (s *denseSums) joining(dst []float64, terms *gainTerms, w *workspace) {
	for r := range dst {
		dst[r] = math.Inf(-1)
	}
	a := &w.assignment
	for _, c := range terms.nonEmpty {
		label := a.first + c
		for r, sum := range s.values[int(label)*s.stride:][:len(dst)] {
			if v := terms.Joining(c, sum, a.diagonal[r], a.weights[r]); v > dst[r] && a.labels[r] != label {
				dst[r] = v
			}
		}
	}
}
