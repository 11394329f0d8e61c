package kernel

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/labeling"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Shard is some tiles of one problem with their sums: what one worker holds, or, with all tiles,
// a whole problem in one process. Its methods take the tiles to work on and return values for
// their rows in that order. One method runs at a time; each spreads its tiles over the threads. What
// Load, Update and Assign return is the shard's, and valid until one of them is called again: so they
// allocate nothing once they have run. Products are the shard's until the next Multiply.
//
// The sums of a tile carry the step they belong to. Load sets a step, Update leads from one to the
// next, and doing either twice changes nothing: that is what makes every operation safe to retry.
type Shard struct {
	source     *Source
	threads    int
	tiles      map[int]*tile
	operands   Armament
	labels     []int32 // lane after lane
	labelsStep uint64
	loaded     bool
	pool       *parallel.Pool
	// What the threads do with the tile of some number, made once, and what they do it with.
	sweepTile, assignTile func(at int) error
	activeTiles           []*tile
	activeStep            uint64
	activeStats           []Stats
	// Buffers that one method leaves to the next.
	totals       []Int128
	moves        []labeling.Move
	terms        []clusterTerms // of the lanes that are asked about
	plan         plan
	changes      rowChanges
	workspaces   workspaces
	bundles      []bundle  // of the vectors that are multiplied
	bundleValues []float64 // their values
	products     []float64 // one after the other
}

// tile is a base tile and the sums S_ic of its rows at a step.
type tile struct {
	rows   partition.Range
	stride int // rows, padded to whole vectors
	base   matrix
	// diagonal is M_ii without shift, nil until it is needed.
	diagonal []float64
	sums     rowSums   // without shift; nil until they are needed
	own      []float64 // lane after lane, of each row the sum of its own cluster; 0 where it has none
	step     uint64
	loaded   bool
	moves    []labeling.Move // the latest Assign's, a buffer
}

// NewShard makes a shard without tiles.
func NewShard(source *Source, threads int) *Shard {
	s := &Shard{source: source, threads: max(1, threads), tiles: map[int]*tile{}, pool: parallel.NewPool(threads)}
	s.sweepTile = func(at int) error { return s.sweepOne(s.activeTiles[at]) }
	s.assignTile = func(at int) error { return s.assignOne(s.activeTiles[at]) }
	return s
}

// Build makes tiles that are not there yet and tells the bytes that all of the given ones take. A
// tile of points is stored, or its columns are computed again when they are needed; a tile that is
// there with the other storage changes over and keeps its sums, since the bits are the same.
func (s *Shard) Build(ctx context.Context, numbers []int, stored bool) (int64, error) {
	var missing []int
	for _, number := range numbers {
		if number < 0 || number >= partition.TileCount(s.source.Rows()) {
			return 0, fmt.Errorf("kernel: there is no tile %d", number)
		}
		if t := s.tiles[number]; t == nil || s.source.CanRecompute() && t.base.stored() != stored {
			missing = append(missing, number)
		}
	}
	bases, err := s.buildBases(ctx, missing, stored)
	if err != nil {
		return 0, err
	}
	for at, number := range missing {
		if t := s.tiles[number]; t != nil {
			t.base = bases[at]
			continue
		}
		rows := partition.Tile(s.source.Rows(), number)
		s.tiles[number] = &tile{rows: rows, stride: padded(rows.Len()), base: bases[at]}
	}
	total := int64(0)
	for _, number := range numbers {
		total += s.tiles[number].bytes()
	}
	return total, nil
}

func (s *Shard) buildBases(ctx context.Context, numbers []int, stored bool) ([]matrix, error) {
	bases := make([]matrix, len(numbers))
	switch {
	case s.source.graph != nil:
		for at, number := range numbers {
			bases[at] = &graphTile{source: s.source, rows: partition.Tile(s.source.Rows(), number)}
		}
		return bases, nil
	case s.source.points != nil && !stored:
		for at, number := range numbers {
			bases[at] = s.source.newTile(number)
		}
		return bases, nil
	case s.source.points != nil:
		tiles, err := s.buildFromPoints(ctx, numbers)
		for at, number := range numbers {
			bases[at] = tiles[number]
		}
		return bases, err
	}
	return bases, s.parallel(ctx, len(numbers), func(at int) error {
		base, err := s.source.buildFromRows(ctx, numbers[at])
		bases[at] = base
		return err
	})
}

// Drop forgets tiles.
func (s *Shard) Drop(numbers []int) {
	for _, number := range numbers {
		delete(s.tiles, number)
	}
}

