package worker

import (
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
)

// build makes tiles, stored or not, or changes those that are there over. All of the memory is
// reserved first; if anything fails, nothing has changed.
func (j *job) build(tiles []int, stored bool) (*workerv1.Done, error) {
	more, less, total := int64(0), int64(0), int64(0)
	var fresh []int
	for _, t := range tiles {
		size := j.need.TileSize(t)
		total += size.Of(stored)
		switch was, there := j.tiles[t]; {
		case !there:
			more += size.Of(stored)
			fresh = append(fresh, t)
		case was && !stored:
			less += size.Of(was) - size.Of(stored)
		default:
			more += size.Of(stored) - size.Of(was)
		}
	}
	if err := j.reserve(more, "the tiles"); err != nil {
		return nil, err
	}
	if err := j.buildTiles(tiles, stored); err != nil {
		j.shard.Drop(fresh)
		j.free(more)
		return nil, err
	}
	for _, t := range tiles {
		j.tiles[t] = stored
	}
	j.free(less)
	return &workerv1.Done{TileBytes: uint64(total)}, nil
}

// buildTiles lets the shard build. Rows of a given matrix pass through in float64: the seat has room for
// those of one tile, and more are fetched at a time as far as there is memory just now.
func (j *job) buildTiles(tiles []int, stored bool) error {
	passing, memory := j.need.PassingBytes(), j.session.worker.memory
	for len(tiles) > 0 {
		batch := len(tiles)
		if passing > 0 {
			batch = 1
			for batch < min(len(tiles), j.session.worker.cfg.Threads) && memory.take(passing) {
				batch++
			}
		}
		err := j.shard.build(j.ctx, tiles[:batch], stored)
		memory.free(int64(batch-1) * passing)
		if err != nil {
			return err
		}
		tiles = tiles[batch:]
	}
	return nil
}

// drop forgets tiles, but not those that have been placed here again since.
func (j *job) drop(placed []*workerv1.Tile) {
	var tiles []int
	for _, p := range placed {
		t := int(p.GetTile())
		stored, there := j.tiles[t]
		if !there || p.GetEpoch() < j.epochs[p.GetTile()] {
			continue
		}
		tiles = append(tiles, t)
		delete(j.tiles, t)
		j.free(j.need.TileSize(t).Of(stored))
	}
	j.shard.Drop(tiles)
}
