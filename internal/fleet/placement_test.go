package fleet

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fleet/pace"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
)

// check tests the accounts of a placement that has these workers for itself, and has made these copies on them.
func (p *placement) check(t *rapid.T, sessions []*session, copies map[int]*copied) {
	for _, s := range sessions {
		if s.ended {
			continue
		}
		member, tiles, used := p.members[s], len(p.tilesOfLocked(s)), int64(0)
		for _, tile := range p.tilesOfLocked(s) {
			used += p.tileBytesLocked(tile)
		}
		for _, c := range copies {
			if c.tile.worker == s {
				used += c.bytes
			}
		}
		switch {
		case member == nil && tiles > 0:
			t.Fatalf("%d tiles on a worker that is no member", tiles)
		case member != nil && member.tiles != tiles:
			t.Fatalf("a member counts %d tiles and has %d", member.tiles, tiles)
		case member != nil:
			used += fixedBytes(p.need, s)
		}
		if s.tiles != tiles || s.used != used {
			t.Fatalf("a worker counts %d tiles and %d bytes, and has %d and %d", s.tiles, s.used, tiles, used)
		}
	}
}

// Whatever happens to tiles and workers, a placement keeps account of what is where.
func TestAPlacementKeepsAccount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := kernel.MatrixSpec{Function: kernel.Linear, Rows: 4 * 16, Columns: 2}
		need := planning.Workload{Matrix: &planning.Matrix{Spec: spec},
			K: 2, Lanes: 1}
		f := New(Config{})
		p := newPlacement(f, need)
		copies := map[int]*copied{} // by tile
		var sessions []*session
		for range 4 {
			s := &session{threads: 2, pending: map[uint64]*call{}, done: make(chan struct{}),
				watchdog: time.NewTimer(time.Hour)}
			sessions = append(sessions, s)
		}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			tile := rapid.IntRange(0, len(p.tiles)-1).Draw(t, "tile")
			s := rapid.SampledFrom(sessions).Draw(t, "worker")
			at, stored := &p.tiles[tile], rapid.Bool().Draw(t, "stored")
			switch event := rapid.IntRange(0, 9).Draw(t, "event"); {
			case s.ended && event < 9:
			case event <= 2 && at.worker == nil:
				if p.members[s] == nil {
					p.joinLocked(s)
				}
				p.putLocked(tile, s, stored)
			case event == 3:
				p.removeLocked(tile)
			case event == 4 && at.worker != nil:
				p.setStoredLocked(tile, stored)
			case event == 5 && p.members[s] != nil && copies[tile] == nil:
				copies[tile] = p.reserveCopyLocked(s, tile, stored)
			case event == 6:
				p.dismissEmptyLocked()
			case event == 7:
				c := copies[tile]
				switch {
				case c == nil:
					continue
				case p.tiles[tile].worker == nil && p.members[c.tile.worker] != nil:
					p.promoteLocked(c)
				default:
					p.freeCopiesLocked([]*copied{c})
				}
				delete(copies, tile)
			case event == 8:
				p.removeFromLocked(s, p.tilesOfLocked(s))
			case event == 9 && stored:
				f.endSessionLocked(s, nil)
				p.removeEndedLocked()
			case event == 9:
				p.removeAllLocked()
			}
			p.check(t, sessions, copies)
		}
		p.removeAllLocked()
		p.check(t, sessions, copies)
	})
}

// The tiles of a worker that drains, or is away, move to a slow worker rather than stay, if no other has room. They
// move to one that may never answer only if they cannot stay.
func TestWhereTilesMoveIfOnlyDoubtedWorkersHaveRoom(t *testing.T) {
	const yielding, full, doubted = 0, 1, 2
	drains := func(s *session) { s.draining = true }
	away := func(s *session) { s.stream, s.away = nil, true }
	slow := func(s *session) { s.slow = true }
	stalled := func(s *session) { s.stalled = []uint64{1} }
	for name, c := range map[string]struct {
		yield, doubt func(*session)
		fullToo      bool // the full worker is as doubted as the other one
		want         int
	}{
		"from a draining worker to a slow one":         {drains, slow, false, doubted},
		"from a draining worker, and all are slow":     {drains, slow, true, doubted},
		"from an absent worker to a slow one":          {away, slow, false, doubted},
		"on a draining worker, not on one that stalls": {drains, stalled, false, yielding},
		"on a draining worker, and all others stall":   {drains, stalled, true, yielding},
		"from an absent worker to one that stalls":     {away, stalled, false, doubted},
	} {
		spec := kernel.MatrixSpec{Function: kernel.Linear, Rows: 4 * 16, Columns: 2}
		need := planning.Workload{Matrix: &planning.Matrix{Spec: spec},
			K: 2, Lanes: 1}
		f := New(Config{})
		e := &execution{fleet: f, need: need, pace: pace.New(time.Second), blame: newBlame(nil),
			placed: newPlacement(f, need)}
		e.handovers = newHandovers(&e.placed)
		sessions := manySessions(3)
		for _, s := range sessions {
			s.stream = &attachment{}
		}
		sessions[full].memory = 1
		c.doubt(sessions[doubted])
		if c.fullToo {
			c.doubt(sessions[full])
		}
		e.placed.joinLocked(sessions[yielding])
		for tile := range e.placed.tiles {
			e.placed.putLocked(tile, sessions[yielding], false)
		}
		c.yield(sessions[yielding])
		layout, _ := e.snapshotLocked(sessions).Layout()
		for tile, owner := range layout.Owner {
			if owner != c.want {
				t.Errorf("%s: tile %d is placed on worker %d", name, tile, owner)
			}
		}
	}
}
