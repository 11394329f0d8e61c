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
func (j *job) build(ctx context.Context, g *group) error {
	unstore := j.tilesToUnstore(g)
	if len(unstore) > 0 {
		if err := j.buildTiles(ctx, g, unstore, false); err != nil {
			return err
		}
		j.fleet.mu.Lock()
		j.fleet.notifyChanged() // memory was freed
		j.fleet.mu.Unlock()
	}
	for _, stored := range []bool{false, true} {
		var missing []int
		for _, t := range g.tiles {
			if c := j.at(g, t); c.wantStored == stored && !c.ready() {
				missing = append(missing, t)
			}
		}
		for batch := range slices.Chunk(missing, j.tilesAtOnce(g.session)) {
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

// buildAtOnce is the size of the rows that a worker is asked to fetch and build at a time, in a job by rows.
const buildAtOnce = 64 << 20

// tilesAtOnce returns how many tiles a worker is asked to build with one command: a few per thread, so that batches
// are small enough to show progress and to let joining workers take a share, and large enough to keep all threads
// busy. If their rows must be fetched, batches are also large enough to keep its link busy.
func (j *job) tilesAtOnce(s *session) int {
	tiles := 2 * s.threads
	if j.placed.needOn(s).ByRows() {
		return max(tiles, int(buildAtOnce*int64(len(j.placed.tiles))/j.need.DatasetBytes))
	}
	return tiles
}

// tilesToUnstore returns the tiles on a group's worker that are stored but should not be.
func (j *job) tilesToUnstore(g *group) []int {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	return slices.DeleteFunc(g.unstore, func(t int) bool { return j.placed.tiles[t].worker != g.session || !j.placed.tiles[t].toUnstore() })
}

// findUnstored gives each group the tiles of its worker that are stored but should not be. It looks at all tiles once
// for all groups. The caller holds f.mu.
func (j *job) findUnstored(groups []*group) {
	var of map[*session][]int
	for t := range j.placed.tiles {
		if s := j.placed.tiles[t].worker; s != nil && j.placed.tiles[t].toUnstore() {
			if of == nil {
				of = map[*session][]int{}
			}
			of[s] = append(of[s], t)
		}
	}
	for _, g := range groups {
		if g.copies == nil {
			g.unstore = slices.Clone(of[g.session])
		}
	}
}

// buildTiles makes a worker build tiles. Tiles that are already built are converted between stored and computed and
// keep their sums.
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
	j.fleet.cfg.Observe.TilesBuilt(fresh)
	if g.copies == nil {
		j.progress.update(func(s *Status) { s.TilesBuilt += fresh })
	}
	return nil
}

// idleWorkerJoined reports whether a worker without tiles of this job could take some.
func (j *job) idleWorkerJoined() bool {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	if len(j.placed.members) == len(j.fleet.sessions) { // every worker that builds tiles asks
		return false
	}
	bytes := j.placed.sizes[0].Bytes(j.need.StorageRule() != partition.StoreNone)
	for _, s := range j.fleet.sessions {
		if j.handovers.to[s] == nil && j.canJoin(s) && j.host(s).FreeBytes >= bytes {
			return true
		}
	}
	return false
}
