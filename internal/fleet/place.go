package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
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
			<-stopping.ended
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

// place finds a worker for every tile. It returns what the job must wait for, or an error if waiting does not help. If it
// returns a handover, that one was stopped, and place must be called again when it has ended. The caller holds f.mu.
//
// Whether a tile is stored is decided when it is placed, and changes in two cases only. It gives up its storage if an
// unplaced tile finds no room otherwise. And it is stored later, if there is room by then, before an operation over
// the whole matrix, which computes all entries anyway. At other times, storing a tile would cost an extra pass over
// it, about as much as it could still save.
func (j *job) place(betweenOps, wholeMatrix bool) (stopping *handover, waiting string, err error) {
	f := j.fleet
	switch {
	case f.closed:
		return nil, "", ErrClosed
	case j.ctx.Err() != nil:
		return nil, "", ErrReleased
	}
	if len(j.handovers) > 0 {
		if m := j.takeOver(betweenOps); m != nil {
			return m, "", nil
		}
	}
	storeMore := wholeMatrix && j.need.StorageRule() == partition.StoreWhatFits && f.changed != j.storedAt
	due := betweenOps && j.pace.due(j.ops)
	if f.changed == j.balancedAt && !storeMore && !due {
		return nil, "", nil // nothing changed since the last time
	}
	j.unplaceLost()
	j.reconsiderHandovers()
	sessions, hosts := j.hosts()
	layout, unplaced := j.layout(sessions, hosts, true)
	ok := layout.Place(j.need.StorageRule())
	if !ok {
		// Tiles stay on a worker that yields them for as long as no other worker can take them.
		layout, _ = j.layout(sessions, hosts, false)
		ok = layout.Place(j.need.StorageRule())
	}
	if !ok && (j.giveUpHandovers() || j.dropCopies(func(*copied) bool { return true }) || j.restSiblings()) {
		return j.place(betweenOps, wholeMatrix)
	}
	if !ok {
		waiting, err = j.cannotPlace(sessions, hosts)
		return nil, waiting, err
	}
	if betweenOps && !unplaced && j.ops >= opsBeforeBalance {
		j.balance(layout, f.changed != j.balancedAt, due)
		j.balancedAt = f.changed
	}
	if storeMore {
		layout.StoreMore()
		j.storedAt = f.changed
	}
	atOnce := j.takeAtOnce(layout, sessions)
	for s := range atOnce { // it cannot do both, build in the background and take part in operations
		if m := j.handovers[s]; m != nil {
			if j.stopHandover(m); m.running {
				return m, "", nil
			}
			return j.place(betweenOps, wholeMatrix)
		}
	}
	j.apply(layout, sessions, atOnce)
	return nil, "", nil
}

// takeAtOnce returns the workers to which a layout gives tiles that cannot be built in the background first. The caller holds f.mu.
func (j *job) takeAtOnce(layout *partition.Layout, sessions []*session) map[*session]bool {
	atOnce := map[*session]bool{}
	for t, h := range layout.Owner {
		from, to := j.tiles[t].worker, sessions[h]
		if c := j.moving[t]; c != nil && c.worker == to {
			continue
		}
		if from == nil || from != to && !j.handedOverLater(t, to) {
			atOnce[to] = true
		}
	}
	return atOnce
}

// balance moves tiles if that pays: after the fleet has changed, to where there are fewer, and at times to where
// operations are faster. The caller holds f.mu.
func (j *job) balance(layout *partition.Layout, changed, due bool) {
	rule := j.need.StorageRule()
	if changed && layout.Balance(rule) {
		j.fleet.log.Info("balancing job", "job", j.jobID)
		return
	}
	if !due {
		return
	}
	if gain, moved := j.pace.rebalance(layout, rule, j.ops); moved {
		j.fleet.log.Info("balancing job by the measured speeds of its workers", "job", j.jobID, "operations", j.ops,
			"seconds saved by each", gain.Saved, "seconds to build", gain.Cost)
	}
}

