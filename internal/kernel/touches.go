package kernel

import (
	"context"

	"github.com/cleave-project/cleave/internal/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// touches are the changes that moved vertices make to the rows of a graph, gathered tile by tile:
// one for every entry of M in a moved column. A tile then meets its changes in one place, instead
// of looking for its rows in every moved column, and tiles are changed in parallel.
type rowChanges struct {
	tileRows int
	wanted   []bool // per tile: it is to be changed
	// next is where each part of the moves puts its next touch for each tile: next[part*tiles+tile].
	next  []int
	start []int // the touches of a tile are list[start[tile]:start[tile+1]]
	list  []rowChange
}

// touch is one entry of M in the column of a moved vertex or, with the move justMoved, the row of
// one: its sums stay, but its own cluster is another.
type rowChange struct {
	weight float64
	row    int32 // of the tile
	move   int32
}

const onlyLabelChanged = -1

// of is the touches of the tile with the given rows, in order of the moves.
func (ts *rowChanges) of(rows partition.Range) []rowChange {
	tile := rows.From / ts.tileRows
	return ts.list[ts.start[tile]:ts.start[tile+1]]
}

func (ts *rowChanges) bytes() int64 {
	return 16*int64(cap(ts.list)) + 8*int64(cap(ts.next)+cap(ts.start)) + int64(cap(ts.wanted))
}

// touchCost is how many entries a full sweep reads in the time that a delta gathers and applies one.
const changeCost = 12

// planGraphDelta changes sums by the entries of moved columns, unless there are so many of them that
// making the sums of all rows anew is less work.
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

// entries is the number of entries that some rows of M have.
func (s *Shard) entries(rows partition.Range) int64 {
	g, sparse := s.source.graph, s.operands.Sparse
	return g.RowStart[rows.To] - g.RowStart[rows.From] + sparse.RowStart[rows.To] - sparse.RowStart[rows.From]
}

// partsPerThread balances moves of unequal degrees over the threads.
const partsPerThread = 4

// gatherTouches finds the touches of the moves on the tiles that are not at the step yet: each part
// of the moves counts those of every tile, which fixes where they lie, and then puts them there.
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
