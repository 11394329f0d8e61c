package fleet

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/fleet/placing"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/text"
)

const (
	// opsBeforeBalance is how many operations a job runs on one placement before tiles may move for balance alone. A
	// tile that moves is rebuilt, so while workers are still joining, the same tile could otherwise be built several
	// times.
	opsBeforeBalance = 3

	noneAttached = "waiting for a worker: none is connected"
)

// ensurePlaced gives every tile a live worker. It waits while there is no worker, while other jobs hold the memory
// and, for some time, during a shortage. A job that waits for memory holds none itself, so that no two jobs can wait
// for each other. It moves tiles away from workers that yield them and, between two operations, to workers that
// joined if that pays off. Before an operation over the whole matrix it stores tiles that had no room before.
func (e *execution) ensurePlaced(ctx context.Context, betweenOps, wholeMatrix bool) error {
	short := e.fleet.newShortage(e.ran.Load())
	for {
		e.fleet.mu.Lock()
		changed := e.fleet.changed.Wait()
		delay, err := e.placeLocked(betweenOps, wholeMatrix)
		e.fleet.mu.Unlock()
		if delay.handoverEnds {
			// soon: the goroutine of a handover that is stopped waits for no worker, and notifies when it ends
			<-changed
			continue
		}
		waiting, err := short.check(delay.waiting, err)
		if err != nil {
			return err
		}
		if waiting == "" {
			e.reportPlaced()
			return nil
		}
		e.progress.update(func(s *Status) { s.Waiting = waiting })
		if err := short.wait(ctx, changed); err != nil {
			return err
		}
	}
}

// delay is what a job waits for before its tiles can be placed. After the next change of the fleet it must try again.
// The zero value is no delay: every tile has a worker.
type delay struct {
	handoverEnds bool   // a handover was stopped, and its goroutine still runs
	waiting      string // what the job waits for, in words; "" if it waits for no worker and no memory
}

// placeLocked finds a worker for every tile. Otherwise it returns what delays that, or an error if waiting does not
// help. It decides in three steps, which change nothing: where tiles should be (findLayoutLocked), where they are
// better off (balanceLocked, StoreMore), and how they get there (package placing). applyLocked then takes these steps.
//
// Whether a tile is stored is decided when it is placed, and changes in two cases only. It gives up its storage if an
// unplaced tile finds no room otherwise. And it is stored later, if there is room by then, before an operation over
// the whole matrix, which computes all entries anyway. At other times, storing a tile would cost an extra pass over
// it, about as much as it could still save.
func (e *execution) placeLocked(betweenOps, wholeMatrix bool) (delay, error) {
	f, p := e.fleet, &e.placed
	for {
		switch {
		case f.state.closed:
			return delay{}, ErrClosed
		case e.released.Err() != nil:
			return delay{}, ErrReleased
		}
		if e.finishHandoversLocked(betweenOps) {
			return delay{handoverEnds: true}, nil
		}
		storeMore := wholeMatrix && e.need.StorageRule() == partition.StoreWhatFits && f.changed.Wait() != p.storedAt
		due := betweenOps && partition.SpeedsDue(p.ops)
		if f.changed.Wait() == p.balancedAt && !storeMore && !due {
			return delay{}, nil // nothing changed since the last time
		}
		e.removeLostLocked()
		e.handovers.preferYielded()
		sessions := f.state.workers()
		layout, unplaced := e.findLayoutLocked(sessions)
		if layout == nil {
			if e.handovers.cancelAll() || e.freeSiblingsLocked() {
				continue
			}
			waiting, err := e.cannotPlaceLocked(sessions)
			return delay{waiting: waiting}, err
		}
		if betweenOps && !unplaced && p.ops >= opsBeforeBalance {
			e.balanceLocked(layout, f.changed.Wait() != p.balancedAt, due)
			p.balancedAt = f.changed.Wait()
		}
		if storeMore {
			layout.StoreMore()
			p.storedAt = f.changed.Wait()
		}
		stopped := e.applyLocked(e.stepsLocked(layout, sessions), sessions)
		if stopped == nil {
			return delay{}, nil
		}
		if stopped.running {
			return delay{handoverEnds: true}, nil
		}
	}
}

// stay says which tiles stay on workers that yield them.
type stay int

const (
	stayNowhere   stay = iota
	stayIfWorking      // those on a worker that can continue with them
	stayAnywhere
)

// findLayoutLocked returns a placement of all tiles after all handovers, or nil if there is no room. unplaced reports
// whether a tile had no worker. It tries several ways, the best first. Tiles move from a worker that yields them even
// to a slow one, but not to an unreliable one while they can stay.
func (e *execution) findLayoutLocked(sessions []*session) (found *partition.Layout, unplaced bool) {
	for _, stays := range []stay{stayNowhere, stayIfWorking, stayAnywhere} {
		for most := noDoubt; most <= unreliable && (stays != stayNowhere || most < unreliable); most++ {
			layout, unplaced := e.layoutLocked(sessions, e.hostsLocked(sessions, most), stays)
			if layout.Place(e.need.StorageRule()) {
				return layout, unplaced
			}
		}
	}
	return nil, false
}

