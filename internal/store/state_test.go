package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/test/etcdtest"
)

// testLease is the lease of a leader in seconds.
const testLease = 5

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend is a kind of State. Unless it is of one process, all that it opens share one store.
type backend struct {
	open          func(t *testing.T) State // like another process
	depose        func(t *testing.T, leader State)
	oneProcess    bool // no other process can open what a process has opened
	defaultLimits bool // an etcd with default settings, which allows fewer operations
}

// backends starts every kind. The etcd runs until the test ends, because starting one takes a while.
func backends(t *testing.T) map[string]backend {
	shared := &sharedMemory{entries: map[string]Entry{}}
	address := etcdtest.Start(t)
	return map[string]backend{
		"memory": {
			open: func(t *testing.T) State { return &memory{shared: shared, closed: make(chan struct{})} },
			depose: func(t *testing.T, leader State) {
				check(t, leader.(*memory).term.Resign(t.Context()))
			},
		},
		"embedded": {
			open: func(t *testing.T) State { return embedded(t, t.TempDir()) },
			depose: func(t *testing.T, leader State) {
				check(t, leader.(*boltState).term.Load().Resign(t.Context()))
			},
			oneProcess: true,
		},
		"external": {
			open: func(t *testing.T) State { return external(t, address) },
			depose: func(t *testing.T, leader State) {
				s := leader.(*etcdState)
				check(t, s.revoke(t.Context(), s.currentTerm().lease))
			},
			defaultLimits: true,
		},
	}
}

func external(t *testing.T, address string) State {
	t.Helper()
	s, err := Open(t.Context(), "etcd://"+address, "", Sharing{Lease: testLease * time.Second}, nil)
	check(t, err)
	return s
}

// TestConformance checks that every kind of State behaves the same.
func TestConformance(t *testing.T) {
	cases := map[string]func(*testing.T, backend){
		"not leading":          testNotLeading,
		"conditions":           testConditions,
		"atomic":               testAtomic,
		"listing":              testListing,
		"walking":              testWalking,
		"matches a model":      testModel,
		"limits":               testLimits,
		"values are copied":    testCopies,
		"resigned":             testResigned,
		"lost without writing": testLost,
		"lead twice":           testLeadTwice,
		"canceled":             testCanceled,
	}
	several := map[string]func(*testing.T, backend){
		"deposed":            testDeposed,
		"one leader":         testOneLeader,
		"leader":             testLeader,
		"canceled candidate": testCanceledCandidate,
		"closing":            testClosing,
	}
	for name, b := range backends(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, run := range cases {
				t.Run(what, func(t *testing.T) { run(t, b) })
			}
			if b.oneProcess {
				return
			}
			for what, run := range several {
				t.Run(what, func(t *testing.T) { run(t, b) })
			}
		})
	}
}

// A walk shows one revision, whatever is written meanwhile, and more entries than a page.
func testWalking(t *testing.T, b backend) {
	s, _ := openLeading(t, b)
	const count = walkPage*2 + 3
	prefix := t.Name() + "/"
	key := func(i int) string { return fmt.Sprintf("%s%04d", prefix, i) }
	for i := range count {
		commit(t, s, Txn{Put: []Entry{{Key: key(i), Value: []byte("before")}}})
	}
	seen := 0
	revision, err := s.Walk(t.Context(), func(e Entry) error {
		if !strings.HasPrefix(e.Key, prefix) {
			return nil // of another test
		}
		if e.Key != key(seen) || string(e.Value) != "before" {
			t.Errorf("entry %d is %q with %q", seen, e.Key, e.Value)
		}
		if seen == 0 {
			commit(t, s, Txn{
				Put: []Entry{{Key: key(count - 1), Value: []byte("after")},
					{Key: key(count), Value: []byte("after")}},
				Delete: []string{key(count - 2)},
			})
		}
		seen++
		return nil
	})
	check(t, err)
	if now := get(t, s, key(count)).Revision; seen != count || revision >= now ||
		revision < get(t, s, key(0)).Revision {
		t.Errorf("%d entries of revision %d, now it is %d", seen, revision, now)
	}
	stop := errors.New("stop")
	_, err = s.Walk(t.Context(), func(Entry) error { return stop })
	wantIs(t, err, stop)
}

func testNotLeading(t *testing.T, b backend) {
	s := openState(t, b)
	_, err := s.Commit(t.Context(), Txn{Put: []Entry{{Key: t.Name()}}})
	wantIs(t, err, ErrNotLeader)
	_, err = s.Get(t.Context(), t.Name())
	wantIs(t, err, ErrNotFound)
}

