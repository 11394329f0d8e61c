package fleet

import (
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
)

// placement records which worker has each tile of a job, and keeps account of the memory that this takes. Fleet.mu
// guards it. Its methods expect the caller to hold Fleet.mu, except for needOn, which reads only what never changes.
// Those that take tiles away expect that no operation uses the tiles.
//
// These are true between any two calls:
//   - A tile that has a worker is on a member.
//   - membership.tiles is the number of tiles on the member. A member without tiles leaves at the next dismissEmpty.
//   - session.tiles and session.used contain exactly the tiles and the fixed bytes of the members, besides what
//     handovers and rescues reserve for copies.
//
// The running operation uses the tiles and memberships of its groups without the lock. Nothing else changes them while
// it runs, except that Release takes the workers away from tiles.
type placement struct {
	fleet   *Fleet
	key     string            // the job's id in commands
	need    planning.Workload // what the job takes
	sizes   []partition.Size  // of the tiles
	tiles   []tile
	members map[*session]*membership
	epochs  uint64                          // number of tiles and copies placed so far
	ever    struct{ stored, computed bool } // forms in which tiles have been placed so far

	// When tiles may move.
	ops        int             // operations since tiles were last placed
	balancedAt <-chan struct{} // of Fleet.Changed, when the placement was last balanced; nil forces a check
	storedAt   <-chan struct{} // of Fleet.Changed, when tiles were last stored wherever there was room
}

// tile is where a tile is, and in which form.
type tile struct {
	worker     *session // nil if it is not placed
	epoch      uint64   // distinguishes this placement of the tile from all others
	wantStored bool     // whether its entries should be stored

	// Owned by the running operation, or by the handover that builds the tile.
	state buildState // as last reported by the worker
	step  uint64     // step of its sums; 0 if it has none
}

// copied is a copy of a tile on a second worker. It belongs to a handover or a rescue, until it becomes the tile
// itself.
type copied struct {
	tile   tile
	number int
	bytes  int64 // reserved on the worker
}

// membership is what a member has of the job, as far as the coordinator knows. All but tiles is owned by the running
// operation, or by the handover through which the worker joins.
type membership struct {
	tiles      int         // number of its tiles
	prepared   bool        // it knows the job
	operandsID uint64      // operands that it has; 0 for none
	valuesID   uint64      // values of queries that it remembers; 0 for none
	lists      []*tileList // last lists of tiles that were sent to it with a number
}

// buildState is the form in which a tile exists on its worker.
type buildState uint8

const (
	notBuilt      buildState = iota
	builtStored              // its entries are stored
	builtComputed            // its entries are computed each time they are needed
)

func builtAs(stored bool) buildState {
	if stored {
		return builtStored
	}
	return builtComputed
}

// ready reports whether the tile is built in the form that is wanted.
func (t *tile) ready() bool { return t.state == builtAs(t.wantStored) }

// toUnstore reports whether the tile is stored but should not be.
func (t *tile) toUnstore() bool { return t.state == builtStored && !t.wantStored }

// forget records that the worker has lost the tile.
func (t *tile) forget() { t.state, t.step = notBuilt, 0 }

// forget records that the worker has lost what it had of the job.
func (m *membership) forget() { *m = membership{tiles: m.tiles} }

func newPlacement(f *Fleet, need planning.Workload) placement {
	return placement{
		fleet: f, need: need, sizes: need.TileSizes(), tiles: make([]tile, partition.TileCount(need.Rows())),
		members: map[*session]*membership{},
	}
}

// needOn returns what the job needs on a worker.
func (p *placement) needOn(s *session) planning.Workload {
	need := p.need
	need.Whole = need.Whole || !s.fetchesRows
	return need
}

// fixedBytes returns the memory that the job takes on a worker besides tiles.
func (p *placement) fixedBytes(s *session) int64 { return p.needOn(s).FixedBytes(s.threads) }

// tileBytes returns the memory that a tile takes on its worker.
func (p *placement) tileBytes(t int) int64 { return p.sizes[t].Bytes(p.tiles[t].wantStored) }

// tilesOf returns the tiles that are placed on a worker.
func (p *placement) tilesOf(s *session) []int {
	var tiles []int
	for t := range p.tiles {
		if p.tiles[t].worker == s {
			tiles = append(tiles, t)
		}
	}
	return tiles
}

// recheck makes the job look for a better placement before its next operation.
func (p *placement) recheck() { p.balancedAt = nil }

