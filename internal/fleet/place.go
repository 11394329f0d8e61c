package fleet

import (
	"context"
	"fmt"

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
// help. It decides on a snapshot: where tiles should be (placing.Job.Layout), where they are better off (balanceLocked,
// StoreMore), and how they get there (placing.Job.Steps). applyLocked then takes these steps.
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
		storeMore := wholeMatrix && e.need.StorageRule() == partition.StoreWhatFits && f.state.changes != p.storedAt
		due := betweenOps && partition.SpeedsDue(p.ops)
		if f.state.changes == p.balancedAt && !storeMore && !due {
			return delay{}, nil // nothing changed since the last time
		}
		e.removeLostLocked()
		e.handovers.preferYieldedLocked()
		sessions := f.state.workersLocked()
		job := e.snapshotLocked(sessions)
		layout, unplaced := job.Layout()
		if layout == nil {
			if e.handovers.cancelAllLocked() || e.freeSiblingsLocked() {
				continue
			}
			waiting, err := e.cannotPlaceLocked(sessions)
			return delay{waiting: waiting}, err
		}
		if betweenOps && !unplaced && p.ops >= opsBeforeBalance {
			e.balanceLocked(layout, f.state.changes != p.balancedAt, due)
			p.balancedAt = f.state.changes
		}
		if storeMore {
			layout.StoreMore()
			p.storedAt = f.state.changes
		}
		stopped := e.applyLocked(job.Steps(layout), sessions)
		if stopped == nil {
			return delay{}, nil
		}
		if stopped.running {
			return delay{handoverEnds: true}, nil
		}
	}
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

// removeLostLocked takes tiles off workers whose sessions have ended or that crashed too often. No operation may use
// the tiles.
func (e *execution) removeLostLocked() {
	e.placed.removeEndedLocked()
	for s := range e.placed.members {
		if why := e.blame.crashedLocked(s); why != nil {
			e.excludeLocked(s, why)
		}
	}
	e.blame.forgetEndedLocked()
}

// usableLocked reports whether a worker may get tiles of the job, even if it is doubted.
func (e *execution) usableLocked(s *session) bool {
	return s.takesTilesLocked() && e.blame.whyExcludedLocked(s) == nil
}

// hostLocked describes a worker as a place for tiles of this job.
func (e *execution) hostLocked(s *session) partition.Host {
	host := needOn(e.need, s).Host(s.id, s.threads, s.freeLocked(), e.usesLocked(s))
	if e.blame.ofLocked(s).full {
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
		if e.blame.ofLocked(s).full && !e.hasOtherJobsLocked(s) {
			w.Free = 0 // it is full although it has no other job
		}
		alone = append(alone, w)
	}
	excluded, all := e.blame.nobodyLeftLocked(sessions)
	switch {
	case len(sessions) == 0:
		return e.blame.noneAttachedLocked()
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
	e.blame.forgiveFullLocked()
	return fmt.Sprintf("waiting for memory: the job needs %s and %s is free; other jobs hold the rest",
		text.Bytes(plan.Bytes), text.Bytes(free)), nil
}

// freeTilesLocked takes all tiles off their workers. The next operation rebuilds them. It reports whether there were
// any.
func (e *execution) freeTilesLocked() bool {
	e.handovers.cancelAllLocked()
	freed := e.placed.removeAllLocked()
	if freed {
		e.fleet.notifyLocked()
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

// snapshotLocked describes the job and the workers to the package that decides where its tiles go.
func (e *execution) snapshotLocked(sessions []*session) *placing.Job {
	index := map[*session]int{}
	hosts := make([]partition.Host, len(sessions))
	for at, s := range sessions {
		index[s] = at
		hosts[at] = e.hostLocked(s)
	}
	job := &placing.Job{Key: e.key, Runs: e.need.ByRows(), Sizes: e.placed.sizes, Rule: e.need.StorageRule()}
	if job.Runs {
		job.Key = e.datasetID // the rows of later jobs are then where those of this one were
	}
	for at, host := range e.pace.Weigh(hosts) {
		s := sessions[at]
		fresh := e.canJoinLocked(s)
		job.Workers = append(job.Workers, placing.Worker{
			Host:    host,
			Usable:  e.usableLocked(s),
			Doubt:   e.blame.doubtsLocked(s),
			Yields:  s.yieldsLocked(),
			Works:   s.workingLocked(),
			Fresh:   fresh,
			MayJoin: fresh && !e.blame.ofLocked(s).failedAside,
			Builds:  e.handovers.to[s] != nil,
		})
	}
	for t := range e.placed.tiles {
		at := &e.placed.tiles[t]
		tile := placing.Tile{Worker: placing.None, HandoverTo: placing.None, Stored: at.wantStored}
		if at.worker != nil {
			tile.Worker = index[at.worker]
			tile.Stays = at.held.form != notBuilt && at.worker.workingLocked()
		}
		if c := e.handovers.tiles[t]; c != nil {
			tile.HandoverTo, tile.CopyStored = index[c.tile.worker], c.tile.wantStored
		}
		job.Tiles = append(job.Tiles, tile)
	}
	return job
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
			e.handovers.stopLocked(stopped)
		case placing.DropCopy:
			e.handovers.dropLocked(step.Tile)
		case placing.HandOver:
			e.startHandoverLocked(step.Tile, sessions[step.Worker], step.Stored)
		case placing.Remove:
			leaving[sessions[step.Worker]] = append(leaving[sessions[step.Worker]], step.Tile)
		case placing.Put:
			puts = append(puts, step)
		case placing.SetStored:
			p.setStoredLocked(step.Tile, step.Stored)
		}
	}
	for s, tiles := range leaving {
		p.removeFromLocked(s, tiles)
		e.fleet.log.Info("moved tiles away from worker", "job", e.jobID, "worker", s.name, "tiles", len(tiles))
	}
	for _, put := range puts {
		to := sessions[put.Worker]
		if p.members[to] == nil {
			p.joinLocked(to)
		}
		p.putLocked(put.Tile, to, put.Stored)
	}
	if len(leaving) > 0 || len(puts) > 0 {
		p.dismissEmptyLocked()
	}
	return stopped
}
