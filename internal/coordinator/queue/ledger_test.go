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

// Whatever is claimed, taken, released and withdrawn, parts have their own bytes and share no more than the rest, the
// claims of each part are granted in the order of arrival, and nothing is lost.
func TestNothingIsGivenTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared := rapid.Int64Range(0, 20).Draw(t, "shared")
		l := NewLedger(shared)
		parts := []*Part{l.JobsPart()}
		for range 2 {
			parts = append(parts, l.Part(rapid.Int64Range(0, 5).Draw(t, "own")))
		}
		type claimed struct {
			*Claim
			woken int
		}
		var claims []*claimed
		taken := make([]int64, len(parts))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			at := rapid.IntRange(0, len(parts)-1).Draw(t, "part")
			bytes := rapid.Int64Range(0, 30).Draw(t, "bytes")
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				free := parts[at].Free()
				if took := parts[at].Take(bytes); took != (bytes <= free) {
					t.Fatalf("took %d of %d free bytes: %v", bytes, free, took)
				} else if took {
					taken[at] += bytes
				}
			case 1:
				c := &claimed{}
				c.Claim = parts[at].Claim(bytes, func() { c.woken++ })
				claims = append(claims, c)
			case 2:
				bytes = min(bytes, taken[at])
				parts[at].Release(bytes)
				taken[at] -= bytes
			default:
				if len(claims) > 0 {
					gone := rapid.IntRange(0, len(claims)-1).Draw(t, "gone")
					claims[gone].Release()
					claims[gone].Release() // changes nothing
					claims = slices.Delete(claims, gone, gone+1)
				}
			}
			want, used := slices.Clone(taken), int64(0)
			blocked, allBlocked := make([]bool, len(parts)), false
			for _, c := range claims {
				at := slices.Index(parts, c.part)
				if c.Held() {
					want[at] += c.bytes
					continue
				}
				if free := parts[at].Free(); c.woken > 0 || !allBlocked && !blocked[at] && c.bytes <= free || c.bytes <= parts[at].own-parts[at].held {
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
	l := NewLedger(10)
	jobs, calls := l.JobsPart(), l.Part(2)
	var order []string
	claim := func(p *Part, name string, bytes int64) *Claim {
		return p.Claim(bytes, func() { order = append(order, name) })
	}
	running := claim(jobs, "running", 6)
	large := claim(jobs, "large", 8)
	small := claim(jobs, "small", 1)
	call := claim(calls, "call", 5) // 2 of its own, 3 that are free
	waits := claim(calls, "waits", 7)
	if !running.Held() || large.Held() || small.Held() || !call.Held() || waits.Held() || !calls.Contended() || !jobs.Contended() {
		t.Error("the claims are not granted as they came")
	}
	if jobs.Take(2) || calls.Take(2) {
		t.Error("bytes are taken that are not free")
	}
	if running.Release(); len(order) > 0 { // 7 are free, too few for the large one
		t.Errorf("granted in the order %v", order)
	}
	if again := claim(calls, "again", 1); again.Held() || waits.Held() {
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
	l := NewLedger(10)
	jobs, calls, downloads := l.JobsPart(), l.Part(0), l.Part(0)
	jobs.Claim(8, nil)
	waits := calls.Claim(5, nil)
	next := calls.Claim(1, nil)
	download, small := downloads.Claim(1, nil), jobs.Claim(1, nil)
	if waits.Held() || next.Held() || !download.Held() || !small.Held() {
		t.Errorf("held: a large call %v, a call behind it %v, a download %v, a job %v", waits.Held(), next.Held(), download.Held(), small.Held())
	}
}

// A caller waits for bytes, but not too long, and leaves when its context ends. Nobody may have more than there is.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewLedger(10).Part(0)
		all, err := p.Reserve(t.Context(), 1000, 0)
		if err != nil || p.Held() != 10 {
			t.Fatalf("%d bytes are held: %v", p.Held(), err)
		}
		if _, err := p.Reserve(t.Context(), 1, time.Minute); !fault.Is(err, TooManyCalls) {
			t.Errorf("after a minute: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		left, granted := make(chan error, 1), make(chan error, 1)
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