// record notes in which forms tiles have been placed.
func (p *placement) record(stored bool) {
	p.ever.stored, p.ever.computed = p.ever.stored || stored, p.ever.computed || !stored
}

// newEpoch returns a number that no other tile or copy that was placed has, so that workers can tell them apart.
func (p *placement) newEpoch() uint64 {
	p.epochs++
	return p.epochs
}

// join makes a worker a member.
func (p *placement) join(s *session) {
	s.used += p.fixedBytes(s)
	p.members[s] = &membership{}
}

// leave ends a worker's part in the job. The worker must have no tiles.
func (p *placement) leave(s *session) {
	p.tellToRelease(s)
	s.used -= p.fixedBytes(s)
	delete(p.members, s)
	p.fleet.dismissIfIdleLocked(s)
}

// dismissEmpty makes the members without tiles leave, after tiles have moved.
func (p *placement) dismissEmpty() {
	p.ops = 0
	for s, member := range p.members {
		if member.tiles == 0 {
			p.leave(s)
		}
	}
}

// put places a tile, which must not be placed, on a member.
func (p *placement) put(t int, s *session, stored bool) {
	p.tiles[t] = tile{worker: s, epoch: p.newEpoch(), wantStored: stored}
	p.members[s].tiles++
	s.tiles++
	s.used += p.tileBytes(t)
	p.record(stored)
}

// setStored sets whether a tile is stored on its worker, which learns it in the next operation.
func (p *placement) setStored(t int, stored bool) {
	p.tiles[t].worker.used += p.sizes[t].Bytes(stored) - p.tileBytes(t)
	p.tiles[t].wantStored = stored
	p.record(stored)
}

// remove takes a tile off its worker, if it has one, without telling the worker. What the worker had of the tile stays
// recorded until put or promote replaces it, because an operation that is just ending may still read it.
func (p *placement) remove(t int) {
	if s := p.tiles[t].worker; s != nil {
		p.recheck()
		s.tiles--
		s.used -= p.tileBytes(t)
		p.members[s].tiles--
		p.tiles[t].worker = nil
	}
}

// removeFrom takes tiles off their worker and tells it to drop them.
func (p *placement) removeFrom(s *session, tiles []int) {
	var dropped []*workerv1.Tile
	for _, t := range tiles {
		dropped = append(dropped, &workerv1.Tile{Tile: uint32(t), Epoch: p.tiles[t].epoch})
		p.remove(t)
	}
	p.tellToDrop(s, dropped)
}

func (p *placement) tellToDrop(s *session, tiles []*workerv1.Tile) {
	s.postLocked(&workerv1.Command{JobId: p.key, Tiles: tiles,
		Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
}

func (p *placement) tellToRelease(s *session) {
	s.postLocked(&workerv1.Command{JobId: p.key, Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
}

// removeEnded takes tiles off workers whose sessions have ended.
func (p *placement) removeEnded() {
	for t := range p.tiles {
		if s := p.tiles[t].worker; s != nil && s.ended {
			p.remove(t)
		}
	}
	for s := range p.members {
		if s.ended {
			delete(p.members, s)
		}
	}
}

// removeAll takes all tiles off their workers, which leave, and reports whether there were any.
func (p *placement) removeAll() bool {
	if len(p.members) == 0 {
		return false
	}
	for t := range p.tiles {
		p.remove(t)
	}
	p.dismissEmpty()
	return true
}

// reserveCopy reserves memory for a copy of a tile on a worker.
func (p *placement) reserveCopy(s *session, t int, stored bool) *copied {
	c := &copied{tile: tile{worker: s, epoch: p.newEpoch(), wantStored: stored}, number: t,
		bytes: p.sizes[t].Bytes(stored)}
	s.used += c.bytes
	return c
}

// freeCopies frees copies, and tells those of their workers that are still members to drop them.
func (p *placement) freeCopies(copies []*copied) {
	dropped := map[*session][]*workerv1.Tile{}
	for _, c := range copies {
		s := c.tile.worker
		s.used -= c.bytes
		dropped[s] = append(dropped[s], &workerv1.Tile{Tile: uint32(c.number), Epoch: c.tile.epoch})
	}
	for s, tiles := range dropped {
		if p.members[s] != nil {
			p.tellToDrop(s, tiles)
		}
	}
}

// promote makes a copy on a member the tile itself, which must not be placed.
func (p *placement) promote(c *copied) {
	p.tiles[c.number] = c.tile
	s := c.tile.worker
	p.members[s].tiles++
	s.tiles++
	p.record(c.tile.wantStored)
}
