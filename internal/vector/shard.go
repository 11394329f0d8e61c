package vector

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Shard is some tiles of the points: what one worker holds or, with all tiles, a whole problem in one process.
//
// Its methods take the numbers of the tiles to work on, and return values for their rows in that order. Only
// one method may run at a time; each spreads its tiles over the threads.
//
// The labels of all points carry a step, and so does a tile that was summed with them. Load sets a step, Update
// leads to the next one, and repeating either changes nothing, which makes every operation safe to retry. A
// point with the label -1 has no cluster and does not count.
type Shard struct {
	source     *Source
	threads    int
	pool       *parallel.Pool
	tiles      map[int]*tile
	clusters   int // how many clusters the labels have
	labels     []int32
	labelsStep uint64
	loaded     bool
	// Buffers that are reused from call to call.
	terms      terms
	workspaces workspaces
}

// NewShard makes a shard without tiles.
func NewShard(source *Source, threads int) *Shard {
	return &Shard{source: source, threads: max(1, threads), pool: parallel.NewPool(threads), tiles: map[int]*tile{}}
}

// Build makes the tiles that are missing and returns the bytes that all of the given ones take.
func (s *Shard) Build(ctx context.Context, numbers []int) (int64, error) {
	var missing []int
	for _, number := range numbers {
		if number < 0 || number >= partition.TileCount(s.source.Rows()) {
			return 0, fmt.Errorf("vector: there is no tile %d", number)
		}
		if s.tiles[number] == nil {
			missing = append(missing, number)
		}
	}
	built := make([]*tile, len(missing))
	err := s.pool.Run(ctx, s.threads, len(missing), func(at int) (err error) {
		built[at], err = s.source.buildTile(missing[at])
		return err
	})
	if err != nil {
		return 0, err
	}
	for at, number := range missing {
		s.tiles[number] = built[at]
	}
	total := int64(0)
	for _, number := range numbers {
		total += s.tiles[number].bytes()
	}
	return total, nil
}

// Drop forgets tiles.
func (s *Shard) Drop(numbers []int) {
	for _, number := range numbers {
		delete(s.tiles, number)
	}
}

// Bytes is the memory of all tiles, the labels, and the buffers beside them.
func (s *Shard) Bytes() int64 {
	total := 4*int64(len(s.labels)) + s.terms.bytes() + s.workspaces.bytes()
	for _, t := range s.tiles {
		total += t.bytes()
	}
	return total
}

func (s *Shard) tilesOf(numbers []int) ([]*tile, error) {
	tiles := make([]*tile, len(numbers))
	for at, number := range numbers {
		if tiles[at] = s.tiles[number]; tiles[at] == nil {
			return nil, kernel.ErrNotReady
		}
	}
	return tiles, nil
}

// loadedTiles returns the tiles with the given numbers, which must be loaded at the step.
func (s *Shard) loadedTiles(numbers []int, step uint64) ([]*tile, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if !s.loaded || s.labelsStep != step {
		return nil, kernel.ErrNotReady
	}
	for _, t := range tiles {
		if !t.loaded || t.step != step {
			return nil, kernel.ErrNotReady
		}
	}
	return tiles, nil
}

// labelsOf returns the labels of a tile's rows.
func (s *Shard) labelsOf(t *tile) []int32 { return s.labels[t.rows.From:t.rows.To] }

// perTile calls do for every tile with a workspace whose reader is open on it.
func (s *Shard) perTile(ctx context.Context, threads int, tiles []*tile, do func(at int, t *tile, w *workspace)) error {
	return s.pool.Run(ctx, threads, len(tiles), func(at int) error {
		w := s.workspaces.borrow()
		w.open(tiles[at], s.source.spec.Columns)
		do(at, tiles[at], w)
		s.workspaces.giveBack(w)
		return nil
	})
}
