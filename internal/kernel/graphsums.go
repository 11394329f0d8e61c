package kernel

import (
	"errors"
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/parallel"
)

// graphSums holds the sums of a graph's rows over adjacent clusters: those that contain a neighbor or a constrained
// partner of the vertex. For all others S_ic = 0. A row has room for as many clusters as it has entries, so memory is
// proportional to the number of edges, not to k, and nothing is allocated once the sums exist.
type graphSums struct {
	base   *graphTile
	sparse *Sparse
	start  []int   // row r has entries[start[r]:start[r+1]]
	used   []int32 // how many of them are in use
	// The order of a row's entries depends on earlier moves; no result depends on it.
	entries []adjacency
}

// adjacency is the sum of one row over one adjacent cluster. It is removed from the row with its last contributor, when
// its sum is exactly 0 because sums are exact.
type adjacency struct {
	sum          float64
	cluster      int32
	contributors int32 // entries of the row, in base and sparse part, whose columns are in the cluster
}

func (t *graphTile) newSums(a *Operands) rowSums {
	height := t.rows.Len()
	s := &graphSums{base: t, sparse: a.Sparse, start: make([]int, height+1), used: make([]int32, height)}
	for r := range height {
		s.start[r+1] = s.start[r] + min(a.K, s.degree(r))
	}
	s.entries = make([]adjacency, s.start[height])
	return s
}

// degree returns the number of entries in row r of M.
func (s *graphSums) degree(r int) int {
	i := s.base.rows.From + r
	neighbors, _ := s.base.row(i)
	partners, _ := s.sparse.Row(i)
	return len(neighbors) + len(partners)
}

// row returns the adjacent clusters of row r.
func (s *graphSums) row(r int) []adjacency {
	return s.entries[s.start[r] : s.start[r]+int(s.used[r]) : s.start[r+1]]
}

func (s *graphSums) of(r int, c int32) float64 {
	row := s.row(r)
	if at := find(row, c); at < len(row) {
		return row[at].sum
	}
	return 0
}

// find returns the index of a cluster in a row, or len(row) if it is not there. Linear search is enough: few clusters
// are adjacent to a vertex, and hubs with many changes are recomputed instead.
func find(row []adjacency, c int32) int {
	for i := range row {
		if row[i].cluster == c {
			return i
		}
	}
	return len(row)
}

// sweep brings the sums of a tile up to date: from all neighbors if the plan says so, else from the changes in its
// rows.
func (s *graphSums) sweep(t *tile, p *plan, w *workspace) error {
	if p.recompute[0] {
		for r := range s.used {
			s.recompute(r, p.labels, w)
			s.loadOwn(t, r, p.labels)
		}
		return nil
	}
	changes := p.changes.of(s.base.rows)
	if len(changes) == 0 {
		return nil
	}
	if err := s.applyChanges(p, changes, w); err != nil {
		return err
	}
	for r, count := range w.changeCounts {
		if count != 0 {
			s.loadOwn(t, r, p.labels)
		}
	}
	return nil
}

// loadOwn sets t.own[r] to the sum of row r over its own cluster, or 0 if it has none.
func (s *graphSums) loadOwn(t *tile, r int, labels []int32) {
	t.own[r] = 0
	if c := labels[t.rows.From+r]; c >= 0 {
		t.own[r] = s.of(r, c)
	}
}

// recompute computes the sums of row r from all its entries.
func (s *graphSums) recompute(r int, labels []int32, w *workspace) {
	row := s.entries[s.start[r]:s.start[r]:s.start[r+1]]
	neighbors, weights := s.base.row(s.base.rows.From + r)
	row = gather(row, neighbors, weights, labels, w.place)
	partners, values := s.sparse.Row(s.base.rows.From + r)
	row = gather(row, partners, values, labels, w.place)
	for _, e := range row {
		w.place[e.cluster] = 0
	}
	s.used[r] = int32(len(row))
}

// gather adds entries of a row of M to the row's sums. place maps a cluster to its index in row plus one; the caller
// must reset it.
func gather(row []adjacency, columns []int32, values []float64, labels, place []int32) []adjacency {
	for i, j := range columns {
		c := labels[j]
		if c < 0 {
			continue
		}
		if place[c] == 0 {
			row = append(row, adjacency{cluster: c})
			place[c] = int32(len(row))
		}
		e := &row[place[c]-1]
		e.sum += values[i]
		e.contributors++
	}
	return row
}

// recomputeIsCheaper reports whether reading all entries of a row is less work than applying the changes. As measured,
// a change takes as long as five entries, plus one for every eight clusters that it has to search for its two.
func recomputeIsCheaper(changes, clusters, entries int) bool {
	return changes*(40+clusters) > 8*entries
}

// applyChanges applies the changes that moved points make to the tile's rows, and counts them in w.changeCounts. A row
// with so many changes that reading all its entries is cheaper is recomputed, which also bounds the work on hubs.
func (s *graphSums) applyChanges(p *plan, changes []rowChange, w *workspace) error {
	w.changeCounts = parallel.Resized(w.changeCounts, len(s.used))
	clear(w.changeCounts)
	for _, c := range changes {
		w.changeCounts[c.row]++
	}
	for r, count := range w.changeCounts {
		if count > 0 && recomputeIsCheaper(int(count), int(s.used[r]), s.degree(r)) {
			s.recompute(r, p.labels, w)
			w.changeCounts[r] = rowRecomputed
		}
	}
	for _, c := range changes {
		if r := int(c.row); c.move != onlyLabelChanged && w.changeCounts[r] != rowRecomputed {
			m := &p.moves[c.move]
			if !s.removeContributor(r, m.From, c.weight) || !s.addContributor(r, m.To, c.weight) {
				return errMovesMismatch
			}
		}
	}
	return nil
}

