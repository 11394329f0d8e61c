package fleet

import (
	"context"
	"slices"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// A worker that has no tiles of a job yet builds its first ones in the background: a handover. The workers that have
// the tiles continue meanwhile, even if they are draining, so that no operation waits for a build. Between two
// operations the worker takes the tiles over. A worker that already has tiles of the job builds further ones at once:
// operations keep its threads busy, so building in the background would not be faster.

// handovers are the handovers of a job. Fleet.mu guards the maps. A tile is part of one handover at most: tiles has
// exactly the copies of all handovers.
type handovers struct {
	placed *placement
	to     map[*session]*handover // by the worker that builds
	tiles  map[int]*copied        // by number of the tile
	active sync.WaitGroup         // goroutines of handovers
}

// handover is the tiles that one worker builds in the background. If the job has labels, the worker then loads them
// and applies each change of them, so that its sums are current when it takes over.
//
// Its goroutine owns member and the tiles that are not built yet. Fleet.mu guards the other fields. The worker's
// fixed bytes and the copies are reserved on the worker for as long as the handover is in handovers.
type handover struct {
	to      *session
	member  *membership
	copies  map[int]*copied // by number of the tile
	built   map[int]bool    // by number of the tile
	loaded  bool            // labels were loaded, or are in the queue
	queue   []labelChange   // changes of the labels that the worker has yet to apply
	version int             // incremented when the queue so far becomes useless
	waited  int             // operations that began since everything was built
	ctx     context.Context // ends with the handover and with the job
	cancel  context.CancelFunc
	running bool // the goroutine runs; it ends when there is nothing to do
}

// labelChange is a change of the labels of a job to those of a step: all labels, or the moves from the step before.
type labelChange struct {
	step          uint64
	labels, moves *payload // one of them is nil
}

// maxWaited is how many operations may begin while a worker that has built everything is behind the step of the job.
// After that it takes over with the sums that it has, and they are computed again.
const maxWaited = 64

func newHandovers(p *placement) handovers {
	return handovers{placed: p, to: map[*session]*handover{}, tiles: map[int]*copied{}}
}

// completeLocked reports whether all tiles of the handover are built.
func (h *handover) completeLocked() bool { return len(h.built) == len(h.copies) }

// readyLocked reports whether the worker can take its tiles over. If follows is set, it must have the current sums.
func (h *handover) readyLocked(follows bool) bool {
	return !h.running && h.completeLocked() && (!follows || h.loaded && len(h.queue) == 0)
}

// stoppedLocked reports whether the handover ends early: the worker takes over what it has built.
func (h *handover) stoppedLocked() bool { return h.ctx.Err() != nil }

// invalidateLocked makes the worker load the labels again, because what it has loaded or was to apply has become
// useless.
func (h *handover) invalidateLocked() {
	h.version++
	h.loaded, h.queue = false, nil
	for t := range h.built {
		h.copies[t].tile.held.step = 0
	}
}

// canJoinLocked reports whether a worker has no tiles of the job yet and may take some.
func (e *execution) canJoinLocked(s *session) bool {
	return e.placed.members[s] == nil && e.blame.acceptsLocked(s)
}

// startHandoverLocked makes a worker build a tile in the background. Only the running operation calls it.
func (e *execution) startHandoverLocked(t int, to *session, stored bool) {
	h := e.handovers.to[to]
	if h == nil {
		h = &handover{to: to, member: &membership{}, copies: map[int]*copied{}, built: map[int]bool{}}
		h.ctx, h.cancel = context.WithCancel(e.released)
		e.handovers.to[to] = h
		to.used += fixedBytes(e.need, to)
	}
	c := e.placed.reserveCopyLocked(to, t, stored)
	h.copies[t], e.handovers.tiles[t] = c, c
	h.invalidateLocked()
	e.continueHandoverLocked(h)
}

// followsLabels reports whether workers load the labels before they take over. Those of vectors load them afterward,
// which takes less time than to apply changes. Only the running operation calls it.
func (e *execution) followsLabels() bool { return !e.answersChanges() && e.current.labels != nil }

// continueHandoverLocked starts the goroutine of a handover unless it runs already.
func (e *execution) continueHandoverLocked(h *handover) {
	if !h.running && e.released.Err() == nil {
		h.running = true
		e.handovers.active.Go(func() { e.runHandover(h) })
	}
}

// runHandover builds the tiles of a handover, a few at a time, and then applies the changes of the labels.
func (e *execution) runHandover(h *handover) {
	for {
		g, change, version := e.nextOfHandover(h)
		if g == nil {
			return
		}
		err := fault.Guard(e.fleet.log.Error, func() error {
			if err := e.prepare(h.ctx, g); err != nil {
				return err
			}
			if change == nil {
				return e.build(h.ctx, g)
			}
			return e.applyChange(h.ctx, g, change)
		})
		e.recordHandover(h, g, change, version, err)
	}
}

// nextOfHandover returns what the goroutine of a handover does next: some tiles to build or, if all are built, all of
// them and a change of the labels. If there is nothing to do, it returns nil and the goroutine must end.
func (e *execution) nextOfHandover(h *handover) (g *group, change *labelChange, version int) {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	g = &group{role: joins, session: h.to, member: h.member, copies: map[int]*tile{}}
	for t, c := range h.copies {
		if h.completeLocked() && len(h.queue) > 0 || !h.built[t] && len(g.tiles) < e.tilesAtOnce(h.to) {
			g.tiles = append(g.tiles, t)
			g.copies[t] = &c.tile
		}
	}
	if len(g.tiles) == 0 || h.stoppedLocked() {
		h.running = false
		e.fleet.notifyLocked() // an operation finishes the handover
		return nil, nil, 0
	}
	slices.Sort(g.tiles)
	if h.completeLocked() {
		change = &h.queue[0]
		h.queue = h.queue[1:]
	}
	return g, change, h.version
}

// applyChange applies a change of the labels to the tiles of a group.
func (e *execution) applyChange(ctx context.Context, g *group, change *labelChange) error {
	defer change.labels.free()
	defer change.moves.free()
	if err := e.family.ensureOperands(ctx, g); err != nil {
		return err
	}
	c := loadCommand(change.step, change.labels)
	if change.labels == nil {
		c = updateCommand(change.step-1, change.moves)
	}
	_, err := e.runCommand(ctx, g, g.tiles, c, 0)
	return err
}

// recordHandover records that tiles were built or that a change was applied to them. After an error it cancels the
// handover. The next tiles then move to the worker at once, so that an operation sees the error and can exclude the
// worker.
func (e *execution) recordHandover(h *handover, g *group, change *labelChange, version int, err error) {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	switch {
	case e.handovers.to[h.to] != h: // it was canceled meanwhile
	case change != nil && version != h.version: // the labels were replaced meanwhile
	case err == nil && change == nil:
		for _, t := range g.tiles {
			if c := h.copies[t]; c != nil && g.copies[t] == &c.tile {
				h.built[t] = true
			}
		}
	case err == nil:
		for _, t := range g.tiles {
			g.copies[t].held.step = change.step
		}
	case !h.stoppedLocked():
		e.fleet.log.Warn("worker failed to build tiles in the background", "job", e.jobID, "worker", h.to.name,
			"error", err)
		e.blame.ofLocked(h.to).failedAside = true
		e.handovers.cancelLocked(h)
	}
}

// followLabels makes the workers of handovers that have built everything load the labels of the current step. Only the
// running operation calls it.
func (e *execution) followLabels() {
	if !e.followsLabels() {
		return
	}
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	for _, h := range e.handovers.to {
		if !h.completeLocked() || h.loaded {
			continue
		}
		labels := slices.Clone(e.current.labels)
		packed := e.newPayload(func() []byte { return wire.PackInt32s(labels) })
		h.loaded = true
		h.queue = []labelChange{{step: e.current.step, labels: packed}}
		e.continueHandoverLocked(h)
	}
}

// followMoves makes the workers of handovers apply the moves from a step to the next. Only the running operation
// calls it.
func (e *execution) followMoves(step uint64, moves []labeling.Move) {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	for _, h := range e.handovers.to {
		if !h.loaded {
			continue
		}
		moves := slices.Clone(moves)
		k := e.current.k
		packed := e.newPayload(func() []byte { return wire.PackMoves(moves, k) })
		h.queue = append(h.queue, labelChange{step: step + 1, moves: packed})
		e.continueHandoverLocked(h)
	}
}

// invalidateHandovers makes the workers of handovers load the labels again, because all of them were replaced.
func (e *execution) invalidateHandovers() {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	for _, h := range e.handovers.to {
		h.invalidateLocked()
	}
}

// finishHandoversLocked places the tiles of handovers that are ready, or were stopped, on the workers that have built
// them. During an operation it does so only for those that were stopped. It cancels handovers to workers that may no
// longer take tiles. If the goroutine of a stopped handover still runs, finishHandoversLocked returns true, and must be
// called again after the next change of the fleet. No operation may use the tiles.
func (e *execution) finishHandoversLocked(betweenOps bool) (stopping bool) {
	if len(e.handovers.to) == 0 {
		return false
	}
	e.removeLostLocked()
	e.handovers.stopUrgentLocked()
	for s, h := range e.handovers.to {
		if s.ended || s.away || s.stream != nil && !e.canJoinLocked(s) {
			e.handovers.cancelLocked(h)
			continue
		}
		if betweenOps && h.completeLocked() {
			if h.waited++; h.waited > maxWaited {
				e.handovers.stopLocked(h)
			}
		}
		switch {
		case h.stoppedLocked() && h.running:
			return true
		case h.stoppedLocked(), betweenOps && h.readyLocked(e.followsLabels()) && s.stream != nil:
			if tiles := e.handovers.finishLocked(h); tiles > 0 {
				e.fleet.log.Info("worker took over tiles", "job", e.jobID, "worker", s.name, "tiles", tiles,
					"of", len(e.placed.tiles))
			}
		}
	}
	return false
}

// finishLocked places the tiles that the worker of a handover has built on that worker, and returns their number. The
// others stay where they are. No operation may use the tiles.
func (hs *handovers) finishLocked(h *handover) int {
	for t := range h.copies {
		if !h.built[t] {
			hs.dropLocked(t)
		}
	}
	if hs.to[h.to] != h { // nothing was built
		return 0
	}
	h.cancel()
	delete(hs.to, h.to)
	from := map[*session][]int{}
	for t := range h.copies {
		delete(hs.tiles, t)
		if was := hs.placed.tiles[t].worker; was != nil {
			from[was] = append(from[was], t)
		}
	}
	for was, tiles := range from {
		hs.placed.removeFromLocked(was, tiles)
	}
	hs.placed.members[h.to] = h.member // its fixed bytes are reserved already
	for _, c := range h.copies {
		hs.placed.promoteLocked(c)
	}
	hs.placed.dismissEmptyLocked()
	return len(h.copies)
}

// stopLocked ends a handover early: finishHandoversLocked takes over the tiles that are built by then.
func (hs *handovers) stopLocked(h *handover) {
	h.cancel()
	hs.placed.recheckLocked()
}

// stopUrgentLocked stops the handovers of tiles whose worker is gone, so that they can be used now.
func (hs *handovers) stopUrgentLocked() {
	for t, c := range hs.tiles {
		if s := hs.placed.tiles[t].worker; s == nil || s.yieldsLocked() && !s.workingLocked() {
			hs.stopLocked(hs.to[c.tile.worker])
		}
	}
}

// cancelLocked ends a handover whose tiles stay where they are.
func (hs *handovers) cancelLocked(h *handover) {
	h.cancel()
	h.invalidateLocked()
	delete(hs.to, h.to)
	for t, c := range h.copies {
		delete(hs.tiles, t)
		h.to.used -= c.bytes
	}
	h.to.used -= fixedBytes(hs.placed.need, h.to)
	hs.placed.tellToReleaseLocked(h.to)
	hs.placed.recheckLocked()
	hs.placed.fleet.notifyLocked()
	hs.placed.fleet.dismissIfIdleLocked(h.to)
}

// cancelAllLocked cancels all handovers, and reports whether there were any.
func (hs *handovers) cancelAllLocked() bool {
	before := len(hs.to)
	for _, h := range hs.to {
		hs.cancelLocked(h)
	}
	return before > 0
}

// dropLocked takes a tile out of its handover, if any.
func (hs *handovers) dropLocked(t int) {
	c := hs.tiles[t]
	if c == nil {
		return
	}
	h := hs.to[c.tile.worker]
	delete(hs.tiles, t)
	delete(h.copies, t)
	delete(h.built, t)
	h.to.used -= c.bytes
	hs.placed.tellToDropLocked(h.to, []*workerv1.Tile{{Tile: uint32(t), Epoch: c.tile.epoch}})
	if len(h.copies) == 0 {
		hs.cancelLocked(h)
	}
}

// preferYieldedLocked makes room for the tiles of workers that yield them. If nobody builds some of those yet, it takes
// tiles that move only for balance, and are not built yet, out of their handovers.
func (hs *handovers) preferYieldedLocked() {
	if len(hs.tiles) == 0 {
		return
	}
	waits := false
	for t := range hs.placed.tiles {
		s := hs.placed.tiles[t].worker
		waits = waits || s != nil && s.yieldsLocked() && hs.tiles[t] == nil
	}
	if !waits {
		return
	}
	for t, c := range hs.tiles {
		if !hs.placed.tiles[t].worker.yieldsLocked() && !hs.to[c.tile.worker].built[t] {
			hs.dropLocked(t)
		}
	}
}