// layout returns the placement of the tiles after all handovers, and whether a tile has no worker. If yielded is set, tiles on
// workers that yield them count as not placed. The caller holds f.mu.
func (j *job) layout(sessions []*session, hosts []partition.Host, yielded bool) (*partition.Layout, bool) {
	index := map[*session]int{}
	for h, s := range sessions {
		index[s] = h
	}
	layout, unplaced := partition.NewLayout(j.key, j.sizes, hosts), false
	if j.need.ByRows() {
		layout = partition.NewLayout(j.datasetID, j.sizes, hosts)
		layout.KeepRuns()
	}
	for t := range j.tiles {
		s, stored := j.tiles[t].worker, j.tiles[t].wantStored
		if c := j.moving[t]; c != nil {
			s, stored = c.worker, c.wantStored
		}
		if s == nil {
			unplaced = true
			continue
		}
		layout.MarkPlaced(t, index[s], stored)
		if yielded && s.yields() {
			layout.Remove(t)
		}
	}
	return layout, unplaced
}

// unplaceLost takes tiles off workers whose sessions have ended or that crashed too often. The caller holds f.mu, and no operation
// uses the tiles.
func (j *job) unplaceLost() {
	for t := range j.tiles {
		if s := j.tiles[t].worker; s != nil && s.ended {
			j.unplace(t)
		}
	}
	for s := range j.members {
		if s.ended {
			delete(j.members, s)
		} else if why := j.crashed(s); why != nil {
			j.putAside(s, why)
		}
	}
	maps.DeleteFunc(j.failing, func(s *session, _ bool) bool { return s.ended })
	maps.DeleteFunc(j.full, func(s *session, _ bool) bool { return s.ended })
	maps.DeleteFunc(j.direct, func(s *session, _ bool) bool { return s.ended })
	maps.DeleteFunc(j.aside, func(s *session, _ *fault.Error) bool { return s.ended })
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
		healthy = healthy || s.takesTiles() && j.refused(s) == nil && !j.doubts(s)
	}
	slices.SortFunc(sessions, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	draining := slices.ContainsFunc(j.tiles, func(t tile) bool { return t.worker != nil && t.worker.yields() && t.worker.working() })
	hosts := make([]partition.Host, len(sessions))
	for h, s := range sessions {
		hosts[h] = j.host(s)
		hosts[h].First = draining && j.isNewcomer(s) // it can build them in the background
		hosts[h].Accepting = s.takesTiles() && j.refused(s) == nil && (!healthy || !j.doubts(s))
	}
	return sessions, j.pace.weigh(hosts)
}

// host describes a worker as a place for tiles of this job. The caller holds f.mu.
func (j *job) host(s *session) partition.Host {
	host := j.needOn(s).Host(s.id, s.threads, s.capacity()-s.used, j.members[s] != nil || j.handovers[s] != nil)
	if j.full[s] {
		host.FreeBytes = -1
	}
	return host
}

// takesTiles reports whether new tiles may be placed on a worker.
func (s *session) takesTiles() bool {
	return s.stream != nil && !s.draining && s.wrong == nil && !s.referee
}

func (s *session) capacity() int64 {
	if s.memory == 0 || s.memory > planning.Unlimited {
		return planning.Unlimited
	}
	return int64(s.memory)
}

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
		free += max(0, s.capacity()-s.used)
		w := s.planned(s.capacity())
		if j.full[s] && !j.hasOtherJobs(s) {
			w.Free = 0 // it is full although it has no other job
		}
		alone = append(alone, w)
	}
	switch {
	case len(sessions) == 0:
		return j.noneAttached()
	case j.onlyAside(sessions):
		return "", j.nobodyLeft(sessions)
	case len(alone) == 0 && silent > 0:
		return fmt.Sprintf("waiting for a worker: %d of %d do not answer", silent, len(sessions)), nil
	case len(alone) == 0:
		return fmt.Sprintf("waiting for a worker: all %d attached are draining, quarantined, or failed at this job", len(sessions)), nil
	}
	plan, err := planning.Make(j.need, alone)
	if err != nil {
		return "", cmp.Or(j.nobodyLeft(sessions), err)
	}
	if j.freeTiles() {
		j.fleet.log.Info("job frees its tiles while it waits for memory", "job", j.jobID)
	}
	clear(j.full)
	return fmt.Sprintf("waiting for memory: the job needs %s and %s is free; other jobs hold the rest", text.Bytes(plan.Bytes), text.Bytes(free)), nil
}

// freeTiles takes all tiles off their workers. The next operation rebuilds them. It reports whether there were any.
// The caller holds f.mu.
func (j *job) freeTiles() bool {
	j.giveUpHandovers()
	if len(j.members) == 0 {
		return false
	}
	for t := range j.tiles {
		j.unplace(t)
	}
	j.endMemberships()
	j.fleet.notifyChanged()
	return true
}

