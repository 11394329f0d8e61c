package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/text"
)

const (
	// opsBeforeBalance is how many operations a job runs on one placement before tiles may move for balance alone. A
	// tile that moves is rebuilt, so while workers are still joining, the same tile could otherwise be built several
	// times.
	opsBeforeBalance = 3

	noneAttached = "waiting for a worker: none is attached"
)

// ensurePlaced gives every tile a live worker. It waits while there is no worker, while other jobs hold the memory
// and, for some time, during a shortage. A job that waits for memory holds none itself, so that no two jobs can wait
// for each other. It moves tiles away from workers that yield them and, between two operations, to workers that
// joined if that pays off. Before an operation over the whole matrix it stores tiles that had no room before.
func (j *job) ensurePlaced(ctx context.Context, betweenOps, wholeMatrix bool) error {
	short := j.fleet.newShortage(j.ran.Load())
	defer short.end()
	for {
		j.fleet.mu.Lock()
		changed := j.fleet.changed
		stopping, waiting, err := j.place(betweenOps, wholeMatrix)
		j.fleet.mu.Unlock()
		if stopping != nil {
			<-stopping
			continue
		}
		if waiting, err = short.check(waiting, err); err != nil {
			return err
		}
		if waiting == "" {
			j.reportPlaced()
			return nil
		}
		j.progress.setWaiting(waiting)
		if err := short.wait(ctx, changed); err != nil {
			return err
		}
	}
}

// place finds a worker for every tile. It returns what the job must wait for, or an error if waiting does not help.
// If it returns a channel, a handover is being stopped, and place must be called again once the channel is closed.
// The caller holds f.mu.
//
// Whether a tile is stored is decided when it is placed, and changes in two cases only. It gives up its storage if an
// unplaced tile finds no room otherwise. And it is stored later, if there is room by then, before an operation over
// the whole matrix, which computes all entries anyway. At other times, storing a tile would cost an extra pass over
// it, about as much as it could still save.
func (j *job) place(betweenOps, wholeMatrix bool) (stopping <-chan struct{}, waiting string, err error) {
	f, p := j.fleet, &j.placed
	switch {
	case f.closed:
		return nil, "", ErrClosed
	case j.ctx.Err() != nil:
		return nil, "", ErrReleased
	}
	if stopping := j.finishHandovers(betweenOps); stopping != nil {
		return stopping, "", nil
	}
	storeMore := wholeMatrix && j.need.StorageRule() == partition.StoreWhatFits && f.changed != p.storedAt
	due := betweenOps && j.pace.Due(p.ops)
	if f.changed == p.balancedAt && !storeMore && !due {
		return nil, "", nil // nothing changed since the last time
	}
	j.removeLost()
	j.handovers.preferYielded()
	sessions, hosts := j.hosts()
	layout, unplaced := j.layout(sessions, hosts, true)
	ok := layout.Place(j.need.StorageRule())
	if !ok {
		// Tiles stay on a worker that yields them for as long as no other worker can take them.
		layout, _ = j.layout(sessions, hosts, false)
		ok = layout.Place(j.need.StorageRule())
	}
	if !ok && (j.handovers.cancelAll() || p.dropCopies(func(*copied) bool { return true }) || j.freeSiblings()) {
		return j.place(betweenOps, wholeMatrix)
	}
	if !ok {
		waiting, err = j.cannotPlace(sessions, hosts)
		return nil, waiting, err
	}
	if betweenOps && !unplaced && p.ops >= opsBeforeBalance {
		j.balance(layout, f.changed != p.balancedAt, due)
		p.balancedAt = f.changed
	}
	if storeMore {
		layout.StoreMore()
		p.storedAt = f.changed
	}
	atOnce := j.takeAtOnce(layout, sessions)
	for s := range atOnce { // it cannot do both, build in the background and take part in operations
		if h := j.handovers.to[s]; h != nil {
			if j.handovers.stop(h); h.running {
				return h.ended, "", nil
			}
			return j.place(betweenOps, wholeMatrix)
		}
	}
	j.apply(layout, sessions, atOnce)
	return nil, "", nil
}