// rowRecomputed replaces the number of changes of a row that was recomputed.
const rowRecomputed = -1

// errMovesMismatch reports moves that are inconsistent with the labels that the sums were computed from.
var errMovesMismatch = errors.New("kernel: the moves do not match the sums")

// removeContributor takes one contributor out of a sum. It reports whether the sum exists.
func (s *graphSums) removeContributor(r int, c int32, v float64) bool {
	if c < 0 {
		return true
	}
	row := s.row(r)
	at := find(row, c)
	if at == len(row) {
		return false
	}
	row[at].sum -= v
	row[at].contributors--
	if row[at].contributors == 0 {
		row[at] = row[len(row)-1]
		s.used[r]--
	}
	return true
}

// addContributor adds one contributor to a sum. It returns false if the row has no room for it.
func (s *graphSums) addContributor(r int, c int32, v float64) bool {
	if c < 0 {
		return true
	}
	row := s.row(r)
	at := find(row, c)
	if at == len(row) {
		if at == cap(row) {
			return false
		}
		row = append(row, adjacency{cluster: c})
		s.used[r]++
	}
	row[at].sum += v
	row[at].contributors++
	return true
}

// assign compares each row's adjacent clusters and its own. Every other cluster has S_ic = 0, so its distance is just
// the cluster's square, and the nearest of them comes first in terms.bySquare. The work per row therefore depends on
// how many clusters are adjacent to it, not on k.
func (s *graphSums) assign(moves []labeling.Move, w *workspace) []labeling.Move {
	a := &w.assignment
	if len(a.terms.nonEmpty) == 0 {
		return moves
	}
	for r := range s.used {
		row := s.row(r)
		own := a.own(r)
		least := math.Inf(1)
		ownPart := math.NaN()
		if own >= 0 {
			ownPart = a.part(r, own, 0) // replaced below if it is adjacent
			w.place[own] = 1
		}
		for i := range row {
			c := row[i].cluster
			d := a.part(r, c, row[i].sum)
			if c == own {
				ownPart = d
			}
			if d < least {
				least = d
			}
			w.place[c] = 1
		}
		if ownPart < least {
			least = ownPart
		}
		limit := min(least, nearestOther(w.place, a.terms)) + a.tolerance(r)
		if !(ownPart <= limit) {
			if to := lowestWithin(row, r, a, w.place, limit); to >= 0 {
				moves = append(moves, a.move(r, to))
			}
		}
		w.mark(own, row, 0)
	}
	return moves
}

// mark sets the places of a row's adjacent clusters and its own, which may be negative.
func (w *workspace) mark(own int32, row []adjacency, place int32) {
	if own >= 0 {
		w.place[own] = place
	}
	for i := range row {
		w.place[row[i].cluster] = place
	}
}

// nearestOther returns the smallest distance part among the clusters with place 0, which are neither adjacent to the
// row nor its own. It returns +Inf if there are none.
func nearestOther(place []int32, terms *clusterTerms) float64 {
	for _, c := range terms.bySquare {
		if place[c] == 0 {
			return terms.square[c]
		}
	}
	return math.Inf(1)
}

// lowestWithin returns the lowest-numbered cluster whose distance is at most limit, or -1 if there is none. The row's
// own cluster must not be within the limit.
func lowestWithin(row []adjacency, r int, a *assignment, place []int32, limit float64) int32 {
	lowest := int32(-1)
	for at := range row {
		if c := row[at].cluster; (lowest < 0 || c < lowest) && a.part(r, c, row[at].sum) <= limit {
			lowest = c
		}
	}
	for at := int32(0); int(at) < len(a.terms.bySquare); {
		c := a.terms.bySquare[at]
		switch {
		case !(a.terms.square[c] <= limit): // no cluster is within a limit that is not a number
			return lowest
		case place[c] != 0:
			at++
		default: // the others of the same square have higher numbers
			if lowest < 0 || c < lowest {
				lowest = c
			}
			at = a.terms.nextSquare[at]
		}
	}
	return lowest
}

// otherParts compares the clusters adjacent to a row with the nearest of all others, where S_ic = 0.
func (s *graphSums) otherParts(dst []float64, w *workspace) {
	a := &w.assignment
	for r := range dst {
		own := a.own(r)
		row := s.row(r)
		least := math.Inf(1)
		for i := range row {
			if c := row[i].cluster; c != own {
				least = min(least, a.part(r, c, row[i].sum))
			}
		}
		w.mark(own, row, 1)
		dst[r] = min(least, nearestOther(w.place, a.terms))
		w.mark(own, row, 0)
	}
}

// joining compares the clusters adjacent to a row. Among all others, where S_ic = 0, it stops as soon as none can be
// better.
func (s *graphSums) joining(dst []float64, terms *gainTerms, w *workspace) {
	a := &w.assignment
	for r := range dst {
		own := a.own(r)
		weight := a.weights[r]
		diagonal := a.diagonal[r]
		best := math.Inf(-1)
		row := s.row(r)
		for i := range row {
			if c := row[i].cluster; c != own {
				best = max(best, terms.Joining(c, row[i].sum, diagonal, weight))
			}
		}
		w.mark(own, row, 1)
		for _, c := range terms.nonEmpty {
			if terms.mostWithout(c, diagonal, weight) <= best {
				break // nor can any cluster after it be better
			}
			if w.place[c] == 0 {
				best = max(best, terms.Joining(c, 0, diagonal, weight))
			}
		}
		w.mark(own, row, 0)
		dst[r] = best
	}
}
