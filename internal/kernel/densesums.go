package kernel

import "github.com/cleave-project/cleave/internal/partition"

// denseSums are all k sums of every row in every lane, cluster by cluster: values[c*stride+r], so that
// adding a column of the matrix is one contiguous pass.
type denseSums struct {
	rows   partition.Range
	k      int
	stride int
	sparse *Sparse
	values []float64
}

func (t *denseTile) newSums(a *Armament) rowSums {
	return &denseSums{rows: t.rows, k: a.K, stride: t.stride, sparse: a.Sparse, values: make([]float64, t.stride*a.clusters())}
}

func (s *denseSums) bytes() int64 { return 8 * int64(len(s.values)) }

func (s *denseSums) of(r int, c int32) float64 { return s.values[int(c)*s.stride+r] }

func (s *denseSums) add(r int, c int32, v float64) {
	if c >= 0 {
		s.values[int(c)*s.stride+r] += v
	}
}

// sweep asks the tile for its base each time: it may have changed its storage since the last one.
func (s *denseSums) sweep(t *tile, p *plan, w *workspace) error {
	for lane, anew := range p.anew {
		if anew {
			clear(s.values[lane*s.k*s.stride : (lane+1)*s.k*s.stride])
		}
	}
	if err := t.base.(*denseTile).apply(s.values, p, &w.window); err != nil {
		return err
	}
	s.moveSparse(p.moves)
	for lane, anew := range p.anew {
		labels := p.labelsOf(lane)
		if anew {
			s.addSparse(labels)
		}
		for r := range s.rows.Len() {
			t.loadOwn(lane, r, labels)
		}
	}
	return nil
}

// addSparse adds the sparse part of every row in a lane.
func (s *denseSums) addSparse(labels []int32) {
	for r := range s.rows.Len() {
		columns, values := s.sparse.Row(s.rows.From + r)
		for at, j := range columns {
			s.add(r, labels[j], values[at])
		}
	}
}

// moveSparse moves the sparse part of moved columns.
func (s *denseSums) moveSparse(moves []Move) {
	for _, m := range moves {
		rows, values := s.sparse.column(m.Point, s.rows)
		for at, i := range rows {
			r := int(i) - s.rows.From
			s.add(r, m.From, -values[at])
			s.add(r, m.To, values[at])
		}
	}
}

func (s *denseSums) assign(moves []Move, w *workspace) []Move {
	a := &w.assignment
	if len(a.terms.filled) == 0 {
		return moves
	}
	// Cluster by cluster over the rows of the tile: the sums of a cluster are contiguous.
	w.nearest = grown(w.nearest, s.rows.Len())
	for at, c := range a.terms.filled {
		for r := range w.nearest {
			if d := a.part(r, c, s.of(r, a.first+c)); at == 0 || d < w.nearest[r] {
				w.nearest[r] = d
			}
		}
	}
	for r, least := range w.nearest {
		limit := least + a.tolerance(r)
		if own := a.own(r); own >= 0 && a.part(r, own, s.of(r, a.labels[r])) <= limit {
			continue
		}
		for _, c := range a.terms.filled {
			if a.part(r, c, s.of(r, a.first+c)) <= limit {
				moves = append(moves, a.move(r, c))
				break
			}
		}
	}
	return moves
}