// takeAtOnce returns the workers to which a layout gives tiles that cannot be built in the background first. The
// caller holds f.mu.
func (j *job) takeAtOnce(layout *partition.Layout, sessions []*session) map[*session]bool {
	atOnce := map[*session]bool{}
	for t, h := range layout.Owner {
		from, to := j.placed.tiles[t].worker, sessions[h]
		if c := j.handovers.tiles[t]; c != nil && c.worker == to {
			continue
		}
		if from == nil || from != to && !j.canHandOver(t, to) {
			atOnce[to] = true
		}
	}
	return atOnce
}

// balance moves tiles if that pays: after the fleet has changed, to where there are fewer, and at times to where
// operations are faster. The caller holds f.mu.
func (j *job) balance(layout *partition.Layout, changed, due bool) {
	rule, ops := j.need.StorageRule(), j.placed.ops
	if changed && layout.Balance(rule) {
		j.fleet.log.Info("balancing job", "job", j.jobID)
		return
	}
	if !due {
		return
	}
	if gain, moved := j.pace.Rebalance(layout, rule, ops); moved {
		j.fleet.log.Info("balancing job by the measured speeds of its workers", "job", j.jobID, "operations", ops,
			"seconds saved by each", gain.Saved, "seconds to build", gain.Cost)
	}
}

// layout returns the placement of the tiles after all handovers, and whether a tile has no worker. If yielded is set,
// tiles on workers that yield them count as not placed. The caller holds f.mu.
func (j *job) layout(sessions []*session, hosts []partition.Host, yielded bool) (*partition.Layout, bool) {
	index := map[*session]int{}
	for h, s := range sessions {
		index[s] = h
	}
	layout, unplaced := partition.NewLayout(j.key, j.placed.sizes, hosts), false
	if j.need.ByRows() {
		layout = partition.NewLayout(j.datasetID, j.placed.sizes, hosts)
		layout.KeepRuns()
	}
	for t := range j.placed.tiles {
		at := &j.placed.tiles[t]
		if c := j.handovers.tiles[t]; c != nil {
			at = &c.tile
		}
		if at.worker == nil {
			unplaced = true
			continue
		}
		layout.MarkPlaced(t, index[at.worker], at.wantStored)
		if yielded && at.worker.yields() {
			layout.Remove(t)
		}
	}
	return layout, unplaced
}

// removeLost takes tiles off workers whose sessions have ended or that crashed too often. The caller holds f.mu, and
// no operation uses the tiles.
func (j *job) removeLost() {
	j.placed.removeEnded()
	for s := range j.placed.members {
		if why := j.blame.crashed(s); why != nil {
			j.exclude(s, why)
		}
	}
	j.blame.forgetEnded()
	maps.DeleteFunc(j.handovers.direct, func(s *session, _ bool) bool { return s.ended })
}

