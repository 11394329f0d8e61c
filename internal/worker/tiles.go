package worker

import (
	"cmp"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// build builds tiles, stored or computed; tiles that are already built are converted. It reserves all memory first.
// If it fails, it drops the new tiles. Those to be converted count as they were, whether or not the shard has converted
// some of them: building them again converts the others.
func (j *job) build(tiles []int, stored bool) (*workerv1.Done, error) {
	more, less, total := int64(0), int64(0), int64(0)
	var fresh []int
	for _, t := range tiles {
		size := j.need.TileSize(t)
		total += size.Bytes(stored)
		switch was, there := j.tiles[t]; {
		case !there:
			more += size.Bytes(stored)
			fresh = append(fresh, t)
		case was && !stored:
			less += size.Bytes(was) - size.Bytes(stored)
		default:
			more += size.Bytes(stored) - size.Bytes(was)
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
	j.worker.cfg.Observe.TilesBuilt(len(fresh))
	return &workerv1.Done{TileBytes: uint64(total)}, nil
}

// buildTiles makes the shard build tiles. In a job by rows, these rows are fetched first. If the data set is a kernel
// matrix, its rows are fetched as float64. There is always memory for the rows of one tile; the rows of several tiles
// are fetched at a time if there is memory for them now.
func (j *job) buildTiles(tiles []int, stored bool) error {
	if j.need.ByRows() {
		return j.buildByRows(tiles, stored)
	}
	rowBytes := j.need.TileBuildBytes()
	memory := j.worker.memory
	for len(tiles) > 0 {
		batch := len(tiles)
		if rowBytes > 0 {
			batch = 1
			for batch < min(len(tiles), j.worker.cfg.Threads) && memory.take(rowBytes) {
				batch++
			}
		}
		err := j.shard.build(j.ctx, tiles[:batch], stored)
		memory.free(int64(batch-1) * rowBytes)
		if err != nil {
			return err
		}
		tiles = tiles[batch:]
	}
	return nil
}

// drop frees tiles, except those that have been placed here again since.
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
		j.free(j.need.TileSize(t).Bytes(stored))
	}
	j.shard.Drop(tiles)
}

// tileList is a list of tiles that later commands name by its number.
type tileList struct {
	id    uint64
	tiles []*workerv1.Tile
}

// recallTiles remembers the tiles of a command that numbers them, or fills them in if the command gives only their
// number. It returns false if that list is not remembered.
func (j *job) recallTiles(c *workerv1.Command) bool {
	at, found := slices.BinarySearchFunc(j.lists, c.GetTilesId(), func(l tileList, id uint64) int {
		return cmp.Compare(l.id, id)
	})
	switch {
	case c.GetTilesId() == 0:
	case len(c.Tiles) == 0 && !found:
		return false
	case len(c.Tiles) == 0:
		c.Tiles = j.lists[at].tiles
	case found:
		j.lists[at].tiles = c.Tiles
	default:
		j.lists = slices.Insert(j.lists, at, tileList{id: c.GetTilesId(), tiles: c.Tiles})
		j.lists = j.lists[max(0, len(j.lists)-wire.RememberedTileLists):]
	}
	return true
}
