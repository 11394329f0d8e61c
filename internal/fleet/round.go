package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// errOvertaken is the error of a group whose work others have done in the meantime.
var errOvertaken = errors.New("fleet: other workers were faster")

// How long an overtaken worker gets no tiles while there are others, in multiples of Config.SlowAfter: slowFor the
// first time, twice as long each further time, up to maxSlowFor.
const (
	slowFor    = 10
	maxSlowFor = 600
)

// round runs the groups of an operation concurrently, except that the groups of one worker run one after the other.
// If a worker keeps the others waiting for too long, its tiles are also given to others, which build them (a rescue);
// the first answer counts. Only the goroutine of runGroups touches a round. Each chain runs in a goroutine of its own and
// reports its end through ended.
type round struct {
	*execution
	op      *operation
	ctx     context.Context
	ended   chan *chain // receives each chain of running when it has ended
	running map[*session]*chain
	rescues []*rescue
}

// chain is the sequence of groups of one worker.
type chain struct {
	session *session
	groups  []*group
	done    atomic.Int32 // number of groups that have their answers
	cancel  context.CancelCauseFunc
	rescue  *rescue   // others doing the same work; nil if there are none
	helps   *rescue   // the rescue that the chain belongs to; nil if it does its own work
	asked   time.Time // when others were last asked to do the work too
}

// rescue is the work of a late worker as done by others.
type rescue struct {
	late   *chain
	covers []*group  // groups of the late worker
	groups []*group  // groups of the others
	copies []*copied // the copies that they make
	left   int       // number of running chains
	failed bool      // the others cannot do it
	won    bool      // the others have done it
	lost   bool      // the late worker has done it
}

func (r *rescue) has(c *copied) bool { return slices.Contains(r.copies, c) }

// runGroups runs groups and returns those whose answers count. Where others were faster, those are the groups of the
// others.
func (e *execution) runGroups(ctx context.Context, groups []*group, op *operation) []*group {
	r := &round{execution: e, op: op, ctx: ctx, ended: make(chan *chain), running: map[*session]*chain{}}
	chains, asked := chainsOf(groups)
	e.pace.Ask(asked)
	for _, c := range chains {
		r.start(c)
	}
	tick := time.NewTicker(max(time.Millisecond, min(100*time.Millisecond, e.fleet.cfg.SlowAfter/8)))
	defer tick.Stop()
	for len(r.running) > 0 {
		select {
		case c := <-r.ended:
			r.end(c)
		case <-tick.C:
			for _, c := range chains {
				if r.needsHelp(c, time.Now()) {
					r.help(c)
				}
			}
		}
	}
	for _, rescue := range r.rescues {
		groups = r.finishRescue(rescue, groups)
	}
	r.dismissOvertaken()
	return groups
}

// needsHelp reports whether others should do the work of a chain too, because its worker is late. If nobody had room,
// it says so again only after a while.
func (r *round) needsHelp(c *chain, now time.Time) bool {
	if r.running[c.session] != c || c.rescue != nil || now.Sub(c.asked) < r.fleet.cfg.SlowAfter || !r.pace.Late(c.session.id, now) {
		return false
	}
	c.asked = now
	return true
}

// chainsOf sorts groups into chains, and returns the ids of the workers that have tiles of their own among them, some
// repeatedly.
func chainsOf(groups []*group) (chains []*chain, asked []string) {
	of := map[*session]*chain{}
	for _, g := range groups {
		c := of[g.session]
		if c == nil {
			c = &chain{session: g.session}
			of[g.session] = c
			chains = append(chains, c)
		}
		if g.role == owns {
			asked = append(asked, g.session.id)
		}
		c.groups = append(c.groups, g)
	}
	return chains, asked
}

func (r *round) start(c *chain) {
	r.running[c.session] = c
	ctx, cancel := context.WithCancelCause(r.ctx)
	c.cancel = cancel
	go func() {
		defer cancel(nil)
		for _, g := range c.groups {
			if g.err = fault.Guard(r.fleet.log.Error, func() error { return r.runGroup(ctx, g, r.op) }); g.err != nil {
				break // the worker may have lost what the remaining groups need
			}
			c.done.Add(1)
		}
		r.ended <- c
	}()
}

// end records that a chain has ended.
func (r *round) end(c *chain) {
	delete(r.running, c.session)
	switch {
	case c.helps != nil:
		rescue := c.helps
		rescue.left--
		rescue.failed = rescue.failed || int(c.done.Load()) < len(c.groups)
		if rescue.won = rescue.left == 0 && !rescue.failed && !rescue.lost; rescue.won {
			rescue.late.cancel(errOvertaken)
		}
	case c.rescue != nil && !c.rescue.won && int(c.done.Load()) == len(c.groups):
		c.rescue.lost = true
		for _, helper := range r.running {
			if helper.helps == c.rescue {
				helper.cancel(errOvertaken)
			}
		}
	}
}

