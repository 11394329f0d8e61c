package fleet

import (
	"context"
	"slices"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/wire"
)

// A newcomer, a worker that has no tiles of a job, builds its first tiles in the background. The workers that have the tiles
// continue meanwhile, even if they are draining, so that no operation waits for a build. A worker that already has tiles of the
// job builds further ones at once: operations keep its threads busy, so building in the background would not be faster.

// handover is the tiles that one newcomer builds in the background, to take them over between two operations. If the job has
// labels, the newcomer then loads them and applies each change of them, so that its sums are current when it takes over.
//
// Its goroutine owns member and the tiles that are not built yet. Fleet.mu guards the other fields.
type handover struct {
	to      *session
	member  *membership
	copies  map[int]*copied // by number of the tile
	built   map[int]bool    // by number of the tile
	follows bool            // the newcomer must have the current sums before it takes over
	loaded  bool            // labels were loaded, or are in the queue
	queue   []followed      // changes of the labels that the newcomer has yet to apply
	version int             // incremented when the queue so far becomes useless
	waited  int             // operations that began since everything was built
	ctx     context.Context // ends with the handover and with the job
	cancel  context.CancelFunc
	running bool          // the goroutine runs; it ends when there is nothing to do
	ended   chan struct{} // closed when running becomes false
}

// followed is a change of the labels of a job: either all labels at a step, or the moves from a step to the next.
type followed struct {
	step          uint64
	labels, moves *payload // one of them is nil
}

// maxFollowed is how many operations may begin while a newcomer that has built everything is behind the step of the job. After
// that it takes over with the sums that it has, and they are computed again.
const maxFollowed = 64

// ready reports whether the newcomer can take its tiles over. The caller holds f.mu.
func (h *handover) ready() bool {
	return !h.running && h.complete() && (!h.follows || h.loaded && len(h.queue) == 0)
}

// complete reports whether all tiles of the handover are built. The caller holds f.mu.
func (h *handover) complete() bool { return len(h.built) == len(h.copies) }

// working reports whether a worker can continue with its tiles while others build them. The caller holds f.mu.
func (s *session) working() bool { return !s.ended && !s.away && s.stream != nil && s.wrong == nil }

// handedOverLater reports whether a tile that moves to a worker stays where it is until that worker has built it. The caller
// holds f.mu, and no operation uses the tile.
func (j *job) handedOverLater(t int, to *session) bool {
	return j.tiles[t].state != notBuilt && j.tiles[t].worker.working() && j.isNewcomer(to) && !j.direct[to]
}

// startHandover makes a newcomer build a tile in the background. Only the running operation calls it. The caller holds f.mu.
func (j *job) startHandover(t int, to *session, stored bool) {
	h := j.handovers[to]
	if h == nil {
		h = &handover{to: to, member: &membership{}, copies: map[int]*copied{}, built: map[int]bool{}, follows: !j.answersChanges && j.labels != nil}
		h.ctx, h.cancel = context.WithCancel(j.ctx)
		j.handovers[to] = h
		to.used += j.needOn(to).FixedBytes(to.threads)
	}
	c := &copied{tile: tile{worker: to, epoch: j.newEpoch(), wantStored: stored}, number: t, bytes: j.sizes[t].Bytes(stored)}
	h.copies[t], j.moving[t] = c, c
	to.used += c.bytes
	h.forget()
	j.continueHandover(h)
}

// continueHandover starts the goroutine of a handover unless it runs already. The caller holds f.mu.
func (j *job) continueHandover(h *handover) {
	if !h.running && j.ctx.Err() == nil {
		h.running, h.ended = true, make(chan struct{})
		j.background.Go(func() { j.runHandover(h) })
	}
}

// runHandover builds the tiles of a handover, a few at a time, and then applies the changes of the labels.
func (j *job) runHandover(h *handover) {
	for {
		g, change, version := j.nextOfHandover(h)
		if g == nil {
			return
		}
		err := j.prepare(h.ctx, g)
		switch {
		case err != nil:
		case change == nil:
			err = j.build(h.ctx, g)
		default:
			err = j.follow(h.ctx, g, change)
		}
		j.noteHandover(h, g, change, version, err)
	}
}

