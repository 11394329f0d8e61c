package kernel

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// plan describes what a sweep does to the sums. A shard has one plan and reuses its buffers.
//
// For a dense matrix it is a list of transfers. A transfer is a column that is subtracted from one cluster's sums,
// added to another's, or both. Transfers are sorted by cluster, so that several columns are summed in registers before
// they touch memory; layouts define the order in which tiles apply them.
type plan struct {
	n, k      int
	recompute []bool          // per lane: whether all its sums are recomputed
	counts    []int           // per lane: number of points that moved
	labels    []int32         // labels after the sweep
	moves     []labeling.Move // only of lanes that are not recomputed
	changes   *rowChanges     // graphs only; nil if all sums are recomputed
	columns   []int32         // the columns to read, ascending
	// The transfers, sorted by key: transfer t has keys[t], its clusters, and places[t], the index of its column in
	// columns.
	keys, places []int32
	distinct     int // number of different keys
	layouts      [windowings]layout
	// Scratch.
	place  []int32         // per column of the matrix: its index in columns plus one, or 0 if it is not read
	starts []int           // per key: where its next transfer goes
	kept   []labeling.Move // the moves of lanes that are not recomputed, if others are
}

// labelsOf returns the labels of a lane, which alias those of the plan.
func (p *plan) labelsOf(lane int) []int32 { return p.labels[lane*p.n : (lane+1)*p.n] }

// newPlan resets and returns the shard's plan, which invalidates the previous one.
func (s *Shard) newPlan() *plan {
	p := &s.plan
	p.n = s.source.Rows()
	p.k = s.operands.K
	p.labels = s.labels
	p.moves = nil
	p.changes = nil
	p.recompute = parallel.Resized(p.recompute, s.operands.lanes())
	p.counts = parallel.Resized(p.counts, len(p.recompute))
	clear(p.recompute)
	clear(p.counts)
	return p
}

// planFullSweep plans to recompute all sums.
func (s *Shard) planFullSweep() *plan {
	p := s.newPlan()
	for lane := range p.recompute {
		p.recompute[lane], p.counts[lane] = true, p.n
	}
	if s.source.graph == nil {
		p.buildTransfers()
	}
	return p
}

// planDenseDelta plans to update the sums of dense tiles by the points that moved. In lanes where recomputing is less
// work, it plans that instead. Sums are exact, so both give the same bits.
func (s *Shard) planDenseDelta(moves []labeling.Move) *plan {
	p := s.newPlan()
	shape := s.shape()
	for _, m := range moves {
		p.counts[shape.Lane(m)]++
	}
	p.moves = moves
	for lane, count := range p.counts {
		if FullSweepIsCheaper(p.n, count) {
			p.recompute[lane] = true
			p.moves = nil
		}
	}
	if p.moves == nil {
		p.kept = p.kept[:0]
		for _, m := range moves {
			if !p.recompute[shape.Lane(m)] {
				p.kept = append(p.kept, m)
			}
		}
		p.moves = p.kept
	}
	p.buildTransfers()
	return p
}

// FullSweepIsCheaper reports whether summing all columns is less work than moving some of them from one cluster's sums
// to another's, when this many of n points in a lane move.
func FullSweepIsCheaper(n, moves int) bool { return 4*moves > 3*n }

// buildTransfers computes the columns and the transfers from labels, moves and recompute, and invalidates the layouts.
func (p *plan) buildTransfers() {
	p.place = parallel.Resized(p.place, p.n)
	clear(p.place)
	p.forEachTransfer(false, func(_, column int32) { p.place[column] = 1 })
	p.columns = p.columns[:0]
	for j, used := range p.place {
		if used != 0 {
			p.columns = append(p.columns, int32(j))
			p.place[j] = int32(len(p.columns))
		}
	}
	p.sortTransfers(p.pairingPays())
	for c := range p.layouts {
		p.layouts[c].ready = false
	}
}

// pairingPays reports whether many columns move between the same two clusters. In that case leaving and joining are
// combined into one transfer, and a column is read once for both. With few columns per pair that costs more than it
// saves, because every pair reads and writes the sums of two clusters.
func (p *plan) pairingPays() bool {
	const minPerPair, maxKeys = 4, 1 << 16
	if len(p.moves) == 0 || p.keyCount(true) > maxKeys {
		return false
	}
	p.starts = parallel.Resized(p.starts, p.keyCount(true))
	clear(p.starts)
	transfers, pairs := 0, 0
	p.forEachTransfer(true, func(key, _ int32) {
		if p.starts[key] == 0 {
			pairs++
		}
		p.starts[key]++
		transfers++
	})
	return transfers >= minPerPair*pairs
}

