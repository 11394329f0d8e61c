package fleet

import (
	"context"
	"errors"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
)

// errWorkerJoined interrupts the builds of a group because a worker joined that could do some of them.
var errWorkerJoined = errors.New("fleet: a worker joined")

// build builds the tiles of a group that are not ready. It first frees the storage of all tiles of the worker that
// are stored but should not be, even those outside of this operation, because the tiles to build need the memory.
func (e *execution) build(ctx context.Context, g *group) error {
	unstore := e.tilesToUnstore(g)
	if len(unstore) > 0 {
		if err := e.buildTiles(ctx, g, unstore, false); err != nil {
			return err
		}
		e.fleet.mu.Lock()
		e.fleet.changed.Notify() // memory was freed
		e.fleet.mu.Unlock()
	}
	for _, stored := range []bool{false, true} {
		var missing []int
		for _, t := range g.tiles {
			if c := e.at(g, t); c.wantStored == stored && !c.ready() {
				missing = append(missing, t)
			}
		}
		for batch := range slices.Chunk(missing, e.tilesAtOnce(g.session)) {
			if err := e.buildTiles(ctx, g, batch, stored); err != nil {
				return err
			}
			if last := batch[len(batch)-1] == missing[len(missing)-1]; !last && g.role == owns && e.idleWorkerJoined() {
				return errWorkerJoined
			}
		}
	}
	return nil
}

// buildAtOnce is the size of the rows that a worker is asked to fetch and build at a time, in a job by rows.
const buildAtOnce = 64 << 20

// tilesAtOnce returns how many tiles a worker is asked to build with one command: a few per thread, so that batches
// are small enough to show progress and to let joining workers take a share, and large enough to keep all threads
// busy. If their rows must be fetched, batches are also large enough to keep its link busy.
func (e *execution) tilesAtOnce(s *session) int {
	tiles := 2 * s.threads
	if e.placed.needOn(s).ByRows() {
		return max(tiles, int(buildAtOnce*int64(len(e.placed.tiles))/e.need.DatasetBytes))
	}
	return tiles
}

// tilesToUnstore returns the tiles on a group's worker that are stored but should not be.
func (e *execution) tilesToUnstore(g *group) []int {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	return slices.DeleteFunc(g.unstore, func(t int) bool { return e.placed.tiles[t].worker != g.session || !e.placed.tiles[t].toUnstore() })
}

// findUnstoredLocked gives each group the tiles of its worker that are stored but should not be. It looks at all tiles
// once for all groups.
func (e *execution) findUnstoredLocked(groups []*group) {
	var of map[*session][]int
	for t := range e.placed.tiles {
		if s := e.placed.tiles[t].worker; s != nil && e.placed.tiles[t].toUnstore() {
			if of == nil {
				of = map[*session][]int{}
			}
			of[s] = append(of[s], t)
		}
	}
	for _, g := range groups {
		if g.role == owns {
			g.unstore = slices.Clone(of[g.session])
		}
	}
}

// buildTiles makes a worker build tiles. Tiles that are already built are converted between stored and computed and
// keep their sums.
func (e *execution) buildTiles(ctx context.Context, g *group, tiles []int, stored bool) error {
	_, err := e.runCommand(ctx, g, tiles, 0, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Build{Build: &workerv1.Build{MatrixFree: !stored}}
	})
	if err != nil {
		return err
	}
	fresh := 0
	for _, t := range tiles {
		built := e.at(g, t)
		if built.state == notBuilt {
			built.step = 0
			fresh++
		}
		built.state = builtAs(stored)
	}
	e.fleet.cfg.Observe.TilesBuilt(fresh)
	if g.role == owns {
		e.progress.update(func(s *Status) { s.TilesBuilt += fresh })
	}
	return nil
}

// idleWorkerJoined reports whether a worker without tiles of this job could take some.
func (e *execution) idleWorkerJoined() bool {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	if len(e.placed.members) == len(e.fleet.sessions) { // every worker that builds tiles asks
		return false
	}
	bytes := e.placed.sizes[0].Bytes(e.need.StorageRule() != partition.StoreNone)
	for _, s := range e.fleet.sessions {
		if e.handovers.to[s] == nil && e.canJoinLocked(s) && e.hostLocked(s).FreeBytes >= bytes {
			return true
		}
	}
	return false
}
