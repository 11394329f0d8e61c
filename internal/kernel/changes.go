package kernel

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// rowChanges lists the changes that moved vertices make to the rows of a graph, sorted by tile: one for every entry of
// M in the column of a moved vertex. A tile finds its changes in one place instead of searching every such column for
// its rows, so tiles can be changed in parallel.
type rowChanges struct {
	tileRows int
	wanted   []bool // per tile: whether it needs to be changed
	// next[part*tiles+tile] is the index where a part of the moves puts its next change of a tile.
	next  []int
	start []int // the changes of a tile are list[start[tile]:start[tile+1]]
	list  []rowChange
}

// rowChange is one entry of M in the column of a moved vertex. If move is onlyLabelChanged, it stands for the row of a
// moved vertex itself: its sums stay the same, but a different one now belongs to its own cluster.
type rowChange struct {
	weight float64
	row    int32 // within the tile
	move   int32 // index of the move, or onlyLabelChanged
}

const onlyLabelChanged = -1

// of returns the changes of the tile with the given rows, in the order of the moves. The slice aliases the list.
func (ts *rowChanges) of(rows partition.Range) []rowChange {
	tile := rows.From / ts.tileRows
	return ts.list[ts.start[tile]:ts.start[tile+1]]
}

func (ts *rowChanges) bytes() int64 {
	return 16*int64(cap(ts.list)) + 8*int64(cap(ts.next)+cap(ts.start)) + int64(cap(ts.wanted))
}

// changeCost is the cost of gathering and applying one change, in entries read by a full sweep.
const changeCost = 12

// planGraphDelta plans to update sums by the entries of moved columns. If recomputing all rows is less work, it plans a
// full sweep instead.
func (s *Shard) planGraphDelta(ctx context.Context, tiles []*tile, step uint64, moves []labeling.Move) (*plan, error) {
	touched, all := int64(0), int64(0)
	for _, m := range moves {
		touched += s.entries(partition.Range{From: int(m.Point), To: int(m.Point) + 1})
	}
	for _, t := range tiles {
		if t.step != step {
			all += s.entries(t.rows)
		}
	}
	if changeCost*touched > all {
		return s.planFullSweep(), nil
	}
	ts, err := s.gatherChanges(ctx, tiles, step, moves)
	p := s.newPlan()
	p.moves, p.changes = moves, ts
	return p, err
}

// entries returns the number of entries of M in the given rows.
func (s *Shard) entries(rows partition.Range) int64 {
	g, sparse := s.source.graph, s.operands.Sparse
	return g.RowStart[rows.To] - g.RowStart[rows.From] + sparse.RowStart[rows.To] - sparse.RowStart[rows.From]
}

// partsPerThread is greater than 1 to balance moves of vertices with unequal degrees over the threads.
const partsPerThread = 4

// gatherChanges lists the changes of the tiles that are not yet at the step. The moves are split into parts that run in
// parallel: each part first counts its changes per tile, which determines where they go, and then writes them there.
func (s *Shard) gatherChanges(ctx context.Context, tiles []*tile, step uint64, moves []labeling.Move) (*rowChanges, error) {
	ts, n := &s.changes, s.source.Rows()
	count, parts := partition.TileCount(n), min(partsPerThread*s.threads, len(moves))
	ts.tileRows = partition.TileRows(n)
	ts.wanted, ts.next, ts.start = resized(ts.wanted, count), resized(ts.next, parts*count), resized(ts.start, count+1)
	clear(ts.wanted)
	clear(ts.next)
	for _, t := range tiles {
		ts.wanted[t.rows.From/ts.tileRows] = t.step != step
	}
	each := func(do func(next []int, moves []labeling.Move, first int)) error {
		return s.parallel(ctx, parts, func(part int) error {
			from, to := part*len(moves)/parts, (part+1)*len(moves)/parts
			do(ts.next[part*count:(part+1)*count], moves[from:to], from)
			return nil
		})
	}
	if err := each(s.countChanges); err != nil {
		return nil, err
	}
	total := 0
	for tile := range count {
		ts.start[tile] = total
		for part := range parts {
			next := &ts.next[part*count+tile]
			total, *next = total+*next, total
		}
	}
	ts.start[count] = total
	ts.list = resized(ts.list, total)
	return ts, each(s.placeChanges)
}

func (s *Shard) countChanges(next []int, moves []labeling.Move, _ int) {
	wanted, tileRows := s.changes.wanted, uint32(s.changes.tileRows)
	count := func(rows ...int32) {
		for _, i := range rows {
			if tile := uint32(i) / tileRows; wanted[tile] {
				next[tile]++
			}
		}
	}
	for _, m := range moves {
		if m.From != m.To {
			neighbors, _ := s.source.graphRow(int(m.Point))
			partners, _ := s.operands.Sparse.Row(int(m.Point))
			count(m.Point)
			count(neighbors...)
			count(partners...)
		}
	}
}

func (s *Shard) placeChanges(next []int, moves []labeling.Move, first int) {
	wanted, list, tileRows := s.changes.wanted, s.changes.list, uint32(s.changes.tileRows)
	put := func(i int32, weight float64, move int) {
		if tile := uint32(i) / tileRows; wanted[tile] {
			list[next[tile]] = rowChange{weight: weight, row: int32(uint32(i) % tileRows), move: int32(move)}
			next[tile]++
		}
	}
	for at, m := range moves {
		if m.From != m.To {
			put(m.Point, 0, onlyLabelChanged)
			neighbors, weights := s.source.graphRow(int(m.Point))
			for to, i := range neighbors {
				put(i, weights[to], first+at)
			}
			partners, values := s.operands.Sparse.Row(int(m.Point))
			for to, i := range partners {
				put(i, values[to], first+at)
			}
		}
	}
}