// nextOfHandover returns what the goroutine of a handover does next: some tiles to build or, if all are built, all of them and a
// change of the labels. If there is nothing to do, it returns nil and the goroutine must end.
func (j *job) nextOfHandover(h *handover) (g *group, change *followed, version int) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	g = &group{session: h.to, member: h.member, copies: map[int]*tile{}}
	for t, c := range h.copies {
		if h.complete() && len(h.queue) > 0 || !h.built[t] && len(g.tiles) < j.tilesAtOnce(h.to) {
			g.tiles = append(g.tiles, t)
			g.copies[t] = &c.tile
		}
	}
	if len(g.tiles) == 0 || h.ctx.Err() != nil {
		h.running = false
		close(h.ended)
		j.fleet.notifyChanged() // an operation takes the tiles over
		return nil, nil, 0
	}
	slices.Sort(g.tiles)
	if h.complete() {
		change = &h.queue[0]
		h.queue = h.queue[1:]
	}
	return g, change, h.version
}

// follow applies a change of the labels to the tiles of a group.
func (j *job) follow(ctx context.Context, g *group, change *followed) error {
	defer change.labels.free()
	defer change.moves.free()
	if j.ensureOperands != nil {
		if err := j.ensureOperands(ctx, g); err != nil {
			return err
		}
	}
	_, err := j.runCommand(ctx, g, g.tiles, j.sumBytes, func(c *workerv1.Command) {
		if change.labels != nil {
			c.Operation = &workerv1.Command_Load{Load: &workerv1.Load{Step: change.step, Labels: change.labels.message()}}
		} else if g.session.compact() {
			c.Operation = &workerv1.Command_Update{Update: &workerv1.Update{Step: change.step, PackedMoves: change.moves.message()}}
		} else {
			c.Operation = &workerv1.Command_Update{Update: &workerv1.Update{Step: change.step, Moves: change.moves.message()}}
		}
	})
	return err
}

// noteHandover records that tiles were built or that a change was applied to them. After an error it gives the handover up. The
// next tiles then move to the worker at once, so that an operation sees the error and can exclude the worker.
func (j *job) noteHandover(h *handover, g *group, change *followed, version int, err error) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	switch {
	case j.handovers[h.to] != h: // it was given up meanwhile
	case change != nil && version != h.version: // the labels were replaced meanwhile
	case err == nil && change == nil:
		for _, t := range g.tiles {
			if c := h.copies[t]; c != nil && g.copies[t] == &c.tile {
				h.built[t] = true
			}
		}
	case err == nil:
		step := change.step
		if change.moves != nil {
			step++
		}
		for _, t := range g.tiles {
			g.copies[t].step = step
		}
	case h.ctx.Err() == nil:
		j.fleet.log.Warn("a worker cannot build tiles in the background", "job", j.jobID, "worker", h.to.name, "error", err)
		j.direct[h.to] = true
		j.giveUpHandover(h)
	}
}

// forget makes the newcomer load the labels again, because what it has loaded or was to apply has become useless. The caller
// holds f.mu.
func (h *handover) forget() {
	h.version++
	h.loaded, h.queue = false, nil
	for t := range h.built {
		h.copies[t].step = 0
	}
}

// followLabels makes newcomers that have built everything load the labels of the current step. Those of vectors load them when they take
// over, which takes less time than to apply changes. Only the running operation calls it.
func (j *job) followLabels() {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, h := range j.handovers {
		if h.follows = !j.answersChanges; !h.follows || !h.complete() || h.loaded {
			continue
		}
		labels := slices.Clone(j.labels)
		h.loaded, h.queue = true, []followed{{step: j.step, labels: j.fleet.newPayload(func() []byte { return wire.PackInt32s(labels) })}}
		j.continueHandover(h)
	}
}

