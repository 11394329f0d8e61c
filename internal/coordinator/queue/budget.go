package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// Budget is the memory of a coordinator. Jobs, uploads, calls and downloads reserve large amounts before they allocate
// them, so that together they never take more than there is.
//
// Each of these uses is a Share with bytes of its own, which are always there for it. Beyond these, all shares may take
// common bytes. The reservations of one share get common bytes in the order of arrival, so that small ones cannot keep
// out a large one. Reservations of different shares do not wait for each other, with one exception: while the next job
// waits only for what other shares hold, later reservations of these shares wait behind it, so that a steady stream of
// calls cannot keep out a large job. A job that has to wait for another job to end anyway holds up no call, and a call
// that waits never holds up a job.
//
// It is safe for concurrent use.
type Budget struct {
	common int64

	// mu guards the fields below, those of all shares and reservations, and those of the Queue that uses the budget.
	mu      sync.Mutex
	used    int64          // of the common bytes
	waiting []*Reservation // in the order of arrival
	tell    []func()       // to be called once mu is unlocked
}

// NewBudget returns a budget with so many common bytes.
func NewBudget(common int64) *Budget { return &Budget{common: common} }

// Share is the memory of one use of the budget, such as jobs or downloads.
type Share struct {
	budget *Budget
	jobs   bool // reservations of other shares wait behind its next one
	own    int64
	held   int64
}

// Share returns a new share with so many bytes of its own.
func (b *Budget) Share(own int64) *Share { return &Share{budget: b, own: own} }

// JobsShare returns the share of jobs, behind which others wait. It has no bytes of its own.
func (b *Budget) JobsShare() *Share { return &Share{budget: b, jobs: true} }

// Own returns how many bytes the share has of its own.
func (s *Share) Own() int64 { return s.own }

// Max returns how many bytes the share may have if no other one takes common bytes.
func (s *Share) Max() int64 { return s.own + s.budget.common }

// Held returns how many bytes are reserved.
func (s *Share) Held() int64 {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.held
}

// Free returns how many bytes may be reserved now.
func (s *Share) Free() int64 {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.freeLocked()
}

// freeLocked is Free for callers that hold the lock.
func (s *Share) freeLocked() int64 { return max(0, s.own-s.held) + s.budget.common - s.budget.used }

// Contended reports whether somebody waits for bytes that are reserved in the share.
func (s *Share) Contended() bool {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return slices.ContainsFunc(s.budget.waiting, func(r *Reservation) bool { return r.share == s || s.held > s.own })
}

// commonNeededLocked returns how many common bytes the share needs to hold more bytes.
func (s *Share) commonNeededLocked(bytes int64) int64 {
	return max(0, s.held+bytes-s.own) - max(0, s.held-s.own)
}

// takeLocked counts bytes as held if they are free, and reports whether they were.
func (s *Share) takeLocked(bytes int64) bool {
	common := s.commonNeededLocked(bytes)
	if common > s.budget.common-s.budget.used {
		return false
	}
	s.budget.used += common
	s.held += bytes
	return true
}

// update makes a change, grants the reservations for which there are bytes then, and tells those who wait for them.
// They are told without the lock, so that they may use the budget.
func (b *Budget) update(change func()) {
	b.mu.Lock()
	change()
	b.grantLocked()
	tell := b.tell
	b.tell = nil
	b.mu.Unlock()
	for _, granted := range tell {
		granted()
	}
}

// grantLocked grants the waiting reservations for which there are bytes.
func (b *Budget) grantLocked() {
	blocked := map[*Share]bool{} // shares with an earlier reservation that waits
	allBlocked := false          // the next job waits only for what other shares hold
	b.waiting = slices.DeleteFunc(b.waiting, func(r *Reservation) bool {
		mayPass := !allBlocked && !blocked[r.share] || r.share.commonNeededLocked(r.bytes) <= 0
		if mayPass && r.share.takeLocked(r.bytes) {
			r.held = true
			if r.granted != nil {
				b.tell = append(b.tell, r.granted)
			}
			return true
		}
		allBlocked = allBlocked || r.share.jobs && !blocked[r.share] && r.share.held+r.bytes <= r.share.Max()
		blocked[r.share] = true
		return false
	})
}

