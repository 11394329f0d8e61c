package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func testResigned(t *testing.T, b backend) {
	s, term := openLeading(t, b)
	r := commit(t, s, Txn{Put: []Entry{{Key: t.Name()}}})
	check(t, term.Resign(t.Context()))
	waitLost(t, term)
	_, err := s.Commit(t.Context(), Txn{If: []Condition{{t.Name(), r}}, Delete: []string{t.Name()}})
	wantIs(t, err, ErrNotLeader)
	get(t, s, t.Name())
	check(t, term.Resign(t.Context())) // a second time does nothing

	again := lead(t, s)
	if again.Revision() <= term.Revision() {
		t.Fatalf("term %d after term %d", again.Revision(), term.Revision())
	}
	check(t, term.Resign(t.Context())) // nor does it end the next term
	commit(t, s, Txn{Delete: []string{t.Name()}})
}

// testDeposed: another process leads, but the old leader does not know yet. Its writes must fail.
func testDeposed(t *testing.T, b backend) {
	old, term := openLeading(t, b)
	commit(t, old, Txn{Put: []Entry{{Key: t.Name(), Value: []byte("old")}}})
	b.depose(t, old)
	_, next := openLeading(t, b)
	if next.Revision() <= term.Revision() {
		t.Fatalf("term %d after term %d", next.Revision(), term.Revision())
	}
	_, err := old.Commit(t.Context(), Txn{Put: []Entry{{Key: t.Name(), Value: []byte("late")}}})
	wantIs(t, err, ErrNotLeader)
	waitLost(t, term)
	if got := get(t, old, t.Name()).Value; string(got) != "old" {
		t.Fatalf("a deposed leader wrote %q", got)
	}
	select {
	case <-next.Lost():
		t.Fatal("the new leader lost its term to the old one's write")
	default:
	}
}

// testLost: a leader learns that its term is over even if it writes nothing.
func testLost(t *testing.T, b backend) {
	s, term := openLeading(t, b)
	b.depose(t, s)
	waitLost(t, term)
	lead(t, s)
	commit(t, s, Txn{Put: []Entry{{Key: t.Name()}}})
}

// testOneLeader: several processes increase a counter by read and write, each time in a new term. With two
// leaders at a time, counts would be lost or conditions fail.
func testOneLeader(t *testing.T, b backend) {
	const candidates, terms = 3, 4
	counter := t.Name()
	count := func(s State) error {
		for range terms {
			term, err := s.Lead(t.Context(), "candidate")
			if err != nil {
				return err
			}
			e, err := s.Get(t.Context(), counter)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			txn := Txn{If: []Condition{{counter, e.Revision}},
				Put: []Entry{{Key: counter, Value: append(e.Value, '.')}}}
			if _, err := s.Commit(t.Context(), txn); err != nil {
				return err
			}
			if err := term.Resign(t.Context()); err != nil {
				return err
			}
		}
		return nil
	}
	var group sync.WaitGroup
	for range candidates {
		s := openState(t, b)
		group.Go(func() {
			if err := count(s); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := len(get(t, openState(t, b), counter).Value); got != candidates*terms {
		t.Fatalf("counted %d of %d", got, candidates*terms)
	}
}

// testLeader: everybody knows who leads, and the leader whether it still does.
func testLeader(t *testing.T, b backend) {
	s, term := openLeading(t, b)
	other := openState(t, b)
	if name, err := other.Leader(t.Context()); err != nil || name != t.Name() || !term.Current() {
		t.Fatalf("%q leads (%v), and it is so: %v", name, err, term.Current())
	}
	b.depose(t, s)
	waitLost(t, term)
	_, err := other.Leader(t.Context())
	wantIs(t, err, ErrNotFound)
	if term.Current() {
		t.Fatal("a term that is over is current")
	}
}

// A process that was stopped does not think that it leads, even before it hears that its lease is over.
func TestATermIsNotCurrentWithoutItsLease(t *testing.T) {
	long := time.Now().Add(-4 * time.Second)
	term := &etcdTerm{state: &etcdState{lease: 5}, lost: make(chan struct{})}
	term.renewed.Store(&long)
	if term.Current() {
		t.Error("the lease was last renewed 4 of 5 seconds ago, and the term is current")
	}
}

// A machine that slept does not think that it leads.
func TestATermDoesNotLastThroughSleep(t *testing.T) {
	for _, lease := range []int{5, 24 * 60 * 60} {
		term := &etcdTerm{state: &etcdState{lease: lease}}
		if term.lasts(time.Second, 3*24*time.Hour) {
			t.Errorf("after three days of sleep, a lease of %d s lasts", lease)
		}
		if !term.lasts(time.Second, -time.Hour) || term.lasts(3*24*time.Hour, -time.Hour) {
			t.Errorf("setting the clock back matters to a lease of %d s", lease)
		}
	}
}

func testLeadTwice(t *testing.T, b backend) {
	s, _ := openLeading(t, b)
	_, err := s.Lead(t.Context(), "again")
	wantIs(t, err, errAlreadyLeading)
}

// testCanceledCandidate: a candidate whose context ends leaves the queue.
func testCanceledCandidate(t *testing.T, b backend) {
	_, term := openLeading(t, b)
	impatient := openState(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := impatient.Lead(ctx, "impatient")
		gaveUp <- err
	}()
	cancel()
	wantIs(t, receive(t, gaveUp), context.Canceled)
	check(t, term.Resign(t.Context()))
	openLeading(t, b)
}

func testClosing(t *testing.T, b backend) {
	s, term := openLeading(t, b)
	waiting := openState(t, b)
	ended := make(chan error, 1)
	go func() {
		_, err := waiting.Lead(t.Context(), "waiting")
		ended <- err
	}()
	check(t, waiting.Close())
	wantIs(t, receive(t, ended), ErrClosed)

	check(t, s.Close())
	check(t, s.Close())
	waitLost(t, term)
	check(t, term.Resign(t.Context()))
	_, err := s.Get(t.Context(), "x")
	wantIs(t, err, ErrClosed)
	_, err = s.List(t.Context(), "x", "", 0)
	wantIs(t, err, ErrClosed)
	_, err = s.Commit(t.Context(), Txn{})
	wantIs(t, err, ErrClosed)
	_, err = s.Lead(t.Context(), "late")
	wantIs(t, err, ErrClosed)
	openLeading(t, b) // Close resigned
}