// Gains returns, for each lane with stats and every row of the given tiles, the largest decrease of J from moving that
// row alone to another non-empty cluster. A negative gain means that J increases. If point i leaves c for d, then
//
//	J = const - sum_c Q_c/s_c   changes by   leaving - joining,
//	leaving = Q_c/s_c - (Q_c - 2 S_ic + M_ii)/(s_c - a_i) = (2 S_ic - M_ii - a_i Q_c/s_c) / (s_c - a_i)
//	joining = (Q_d + 2 S_id + M_ii)/(s_d + a_i) - Q_d/s_d = (2 S_id + M_ii - a_i Q_d/s_d) / (s_d + a_i)
//
// without shift, which cancels in the difference. A row that has no cluster, or is alone in its cluster, cannot move:
// its gain is -Inf.
func (s *Shard) Gains(ctx context.Context, numbers []int, step uint64, stats []ClusterStats) ([][]float64, error) {
	if _, err := s.ready(numbers, step, stats); err != nil {
		return nil, err
	}
	s.workspaces.reset(s.operands.clusters())
	terms := make([]gainTerms, len(stats))
	for at := range stats {
		terms[at].set(stats[at])
	}
	return s.listsPerRow(ctx, numbers, len(stats), func(t *tile, asked int, dst []float64) error {
		if err := s.loadDiagonal(t); err != nil {
			return err
		}
		w := s.workspaces.borrow()
		w.assignment = s.assignment(t, stats[asked].Lane)
		dst = dst[:t.rows.Len()]
		t.sums.joining(dst, &terms[asked], w)
		own := t.own[stats[asked].Lane*t.rows.Len():]
		for r := range dst {
			dst[r] -= terms[asked].leaving(w.own(r), own[r], t.diagonal[r], w.weights[r])
		}
		s.workspaces.giveBack(w)
		return nil
	})
}

// gainTerms holds what Gains needs to know about the clusters of one lane.
type gainTerms struct {
	Shares
	count        []int32
	nonEmpty     []int32 // ordered by share, then by number
	least, heavy float64 // smallest and largest weight of a non-empty cluster
}

func (terms *gainTerms) set(stats ClusterStats) {
	*terms = gainTerms{Shares: Shares{Weight: stats.Weight, Share: make([]float64, len(stats.Weight))}, count: stats.Count, least: math.Inf(1)}
	for c, weight := range stats.Weight {
		if stats.Count[c] == 0 {
			continue
		}
		terms.Share[c] = stats.SelfAffinity[c] / weight
		terms.least, terms.heavy = min(terms.least, weight), max(terms.heavy, weight)
		terms.nonEmpty = append(terms.nonEmpty, int32(c))
	}
	slices.SortFunc(terms.nonEmpty, func(a, b int32) int {
		return cmp.Or(cmp.Compare(terms.Share[a], terms.Share[b]), cmp.Compare(a, b))
	})
}

// leaving returns Leaving, or +Inf for a row that cannot move.
func (terms *gainTerms) leaving(c int32, sum, diagonal, a float64) float64 {
	if c < 0 || terms.count[c] < 2 {
		return math.Inf(1)
	}
	return terms.Leaving(c, sum, diagonal, a)
}

// Shares holds the weights s_c of clusters and their shares Q_c/s_c of the association.
type Shares struct{ Weight, Share []float64 }

// Leaving returns how much the association falls when a point of weight a leaves cluster c, where sum is S_ic. It
// returns +Inf if the point is, up to rounding, the whole cluster.
func (s *Shares) Leaving(c int32, sum, diagonal, a float64) float64 {
	rest := s.Weight[c] - a
	if !(rest > 0) {
		return math.Inf(1)
	}
	return (2*sum - diagonal - float64(a*s.Share[c])) / rest
}

// Joining returns how much the association rises when a point of weight a joins cluster c, where sum is S_ic.
func (s *Shares) Joining(c int32, sum, diagonal, a float64) float64 {
	return (2*sum + diagonal - float64(a*s.Share[c])) / (s.Weight[c] + a)
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

// joining compares the clusters adjacent to a row. Among all others, where S_ic = 0, it stops as soon as none can be
// better.
func (s *graphSums) joining(dst []float64, terms *gainTerms, w *workspace) {
	a := &w.assignment
	for r := range dst {
		own, weight, diagonal := a.own(r), a.weights[r], a.diagonal[r]
		best, row := math.Inf(-1), s.row(r)
		for at := range row {
			c := row[at].cluster
			if c != own {
				best = max(best, terms.Joining(c, row[at].sum, diagonal, weight))
			}
			w.place[c] = 1
		}
		if own >= 0 {
			w.place[own] = 1
		}
		for _, c := range terms.nonEmpty {
			if terms.mostWithout(c, diagonal, weight) <= best {
				break // nor can any cluster after it be better
			}
			if w.place[c] == 0 {
				best = max(best, terms.Joining(c, 0, diagonal, weight))
			}
		}
		if own >= 0 {
			w.place[own] = 0
		}
		for at := range row {
			w.place[row[at].cluster] = 0
		}
		dst[r] = best
	}
}

// mostWithout bounds what a point gains by joining a cluster that it has no affinity to and whose share is at least
// that of c. It rounds exactly as Joining does, so it bounds Joining to the last bit.
func (terms *gainTerms) mostWithout(c int32, diagonal, a float64) float64 {
	x := diagonal - float64(a*terms.Share[c])
	if x > 0 {
		return x / (terms.least + a)
	}
	return x / (terms.heavy + a)
}
