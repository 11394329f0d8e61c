package kernel

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// rowChanges are the changes that moved vertices make to the rows of a graph, sorted by tile: one for every
// entry of M in the column of a moved vertex. So a tile finds its changes in one place, instead of looking
// for its rows in every such column, and tiles can be changed in parallel.
type rowChanges struct {
	tileRows int
	wanted   []bool // per tile: whether it is to be changed
	// next[part*tiles+tile] is where a part of the moves puts its next change of a tile.
	next  []int
	start []int // the changes of a tile are list[start[tile]:start[tile+1]]
	list  []rowChange
}

// rowChange is one entry of M in the column of a moved vertex. With onlyLabelChanged in place of the move, it
// is the row of a moved vertex itself: its sums stay, but another of them is its own.
type rowChange struct {
	weight float64
	row    int32 // within the tile
	move   int32
}

const onlyLabelChanged = -1

// of returns the changes of the tile with the given rows, in order of the moves.
func (ts *rowChanges) of(rows partition.Range) []rowChange {
	tile := rows.From / ts.tileRows
	return ts.list[ts.start[tile]:ts.start[tile+1]]
}

func (ts *rowChanges) bytes() int64 {
	return 16*int64(cap(ts.list)) + 8*int64(cap(ts.next)+cap(ts.start)) + int64(cap(ts.wanted))
}

// changeCost is how many entries a full sweep reads in the time that a delta takes to gather and apply one.
const changeCost = 12

// planGraphDelta plans to change sums by the entries of moved columns, unless there are so many that
// recomputing all rows is less work.
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

// entries returns the number of entries of M in some rows.
func (s *Shard) entries(rows partition.Range) int64 {
	g, sparse := s.source.graph, s.operands.Sparse
	return g.RowStart[rows.To] - g.RowStart[rows.From] + sparse.RowStart[rows.To] - sparse.RowStart[rows.From]
}

// partsPerThread is more than one, to balance moves of vertices with unequal degrees over the threads.
const partsPerThread = 4

// gatherChanges lists the changes of the tiles that are not at the step yet. The moves are cut into parts, in
// parallel: each part first counts its changes of every tile, which determines where they go, and then
// writes them there.
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