// Reservation is a number of bytes that somebody holds or waits for.
type Reservation struct {
	share   *Share
	bytes   int64
	granted func() // called when it is granted, if it had to wait; may be nil
	held    bool
}

// reserveLocked returns a reservation of so many bytes, but no more than the share may have. It is granted now, or
// later by update.
func (s *Share) reserveLocked(bytes int64, granted func()) *Reservation {
	r := &Reservation{share: s, bytes: min(bytes, s.Max())}
	s.budget.waiting = append(s.budget.waiting, r)
	s.budget.grantLocked()
	r.granted = granted
	return r
}

// withdrawLocked gives back the bytes of a reservation, or stops waiting for them.
func (r *Reservation) withdrawLocked() {
	if r.held {
		r.share.takeLocked(-r.bytes)
	}
	r.held, r.bytes = false, 0
	b := r.share.budget
	b.waiting = slices.DeleteFunc(b.waiting, func(other *Reservation) bool { return other == r })
}

// Reserve reserves bytes, but no more than the share may have, and waits until it has them. If that takes longer than
// maxWait, it fails with TooManyCalls, so that the client can retry. It also fails if ctx ends first. The caller calls
// Release.
func (s *Share) Reserve(ctx context.Context, bytes int64, maxWait time.Duration) (*Reservation, error) {
	granted := make(chan struct{})
	var r *Reservation
	var held bool
	s.budget.update(func() {
		r = s.reserveLocked(bytes, func() { close(granted) })
		held = r.held
	})
	if held {
		return r, nil
	}
	timeout := time.NewTimer(maxWait)
	defer timeout.Stop()
	var err error
	select {
	case <-granted:
		return r, nil
	case <-timeout.C:
		err = TooManyLargeCalls(bytes)
	case <-ctx.Done():
		err = ctx.Err()
	}
	r.Release()
	return nil, err
}

// ReserveNow reserves bytes if they are free, and reports whether they were. It passes those who wait: they may wait
// for something that its caller holds already. The caller calls Release.
func (s *Share) ReserveNow(bytes int64) (*Reservation, bool) {
	r := &Reservation{share: s, held: true}
	return r, r.Grow(bytes)
}

// Bytes returns how many bytes are reserved.
func (r *Reservation) Bytes() int64 {
	r.share.budget.mu.Lock()
	defer r.share.budget.mu.Unlock()
	return r.bytes
}

// Grow reserves more bytes if they are free, and reports whether they were. It passes those who wait, as ReserveNow
// does.
func (r *Reservation) Grow(bytes int64) (grown bool) {
	r.share.budget.update(func() {
		if grown = r.share.takeLocked(bytes); grown {
			r.bytes += bytes
		}
	})
	return grown
}

// Join adds the bytes of another reservation of the same share, of which none are left then.
func (r *Reservation) Join(other *Reservation) {
	r.share.budget.update(func() {
		r.bytes += other.bytes
		other.bytes = 0
	})
}

// Release gives the bytes back. It may be called again.
func (r *Reservation) Release() { r.share.budget.update(r.withdrawLocked) }

// RetryDelay is how long a client should wait that was refused for lack of room.
const RetryDelay = 5 * time.Second

// TooManyCalls is the reason of the fault of a call that is refused because others hold the bytes that it needs.
const TooManyCalls = "TOO_MANY_LARGE_CALLS"

// TooManyLargeCalls returns that fault.
func TooManyLargeCalls(bytes int64) *fault.Error {
	return fault.New(fault.ResourceExhausted, TooManyCalls,
		"the call needs %s of the coordinator's memory, which jobs and other calls hold; try again when "+
			"they have ended",
		text.Bytes(bytes)).RetryIn(RetryDelay)
}