// sortTransfers creates the transfers in order of their keys, by counting sort.
func (p *plan) sortTransfers(paired bool) {
	p.starts = parallel.Resized(p.starts, p.keyCount(paired)+1)
	clear(p.starts)
	p.forEachTransfer(paired, func(key, _ int32) { p.starts[key+1]++ })
	p.distinct = 0
	for key := range len(p.starts) - 1 {
		p.distinct += min(1, p.starts[key+1])
		p.starts[key+1] += p.starts[key]
	}
	total := p.starts[len(p.starts)-1]
	p.keys = parallel.Resized(p.keys, total)
	p.places = parallel.Resized(p.places, total)
	p.forEachTransfer(paired, func(key, column int32) {
		at := p.starts[key]
		p.keys[at], p.places[at] = key, p.place[column]-1
		p.starts[key]++
	})
}

// keyCount returns the number of possible keys. The keys are, in this order: the cluster being left, the cluster being
// joined and, if paired, the pair of both within a lane.
func (p *plan) keyCount(paired bool) int {
	clusters := len(p.recompute) * p.k
	if paired {
		return clusters * (2 + p.k)
	}
	return 2 * clusters
}

// clustersOf decodes a key into the cluster being left and the cluster being joined; -1 means none.
func (p *plan) clustersOf(key int32) (from, to int32) {
	k, clusters := int32(p.k), int32(len(p.recompute)*p.k)
	switch {
	case key < clusters:
		return key, -1
	case key < 2*clusters:
		return -1, key - clusters
	}
	from, to = (key-2*clusters)/k, (key-2*clusters)%k
	return from, from/k*k + to
}

// forEachTransfer calls do for every transfer, in the same order each time.
func (p *plan) forEachTransfer(paired bool, do func(key, column int32)) {
	k, clusters := int32(p.k), int32(len(p.recompute)*p.k)
	for lane, recompute := range p.recompute {
		if !recompute {
			continue
		}
		for j, c := range p.labelsOf(lane) {
			if c >= 0 {
				do(clusters+c, int32(j))
			}
		}
	}
	for _, m := range p.moves {
		switch {
		case paired && m.From >= 0 && m.To >= 0:
			do(2*clusters+m.From*k+m.To%k, m.Point)
			continue
		case m.From >= 0:
			do(m.From, m.Point)
		}
		if m.To >= 0 {
			do(clusters+m.To, m.Point)
		}
	}
}

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
func (c *rowChanges) of(rows partition.Range) []rowChange {
	tile := rows.From / c.tileRows
	return c.list[c.start[tile]:c.start[tile+1]]
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
	c, err := s.gatherChanges(ctx, tiles, step, moves)
	p := s.newPlan()
	p.moves, p.changes = moves, c
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
func (s *Shard) gatherChanges(ctx context.Context, tiles []*tile, step uint64,
	moves []labeling.Move) (*rowChanges, error) {
	c, n := &s.changes, s.source.Rows()
	count := partition.TileCount(n)
	parts := min(partsPerThread*s.pool.Threads(), len(moves))
	c.tileRows = partition.TileRows(n)
	c.wanted = parallel.Resized(c.wanted, count)
	c.next = parallel.Resized(c.next, parts*count)
	c.start = parallel.Resized(c.start, count+1)
	clear(c.wanted)
	clear(c.next)
	for _, t := range tiles {
		c.wanted[t.rows.From/c.tileRows] = t.step != step
	}
	each := func(counting bool) error {
		return s.parallel(ctx, parts, func(part int) error {
			from, to := part*len(moves)/parts, (part+1)*len(moves)/parts
			s.placeChanges(c.next[part*count:(part+1)*count], moves[from:to], from, counting)
			return nil
		})
	}
	if err := each(true); err != nil {
		return nil, err
	}
	total := 0
	for tile := range count {
		c.start[tile] = total
		for part := range parts {
			next := &c.next[part*count+tile]
			total, *next = total+*next, total
		}
	}
	c.start[count] = total
	c.list = parallel.Resized(c.list, total)
	return c, each(false)
}

// placeChanges puts the changes of moves into the lists of their tiles; next is where each list goes on. first is the
// number of the first move. If counting is set, it only counts the changes of each tile in next.
func (s *Shard) placeChanges(next []int, moves []labeling.Move, first int, counting bool) {
	wanted, list, tileRows := s.changes.wanted, s.changes.list, uint32(s.changes.tileRows)
	put := func(i int32, weight float64, move int) {
		if tile := uint32(i) / tileRows; wanted[tile] {
			if !counting {
				list[next[tile]] = rowChange{weight: weight, row: int32(uint32(i) % tileRows), move: int32(move)}
			}
			next[tile]++
		}
	}
	for at, m := range moves {
		if m.From != m.To {
			put(m.Point, 0, onlyLabelChanged)
			neighbors, weights := s.source.graph.Row(int(m.Point))
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