// restSiblings frees the tiles of the other executors of the same job that are idle. A job with several executors
// would otherwise wait for memory that it holds itself. It reports whether there were any. The caller holds f.mu.
func (j *job) restSiblings() bool {
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
		if other != j && other.members[s] != nil {
			return true
		}
	}
	return false
}

// apply makes a layout the placement of the job. Workers that lose tiles are told to drop them, newcomers to build them in
// the background, except for those in atOnce. The caller holds f.mu.
func (j *job) apply(layout *partition.Layout, sessions []*session, atOnce map[*session]bool) {
	moving := map[*session][]int{}
	for t, h := range layout.Owner {
		from, to := j.tiles[t].worker, sessions[h]
		if c := j.moving[t]; c != nil && c.worker == to {
			continue
		}
		j.dropFromHandover(t)
		switch {
		case from == nil || from == to:
		case !atOnce[to]:
			j.startHandover(t, to, layout.Stored[t])
		default:
			moving[from] = append(moving[from], t)
		}
	}
	for s, tiles := range moving {
		j.removeFrom(s, tiles)
		j.fleet.log.Info("moved tiles away from worker", "job", j.jobID, "worker", s.name, "tiles", len(tiles))
	}
	changed := len(moving) > 0
	for t, h := range layout.Owner {
		if to := sessions[h]; j.tiles[t].worker == nil {
			changed = true
			if j.members[to] == nil {
				j.members[to] = &membership{}
				to.used += j.needOn(to).FixedBytes(to.threads)
			}
			j.tiles[t].worker, j.tiles[t].wantStored = to, layout.Stored[t]
			j.tiles[t].epoch = j.newEpoch()
			j.members[to].tiles++
			to.tiles++
			to.used += j.tileBytes(t)
		} else if j.moving[t] == nil && j.tiles[t].wantStored != layout.Stored[t] {
			j.setStored(t, layout.Stored[t])
		}
		j.usage.record(layout.Stored[t])
	}
	if changed {
		j.placementChanged()
	}
}

// placementChanged ends the part of workers that have no tiles left. The caller holds f.mu.
func (j *job) placementChanged() {
	j.ops = 0
	for s, member := range j.members {
		if member.tiles == 0 {
			j.endMembership(s)
		}
	}
}

// tileBytes returns the memory that a tile takes on its worker.
func (j *job) tileBytes(t int) int64 { return j.sizes[t].Bytes(j.tiles[t].wantStored) }

// setStored sets whether a tile is stored on its worker, which learns it in the next operation. The caller holds
// f.mu.
func (j *job) setStored(t int, stored bool) {
	j.tiles[t].worker.used += j.sizes[t].Bytes(stored) - j.tileBytes(t)
	j.tiles[t].wantStored = stored
}

// removeFrom takes tiles off a worker and tells it to drop them. The caller holds f.mu.
func (j *job) removeFrom(s *session, tiles []int) {
	var dropped []*workerv1.Tile
	for _, t := range tiles {
		dropped = append(dropped, &workerv1.Tile{Tile: uint32(t), Epoch: j.tiles[t].epoch})
		j.unplace(t)
	}
	s.post(&workerv1.Command{JobId: j.key, Tiles: dropped, Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
}

// unplace takes a tile off its worker, without telling the worker. The caller holds f.mu.
func (j *job) unplace(t int) {
	s := j.tiles[t].worker
	if s == nil {
		return
	}
	j.balancedAt = nil
	s.tiles--
	s.used -= j.tileBytes(t)
	j.members[s].tiles--
	j.tiles[t].worker, j.tiles[t].state, j.tiles[t].step = nil, notBuilt, 0
}

// endMembership ends a worker's part in the job. The caller holds f.mu.
func (j *job) endMembership(s *session) {
	j.forgetCopies(s)
	s.post(&workerv1.Command{JobId: j.key, Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
	s.used -= j.needOn(s).FixedBytes(s.threads)
	delete(j.members, s)
	j.fleet.dismissIfIdle(s)
}

func (j *job) endMemberships() {
	for s := range j.members {
		j.endMembership(s)
	}
}

// releaseTiles takes all tiles off their workers and ends all memberships. It does not touch the states of the tiles,
// because an operation that is just ending may still read them. The caller holds f.mu.
func (j *job) releaseTiles() {
	j.giveUpHandovers()
	for t := range j.tiles {
		if s := j.tiles[t].worker; s != nil {
			s.tiles--
			s.used -= j.tileBytes(t)
			j.tiles[t].worker = nil
		}
	}
	j.endMemberships()
}
