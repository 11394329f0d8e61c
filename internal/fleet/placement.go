package fleet

import (
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
)

// placement records which worker has each tile of a job, and keeps account of the memory that this takes. Fleet.mu
// guards it, except for what tile says. Methods that take tiles away expect that no operation uses the tiles.
//
// These are true between any two calls:
//   - A tile that has a worker is on a member.
//   - membership.tiles is the number of tiles on the member. A member without tiles leaves at the next
//     dismissEmptyLocked.
//   - session.tiles and session.used contain exactly the tiles and the fixed bytes of the members, besides what
//     handovers and rescues reserve for copies.
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
	ops        int    // operations since tiles were last placed
	balancedAt uint64 // state.changes when the placement was last balanced; 0 forces a check
	storedAt   uint64 // state.changes when tiles were last stored wherever there was room
}

// tile is where a tile is, and in which form. Fleet.mu guards worker. The other fields change only while Fleet.mu is
// held and nobody runs commands about the tile, so that either is enough to read them.
type tile struct {
	worker     *session // nil if it is not placed
	epoch      uint64   // distinguishes this placement of the tile from all others
	wantStored bool     // whether its entries should be stored
	held       held
}

// held is what the worker of a tile has of it, as last reported. Whoever runs commands about the tile owns it, and
// needs no lock: the running operation, or the handover that builds the tile.
type held struct {
	form buildState
	step uint64 // step of its sums; 0 if it has none
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
func (t *tile) ready() bool { return t.held.form == builtAs(t.wantStored) }

// toUnstore reports whether the tile is stored but should not be.
func (t *tile) toUnstore() bool { return t.held.form == builtStored && !t.wantStored }

// forget records that the worker has lost what it had of the job.
func (m *membership) forget() { *m = membership{tiles: m.tiles} }

func newPlacement(f *Fleet, need planning.Workload) placement {
	return placement{
		fleet: f, need: need, sizes: need.TileSizes(), tiles: make([]tile, partition.TileCount(need.Rows())),
		members: map[*session]*membership{},
	}
}

// needOn returns what a job needs on a worker.
func needOn(need planning.Workload, s *session) planning.Workload {
	need.Whole = need.Whole || !s.fetchesRows
	return need
}

// fixedBytes returns the memory that a job takes on a worker besides tiles.
func fixedBytes(need planning.Workload, s *session) int64 {
	return needOn(need, s).FixedBytes(s.threads)
}

// tileBytesLocked returns the memory that a tile takes on its worker.
func (p *placement) tileBytesLocked(t int) int64 { return p.sizes[t].Bytes(p.tiles[t].wantStored) }

// tilesOfLocked returns the tiles that are placed on a worker.
func (p *placement) tilesOfLocked(s *session) []int {
	var tiles []int
	for t := range p.tiles {
		if p.tiles[t].worker == s {
			tiles = append(tiles, t)
		}
	}
	return tiles
}

// recheckLocked makes the job look for a better placement before its next operation.
func (p *placement) recheckLocked() { p.balancedAt = 0 }

// recordLocked notes in which forms tiles have been placed.
func (p *placement) recordLocked(stored bool) {
	p.ever.stored, p.ever.computed = p.ever.stored || stored, p.ever.computed || !stored
}

// newEpochLocked returns a number that no other tile or copy that was placed has, so that workers can tell them apart.
func (p *placement) newEpochLocked() uint64 {
	p.epochs++
	return p.epochs
}

// joinLocked makes a worker a member.
func (p *placement) joinLocked(s *session) {
	s.used += fixedBytes(p.need, s)
	p.members[s] = &membership{}
}

// leaveLocked ends a worker's part in the job. The worker must have no tiles.
func (p *placement) leaveLocked(s *session) {
	p.tellToReleaseLocked(s)
	s.used -= fixedBytes(p.need, s)
	delete(p.members, s)
	p.fleet.dismissIfIdleLocked(s)
}

// dismissEmptyLocked makes the members without tiles leave, after tiles have moved.
func (p *placement) dismissEmptyLocked() {
	p.ops = 0
	for s, member := range p.members {
		if member.tiles == 0 {
			p.leaveLocked(s)
		}
	}
}

// putLocked places a tile, which must not be placed, on a member.
func (p *placement) putLocked(t int, s *session, stored bool) {
	p.tiles[t] = tile{worker: s, epoch: p.newEpochLocked(), wantStored: stored}
	p.members[s].tiles++
	s.tiles++
	s.used += p.tileBytesLocked(t)
	p.recordLocked(stored)
}

// setStoredLocked sets whether a tile is stored on its worker, which learns it in the next operation.
func (p *placement) setStoredLocked(t int, stored bool) {
	p.tiles[t].worker.used += p.sizes[t].Bytes(stored) - p.tileBytesLocked(t)
	p.tiles[t].wantStored = stored
	p.recordLocked(stored)
}

// removeLocked takes a tile off its worker, if it has one, without telling the worker. What the worker had of the tile
// stays recorded until put or promote replaces it, because an operation that is just ending may still read it.
func (p *placement) removeLocked(t int) {
	if s := p.tiles[t].worker; s != nil {
		p.recheckLocked()
		s.tiles--
		s.used -= p.tileBytesLocked(t)
		p.members[s].tiles--
		p.tiles[t].worker = nil
	}
}

// removeFromLocked takes tiles off their worker and tells it to drop them.
func (p *placement) removeFromLocked(s *session, tiles []int) {
	var dropped []*workerv1.Tile
	for _, t := range tiles {
		dropped = append(dropped, &workerv1.Tile{Tile: uint32(t), Epoch: p.tiles[t].epoch})
		p.removeLocked(t)
	}
	p.tellToDropLocked(s, dropped)
}

func (p *placement) tellToDropLocked(s *session, tiles []*workerv1.Tile) {
	s.postLocked(&workerv1.Command{JobId: p.key, Tiles: tiles,
		Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
}

func (p *placement) tellToReleaseLocked(s *session) {
	s.postLocked(&workerv1.Command{JobId: p.key, Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
}

// removeEndedLocked takes tiles off workers whose sessions have ended.
func (p *placement) removeEndedLocked() {
	for t := range p.tiles {
		if s := p.tiles[t].worker; s != nil && s.ended {
			p.removeLocked(t)
		}
	}
	for s := range p.members {
		if s.ended {
			delete(p.members, s)
		}
	}
}

// removeAllLocked takes all tiles off their workers, which leave, and reports whether there were any.
func (p *placement) removeAllLocked() bool {
	if len(p.members) == 0 {
		return false
	}
	for t := range p.tiles {
		p.removeLocked(t)
	}
	p.dismissEmptyLocked()
	return true
}

// reserveCopyLocked reserves memory for a copy of a tile on a worker.
func (p *placement) reserveCopyLocked(s *session, t int, stored bool) *copied {
	c := &copied{tile: tile{worker: s, epoch: p.newEpochLocked(), wantStored: stored}, number: t,
		bytes: p.sizes[t].Bytes(stored)}
	s.used += c.bytes
	return c
}

// freeCopiesLocked frees copies, and tells those of their workers that are still members to drop them.
func (p *placement) freeCopiesLocked(copies []*copied) {
	dropped := map[*session][]*workerv1.Tile{}
	for _, c := range copies {
		s := c.tile.worker
		s.used -= c.bytes
		dropped[s] = append(dropped[s], &workerv1.Tile{Tile: uint32(c.number), Epoch: c.tile.epoch})
	}
	for s, tiles := range dropped {
		if p.members[s] != nil {
			p.tellToDropLocked(s, tiles)
		}
	}
}

// promoteLocked makes a copy on a member the tile itself, which must not be placed.
func (p *placement) promoteLocked(c *copied) {
	p.tiles[c.number] = c.tile
	s := c.tile.worker
	p.members[s].tiles++
	s.tiles++
	p.recordLocked(c.tile.wantStored)
}
