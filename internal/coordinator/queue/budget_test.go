package queue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/fault"
)

// claim is Reserve without the wait: granted is called if the reservation is granted later.
func claim(s *Share, bytes int64, granted func()) (r *Reservation) {
	s.budget.update(func() { r = s.reserveLocked(bytes, granted) })
	return r
}

// isHeld reports whether a reservation is granted.
func isHeld(r *Reservation) bool {
	r.share.budget.mu.Lock()
	defer r.share.budget.mu.Unlock()
	return r.held
}

// takes reserves bytes for as long as a test runs, and reports whether they are free.
func takes(s *Share, bytes int64) bool {
	_, free := s.ReserveNow(bytes)
	return free
}

// Whatever is claimed, taken, released and withdrawn, parts have their own bytes and share no more than the rest, the
// claims of each part are granted in the order of arrival, and nothing is lost.
func TestNothingIsGivenTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared := rapid.Int64Range(0, 20).Draw(t, "shared")
		l := NewBudget(shared)
		parts := []*Share{l.JobsShare()}
		for range 2 {
			parts = append(parts, l.Share(rapid.Int64Range(0, 5).Draw(t, "own")))
		}
		type claimed struct {
			*Reservation
			woken int
		}
		var claims []*claimed
		taken := make([]*Reservation, len(parts)) // what was reserved at once
		for at, p := range parts {
			taken[at], _ = p.ReserveNow(0)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at := rapid.IntRange(0, len(parts)-1).Draw(t, "part")
			bytes := rapid.Int64Range(0, 30).Draw(t, "bytes")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				free := parts[at].Free()
				before := taken[at].Bytes()
				if took := taken[at].Grow(bytes); took != (bytes <= free) || took && taken[at].Bytes() != before+bytes {
					t.Fatalf("took %d of %d free bytes: %v", bytes, free, took)
				}
			case 1:
				c := &claimed{}
				c.Reservation = claim(parts[at], bytes, func() { c.woken++ })
				claims = append(claims, c)
			case 2:
				more, free := parts[at].ReserveNow(bytes)
				if free {
					more.Join(taken[at])
					taken[at].Release() // of which nothing is left
					taken[at] = more
				} else {
					taken[at].Release()
					taken[at], _ = parts[at].ReserveNow(0)
				}
			default:
				if len(claims) > 0 {
					gone := rapid.IntRange(0, len(claims)-1).Draw(t, "gone")
					claims[gone].Release()
					claims[gone].Release() // changes nothing
					claims = slices.Delete(claims, gone, gone+1)
				}
			}
			used := int64(0)
			want := make([]int64, len(parts))
			for at, r := range taken {
				want[at] = r.Bytes()
			}
			blocked := make([]bool, len(parts))
			allBlocked := false
			for _, c := range claims {
				at := slices.Index(parts, c.share)
				if isHeld(c.Reservation) {
					want[at] += c.bytes
					continue
				}
				if free := parts[at].Free(); c.woken > 0 || !allBlocked && !blocked[at] && c.bytes <= free ||
					c.bytes <= parts[at].own-parts[at].held {
					t.Fatalf("a claim of %d waits while %d are free", c.bytes, free)
				}
				isNextJob := at == 0 && !blocked[at]
				blocked[at], allBlocked = true, allBlocked || isNextJob && c.bytes <= shared-parts[at].held
			}
			for at, p := range parts {
				if p.Held() != want[at] {
					t.Fatalf("part %d holds %d bytes, want %d", at, p.Held(), want[at])
				}
				used += max(0, p.held-p.own)
			}
			if used > shared || used != l.used {
				t.Fatalf("%d of %d shared bytes are used; %d are counted", used, shared, l.used)
			}
		}
	})
}

// The claims of a part are granted in the order of arrival, however small a later one is, unless it only needs bytes of
// its own part. Claims of other parts pass a large job that waits for other jobs, but not one that would have its bytes
// if there were no other parts.
func TestClaimsAreGrantedInOrder(t *testing.T) {
	l := NewBudget(10)
	jobs := l.JobsShare()
	calls := l.Share(2)
	var order []string
	claim := func(s *Share, name string, bytes int64) *Reservation {
		return claim(s, bytes, func() { order = append(order, name) })
	}
	running := claim(jobs, "running", 6)
	large := claim(jobs, "large", 8)
	small := claim(jobs, "small", 1)
	call := claim(calls, "call", 5) // 2 of its own, 3 that are free
	waits := claim(calls, "waits", 7)
	if !isHeld(running) || isHeld(large) || isHeld(small) || !isHeld(call) || isHeld(waits) || !calls.Contended() ||
		!jobs.Contended() {
		t.Error("the claims are not granted as they came")
	}
	if takes(jobs, 2) || takes(calls, 2) {
		t.Error("bytes are taken that are not free")
	}
	if running.Release(); len(order) > 0 { // 7 are free, too few for the large one
		t.Errorf("granted in the order %v", order)
	}
	if again := claim(calls, "again", 1); isHeld(again) || isHeld(waits) {
		t.Error("calls keep out a large job")
	} else {
		again.Release()
	}
	call.Release()
	if waits.Release(); !slices.Equal(order, []string{"large", "small"}) || jobs.Contended() {
		t.Errorf("granted in the order %v", order)
	}
}

// A call that waits for memory that a job holds holds up no other claim for what is free: no download and no job.
func TestCallsHoldUpOnlyCalls(t *testing.T) {
	l := NewBudget(10)
	jobs := l.JobsShare()
	calls := l.Share(0)
	downloads := l.Share(0)
	claim(jobs, 8, nil)
	waits := claim(calls, 5, nil)
	next := claim(calls, 1, nil)
	download := claim(downloads, 1, nil)
	small := claim(jobs, 1, nil)
	if isHeld(waits) || isHeld(next) || !isHeld(download) || !isHeld(small) {
		t.Errorf("held: a large call %v, a call behind it %v, a download %v, a job %v",
			isHeld(waits), isHeld(next), isHeld(download), isHeld(small))
	}
}

// A caller waits for bytes, but not too long, and leaves when its context ends. Nobody may have more than there is.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewBudget(10).Share(0)
		all, err := p.Reserve(t.Context(), 1000, 0)
		if err != nil || p.Held() != 10 {
			t.Fatalf("%d bytes are held: %v", p.Held(), err)
		}
		if _, err := p.Reserve(t.Context(), 1, time.Minute); !fault.Is(err, TooManyCalls) {
			t.Errorf("after a minute: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		granted := make(chan error, 1)
		go func() { _, err := p.Reserve(ctx, 1, time.Hour); left <- err }()
		synctest.Wait()
		go func() { _, err := p.Reserve(t.Context(), 1, time.Hour); granted <- err }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) || p.Held() != 10 {
			t.Errorf("after a caller has left, %d bytes are held: %v", p.Held(), err)
		}
		all.Release()
		if err := <-granted; err != nil || p.Held() != 1 {
			t.Errorf("%d bytes are held: %v", p.Held(), err)
		}
	})
}
