package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"
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

// round runs the groups of an operation concurrently. If a worker keeps the others waiting for too long, its tiles are
// also given to others, which build them (a rescue); the first answer counts. Only the goroutine of runGroups touches a
// round. Each group runs in a goroutine of its own, which reports its end through ended.
type round struct {
	*execution
	op      *operation
	ctx     context.Context
	ended   chan *running // receives each of running when it has ended
	running map[*session]*running
	rescues []*rescue
}

// running is a group of a round while its worker computes.
type running struct {
	*group
	cancel context.CancelCauseFunc
	rescue *rescue   // others doing the same work; nil if there are none
	helps  *rescue   // the rescue that the group belongs to; nil if it does its own work
	asked  time.Time // when others were last asked to do the work too
}

// rescue is the work of a late worker as done by others.
type rescue struct {
	late    *running
	helpers []*group
	copies  []*copied // the copies that the helpers make
	left    int       // number of helpers that are still running
	failed  bool      // the others cannot do it
	won     bool      // the others have done it
	lost    bool      // the late worker has done it
}

// runGroups runs groups and returns those whose answers count. Where others were faster, those are the groups of the
// others.
func (e *execution) runGroups(ctx context.Context, groups []*group, op *operation) []*group {
	r := &round{execution: e, op: op, ctx: ctx, ended: make(chan *running), running: map[*session]*running{}}
	var asked []string
	for _, g := range groups {
		asked = append(asked, g.session.id)
	}
	e.pace.Ask(asked)
	var started []*running
	for _, g := range groups {
		started = append(started, r.start(g, nil))
	}
	tick := time.NewTicker(max(time.Millisecond, min(100*time.Millisecond, e.fleet.cfg.SlowAfter/8)))
	defer tick.Stop()
	for len(r.running) > 0 {
		select {
		case g := <-r.ended:
			r.end(g)
		case <-tick.C:
			for _, g := range started {
				if r.needsHelp(g, time.Now()) {
					r.help(g)
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

// start runs a group in a goroutine of its own. helps is the rescue that the group belongs to, or nil.
func (r *round) start(g *group, helps *rescue) *running {
	ctx, cancel := context.WithCancelCause(r.ctx)
	started := &running{group: g, cancel: cancel, helps: helps}
	r.running[g.session] = started
	go func() {
		defer cancel(nil)
		g.err = fault.Guard(r.fleet.log.Error, func() error { return r.runGroup(ctx, g, r.op) })
		r.ended <- started
	}()
	return started
}

// end records that a group has ended.
func (r *round) end(g *running) {
	delete(r.running, g.session)
	switch {
	case g.helps != nil:
		rescue := g.helps
		rescue.left--
		rescue.failed = rescue.failed || g.err != nil
		rescue.won = rescue.left == 0 && !rescue.failed && !rescue.lost
		if rescue.won {
			rescue.late.cancel(errOvertaken)
		}
	case g.rescue != nil && !g.rescue.won && g.err == nil:
		g.rescue.lost = true
		for _, helper := range r.running {
			if helper.helps == g.rescue {
				helper.cancel(errOvertaken)
			}
		}
	}
}

// needsHelp reports whether others should do the work of a group too, because its worker is late. If nobody had room,
// it says so again only after a while.
func (r *round) needsHelp(g *running, now time.Time) bool {
	if r.running[g.session] != g || g.rescue != nil || now.Sub(g.asked) < r.fleet.cfg.SlowAfter {
		return false
	}
	if !r.pace.Late(g.session.id, now) {
		return false
	}
	g.asked = now
	return true
}

// help gives the tiles of a late worker to workers that have nothing to do.
func (r *round) help(late *running) {
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	idle := r.idleMembersLocked()
	rescue := &rescue{late: late}
	of := map[*session]*group{}
	for _, t := range late.tiles {
		c := r.copyToAnyLocked(idle, of, t)
		if c == nil {
			r.placed.freeCopies(rescue.copies)
			return // nobody has room; the late worker may still answer
		}
		rescue.copies = append(rescue.copies, c)
		helper := of[c.worker]
		if helper == nil {
			helper = &group{role: rescues, session: c.worker, member: r.placed.members[c.worker],
				copies: map[int]*tile{}}
			of[c.worker] = helper
			rescue.helpers = append(rescue.helpers, helper)
		}
		helper.tiles = append(helper.tiles, t)
		helper.copies[t] = &c.tile
	}
	f.log.Warn("worker is slow; duplicating its tiles on other workers", "job", r.jobID, "worker", late.session.name,
		"operation", r.op.name, "tiles", len(late.tiles), "helpers", len(rescue.helpers))
	late.rescue = rescue
	rescue.left = len(rescue.helpers)
	r.rescues = append(r.rescues, rescue)
	for _, g := range rescue.helpers {
		r.start(g, rescue)
	}
}

// idleMembersLocked returns the workers of the job that have nothing to do and can take copies of tiles, sorted by id.
func (r *round) idleMembersLocked() []*session {
	var idle []*session
	for s, member := range r.placed.members {
		if r.running[s] == nil && member.tiles > 0 && !s.ended && !s.away && r.blame.accepts(s) {
			idle = append(idle, s)
		}
	}
	slices.SortFunc(idle, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	return idle
}

// copyToAnyLocked copies a tile to the worker that has the fewest tiles per thread in of, or returns nil if none has
// room.
func (r *round) copyToAnyLocked(idle []*session, of map[*session]*group, t int) *copied {
	load := func(s *session) float64 {
		if of[s] == nil {
			return 0
		}
		return float64(len(of[s].tiles)) / float64(s.threads)
	}
	byLoad := slices.SortedStableFunc(slices.Values(idle), func(a, b *session) int {
		return cmp.Compare(load(a), load(b))
	})
	return r.placed.copyTo(byLoad, t, r.placed.tiles[t].wantStored)
}

// finishRescue takes the tiles away from a late worker if others were faster, and frees the copies otherwise. It
// returns the groups whose answers count.
func (r *round) finishRescue(rescue *rescue, groups []*group) []*group {
	f := r.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	if !rescue.won || r.released.Err() != nil {
		r.placed.freeCopies(rescue.copies)
		return groups
	}
	late := rescue.late.group
	r.placed.removeFrom(late.session, late.tiles)
	late.parts = nil
	late.err = errOvertaken
	for _, c := range rescue.copies {
		r.placed.promote(c)
	}
	for _, g := range rescue.helpers {
		g.role = owns
	}
	r.pace.Forgive(late.session.id)
	f.markSlowLocked(late.session)
	return append(groups, rescue.helpers...)
}

// dismissOvertaken releases overtaken workers that hold no tiles. It must run after all rescues are settled, because an
// overtaken worker may have helped to overtake another one.
func (r *round) dismissOvertaken() {
	r.fleet.mu.Lock()
	defer r.fleet.mu.Unlock()
	for _, rescue := range r.rescues {
		late := rescue.late.session
		member := r.placed.members[late]
		if rescue.won && member != nil && member.tiles == 0 && !late.ended {
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
	f.log.Warn("worker was overtaken; it gets no tiles for a while", "worker", s.name, "id", s.id,
		"overtaken", text.Plural(s.overtaken, "time"), "pause", pause)
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
