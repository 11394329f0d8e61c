package fleet

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
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
// ones where that pays.
func (e *Executor) settle(ctx context.Context, boundary bool) error {
	var grace <-chan time.Time
	for {
		e.fleet.mu.Lock()
		changed := e.fleet.changed
		waiting, err := e.place(boundary)
		e.fleet.mu.Unlock()
		if e.stood && fault.Is(err, notEnoughMemory) {
			// Workers were lost, and with them their memory. A new one may be on its way.
			if grace == nil {
				timer := time.NewTimer(memoryGrace * e.fleet.cfg.LostAfter)
				defer timer.Stop()
				grace = timer.C
			}
			waiting = "waiting for a worker: " + err.Error()
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
func (e *Executor) place(boundary bool) (waiting string, err error) {
	f := e.fleet
	switch {
	case f.closed:
		return "", ErrClosed
	case e.life.Err() != nil:
		return "", ErrReleased
	}
	if f.changed == e.settled {
		return "", nil // nothing happened since the last look
	}
	e.forgetLost()
	sessions, hosts := e.hosts()
	index := map[*session]int{}
	for h, s := range sessions {
		index[s] = h
	}
	bytes, owner, wanted := make([]int64, len(e.tiles)), make([]int, len(e.tiles)), make([]int, len(e.tiles))
	homeless := false
	for t := range e.tiles {
		bytes[t], owner[t] = e.tiles[t].bytes, partition.Nowhere
		if s := e.tiles[t].at; s != nil {
			owner[t] = index[s]
		}
		wanted[t] = owner[t]
		if owner[t] == partition.Nowhere {
			homeless = true
		} else if boundary && sessions[owner[t]].draining {
			wanted[t] = partition.Nowhere
		}
	}
	placed, ok := partition.Place(e.key, bytes, wanted, hosts)
	if !ok {
		// Tiles stay with a draining worker as long as nobody else can take them.
		placed, ok = partition.Place(e.key, bytes, owner, hosts)
	}
	if !ok {
		return e.cannotPlace(sessions, hosts, bytes)
	}
	if boundary && !homeless && e.ops >= settleOps {
		if balanced, pays := partition.Balance(e.key, bytes, placed, hosts); pays {
			f.log.Info("balancing job", "job", e.jobID)
			placed = balanced
		}
		e.settled = f.changed
	}
	e.apply(placed, sessions)
	return "", nil
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
		room := s.capacity() - s.used
		if e.seats[s] == nil {
			room -= e.sourceBytes()
		}
		if e.full[s] {
			room = 0
		}
		hosts[h] = partition.Host{ID: s.id, Weight: s.threads, Room: room, Open: s.takesTiles() && (!healthy || !e.ailing[s])}
	}
	return sessions, hosts
}

// hasNewcomer tells whether a worker without tiles of this job could take some.
func (e *Executor) hasNewcomer() bool {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	for _, s := range e.fleet.sessions {
		if e.seats[s] == nil && s.takesTiles() && !e.ailing[s] && !e.full[s] && s.capacity()-s.used > e.sourceBytes()+e.tiles[0].bytes {
			return true
		}
	}
	return false
}

// takesTiles tells whether new tiles may go to a worker: it is there and means to stay.
func (s *session) takesTiles() bool { return s.stream != nil && !s.draining }

func (s *session) capacity() int64 {
	if s.memory == 0 || s.memory > math.MaxInt64/4 {
		return math.MaxInt64 / 4
	}
	return int64(s.memory)
}

// sourceBytes is what a worker needs for the job beside its tiles.
func (e *Executor) sourceBytes() int64 { return wire.SourceBytes(e.spec.Function, e.datasetBytes) }

// cannotPlace says why the tiles find no place; f.mu is held.
func (e *Executor) cannotPlace(sessions []*session, hosts []partition.Host, bytes []int64) (waiting string, err error) {
	open, silent, offered := 0, 0, int64(0)
	free := int64(0)
	for h, s := range sessions {
		if s.stream == nil {
			silent++
		}
		if !hosts[h].Open {
			continue
		}
		open++
		offered += s.capacity()
		free += max(0, s.capacity()-s.used)
		// What a fleet without other jobs would offer. A worker that said it is full while it has
		// no other job really is.
		hosts[h].Room = s.capacity() - e.sourceBytes()
		if e.full[s] && !e.sharesWithOthers(s) {
			hosts[h].Room = 0
		}
	}
	switch {
	case len(sessions) == 0:
		return "waiting for a worker: none is attached", nil
	case open == 0 && silent > 0:
		return fmt.Sprintf("waiting for a worker: %d of %d do not answer", silent, len(sessions)), nil
	case open == 0:
		return fmt.Sprintf("waiting for a worker: all %d are draining", len(sessions)), nil
	}
	needed := e.sourceBytes()
	homeless := make([]int, len(bytes))
	for t := range bytes {
		needed += bytes[t]
		homeless[t] = partition.Nowhere
	}
	if _, fits := partition.Place(e.key, bytes, homeless, hosts); !fits {
		return "", fault.New(fault.ResourceExhausted, notEnoughMemory,
			"the job needs %s for its matrix of %d rows, and the %d workers attached offer %s; attach more workers or give them more memory",
			size(needed), e.spec.Rows, open, size(offered)).
			With("needed_bytes", fmt.Sprint(needed)).With("offered_bytes", fmt.Sprint(offered))
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
	return fmt.Sprintf("waiting for memory: the job needs %s and %s is free; other jobs hold the rest", size(needed), size(free)), nil
}

func (e *Executor) sharesWithOthers(s *session) bool {
	for other := range e.fleet.executors {
		if other != e && other.seats[s] != nil {
			return true
		}
	}
	return false
}

// apply moves tiles to their new owners; f.mu is held. Those who lose a tile are told.
func (e *Executor) apply(placed []int, sessions []*session) {
	dropped := map[*session][]*workerv1.Tile{}
	changed := false
	for t, h := range placed {
		from, to := e.tiles[t].at, sessions[h]
		if from == to {
			continue
		}
		changed = true
		if from != nil {
			dropped[from] = append(dropped[from], &workerv1.Tile{Tile: uint32(t), Epoch: e.tiles[t].epoch})
			e.evict(t)
		}
		if e.seats[to] == nil {
			e.seats[to] = &seat{}
			to.used += e.sourceBytes()
		}
		e.tiles[t].at = to
		e.tiles[t].epoch++
		e.seats[to].tiles++
		to.tiles++
		to.used += e.tiles[t].bytes
	}
	if !changed {
		return
	}
	e.ops = 0
	for s, tiles := range dropped {
		s.tell(&workerv1.Command{JobId: e.key, Tiles: tiles, Operation: &workerv1.Command_Drop{Drop: &workerv1.Drop{}}})
		e.fleet.log.Info("moved tiles away from worker", "job", e.jobID, "worker", s.name, "tiles", len(tiles))
	}
	for s, seat := range e.seats {
		if seat.tiles == 0 {
			e.leaveSeat(s)
		}
	}
}

// evict makes a tile homeless; f.mu is held.
func (e *Executor) evict(t int) {
	s := e.tiles[t].at
	if s == nil {
		return
	}
	e.settled = nil
	s.tiles--
	s.used -= e.tiles[t].bytes
	e.seats[s].tiles--
	e.tiles[t].at, e.tiles[t].built, e.tiles[t].step = nil, false, 0
}

// leaveSeat ends a worker's part in the job; f.mu is held.
func (e *Executor) leaveSeat(s *session) {
	s.tell(&workerv1.Command{JobId: e.key, Operation: &workerv1.Command_Release{Release: &workerv1.Release{}}})
	s.used -= e.sourceBytes()
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
			s.used -= e.tiles[t].bytes
			e.tiles[t].at = nil
		}
	}
	e.leaveSeats()
}

// resize accounts for the row sums of k clusters in every tile.
func (e *Executor) resize(k int) {
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	for t := range e.tiles {
		was := e.tiles[t].bytes
		e.tiles[t].bytes = e.baseBytes(t) + 8*int64(k)*int64(partition.Tile(e.spec.Rows, t).Len())
		e.tiles[t].step = 0
		if s := e.tiles[t].at; s != nil {
			s.used += e.tiles[t].bytes - was
		}
	}
}

// size is a number of bytes for people.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
}
