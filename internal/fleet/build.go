package fleet

import (
	"context"
	"errors"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
)

// holding is what a worker has of a tile.
type holding uint8

const (
	hasNothing  holding = iota
	hasStored           // it is built, and its entries are stored
	hasComputed         // it is built, and its entries are computed again whenever they are needed
)

// ready tells whether the tile is there as it is to be.
func (t *tile) ready() bool { return t.has == wanted(t.stored) }

func wanted(stored bool) holding {
	if stored {
		return hasStored
	}
	return hasComputed
}

// errNewcomer ends a group's part early: a worker joined that could build some of its tiles.
var errNewcomer = errors.New("fleet: a worker joined")

// build makes the tiles that are not there as they are to be. Tiles that give up their storage come
// first, also those that have nothing else to do in this operation: others need their memory.
func (j *job) build(ctx context.Context, g *group) error {
	givingUp := j.givingUp(g.session)
	if len(givingUp) > 0 {
		if err := j.construct(ctx, g.session, givingUp, false); err != nil {
			return err
		}
		j.fleet.mu.Lock()
		j.fleet.announce() // their memory is free now
		j.fleet.mu.Unlock()
	}
	for _, stored := range []bool{false, true} {
		var missing []int
		for _, t := range g.tiles {
			if j.tiles[t].stored == stored && !j.tiles[t].ready() {
				missing = append(missing, t)
			}
		}
		// A few per thread at a time: often enough for progress to be seen and for joining workers to
		// get their share of the building, and seldom enough for no thread to run idle for long.
		for batch := range slices.Chunk(missing, 2*g.session.threads) {
			if err := j.construct(ctx, g.session, batch, stored); err != nil {
				return err
			}
			if last := batch[len(batch)-1] == missing[len(missing)-1]; !last && j.hasNewcomer() {
				return errNewcomer
			}
		}
	}
	return nil
}

// givingUp are the tiles of a worker that are stored and are not to be.
func (j *job) givingUp(s *session) []int {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	var tiles []int
	for t := range j.tiles {
		if j.tiles[t].at == s && j.tiles[t].has == hasStored && !j.tiles[t].stored {
			tiles = append(tiles, t)
		}
	}
	return tiles
}

// construct has a worker build tiles, or change them over, when they keep their sums.
func (j *job) construct(ctx context.Context, s *session, tiles []int, stored bool) error {
	_, err := j.ask(ctx, s, tiles, 0, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Build{Build: &workerv1.Build{MatrixFree: !stored}}
	})
	if err != nil {
		return err
	}
	fresh := 0
	for _, t := range tiles {
		if j.tiles[t].has == hasNothing {
			j.tiles[t].step = 0
			fresh++
		}
		j.tiles[t].has = wanted(stored)
	}
	j.progress.update(func(s *Status) { s.TilesBuilt += fresh })
	return nil
}

// hasNewcomer tells whether a worker without tiles of this job could take some.
func (j *job) hasNewcomer() bool {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, s := range j.fleet.sessions {
		if j.seats[s] == nil && s.takesTiles() && !j.ailing[s] && !j.full[s] && j.host(s).Room >= j.sizes[0].Of(j.need.Rule() != partition.StoreNone) {
			return true
		}
	}
	return false
}