func testConditions(t *testing.T, b backend) {
	s, _ := openLeading(t, b)
	key := t.Name()
	absent := Condition{Key: key}
	first := commit(t, s, Txn{If: []Condition{absent}, Put: []Entry{{Key: key, Value: []byte("one")}}})
	_, err := s.Commit(t.Context(), Txn{If: []Condition{absent}, Put: []Entry{{Key: key, Value: []byte("two")}}})
	wantIs(t, err, ErrConflict)
	e := get(t, s, key)
	if string(e.Value) != "one" || e.Revision != first || e.Key != key {
		t.Fatalf("got %+v, want the value of revision %d", e, first)
	}
	second := commit(t, s, Txn{If: []Condition{{key, first}}, Put: []Entry{{Key: key, Value: []byte("two")}}})
	if second <= first {
		t.Fatalf("revision %d after %d", second, first)
	}
	_, err = s.Commit(t.Context(), Txn{If: []Condition{{key, first}}, Delete: []string{key}})
	wantIs(t, err, ErrConflict)
	commit(t, s, Txn{If: []Condition{{key, second}}, Delete: []string{key}})
	_, err = s.Get(t.Context(), key)
	wantIs(t, err, ErrNotFound)
	_, err = s.Commit(t.Context(), Txn{If: []Condition{{key, second}}})
	wantIs(t, err, ErrConflict)

	// A transaction that changes nothing still checks, and makes no revision.
	before := commit(t, s, Txn{If: []Condition{absent}})
	if after := commit(t, s, Txn{Delete: []string{key}}); after != before {
		t.Fatalf("deleting what is absent made revision %d of %d", after, before)
	}
}

func testAtomic(t *testing.T, b backend) {
	s, _ := openLeading(t, b)
	key := func(i int) string { return fmt.Sprintf("%s/%d", t.Name(), i) }
	r := commit(t, s, Txn{Put: []Entry{{Key: key(1)}, {Key: key(2)}}})
	_, err := s.Commit(t.Context(), Txn{
		If:     []Condition{{key(1), r}, {key(2), r - 1}},
		Put:    []Entry{{Key: key(3)}},
		Delete: []string{key(1)},
	})
	wantIs(t, err, ErrConflict)
	if got := keys(t, s, t.Name(), "", 0); !slices.Equal(got, []string{key(1), key(2)}) {
		t.Fatalf("a failed transaction left %q", got)
	}
	r = commit(t, s, Txn{
		If: []Condition{{key(1), r}}, Put: []Entry{{Key: key(3)}, {Key: key(2)}}, Delete: []string{key(1)},
	})
	for _, k := range []string{key(2), key(3)} {
		if e := get(t, s, k); e.Revision != r {
			t.Fatalf("%s is of revision %d, its transaction %d", k, e.Revision, r)
		}
	}
}

func testListing(t *testing.T, b backend) {
	s, _ := openLeading(t, b)
	at := t.Name() + "/"
	all := []string{at + "a", at + "a/b", at + "a0", at + "b", at + "b\xff", at + "b\xff\xff", at + "c"}
	var txn Txn
	for _, i := range []int{3, 0, 6, 5, 1, 4, 2} {
		txn.Put = append(txn.Put, Entry{Key: all[i], Value: []byte(all[i])})
	}
	commit(t, s, txn)
	for _, c := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{at, "", 0, all},
		{at, "", 2, all[:2]},
		{at, all[1], 2, all[2:4]},
		{at, all[6], 0, nil},
		{at, at + "a\x00", 1, all[1:2]},     // after a key that does not exist
		{at + "a", all[2], 0, nil},          // `after` is the last of the prefix
		{at + "a", all[3], 0, nil},          // `after` is beyond the prefix
		{at + "b", all[0], 0, all[3:6]},     // `after` is before the prefix
		{at + "b\xff", "", 0, all[4:6]},     // the last byte of the prefix cannot be increased
		{at + "a", at + "a", 100, all[1:3]}, // strictly after
		{at + "z", "", 0, nil},
	} {
		if got := keys(t, s, c.prefix, c.after, c.limit); !slices.Equal(got, c.want) {
			t.Errorf("List(%q, %q, %d) = %q, want %q", c.prefix, c.after, c.limit, got, c.want)
		}
	}
	for _, e := range list(t, s, "", "", 0) { // the empty prefix lists entries, not the election
		if !strings.HasPrefix(e.Key, "TestConformance") {
			t.Errorf("List shows %q, which nobody put", e.Key)
		}
	}
}

