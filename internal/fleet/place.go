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
	// settleOps is how many operations a job runs on one placement before tiles may move merely
	// for balance. Moved tiles are built anew, and a fleet that is still assembling would otherwise
	// have the same tile built several times.
	settleOps = 3
	// memoryGrace is for how many times LostAfter a job that lost workers, and with them the memory
	// it needs, waits for new ones before it fails.
	memoryGrace = 10

	notEnoughMemory = "NOT_ENOUGH_MEMORY"
)

// settle gives every tile a live worker. It waits while there is none, or while other jobs hold the
// memory; a job that waits for memory holds none itself, so that no two can wait for each other.
// At the boundary between two operations it also moves tiles off draining workers, and to joined
// ones where that pays; before an operation over the whole matrix it has tiles stored that had no
// room before.
func (e *Executor) settle(ctx context.Context, boundary, whole bool) error {
	var grace <-chan time.Time
	for {
		e.fleet.mu.Lock()
		changed := e.fleet.changed
		waiting, err := e.place(boundary, whole)
		e.fleet.mu.Unlock()
		if f, lacking := errors.AsType[*fault.Error](err); e.stood && lacking && f.Reason == planning.DoesNotFit {
			// Workers were lost, and with them their memory. A new one may be on its way.
			f.Reason = notEnoughMemory
			if grace == nil {
				timer := time.NewTimer(memoryGrace * e.fleet.cfg.LostAfter)
				defer timer.Stop()
				grace = timer.C
			}
			waiting = "waiting for a worker: " + f.Message
		} else if err != nil {
			return err
		}
		if waiting == "" {
			e.tell()
			return nil
		}
		e.progress.wait(waiting)
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
func (e *Executor) place(boundary, whole bool) (waiting string, err error) {
	f := e.fleet
	switch {
	case f.closed:
		return "", ErrClosed
	case e.life.Err() != nil:
		return "", ErrReleased
	}
	whole = whole && e.need.Rule() == partition.StoreWhatFits && f.changed != e.filled
	if f.changed == e.settled && !whole {
		return "", nil // nothing happened since the last look
	}
	e.forgetLost()
	sessions, hosts := e.hosts()
	layout, homeless := e.layout(sessions, hosts, boundary)
	ok := layout.Place(e.need.Rule())
	if !ok {
		// Tiles stay with a draining worker as long as nobody else can take them.
		layout, _ = e.layout(sessions, hosts, false)
		ok = layout.Place(e.need.Rule())
	}
	if !ok {
		return e.cannotPlace(sessions, hosts)
	}
	if boundary && !homeless && e.ops >= settleOps {
		if layout.Balance(e.need.Rule()) {
			f.log.Info("balancing job", "job", e.jobID)
		}
		e.settled = f.changed
	}
	if whole {
		layout.Store()
		e.filled = f.changed
	}
	e.apply(layout, sessions)
	return "", nil
}

// layout is where the tiles are, without those on draining workers if they are to move away; f.mu is
// held. It tells whether some tile is nowhere.
func (e *Executor) layout(sessions []*session, hosts []partition.Host, offDraining bool) (*partition.Layout, bool) {
	index := map[*session]int{}
	for h, s := range sessions {
		index[s] = h
	}
	layout, homeless := partition.NewLayout(e.key, e.sizes, hosts), false
	for t := range e.tiles {
		s := e.tiles[t].at
		if s == nil {
			homeless = true
			continue
		}
		layout.Keep(t, index[s], e.tiles[t].stored)
		if offDraining && s.draining {
			layout.Remove(t)
		}
	}
	return layout, homeless
}

// forgetLost makes the tiles of ended sessions homeless; f.mu is held.
func (e *Executor) forgetLost() {
	for t := range e.tiles {
		if s := e.tiles[t].at; s != nil && s.ended {
			e.evict(t)
		}
	}
	for s := range e.seats {
		if s.ended {
			delete(e.seats, s)
			delete(e.ailing, s)
			delete(e.full, s)
		}
	}
}

// hosts are the live workers in the order of their ids; f.mu is held.
func (e *Executor) hosts() ([]*session, []partition.Host) {
	sessions := make([]*session, 0, len(e.fleet.sessions))
	healthy := false
	for _, s := range e.fleet.sessions {
		sessions = append(sessions, s)
		healthy = healthy || s.takesTiles() && !e.ailing[s]
	}
	slices.SortFunc(sessions, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	hosts := make([]partition.Host, len(sessions))
	for h, s := range sessions {
		hosts[h] = e.host(s)
		hosts[h].Open = s.takesTiles() && (!healthy || !e.ailing[s])
	}
	return sessions, hosts
}

// host is a worker as a place for tiles; f.mu is held.
func (e *Executor) host(s *session) partition.Host {
	host := e.need.Host(s.id, s.threads, s.capacity()-s.used, e.seats[s] != nil)
	if e.full[s] {
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
func (e *Executor) cannotPlace(sessions []*session, hosts []partition.Host) (waiting string, err error) {
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
		if e.full[s] && !e.sharesWithOthers(s) {
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
	plan, err := planning.Make(e.need, alone)
	if err != nil {
		return "", err
	}
	if len(e.seats) > 0 {
		e.fleet.log.Info("job gives its tiles back while it waits for memory", "job", e.jobID)
		for t := range e.tiles {
			e.evict(t)
		}
		e.leaveSeats()
		e.fleet.announce()
	}
	clear(e.full)
	return fmt.Sprintf("waiting for memory: the job needs %s and %s is free; other jobs hold the rest", planning.Bytes(plan.Bytes), planning.Bytes(free)), nil
}

func (e *Executor) sharesWithOthers(s *session) bool {
	for other := range e.fleet.executors {
		if other != e && other.seats[s] != nil {
			return true
		}
	}
	return false
}

// apply moves tiles to their new owners and changes over those that stay; f.mu is held. Those who
// lose a tile are told.
func (e *Executor) apply(layout *partition.Layout, sessions []*session) {
	moving := map[*session][]int{}
	for t, h := range layout.Owner {
		if from := e.tiles[t].at; from != nil && from != sessions[h] {
			moving[from] = append(moving[from], t)
		}
	}
	for s, tiles := range moving {
		e.remove(s, tiles)
		e.fleet.log.Info("moved tiles away from worker", "job", e.jobID, "worker", s.name, "tiles", len(tiles))
	}
	changed := len(moving) > 0
	for t, h := range layout.Owner {
		if to := sessions[h]; e.tiles[t].at == nil {
			changed = true
			if e.seats[to] == nil {
				e.seats[to] = &seat{}
				to.used += e.need.SeatBytes(to.threads)
			}
			e.tiles[t].at, e.tiles[t].stored = to, layout.Stored[t]
			e.tiles[t].epoch++
			e.seats[to].tiles++
			to.tiles++
			to.used += e.bytes(t)
		} else if e.tiles[t].stored != layout.Stored[t] {
			e.store(t, layout.Stored[t])
		}
		e.held.note(layout.Stored[t])
	}
	if !changed {
		return
	}
	e.ops = 0
	for s, seat := range e.seats {
		if seat.tiles == 0 {
			e.leaveSeat(s)
		}
	}
}

// bytes is what a tile takes where it is.
func (e *Executor) bytes(t int) int64 { return e.sizes[t].Of(e.tiles[t].stored) }

// store lets a tile be stored, or not, where it is; f.mu is held. The worker is told when it next
// has something to do.
func (e *Executor) store(t int, stored bool) {
	e.tiles[t].at.used += e.sizes[t].Of(stored) - e.bytes(t)
	e.tiles[t].stored = stored
}

// remove takes tiles away from a worker; f.mu is held.
func (e *Executor) remove(s *session, tiles []int) {
	var dropped []*workerv1.Tile
	for _, t := range tiles {
		dropped = append(dropped, &workerv1.Tile{Tile: uint32(t), Epoch: e.tiles[t].epoch})
		e.evict(t)
	}
	s.tell(&workerv1.Command{JobId: e.key, Tiles: dropped, Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
}

// evict makes a tile homeless; f.mu is held.
func (e *Executor) evict(t int) {
	s := e.tiles[t].at
	if s == nil {
		return
	}
	e.settled = nil
	s.tiles--
	s.used -= e.bytes(t)
	e.seats[s].tiles--
	e.tiles[t].at, e.tiles[t].has, e.tiles[t].step = nil, hasNothing, 0
}

// leaveSeat ends a worker's part in the job; f.mu is held.
func (e *Executor) leaveSeat(s *session) {
	s.tell(&workerv1.Command{JobId: e.key, Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
	s.used -= e.need.SeatBytes(s.threads)
	delete(e.seats, s)
	e.fleet.letGo(s)
}

func (e *Executor) leaveSeats() {
	for s := range e.seats {
		e.leaveSeat(s)
	}
}

// vacate gives up every placement without touching the tiles' states, which an operation that is
// still ending may look at; f.mu is held.
func (e *Executor) vacate() {
	for t := range e.tiles {
		if s := e.tiles[t].at; s != nil {
			s.tiles--
			s.used -= e.bytes(t)
			e.tiles[t].at = nil
		}
	}
	e.leaveSeats()
}