// balanceLocked moves tiles if that pays: after the fleet has changed, to where there are fewer, and at times to where
// operations are faster.
func (e *execution) balanceLocked(layout *partition.Layout, changed, due bool) {
	rule := e.need.StorageRule()
	ops := e.placed.ops
	if changed && layout.Balance(rule) {
		e.fleet.log.Info("balancing job", "job", e.jobID)
		return
	}
	if !due {
		return
	}
	if gain, moved := e.pace.Rebalance(layout, rule, ops); moved {
		e.fleet.log.Info("balancing job by measured worker speeds", "job", e.jobID, "operations", ops,
			"seconds saved by each", gain.Saved, "seconds to build", gain.Cost)
	}
}

// layoutLocked returns the placement of the tiles after all handovers, and whether a tile has no worker. Tiles on
// workers that yield them count as not placed, unless they stay.
func (e *execution) layoutLocked(sessions []*session, hosts []partition.Host,
	stays stay) (layout *partition.Layout, unplaced bool) {
	index := map[*session]int{}
	for h, s := range sessions {
		index[s] = h
	}
	layout = partition.NewLayout(e.key, e.placed.sizes, hosts)
	if e.need.ByRows() {
		layout = partition.NewLayout(e.datasetID, e.placed.sizes, hosts)
		layout.KeepRuns()
	}
	for t := range e.placed.tiles {
		at := &e.placed.tiles[t]
		if c := e.handovers.tiles[t]; c != nil {
			at = &c.tile
		}
		if at.worker == nil {
			unplaced = true
			continue
		}
		layout.MarkPlaced(t, index[at.worker], at.wantStored)
		mayStay := stays == stayAnywhere || stays == stayIfWorking && at.worker.workingLocked()
		if !mayStay && at.worker.yieldsLocked() {
			layout.Remove(t)
		}
	}
	return layout, unplaced
}

// removeLostLocked takes tiles off workers whose sessions have ended or that crashed too often. No operation may use
// the tiles.
func (e *execution) removeLostLocked() {
	e.placed.removeEnded()
	for s := range e.placed.members {
		if why := e.blame.crashed(s); why != nil {
			e.excludeLocked(s, why)
		}
	}
	e.blame.forgetEnded()
}

// hostsLocked describes workers as places for tiles of this job. Those with more than the given doubt accept none,
// unless there is no worker without doubts and no worker drains, so that a job can still be balanced.
func (e *execution) hostsLocked(sessions []*session, most doubt) []partition.Host {
	draining := slices.ContainsFunc(e.placed.tiles, func(t tile) bool {
		return t.worker != nil && t.worker.yieldsLocked() && t.worker.workingLocked()
	})
	if !draining && !slices.ContainsFunc(sessions, func(s *session) bool {
		return e.usableLocked(s) && e.blame.doubts(s) == noDoubt
	}) {
		most = unreliable
	}
	hosts := make([]partition.Host, len(sessions))
	for h, s := range sessions {
		hosts[h] = e.hostLocked(s)
		hosts[h].First = draining && e.canJoinLocked(s) // it can build them in the background
		hosts[h].Accepting = e.usableLocked(s) && e.blame.doubts(s) <= most
	}
	return e.pace.Weigh(hosts)
}

// usableLocked reports whether a worker may get tiles of the job, even if it is doubted.
func (e *execution) usableLocked(s *session) bool {
	return s.takesTilesLocked() && e.blame.whyExcluded(s) == nil
}

// hostLocked describes a worker as a place for tiles of this job.
func (e *execution) hostLocked(s *session) partition.Host {
	host := e.placed.needOn(s).Host(s.id, s.threads, s.freeLocked(), e.usesLocked(s))
	if e.blame.of(s).full {
		host.FreeBytes = -1
	}
	return host
}

// usesLocked reports whether a worker has tiles of the job or builds some.
func (e *execution) usesLocked(s *session) bool {
	return e.placed.members[s] != nil || e.handovers.to[s] != nil
}