// Bytes is the memory that all tiles and the largest buffer beside them take.
func (s *Shard) Bytes() int64 {
	total := s.changes.bytes()
	for _, t := range s.tiles {
		total += t.bytes()
	}
	return total
}

func (t *tile) bytes() int64 {
	if t.sums == nil {
		return t.base.bytes()
	}
	return t.base.bytes() + t.sums.bytes() + 8*int64(len(t.own))
}

// Arm sets the weights and the sparse part. Sums made with another armament are void.
func (s *Shard) Arm(a Armament) error {
	if s.operands.K > 0 && s.operands.ID == a.ID {
		return nil
	}
	if most := s.source.maxLanes(); a.lanes() > most {
		return fmt.Errorf("kernel: %d lanes, at most %d", a.Lanes, most)
	}
	s.operands, s.loaded = a, false
	for _, t := range s.tiles {
		t.sums, t.diagonal, t.loaded = nil, nil, false
	}
	return nil
}

// Degrees are the row sums of the base matrix; an affinity below 0 is a fault.
func (s *Shard) Degrees(ctx context.Context, numbers []int) ([]float64, error) {
	return s.perRow(ctx, numbers, func(t *tile, dst []float64) error { return t.base.degrees(dst) })
}

// Maxima are the largest entries of the base matrix's rows, at least 0.
func (s *Shard) Maxima(ctx context.Context, numbers []int) ([]float64, error) {
	return s.perRow(ctx, numbers, func(t *tile, dst []float64) error { return t.base.maxima(dst) })
}

// Diagonal is M_ii.
func (s *Shard) Diagonal(ctx context.Context, numbers []int) ([]float64, error) {
	if s.operands.K == 0 {
		return nil, ErrNotReady
	}
	return s.perRow(ctx, numbers, func(t *tile, dst []float64) error {
		if err := s.loadDiagonal(t); err != nil {
			return err
		}
		copy(dst, t.diagonal)
		return nil
	})
}

// ColumnSums are, for each of some lists of columns j, the sums of M_ij over the list.
func (s *Shard) ColumnSums(ctx context.Context, numbers []int, lists [][]int32) ([][]float64, error) {
	if s.operands.K == 0 {
		return nil, ErrNotReady
	}
	return s.listsPerRow(ctx, numbers, len(lists), func(t *tile, list int, dst []float64) error {
		if err := t.base.addColumns(dst, lists[list]); err != nil {
			return err
		}
		for _, j := range lists[list] {
			rows, values := s.operands.Sparse.column(j, t.rows)
			for at, i := range rows {
				dst[int(i)-t.rows.From] += values[at]
			}
		}
		return nil
	})
}

// startsOf tells where each tile's rows begin in lists of one value per row, and where they end.
func startsOf(tiles []*tile) []int {
	starts := make([]int, len(tiles)+1)
	for at, t := range tiles {
		starts[at+1] = starts[at] + t.rows.Len()
	}
	return starts
}

// perRow computes one value per row of the given tiles, starting from zeros, in padded buffers.
func (s *Shard) perRow(ctx context.Context, numbers []int, compute func(t *tile, dst []float64) error) ([]float64, error) {
	values, err := s.listsPerRow(ctx, numbers, 1, func(t *tile, _ int, dst []float64) error { return compute(t, dst) })
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// severalPerRow computes several such lists of values.
func (s *Shard) listsPerRow(ctx context.Context, numbers []int, lists int, compute func(t *tile, list int, dst []float64) error) ([][]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	starts := startsOf(tiles)
	values := make([][]float64, lists)
	for list := range values {
		values[list] = make([]float64, starts[len(tiles)])
	}
	err = s.parallel(ctx, len(tiles), func(at int) error {
		dst := make([]float64, tiles[at].stride)
		for list := range values {
			clear(dst)
			if err := compute(tiles[at], list, dst); err != nil {
				return err
			}
			copy(values[list][starts[at]:starts[at+1]], dst)
		}
		return nil
	})
	return values, err
}

// find is the tiles of some numbers, until it is called again.
func (s *Shard) tilesOf(numbers []int) ([]*tile, error) {
	s.activeTiles = s.activeTiles[:0]
	for _, number := range numbers {
		t := s.tiles[number]
		if t == nil {
			return nil, ErrNotReady
		}
		s.activeTiles = append(s.activeTiles, t)
	}
	return s.activeTiles, nil
}

// parallel calls do for 0..count-1 on the shard's threads.
func (s *Shard) parallel(ctx context.Context, count int, do func(at int) error) error {
	return s.pool.Run(ctx, s.threads, count, do)
}