// followMoves makes newcomers apply the moves from a step to the next. Only the running operation calls it.
func (j *job) followMoves(step uint64, moves []labeling.Move) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, h := range j.handovers {
		if !h.loaded {
			continue
		}
		moves, pack := slices.Clone(moves), wire.PackMoveTriples
		if k := j.k; h.to.compact() {
			pack = func(moves []labeling.Move) []byte { return wire.PackMoves(moves, k) }
		}
		h.queue = append(h.queue, followed{step: step, moves: j.fleet.newPayload(func() []byte { return pack(moves) })})
		j.continueHandover(h)
	}
}

// followNothing makes newcomers load the labels again, because all of them were replaced.
func (j *job) followNothing() {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, h := range j.handovers {
		h.forget()
	}
}

// dropFromHandover takes a tile out of its handover, if any. The caller holds f.mu.
func (j *job) dropFromHandover(t int) {
	c := j.moving[t]
	if c == nil {
		return
	}
	h := j.handovers[c.worker]
	delete(j.moving, t)
	delete(h.copies, t)
	delete(h.built, t)
	h.to.used -= c.bytes
	h.to.post(&workerv1.Command{JobId: j.key, Tiles: []*workerv1.Tile{{Tile: uint32(t), Epoch: c.epoch}}, Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
	if len(h.copies) == 0 {
		j.giveUpHandover(h)
	}
}

// giveUpHandover ends a handover whose tiles stay where they are. The caller holds f.mu.
func (j *job) giveUpHandover(h *handover) {
	h.cancel()
	h.forget()
	delete(j.handovers, h.to)
	for t, c := range h.copies {
		delete(j.moving, t)
		h.to.used -= c.bytes
	}
	h.to.used -= j.needOn(h.to).FixedBytes(h.to.threads)
	h.to.post(&workerv1.Command{JobId: j.key, Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
	j.balancedAt = nil
	j.fleet.notifyChanged()
	j.fleet.dismissIfIdle(h.to)
}

// giveUpHandovers ends all handovers, and reports whether there were any. The caller holds f.mu.
func (j *job) giveUpHandovers() bool {
	before := len(j.handovers)
	for _, h := range j.handovers {
		j.giveUpHandover(h)
	}
	return before > 0
}

// reconsiderHandovers prefers the tiles of draining workers. If some of those have no newcomer yet, it takes tiles that move only
// for balance, and are not built yet, out of their handovers, so that their newcomers have room. The caller holds f.mu.
func (j *job) reconsiderHandovers() {
	if len(j.moving) == 0 || !slices.ContainsFunc(j.unassigned(), func(s *session) bool { return s.yields() }) {
		return
	}
	for t, c := range j.moving {
		if !j.tiles[t].worker.yields() && !j.handovers[c.worker].built[t] {
			j.dropFromHandover(t)
		}
	}
}

// unassigned returns the worker of each tile that no newcomer builds. The caller holds f.mu.
func (j *job) unassigned() []*session {
	var workers []*session
	for t := range j.tiles {
		if s := j.tiles[t].worker; s != nil && j.moving[t] == nil {
			workers = append(workers, s)
		}
	}
	return workers
}

// stopUrgentHandovers stops the handovers of tiles whose worker is gone, so that they can be used now. The caller holds f.mu.
func (j *job) stopUrgentHandovers() {
	for t, c := range j.moving {
		if s := j.tiles[t].worker; s == nil || s.yields() && !s.working() {
			j.stopHandover(j.handovers[c.worker])
		}
	}
}

// stopHandover ends a handover early: takeOver takes over the tiles that are built by then. The caller holds f.mu.
func (j *job) stopHandover(h *handover) {
	h.cancel()
	j.balancedAt = nil
}

// takeOver places the tiles of handovers that are ready, or were stopped, on the newcomers that have built them. During an operation
// it does so only for those that were stopped. It gives up handovers to workers that may no longer take tiles. If the goroutine of
// a stopped handover still runs, takeOver returns that handover, and must be called again once it has ended. The caller holds
// f.mu, and no operation uses the tiles.
func (j *job) takeOver(betweenOps bool) *handover {
	j.unplaceLost()
	j.stopUrgentHandovers()
	for s, h := range j.handovers {
		if s.ended || s.away || s.stream != nil && !j.isNewcomer(s) {
			j.giveUpHandover(h)
			continue
		}
		if betweenOps && h.complete() {
			if h.waited++; h.waited > maxFollowed {
				j.stopHandover(h)
			}
		}
		stopped := h.ctx.Err() != nil
		switch {
		case stopped && h.running:
			return h
		case !stopped && !(betweenOps && h.ready() && s.stream != nil):
			continue
		}
		for t := range h.copies {
			if !h.built[t] {
				j.dropFromHandover(t)
			}
		}
		if j.handovers[s] != h { // nothing was built
			continue
		}
		h.cancel()
		delete(j.handovers, s)
		from := map[*session][]int{}
		for t := range h.copies {
			delete(j.moving, t)
			if was := j.tiles[t].worker; was != nil {
				from[was] = append(from[was], t)
			}
		}
		for was, tiles := range from {
			j.removeFrom(was, tiles)
		}
		j.members[s] = h.member
		for _, c := range h.copies {
			j.adopt(c)
		}
		j.fleet.log.Info("worker took tiles over", "job", j.jobID, "worker", s.name, "tiles", len(h.copies), "of", len(j.tiles))
		j.placementChanged()
	}
	return nil
}

// The rest of this file takes tiles away from workers whose sessions still exist: those that drain, whose connections were closed,
// or that are quarantined.

// yields reports whether the tiles of a worker move to others as soon as others can take them.
func (s *session) yields() bool { return s.draining || s.away || s.wrong != nil }

// handOver abandons the calls to workers that yield their tiles, if some worker can take tiles. The operations that waited for
// these calls place the tiles again. Tiles that no worker has room for stay, and their calls are repeated. A worker that only
// drains continues with the jobs that have a newcomer, until that one has built its tiles. The caller holds f.mu.
func (f *Fleet) handOver() {
	if !f.anyTakesTiles() {
		return
	}
	for _, s := range f.sessions {
		if s.yields() {
			s.giveUp(f.servedBy(s))
		}
	}
}

// anyTakesTiles reports whether a worker takes new tiles. The caller holds f.mu.
func (f *Fleet) anyTakesTiles() bool {
	for _, s := range f.sessions {
		if s.takesTiles() {
			return true
		}
	}
	return false
}

// servedBy returns the keys of the jobs that a worker continues with until a newcomer has built its tiles. The caller holds f.mu.
func (f *Fleet) servedBy(s *session) map[string]bool {
	served := map[string]bool{}
	for j := range f.jobs {
		if s.working() && j.members[s] != nil {
			for _, other := range f.sessions {
				served[j.key] = served[j.key] || j.isNewcomer(other)
			}
		}
	}
	return served
}

// giveUp ends the calls that wait for the worker with errLost, except for those of some jobs. Commands that nobody waits for,
// which free memory, are still sent. The caller holds f.mu.
func (s *session) giveUp(except map[string]bool) {
	for id, c := range s.pending {
		if c.waited && !except[c.message.GetCommand().GetJobId()] {
			delete(s.pending, id)
			c.answer <- nil
		}
	}
}

// awaitReturn gives a worker whose connection was closed a moment to come back. The operating system closes the
// connections of a process that ends, whereas a process that still exists reconnects at once. The caller holds f.mu.
func (f *Fleet) awaitReturn(s *session) {
	streams := s.streams
	time.AfterFunc(f.cfg.ReconnectWithin, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if s.ended || s.stream != nil || s.streams != streams {
			return
		}
		f.cfg.Observe.Session(sessionAway)
		f.log.Warn("worker's connection is closed and it is not back: its tiles go to others", "worker", s.name, "id", s.id, "tiles", s.tiles)
		s.away = true
		for j := range f.jobs {
			j.countCrash(s)
		}
		f.notifyChanged()
		f.handOver()
	})
}
