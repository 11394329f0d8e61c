package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
)

// testTimeout is how long something may take that must happen. A test that passes never waits for it.
const testTimeout = 20 * time.Second

func openState(t *testing.T, b backend) State {
	t.Helper()
	s := b.open(t)
	t.Cleanup(func() { check(t, s.Close()) })
	return s
}

func openLeading(t *testing.T, b backend) (State, Leadership) {
	t.Helper()
	s := openState(t, b)
	return s, lead(t, s)
}

func lead(t *testing.T, s State) Leadership {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	term, err := s.Lead(ctx, t.Name())
	check(t, err)
	return term
}

func commit(t *testing.T, s State, txn Txn) int64 {
	t.Helper()
	revision, err := s.Commit(t.Context(), txn)
	check(t, err)
	return revision
}

func get(t *testing.T, s State, key string) Entry {
	t.Helper()
	e, err := s.Get(t.Context(), key)
	check(t, err)
	return e
}

func list(t *testing.T, s State, prefix, after string, limit int) []Entry {
	t.Helper()
	found, err := s.List(t.Context(), prefix, after, limit)
	check(t, err)
	return found
}

// keys lists keys, and checks that the list backward has the same in the other order.
func keys(t *testing.T, s State, prefix, after string, limit int) []string {
	t.Helper()
	var found []string
	for _, e := range list(t, s, prefix, after, limit) {
		found = append(found, e.Key)
	}
	if len(found) == 0 {
		return nil
	}
	last := found[len(found)-1]
	backward, err := s.ListBackward(t.Context(), prefix, last+"\x00", len(found))
	check(t, err)
	for at, e := range backward {
		if want := found[len(found)-1-at]; e.Key != want || string(get(t, s, want).Value) != string(e.Value) {
			t.Errorf("backward from %q, entry %d is %q, want %q", last, at, e.Key, want)
		}
	}
	before, err := s.ListBackward(t.Context(), prefix, last, 1)
	check(t, err)
	if len(backward) != len(found) || len(found) > 1 && (len(before) != 1 || before[0].Key != found[len(found)-2]) {
		t.Errorf("backward there are %d entries of %d, and before the last is %v", len(backward), len(found), before)
	}
	if limit == 0 {
		all, err := s.ListBackward(t.Context(), prefix, "", 0)
		check(t, err)
		if len(all) < len(found) || all[0].Key != last {
			t.Errorf("backward from the end there are %v", all)
		}
	}
	return found
}

func waitLost(t *testing.T, term Leadership) {
	t.Helper()
	select {
	case <-term.Lost():
	case <-time.After(testTimeout):
		t.Fatal("the term does not end")
	}
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(testTimeout):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantIs(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func wantReason(t *testing.T, err error, want string) {
	t.Helper()
	if !fault.Is(err, want) {
		t.Fatalf("got %v, want the fault %s", err, want)
	}
}
