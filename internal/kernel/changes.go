package kernel

import (
	"context"

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
func (c *rowChanges) of(rows partition.Range) []rowChange {
	tile := rows.From / c.tileRows
	return c.list[c.start[tile]:c.start[tile+1]]
}

func (c *rowChanges) bytes() int64 {
	return 16*int64(cap(c.list)) + 8*int64(cap(c.next)+cap(c.start)) + int64(cap(c.wanted))
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
func (s *Shard) gatherChanges(ctx context.Context, tiles []*tile, step uint64, moves []labeling.Move) (*rowChanges, error) {
	c, n := &s.changes, s.source.Rows()
	count, parts := partition.TileCount(n), min(partsPerThread*s.threads, len(moves))
	c.tileRows = partition.TileRows(n)
	c.wanted, c.next, c.start = resized(c.wanted, count), resized(c.next, parts*count), resized(c.start, count+1)
	clear(c.wanted)
	clear(c.next)
	for _, t := range tiles {
		c.wanted[t.rows.From/c.tileRows] = t.step != step
	}
	each := func(do func(next []int, moves []labeling.Move, first int)) error {
		return s.parallel(ctx, parts, func(part int) error {
			from, to := part*len(moves)/parts, (part+1)*len(moves)/parts
			do(c.next[part*count:(part+1)*count], moves[from:to], from)
			return nil
		})
	}
	if err := each(s.countChanges); err != nil {
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
	c.list = resized(c.list, total)
	return c, each(s.placeChanges)
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
