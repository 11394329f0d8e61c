package fleet

import (
	"context"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/wire"
)

// This file builds tiles in the background on workers that have none of the job. Meanwhile the workers that have the
// tiles continue, even if they are draining, so that no operation waits for a build. Workers that already have tiles of
// the job build further ones at once: their threads are busy with operations, so the background would not be faster.

// handover is the work of one worker that builds tiles in the background and takes them over between two operations. If the job has labels, it also
// loads them, and follows their changes. Only its goroutine uses member, and the tiles that are not built; Fleet.mu guards the
// other fields.
type handover struct {
	to      *session
	member  *membership
	copies  map[int]*copied // by number
	built   map[int]bool    // by number
	follows bool            // the job has labels whose sums are worth following
	loaded  bool            // the sums are those of a step, or will be after the queue
	queue   []followed
	version int             // grows when what was queued so far has become useless
	waited  int             // operations that began since everything was built
	ctx     context.Context // ends with the handover and with the job
	cancel  context.CancelFunc
	running bool          // the goroutine runs; it ends when there is nothing to do
	ended   chan struct{} // closed when running becomes false
}

// followed is a change of the labels of a job: all of them at a step, or moves from a step to the next.
type followed struct {
	step          uint64
	labels, moves *payload // one is nil
}

// maxFollowed is how many operations a handover may wait for its worker to reach the step of the job. After that it takes the tiles over as
// they are.
const maxFollowed = 64

// ready reports whether the worker has everything that it needs to take the tiles over. The caller holds f.mu.
func (h *handover) ready() bool {
	return !h.running && h.complete() && (!h.follows || h.loaded && len(h.queue) == 0)
}

// complete reports whether all tiles of the handover are built. The caller holds f.mu.
func (h *handover) complete() bool { return len(h.built) == len(h.copies) }

// working reports whether a worker can go on with its tiles until others have built them. The caller holds f.mu.
func (s *session) working() bool { return !s.ended && !s.away && s.stream != nil && s.wrong == nil }

// handedOverLater reports whether a tile stays where it is until another worker has built it. The caller holds f.mu, and no
// operation uses the tile.
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

// continueHandover starts the goroutine of a handover that has something to do, unless it runs. The caller holds f.mu.
func (j *job) continueHandover(h *handover) {
	if !h.running && j.ctx.Err() == nil {
		h.running, h.ended = true, make(chan struct{})
		j.background.Go(func() { j.runHandover(h) })
	}
}

// runHandover builds the tiles of a handover, a few at a time, and follows the labels.
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

// nextOfHandover returns the next tiles to build, or all tiles and a change of their labels. It ends the run of a handover that has nothing to do,
// and returns nil.
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

// follow makes the tiles of a group follow a change of the labels.
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

// noteHandover records that tiles were built or have followed a change, or gives the handover up. If the worker could not do
// it, its next tiles move at once, so that the operation that needs them finds out why.
func (j *job) noteHandover(h *handover, g *group, change *followed, version int, err error) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	switch {
	case j.handovers[h.to] != h: // given up meanwhile
	case change != nil && version != h.version: // useless meanwhile
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

// forget drops the changes that the worker was to follow, because they have become useless. The caller holds f.mu.
func (h *handover) forget() {
	h.version++
	h.loaded, h.queue = false, nil
	for t := range h.built {
		h.copies[t].step = 0
	}
}

// followLabels makes handovers load the labels of the current step. Tiles of vectors load them faster than they could follow them. Only the
// running operation calls it.
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

// followMoves makes handovers follow the points that moved from a step to the next. Only the running operation calls it.
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

// followNothing makes handovers forget the labels, which were all replaced.
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

// reconsiderHandovers gives up what is not built of tiles that need not move, if tiles of a draining worker have no new place yet: a
// newcomer that replaces the draining worker should build the tiles of that one. The caller holds f.mu.
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

// unassigned returns the workers of the tiles that nobody builds in the background. The caller holds f.mu.
func (j *job) unassigned() []*session {
	var workers []*session
	for t := range j.tiles {
		if s := j.tiles[t].worker; s != nil && j.moving[t] == nil {
			workers = append(workers, s)
		}
	}
	return workers
}

// stopUrgentHandovers stops the handovers of tiles that are nowhere else, because their worker is gone. The caller holds f.mu.
func (j *job) stopUrgentHandovers() {
	for t, c := range j.moving {
		if s := j.tiles[t].worker; s == nil || s.yields() && !s.working() {
			j.stopHandover(j.handovers[c.worker])
		}
	}
}

// stopHandover makes a handover end with the tiles that it has built, so that place takes them over. The caller holds f.mu.
func (j *job) stopHandover(h *handover) {
	h.cancel()
	j.balancedAt = nil
}

// takeOver places the tiles of finished handovers on the workers that have built them, and gives up the handovers to workers
// that may no longer take tiles. During an operation it takes only the
// tiles of handovers that were stopped. It returns a handover whose goroutine must end first, or nil. The caller holds f.mu, and no
// operation uses the tiles.
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
