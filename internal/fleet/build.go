package fleet

import (
	"context"
	"errors"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
)

// buildState is how a tile exists on its worker.
type buildState uint8

const (
	notBuilt      buildState = iota
	builtStored              // its entries are stored
	builtComputed            // its entries are computed each time they are needed
)

// ready tells whether the tile is built as it should be.
func (t *tile) ready() bool { return t.state == builtAs(t.wantStored) }

func builtAs(stored bool) buildState {
	if stored {
		return builtStored
	}
	return builtComputed
}

// errWorkerJoined stops a group in the middle of its builds: a worker joined that could do some of them.
var errWorkerJoined = errors.New("fleet: a worker joined")

// build builds the tiles of a group that are not ready. First, tiles of the worker that are stored but
// should not be free their storage, even if they take no part in this operation: the tiles to build
// need the memory.
func (j *job) build(ctx context.Context, g *group) error {
	unstore := j.tilesToUnstore(g)
	if len(unstore) > 0 {
		if err := j.buildTiles(ctx, g, unstore, false); err != nil {
			return err
		}
		j.fleet.mu.Lock()
		j.fleet.notifyChanged() // memory became free
		j.fleet.mu.Unlock()
	}
	for _, stored := range []bool{false, true} {
		var missing []int
		for _, t := range g.tiles {
			if c := j.at(g, t); c.wantStored == stored && !c.ready() {
				missing = append(missing, t)
			}
		}
		// A few tiles per thread at a time: small enough batches to show progress and to let joining
		// workers take a share, large enough to keep all threads busy.
		for batch := range slices.Chunk(missing, 2*g.session.threads) {
			if err := j.buildTiles(ctx, g, batch, stored); err != nil {
				return err
			}
			if last := batch[len(batch)-1] == missing[len(missing)-1]; !last && g.copies == nil && j.idleWorkerJoined() {
				return errWorkerJoined
			}
		}
	}
	return nil
}

// tilesToUnstore are the tiles of a group's worker that are stored but should not be.
func (j *job) tilesToUnstore(g *group) []int {
	if g.copies != nil {
		return nil
	}
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	var tiles []int
	for t := range j.tiles {
		if j.tiles[t].worker == g.session && j.tiles[t].state == builtStored && !j.tiles[t].wantStored {
			tiles = append(tiles, t)
		}
	}
	return tiles
}

// buildTiles has a worker build tiles. Built tiles are converted between stored and computed and keep
// their sums.
func (j *job) buildTiles(ctx context.Context, g *group, tiles []int, stored bool) error {
	_, err := j.runCommand(ctx, g, tiles, 0, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Build{Build: &workerv1.Build{MatrixFree: !stored}}
	})
	if err != nil {
		return err
	}
	fresh := 0
	for _, t := range tiles {
		built := j.at(g, t)
		if built.state == notBuilt {
			built.step = 0
			fresh++
		}
		built.state = builtAs(stored)
	}
	j.fleet.cfg.Observer.TilesBuilt(fresh)
	if g.copies == nil {
		j.progress.update(func(s *Status) { s.TilesBuilt += fresh })
	}
	return nil
}

// idleWorkerJoined tells whether there is a worker without tiles of this job that could take some.
func (j *job) idleWorkerJoined() bool {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, s := range j.fleet.sessions {
		if j.members[s] == nil && s.takesTiles() && j.refused(s) == nil && !j.doubts(s) && !j.full[s] && j.host(s).FreeBytes >= j.sizes[0].Bytes(j.need.StorageRule() != partition.StoreNone) {
			return true
		}
	}
	return false
}
