package fleet

import (
	"context"
	"errors"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
)

// holding is what a worker has of a tile.
type buildState uint8

const (
	notBuilt      buildState = iota
	builtStored              // it is built, and its entries are stored
	builtComputed            // it is built, and its entries are computed again whenever they are needed
)

// ready tells whether the tile is there as it is to be.
func (t *tile) ready() bool { return t.state == builtAs(t.wantStored) }

func builtAs(stored bool) buildState {
	if stored {
		return builtStored
	}
	return builtComputed
}

// errNewcomer ends a group's part early: a worker joined that could build some of its tiles.
var errWorkerJoined = errors.New("fleet: a worker joined")

// build makes the tiles that are not there as they are to be. Tiles that give up their storage come
// first, also those that have nothing else to do in this operation: others need their memory.
func (j *job) build(ctx context.Context, g *group) error {
	givingUp := j.tilesToUnstore(g.session)
	if len(givingUp) > 0 {
		if err := j.buildTiles(ctx, g.session, givingUp, false); err != nil {
			return err
		}
		j.fleet.mu.Lock()
		j.fleet.notifyChanged() // their memory is free now
		j.fleet.mu.Unlock()
	}
	for _, stored := range []bool{false, true} {
		var missing []int
		for _, t := range g.tiles {
			if j.tiles[t].wantStored == stored && !j.tiles[t].ready() {
				missing = append(missing, t)
			}
		}
		// A few per thread at a time: often enough for progress to be seen and for joining workers to
		// get their share of the building, and seldom enough for no thread to run idle for long.
		for batch := range slices.Chunk(missing, 2*g.session.threads) {
			if err := j.buildTiles(ctx, g.session, batch, stored); err != nil {
				return err
			}
			if last := batch[len(batch)-1] == missing[len(missing)-1]; !last && j.idleWorkerJoined() {
				return errWorkerJoined
			}
		}
	}
	return nil
}

// givingUp are the tiles of a worker that are stored and are not to be.
func (j *job) tilesToUnstore(s *session) []int {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	var tiles []int
	for t := range j.tiles {
		if j.tiles[t].worker == s && j.tiles[t].state == builtStored && !j.tiles[t].wantStored {
			tiles = append(tiles, t)
		}
	}
	return tiles
}

// construct has a worker build tiles, or change them over, when they keep their sums.
func (j *job) buildTiles(ctx context.Context, s *session, tiles []int, stored bool) error {
	_, err := j.runCommand(ctx, s, tiles, 0, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Build{Build: &workerv1.Build{MatrixFree: !stored}}
	})
	if err != nil {
		return err
	}
	fresh := 0
	for _, t := range tiles {
		if j.tiles[t].state == notBuilt {
			j.tiles[t].step = 0
			fresh++
		}
		j.tiles[t].state = builtAs(stored)
	}
	j.progress.update(func(s *Status) { s.TilesBuilt += fresh })
	return nil
}

// hasNewcomer tells whether a worker without tiles of this job could take some.
func (j *job) idleWorkerJoined() bool {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, s := range j.fleet.sessions {
		if j.members[s] == nil && s.takesTiles() && !j.failing[s] && !j.full[s] && j.host(s).Room >= j.sizes[0].Of(j.need.Rule() != partition.StoreNone) {
			return true
		}
	}
	return false
}
