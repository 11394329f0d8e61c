package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/round"
	"github.com/cleave-project/cleave/internal/partition"
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

// conductor carries out one round of an operation: it tells the round what happens, and does what the round decides.
// The goroutine of runGroups owns it. Each group runs in a goroutine of its own, which reports its end through ended.
type conductor struct {
	execution *execution
	op        *operation
	ctx       context.Context
	round     *round.Round
	parts     []*roundPart // by the numbers of their groups in the round
	ended     chan int     // receives the number of a group when it has ended
}

// roundPart is a group of a round.
type roundPart struct {
	group  *group
	copies []*copied // the tiles of the group, if it helps a late one
	cancel context.CancelCauseFunc
	tried  time.Time // when helpers were last looked for
}

// runGroups runs groups and returns those whose answers count. Where others were faster, those are the groups of the
// others.
func (e *execution) runGroups(ctx context.Context, groups []*group, op *operation) []*group {
	var workers []string
	for _, g := range groups {
		workers = append(workers, g.session.id)
	}
	e.pace.Ask(workers)
	slowAfter := e.fleet.cfg.SlowAfter
	c := &conductor{execution: e, op: op, ctx: ctx, round: round.New(workers), ended: make(chan int)}
	for _, g := range groups {
		c.start(&roundPart{group: g})
	}
	tick := time.NewTicker(max(time.Millisecond, min(100*time.Millisecond, slowAfter/8)))
	defer tick.Stop()
	for !c.round.Over() {
		select {
		case number := <-c.ended:
			c.cancel(c.round.Ended(number, c.parts[number].group.err == nil))
		case <-tick.C:
			c.helpLate()
		}
	}
	return c.settle(groups)
}

// start runs the next group of the round in a goroutine of its own.
func (c *conductor) start(p *roundPart) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	p.cancel = cancel
	number := len(c.parts)
	c.parts = append(c.parts, p)
	go func() {
		defer cancel(nil)
		p.group.err = fault.Guard(c.execution.fleet.log.Error, func() error {
			return c.execution.runGroup(ctx, p.group, c.op)
		})
		c.ended <- number
	}()
}

// cancel stops groups whose answers are no longer needed.
func (c *conductor) cancel(groups []int) {
	for _, number := range groups {
		c.parts[number].cancel(errOvertaken)
	}
}

// helpLate asks others for the tiles of workers that keep everybody waiting. If nobody had room, it looks for helpers
// again only after a while.
func (c *conductor) helpLate() {
	for number, late := range c.parts {
		now := time.Now()
		if !c.round.MayBeHelped(number) || now.Sub(late.tried) < c.execution.fleet.cfg.SlowAfter ||
			!c.execution.pace.Late(late.group.session.id, now) {
			continue
		}
		late.tried = now
		for _, p := range c.placeHelp(number) {
			c.start(p)
		}
	}
}

// placeHelp reserves room for copies of the tiles of a late group, and returns the groups that are to build them.
func (c *conductor) placeHelp(number int) []*roundPart {
	e := c.execution
	f := e.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	late := c.parts[number].group
	helpers, sessions := e.helpersLocked()
	asks := c.round.Late(number, e.placed.copyableLocked(late.tiles), helpers)
	var parts []*roundPart
	for _, ask := range asks {
		s := sessions[ask.Worker]
		g := &group{role: rescues, session: s, member: e.placed.members[s], copies: map[int]*tile{}}
		p := &roundPart{group: g}
		for _, wanted := range ask.Copies {
			made := e.placed.reserveCopyLocked(s, wanted.Tile, wanted.Stored)
			p.copies = append(p.copies, made)
			g.tiles = append(g.tiles, wanted.Tile)
			g.copies[wanted.Tile] = &made.tile
		}
		parts = append(parts, p)
	}
	if len(parts) > 0 {
		f.log.Warn("worker is slow; duplicating its tiles on other workers", "job", e.jobID, "worker",
			late.session.name, "operation", c.op.name, "tiles", len(late.tiles), "helpers", len(parts))
	}
	return parts
}

// helpersLocked returns the workers of the job that can take copies of tiles, sorted by id, and their sessions by id.
func (e *execution) helpersLocked() ([]round.Helper, map[string]*session) {
	var helpers []round.Helper
	sessions := map[string]*session{}
	for s, member := range e.placed.members {
		if member.tiles > 0 && !s.ended && !s.away && e.blame.acceptsLocked(s) {
			helpers = append(helpers, round.Helper{Worker: s.id, Threads: s.threads, Free: s.freeLocked()})
			sessions[s.id] = s
		}
	}
	slices.SortFunc(helpers, func(a, b round.Helper) int { return cmp.Compare(a.Worker, b.Worker) })
	return helpers, sessions
}

// copyableLocked describes tiles as what others may hold copies of.
func (p *placement) copyableLocked(tiles []int) []round.Tile {
	var described []round.Tile
	for _, t := range tiles {
		described = append(described, round.Tile{Number: t, Forms: p.copyFormsLocked(t)})
	}
	return described
}

// copyFormsLocked returns the forms in which the job allows a copy of a tile, the best first. The copy of a tile that
// is not stored, although it might be, is not stored either.
func (p *placement) copyFormsLocked(t int) []round.Form {
	stored := round.Form{Stored: true, Bytes: p.sizes[t].Bytes(true)}
	computed := round.Form{Bytes: p.sizes[t].Bytes(false)}
	switch rule := p.need.StorageRule(); {
	case rule == partition.StoreAll:
		return []round.Form{stored}
	case rule == partition.StoreWhatFits && p.tiles[t].wantStored:
		return []round.Form{stored, computed}
	}
	return []round.Form{computed}
}

// settle takes the tiles away from workers that were overtaken, and frees the copies that others have made in vain. It
// returns the groups whose answers count.
func (c *conductor) settle(groups []*group) []*group {
	e := c.execution
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	for _, rescue := range c.round.Rescues() {
		if !rescue.Won || e.released.Err() != nil {
			e.placed.freeCopiesLocked(c.copiesOf(rescue))
			continue
		}
		late := c.parts[rescue.Late].group
		e.placed.removeFromLocked(late.session, late.tiles)
		late.parts = nil
		late.err = errOvertaken
		for _, made := range c.copiesOf(rescue) {
			e.placed.promoteLocked(made)
		}
		for _, number := range rescue.Helpers {
			helper := c.parts[number].group
			helper.role = owns
			groups = append(groups, helper)
		}
		e.pace.Forgive(late.session.id)
		e.fleet.markSlowLocked(late.session)
	}
	c.dismissOvertakenLocked()
	return groups
}

// copiesOf returns the copies that the helpers of a rescue have made.
func (c *conductor) copiesOf(rescue *round.Rescue) []*copied {
	var copies []*copied
	for _, number := range rescue.Helpers {
		copies = append(copies, c.parts[number].copies...)
	}
	return copies
}

// dismissOvertakenLocked releases overtaken workers that hold no tiles, when all rescues are settled: an overtaken
// worker may have helped to overtake another one.
func (c *conductor) dismissOvertakenLocked() {
	for _, rescue := range c.round.Rescues() {
		late := c.parts[rescue.Late].group.session
		member := c.execution.placed.members[late]
		if rescue.Won && member != nil && member.tiles == 0 && !late.ended {
			c.execution.placed.leaveLocked(late)
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
	f.notifyLocked()
	time.AfterFunc(pause, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !s.ended && s.overtaken == overtaken { // otherwise a longer pause has begun
			s.slow = false
			f.notifyLocked()
		}
	})
}