// cannotPlaceLocked returns why the tiles cannot be placed: what the job must wait for, or an error if waiting does not
// help.
func (e *execution) cannotPlaceLocked(sessions []*session) (waiting string, err error) {
	silent, free := 0, int64(0)
	var alone []planning.Worker // the workers as if there were no other jobs
	for _, s := range sessions {
		if s.stream == nil {
			silent++
		}
		if !e.usableLocked(s) {
			continue
		}
		free += max(0, s.freeLocked())
		w := s.planned(s.capacity())
		if e.blame.of(s).full && !e.hasOtherJobsLocked(s) {
			w.Free = 0 // it is full although it has no other job
		}
		alone = append(alone, w)
	}
	excluded, all := e.blame.nobodyLeft(sessions)
	switch {
	case len(sessions) == 0:
		return e.blame.noneAttached()
	case all:
		return "", excluded
	case len(alone) == 0 && silent > 0:
		return fmt.Sprintf("waiting for a worker: %d of %d do not answer", silent, len(sessions)), nil
	case len(alone) == 0:
		return fmt.Sprintf("waiting for a worker: all %d connected are draining or failed at this job",
			len(sessions)), nil
	}
	plan, err := planning.Make(e.need, alone)
	switch {
	case err != nil && excluded != nil:
		return "", excluded
	case err != nil:
		return "", err
	}
	if e.freeTilesLocked() {
		e.fleet.log.Info("job is waiting for memory; freeing its tiles", "job", e.jobID)
	}
	e.blame.forgiveFull()
	return fmt.Sprintf("waiting for memory: the job needs %s and %s is free; other jobs hold the rest",
		text.Bytes(plan.Bytes), text.Bytes(free)), nil
}

// freeTilesLocked takes all tiles off their workers. The next operation rebuilds them. It reports whether there were
// any.
func (e *execution) freeTilesLocked() bool {
	e.handovers.cancelAll()
	freed := e.placed.removeAll()
	if freed {
		e.fleet.changed.Notify()
	}
	return freed
}

// freeSiblingsLocked frees the tiles of the other executors of the same job that are idle. A job with several executors
// would otherwise wait for memory that it holds itself. It reports whether there were any.
func (e *execution) freeSiblingsLocked() bool {
	freed := false
	for other := range e.fleet.state.executions {
		if other == e || other.jobID != e.jobID {
			continue
		}
		select {
		case other.operating <- struct{}{}:
		default:
			continue // it runs an operation
		}
		if other.freeTilesLocked() {
			freed = true
			e.fleet.log.Info("freeing the tiles of one executor of the job for another", "job", e.jobID)
		}
		<-other.operating
	}
	return freed
}

// hasOtherJobsLocked reports whether a worker has tiles of other jobs.
func (e *execution) hasOtherJobsLocked(s *session) bool {
	for other := range e.fleet.state.executions {
		if other != e && other.placed.members[s] != nil {
			return true
		}
	}
	return false
}

// stepsLocked returns the steps that make a layout the placement of the job.
func (e *execution) stepsLocked(layout *partition.Layout, sessions []*session) []placing.Step {
	index := map[*session]int{}
	workers := make([]placing.Worker, len(sessions))
	for h, s := range sessions {
		index[s] = h
		workers[h] = placing.Worker{
			MayJoin: e.canJoinLocked(s) && !e.blame.of(s).failedAside,
			Builds:  e.handovers.to[s] != nil,
		}
	}
	tiles := make([]placing.Tile, len(e.placed.tiles))
	targets := make([]placing.Target, len(e.placed.tiles))
	for t := range e.placed.tiles {
		at := &e.placed.tiles[t]
		tiles[t] = placing.Tile{Worker: placing.None, HandoverTo: placing.None, Stored: at.wantStored}
		if at.worker != nil {
			tiles[t].Worker = index[at.worker]
			tiles[t].Stays = at.state != notBuilt && at.worker.workingLocked()
		}
		if c := e.handovers.tiles[t]; c != nil {
			tiles[t].HandoverTo = index[c.tile.worker]
		}
		targets[t] = placing.Target{Worker: layout.Owner[t], Stored: layout.Stored[t]}
	}
	return placing.Steps(tiles, targets, workers)
}

// applyLocked takes the steps of a placement. Workers that lose tiles are told to drop them. It returns the handover
// that has to end before the tiles can be placed, or nil if they are.
func (e *execution) applyLocked(steps []placing.Step, sessions []*session) (stopped *handover) {
	p := &e.placed
	leaving := map[*session][]int{}
	var puts []placing.Step
	for _, step := range steps {
		switch step.Kind {
		case placing.StopHandover:
			stopped = e.handovers.to[sessions[step.Worker]]
			e.handovers.stop(stopped)
		case placing.DropCopy:
			e.handovers.drop(step.Tile)
		case placing.HandOver:
			e.startHandoverLocked(step.Tile, sessions[step.Worker], step.Stored)
		case placing.Remove:
			leaving[sessions[step.Worker]] = append(leaving[sessions[step.Worker]], step.Tile)
		case placing.Put:
			puts = append(puts, step)
		case placing.SetStored:
			p.setStored(step.Tile, step.Stored)
		}
	}
	for s, tiles := range leaving {
		p.removeFrom(s, tiles)
		e.fleet.log.Info("moved tiles away from worker", "job", e.jobID, "worker", s.name, "tiles", len(tiles))
	}
	for _, put := range puts {
		to := sessions[put.Worker]
		if p.members[to] == nil {
			p.join(to)
		}
		p.put(put.Tile, to, put.Stored)
	}
	if len(leaving) > 0 || len(puts) > 0 {
		p.dismissEmpty()
	}
	return stopped
}