// hosts returns the live workers sorted by id. The caller holds f.mu.
func (j *job) hosts() ([]*session, []partition.Host) {
	sessions := make([]*session, 0, len(j.fleet.sessions))
	healthy := false
	for _, s := range j.fleet.sessions {
		if s.referee {
			continue
		}
		sessions = append(sessions, s)
		healthy = healthy || s.takesTiles() && j.blame.refused(s) == nil && !j.blame.doubts(s)
	}
	slices.SortFunc(sessions, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	draining := slices.ContainsFunc(j.placed.tiles, func(t tile) bool { return t.worker != nil && t.worker.yields() && t.worker.working() })
	hosts := make([]partition.Host, len(sessions))
	for h, s := range sessions {
		hosts[h] = j.host(s)
		hosts[h].First = draining && j.canJoin(s) // it can build them in the background
		hosts[h].Accepting = s.takesTiles() && j.blame.refused(s) == nil && (!healthy || !j.blame.doubts(s))
	}
	return sessions, j.pace.Weigh(hosts)
}

// host describes a worker as a place for tiles of this job. The caller holds f.mu.
func (j *job) host(s *session) partition.Host {
	host := j.placed.needOn(s).Host(s.id, s.threads, s.free(), j.serves(s))
	if j.blame.full[s] {
		host.FreeBytes = -1
	}
	return host
}

// serves reports whether a worker has tiles of the job or builds some. The caller holds f.mu.
func (j *job) serves(s *session) bool { return j.placed.members[s] != nil || j.handovers.to[s] != nil }

// cannotPlace returns why the tiles cannot be placed: what the job must wait for, or an error if waiting does not
// help. The caller holds f.mu.
func (j *job) cannotPlace(sessions []*session, hosts []partition.Host) (waiting string, err error) {
	silent, free := 0, int64(0)
	var alone []planning.Worker // the workers as if there were no other jobs
	for h, s := range sessions {
		if s.stream == nil {
			silent++
		}
		if !hosts[h].Accepting {
			continue
		}
		free += max(0, s.free())
		w := s.planned(s.capacity())
		if j.blame.full[s] && !j.hasOtherJobs(s) {
			w.Free = 0 // it is full although it has no other job
		}
		alone = append(alone, w)
	}
	switch {
	case len(sessions) == 0:
		return j.blame.noneAttached()
	case j.blame.refusesAll(sessions):
		return "", j.blame.nobodyLeft(sessions)
	case len(alone) == 0 && silent > 0:
		return fmt.Sprintf("waiting for a worker: %d of %d do not answer", silent, len(sessions)), nil
	case len(alone) == 0:
		return fmt.Sprintf("waiting for a worker: all %d attached are draining, quarantined, or failed at this job", len(sessions)), nil
	}
	plan, err := planning.Make(j.need, alone)
	if err != nil {
		return "", cmp.Or(j.blame.nobodyLeft(sessions), err)
	}
	if j.freeTiles() {
		j.fleet.log.Info("job frees its tiles while it waits for memory", "job", j.jobID)
	}
	clear(j.blame.full)
	return fmt.Sprintf("waiting for memory: the job needs %s and %s is free; other jobs hold the rest",
		text.Bytes(plan.Bytes), text.Bytes(free)), nil
}

// freeTiles takes all tiles off their workers. The next operation rebuilds them. It reports whether there were any.
// The caller holds f.mu.
func (j *job) freeTiles() bool {
	j.handovers.cancelAll()
	freed := j.placed.removeAll()
	if freed {
		j.fleet.notifyChanged()
	}
	return freed
}

// freeSiblings frees the tiles of the other executors of the same job that are idle. A job with several executors
// would otherwise wait for memory that it holds itself. It reports whether there were any. The caller holds f.mu.
func (j *job) freeSiblings() bool {
	freed := false
	for other := range j.fleet.jobs {
		if other == j || other.jobID != j.jobID || !other.tryOperate() {
			continue
		}
		if other.freeTiles() {
			freed = true
			j.fleet.log.Info("job frees the tiles of one executor for another", "job", j.jobID)
		}
		<-other.operating
	}
	return freed
}

func (j *job) hasOtherJobs(s *session) bool {
	for other := range j.fleet.jobs {
		if other != j && other.placed.members[s] != nil {
			return true
		}
	}
	return false
}

// apply makes a layout the placement of the job. Workers that lose tiles are told to drop them, workers that join to
// build theirs in the background, except for those in atOnce. The caller holds f.mu.
func (j *job) apply(layout *partition.Layout, sessions []*session, atOnce map[*session]bool) {
	p, leaving := &j.placed, map[*session][]int{}
	for t, h := range layout.Owner {
		from, to := p.tiles[t].worker, sessions[h]
		if c := j.handovers.tiles[t]; c != nil && c.worker == to {
			continue
		}
		j.handovers.drop(t)
		switch {
		case from == nil || from == to:
		case atOnce[to]:
			leaving[from] = append(leaving[from], t)
		default:
			j.startHandover(t, to, layout.Stored[t])
		}
	}
	for s, tiles := range leaving {
		p.removeFrom(s, tiles)
		j.fleet.log.Info("moved tiles away from worker", "job", j.jobID, "worker", s.name, "tiles", len(tiles))
	}
	changed := len(leaving) > 0
	for t, h := range layout.Owner {
		if to := sessions[h]; p.tiles[t].worker == nil {
			changed = true
			if p.members[to] == nil {
				p.join(to)
			}
			p.put(t, to, layout.Stored[t])
		} else if j.handovers.tiles[t] == nil && p.tiles[t].wantStored != layout.Stored[t] {
			p.setStored(t, layout.Stored[t])
		}
	}
	if changed {
		p.dismissEmpty()
	}
}