// help gives the tiles of a late worker to workers that have nothing to do.
func (r *round) help(c *chain) {
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	busy := []*session{c.session}
	for s := range r.running {
		busy = append(busy, s)
	}
	rescue := &rescue{late: c}
	tiles := 0
	for _, g := range c.groups[c.done.Load():] {
		if g.role == owns {
			rescue.covers = append(rescue.covers, g)
			tiles += len(g.tiles)
		}
	}
	if tiles == 0 { // it only verifies others, which can wait
		c.cancel(errOvertaken)
		f.markSlowLocked(c.session)
		return
	}
	helpers := r.helpersLocked(busy...)
	// A helper that verifies these tiles has answered already; it makes room for the copies that replace the late ones.
	r.placed.dropCopies(func(c *copied) bool {
		covers := func(g *group) bool { return slices.Contains(g.tiles, c.number) }
		return slices.Contains(helpers, c.worker) && slices.ContainsFunc(rescue.covers, covers)
	})
	of := map[*session]*group{}
	for _, g := range rescue.covers {
		for _, t := range g.tiles {
			made := r.copyToAnyLocked(helpers, of, t)
			if made == nil {
				r.placed.dropCopies(rescue.has)
				return // nobody has room; the late worker may still answer
			}
			rescue.copies = append(rescue.copies, made)
			helper := of[made.worker]
			if helper == nil {
				helper = &group{role: rescues, session: made.worker, member: r.placed.members[made.worker], copies: map[int]*tile{}}
				of[made.worker] = helper
				rescue.groups = append(rescue.groups, helper)
			}
			helper.tiles = append(helper.tiles, t)
			helper.copies[t] = &made.tile
		}
	}
	f.log.Warn("worker is slow; duplicating its tiles on other workers", "job", r.jobID,
		"worker", c.session.name, "operation", r.op.name, "tiles", tiles, "helpers", len(rescue.groups))
	c.rescue, rescue.left = rescue, len(rescue.groups)
	r.rescues = append(r.rescues, rescue)
	for _, g := range rescue.groups {
		r.start(&chain{session: g.session, groups: []*group{g}, helps: rescue})
	}
}

// copyToAnyLocked copies a tile to the worker that has the fewest tiles per thread in of, or returns nil if none has
// room.
func (e *execution) copyToAnyLocked(helpers []*session, of map[*session]*group, t int) *copied {
	load := func(s *session) float64 {
		if of[s] == nil {
			return 0
		}
		return float64(len(of[s].tiles)) / float64(s.threads)
	}
	byLoad := slices.SortedStableFunc(slices.Values(helpers), func(a, b *session) int { return cmp.Compare(load(a), load(b)) })
	return e.placed.copyTo(byLoad, t, e.placed.tiles[t].wantStored)
}

// finishRescue takes the tiles away from a late worker if others were faster, and drops the copies otherwise. It
// returns the groups whose answers count.
func (r *round) finishRescue(rescue *rescue, groups []*group) []*group {
	f, late := r.fleet, rescue.late.session
	f.mu.Lock()
	defer f.mu.Unlock()
	if !rescue.won || r.released.Err() != nil {
		r.placed.dropCopies(rescue.has)
		return groups
	}
	for _, g := range rescue.covers {
		r.placed.removeFrom(late, g.tiles)
		g.parts, g.err = nil, errOvertaken
	}
	for _, c := range rescue.copies {
		if r.placed.copies[copyKey{c.worker, c.number}] == c { // otherwise its worker was excluded meanwhile, and the tile is placed again
			r.placed.promote(c)
		}
	}
	for _, g := range rescue.groups {
		g.role = owns
	}
	r.pace.Forgive(late.id)
	f.markSlowLocked(late)
	return append(groups, rescue.groups...)
}

// dismissOvertaken releases overtaken workers that hold no tiles. It must run after all rescues are settled, because an
// overtaken worker may have helped to overtake another one.
func (r *round) dismissOvertaken() {
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	for _, rescue := range r.rescues {
		late := rescue.late.session
		if member := r.placed.members[late]; rescue.won && member != nil && member.tiles == 0 && !late.ended {
			r.placed.leave(late)
		}
	}
}

// markSlowLocked gives an overtaken worker no tiles for some time, while there are others.
func (f *Fleet) markSlowLocked(s *session) {
	s.slow = true
	pause := f.cfg.SlowAfter * time.Duration(min(maxSlowFor, slowFor<<min(s.overtaken, 10)))
	s.overtaken++
	overtaken := s.overtaken
	f.log.Warn("worker was overtaken; it gets no tiles for a while", "worker", s.name, "id", s.id, "overtaken", text.Plural(s.overtaken, "time"), "pause", pause)
	f.changed.Notify()
	time.AfterFunc(pause, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !s.ended && s.overtaken == overtaken { // otherwise a longer pause has begun
			s.slow = false
			f.changed.Notify()
		}
	})
}