// testModel compares random transactions with a plain map.
func testModel(t *testing.T, b backend) {
	s, _ := openLeading(t, b)
	rounds := 0
	rapid.Check(t, func(r *rapid.T) {
		rounds++
		if rounds > 20 { // each takes several round trips to the disk
			return
		}
		at := fmt.Sprintf("%s/%d/", t.Name(), rounds)
		model := map[string]Entry{}
		name := rapid.Map(rapid.IntRange(0, 5), func(i int) string { return fmt.Sprint(at, i) })
		for range rapid.IntRange(1, 6).Draw(r, "transactions") {
			var txn Txn
			holds := true
			for _, k := range rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(r, "if") {
				c := Condition{Key: k, Revision: model[k].Revision}
				if rapid.IntRange(0, 3).Draw(r, "wrong") == 0 {
					c.Revision++
					holds = false
				}
				txn.If = append(txn.If, c)
			}
			for i, k := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID).Draw(r, "change") {
				if i%3 == 2 {
					txn.Delete = append(txn.Delete, k)
				} else {
					txn.Put = append(txn.Put, Entry{Key: k, Value: rapid.SliceOf(rapid.Byte()).Draw(r, "value")})
				}
			}
			revision, err := s.Commit(context.Background(), txn)
			if !holds {
				if !errors.Is(err, ErrConflict) {
					r.Fatalf("got %v, want a conflict", err)
				}
				continue
			}
			if err != nil {
				r.Fatal(err)
			}
			for _, e := range txn.Put {
				model[e.Key] = Entry{Key: e.Key, Value: e.Value, Revision: revision}
			}
			for _, k := range txn.Delete {
				delete(model, k)
			}
		}
		found, err := s.List(context.Background(), at, "", 0)
		if err != nil || len(found) != len(model) {
			r.Fatalf("%d entries, want %d (%v)", len(found), len(model), err)
		}
		for _, e := range found {
			want := model[e.Key]
			if e.Revision != want.Revision || !bytes.Equal(e.Value, want.Value) {
				r.Fatalf("got %+v, want %+v", e, want)
			}
		}
	})
}

func testLimits(t *testing.T, b backend) {
	s, _ := openLeading(t, b)
	key := t.Name()
	room := MaxCommitBytes - opOverhead - len(key)
	value := bytes.Repeat([]byte{0xff}, room)
	commit(t, s, Txn{Put: []Entry{{Key: key, Value: value}}})
	if got := get(t, s, key).Value; !bytes.Equal(got, value) {
		t.Fatalf("a value of %d bytes came back with %d", len(value), len(got))
	}
	_, err := s.Commit(t.Context(), Txn{Put: []Entry{{Key: key, Value: append(value, 0)}}})
	wantReason(t, err, "TRANSACTION_TOO_LARGE")
	if !strings.Contains(err.Error(), key) {
		t.Errorf("%q does not name the key", err)
	}

	var many Txn
	for i := range MaxCommitOps {
		many.Put = append(many.Put, Entry{Key: fmt.Sprintf("%s/%d", key, i)})
		many.If = append(many.If, Condition{Key: fmt.Sprintf("%s/%d", key, i)})
	}
	_, err = s.Commit(t.Context(), many)
	if b.defaultLimits {
		wantReason(t, err, "TRANSACTION_TOO_LONG")
		if !strings.Contains(err.Error(), "--max-txn-ops") {
			t.Errorf("%q does not say what to do", err)
		}
	} else {
		check(t, err)
	}
	many.Delete = append(many.Delete, key)
	_, err = s.Commit(t.Context(), many)
	wantReason(t, err, "TRANSACTION_TOO_LONG")

	_, err = s.Commit(t.Context(), Txn{Put: []Entry{{Key: key}}, Delete: []string{key}})
	wantReason(t, err, "TRANSACTION_REPEATS_KEY")
	for _, txn := range []Txn{{Put: []Entry{{}}}, {Delete: []string{""}}, {If: []Condition{{}}}} {
		if _, err := s.Commit(t.Context(), txn); err == nil || !strings.Contains(err.Error(), "empty key") {
			t.Errorf("%+v gives %v", txn, err)
		}
	}
}

func testCopies(t *testing.T, b backend) {
	s, _ := openLeading(t, b)
	value := []byte("mine")
	commit(t, s, Txn{Put: []Entry{{Key: t.Name(), Value: value}}})
	value[0] = 'X'
	got := get(t, s, t.Name()).Value
	got[1] = 'X'
	list(t, s, t.Name(), "", 0)[0].Value[2] = 'X'
	if got := get(t, s, t.Name()).Value; string(got) != "mine" {
		t.Fatalf("the stored value became %q", got)
	}
}

func testCanceled(t *testing.T, b backend) {
	s, _ := openLeading(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Get(ctx, "x")
	wantIs(t, err, context.Canceled)
	_, err = s.Commit(ctx, Txn{Put: []Entry{{Key: t.Name()}}})
	wantIs(t, err, context.Canceled)
}
