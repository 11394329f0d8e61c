package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
)

const (
	// opsBeforeBalance is how many operations a job runs on one placement before tiles may move merely
	// for balance. Moved tiles are built anew, and a fleet that is still assembling would otherwise
	// have the same tile built several times.
	opsBeforeBalance = 3
	// memoryWait is for how many times LostAfter a job that lost workers, and with them the memory
	// it needs, waits for new ones before it fails.
	memoryWait = 10

	notEnoughMemory = "NOT_ENOUGH_MEMORY"
)

// ensurePlaced gives every tile a live worker. It waits while there is none, or while other jobs hold the
// memory; a job that waits for memory holds none itself, so that no two can wait for each other.
// At the boundary between two operations it also moves tiles off draining workers, and to joined
// ones where that pays; before an operation over the whole matrix it has tiles stored that had no
// room before.
func (j *job) ensurePlaced(ctx context.Context, boundary, whole bool) error {
	var grace <-chan time.Time
	for {
		j.fleet.mu.Lock()
		changed := j.fleet.changed
		waiting, err := j.place(boundary, whole)
		j.fleet.mu.Unlock()
		if f, lacking := errors.AsType[*fault.Error](err); j.everSucceeded && lacking && f.Reason == planning.DoesNotFit {
			// Workers were lost, and with them their memory. A new one may be on its way.
			f.Reason = notEnoughMemory
			if grace == nil {
				timer := time.NewTimer(memoryWait * j.fleet.cfg.LostAfter)
				defer timer.Stop()
				grace = timer.C
			}
			waiting = "waiting for a worker: " + f.Message
		} else if err != nil {
			return err
		}
		if waiting == "" {
			j.reportPlaced()
			return nil
		}
		j.progress.setWaiting(waiting)
		select {
		case <-changed:
		case <-grace:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// place finds an owner for every tile; f.mu is held. It returns what the job has to wait for, or
// the error that waiting will not mend.
//
// A tile is stored, or not, when it is placed, and changes over in two cases only. It gives up its
// storage when a homeless tile finds no room otherwise. And it is stored after all, where there is
// room by now, before an operation that goes over the whole matrix: the entries that such an
// operation computes anyway are then kept. At other times storing a tile would cost a pass over it,
// about what is left of a run to save.
func (j *job) place(boundary, whole bool) (waiting string, err error) {
	f := j.fleet
	switch {
	case f.closed:
		return "", ErrClosed
	case j.ctx.Err() != nil:
		return "", ErrReleased
	}
	whole = whole && j.need.Rule() == partition.StoreWhatFits && f.changed != j.storedAt
	if f.changed == j.balancedAt && !whole {
		return "", nil // nothing happened since the last look
	}
	j.unplaceLost()
	sessions, hosts := j.hosts()
	layout, homeless := j.layout(sessions, hosts, boundary)
	ok := layout.Place(j.need.Rule())
	if !ok {
		// Tiles stay with a draining worker as long as nobody else can take them.
		layout, _ = j.layout(sessions, hosts, false)
		ok = layout.Place(j.need.Rule())
	}
	if !ok {
		return j.cannotPlace(sessions, hosts)
	}
	if boundary && !homeless && j.ops >= opsBeforeBalance {
		if layout.Balance(j.need.Rule()) {
			f.log.Info("balancing job", "job", j.jobID)
		}
		j.balancedAt = f.changed
	}
	if whole {
		layout.Store()
		j.storedAt = f.changed
	}
	j.apply(layout, sessions)
	return "", nil
}

// layout is where the tiles are, without those on draining workers if they are to move away; f.mu is
// held. It tells whether some tile is nowhere.
func (j *job) layout(sessions []*session, hosts []partition.Host, offDraining bool) (*partition.Layout, bool) {
	index := map[*session]int{}
	for h, s := range sessions {
		index[s] = h
	}
	layout, homeless := partition.NewLayout(j.key, j.sizes, hosts), false
	for t := range j.tiles {
		s := j.tiles[t].worker
		if s == nil {
			homeless = true
			continue
		}
		layout.Keep(t, index[s], j.tiles[t].wantStored)
		if offDraining && s.draining {
			layout.Remove(t)
		}
	}
	return layout, homeless
}

// unplaceLost makes the tiles of ended sessions homeless; f.mu is held.
func (j *job) unplaceLost() {
	for t := range j.tiles {
		if s := j.tiles[t].worker; s != nil && s.ended {
			j.unplace(t)
		}
	}
	for s := range j.members {
		if s.ended {
			delete(j.members, s)
			delete(j.failing, s)
			delete(j.full, s)
		}
	}
}

// hosts are the live workers in the order of their ids; f.mu is held.
func (j *job) hosts() ([]*session, []partition.Host) {
	sessions := make([]*session, 0, len(j.fleet.sessions))
	healthy := false
	for _, s := range j.fleet.sessions {
		sessions = append(sessions, s)
		healthy = healthy || s.takesTiles() && !j.failing[s]
	}
	slices.SortFunc(sessions, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	hosts := make([]partition.Host, len(sessions))
	for h, s := range sessions {
		hosts[h] = j.host(s)
		hosts[h].Open = s.takesTiles() && (!healthy || !j.failing[s])
	}
	return sessions, hosts
}

// host is a worker as a place for tiles; f.mu is held.
func (j *job) host(s *session) partition.Host {
	host := j.need.Host(s.id, s.threads, s.capacity()-s.used, j.members[s] != nil)
	if j.full[s] {
		host.Room = -1
	}
	return host
}

// takesTiles tells whether new tiles may go to a worker: it is there and means to stay.
func (s *session) takesTiles() bool { return s.stream != nil && !s.draining }

func (s *session) capacity() int64 {
	if s.memory == 0 || s.memory > planning.Unlimited {
		return planning.Unlimited
	}
	return int64(s.memory)
}

// cannotPlace says why the tiles find no place; f.mu is held.
func (j *job) cannotPlace(sessions []*session, hosts []partition.Host) (waiting string, err error) {
	silent, free := 0, int64(0)
	var alone []planning.Worker // what the workers would offer without other jobs
	for h, s := range sessions {
		if s.stream == nil {
			silent++
		}
		if !hosts[h].Open {
			continue
		}
		free += max(0, s.capacity()-s.used)
		w := planning.Worker{Name: s.name, Threads: s.threads, Free: s.capacity()}
		if j.full[s] && !j.hasOtherJobs(s) {
			w.Free = 0 // one that said it is full while it has no other job really is
		}
		alone = append(alone, w)
	}
	switch {
	case len(sessions) == 0:
		return "waiting for a worker: none is attached", nil
	case len(alone) == 0 && silent > 0:
		return fmt.Sprintf("waiting for a worker: %d of %d do not answer", silent, len(sessions)), nil
	case len(alone) == 0:
		return fmt.Sprintf("waiting for a worker: all %d are draining", len(sessions)), nil
	}
	plan, err := planning.Make(j.need, alone)
	if err != nil {
		return "", err
	}
	if len(j.members) > 0 {
		j.fleet.log.Info("job gives its tiles back while it waits for memory", "job", j.jobID)
		for t := range j.tiles {
			j.unplace(t)
		}
		j.endMemberships()
		j.fleet.notifyChanged()
	}
	clear(j.full)
	return fmt.Sprintf("waiting for memory: the job needs %s and %s is free; other jobs hold the rest", planning.Bytes(plan.Bytes), planning.Bytes(free)), nil
}

func (j *job) hasOtherJobs(s *session) bool {
	for other := range j.fleet.jobs {
		if other != j && other.members[s] != nil {
			return true
		}
	}
	return false
}

// apply moves tiles to their new owners and changes over those that stay; f.mu is held. Those who
// lose a tile are told.
func (j *job) apply(layout *partition.Layout, sessions []*session) {
	moving := map[*session][]int{}
	for t, h := range layout.Owner {
		if from := j.tiles[t].worker; from != nil && from != sessions[h] {
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
				to.used += j.need.SeatBytes(to.threads)
			}
			j.tiles[t].worker, j.tiles[t].wantStored = to, layout.Stored[t]
			j.tiles[t].epoch++
			j.members[to].tiles++
			to.tiles++
			to.used += j.tileBytes(t)
		} else if j.tiles[t].wantStored != layout.Stored[t] {
			j.setStored(t, layout.Stored[t])
		}
		j.held.record(layout.Stored[t])
	}
	if !changed {
		return
	}
	j.ops = 0
	for s, seat := range j.members {
		if seat.tiles == 0 {
			j.endMembership(s)
		}
	}
}

// tileBytes is what a tile takes where it is.
func (j *job) tileBytes(t int) int64 { return j.sizes[t].Of(j.tiles[t].wantStored) }

// setStored lets a tile be stored, or not, where it is; f.mu is held. The worker is told when it next
// has something to do.
func (j *job) setStored(t int, stored bool) {
	j.tiles[t].worker.used += j.sizes[t].Of(stored) - j.tileBytes(t)
	j.tiles[t].wantStored = stored
}

// removeFrom takes tiles away from a worker; f.mu is held.
func (j *job) removeFrom(s *session, tiles []int) {
	var dropped []*workerv1.Tile
	for _, t := range tiles {
		dropped = append(dropped, &workerv1.Tile{Tile: uint32(t), Epoch: j.tiles[t].epoch})
		j.unplace(t)
	}
	s.post(&workerv1.Command{JobId: j.key, Tiles: dropped, Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
}

// unplace makes a tile homeless; f.mu is held.
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

// endMembership ends a worker's part in the job; f.mu is held.
func (j *job) endMembership(s *session) {
	s.post(&workerv1.Command{JobId: j.key, Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
	s.used -= j.need.SeatBytes(s.threads)
	delete(j.members, s)
	j.fleet.dismissIfIdle(s)
}

func (j *job) endMemberships() {
	for s := range j.members {
		j.endMembership(s)
	}
}

// releaseTiles gives up every placement without touching the tiles' states, which an operation that is
// still ending may look at; f.mu is held.
func (j *job) releaseTiles() {
	for t := range j.tiles {
		if s := j.tiles[t].worker; s != nil {
			s.tiles--
			s.used -= j.tileBytes(t)
			j.tiles[t].worker = nil
		}
	}
	j.endMemberships()
}
