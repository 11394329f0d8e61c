package store

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cleave-project/cleave/test/etcdtest"
)

// A transaction that got no answer and arrives after others have changed the same keys does nothing.
func TestLateTransactionsDoNothing(t *testing.T) {
	s := external(t, etcdtest.Start(t)).(*etcdState)
	defer s.Close()
	lead(t, s)
	term := s.currentTerm()
	old, err := term.fence(t.Context())
	check(t, err)
	late := func() bool {
		conditions := []clientv3.Cmp{term.holds(), clientv3.Compare(clientv3.ModRevision(term.key), "=", old)}
		resp, err := s.transact(t.Context(), conditions, []clientv3.Op{clientv3.OpPut(entryRoot+"x", "old")}, nil)
		check(t, err)
		return resp.Succeeded
	}
	if !late() {
		t.Fatal("a transaction that is in time is refused")
	}
	term.retire(old)
	commit(t, s, Txn{Put: []Entry{{Key: "x", Value: []byte("new")}}})
	if late() || string(get(t, s, "x").Value) != "new" {
		t.Error("a transaction that is late has changed something")
	}

	// The attempt to move the mark may be late, too.
	now := term.mark.revision
	term.mark.retired = true
	_, err = term.fence(t.Context())
	check(t, err)
	term.mark.revision = now // as if there had been no answer
	commit(t, s, Txn{Put: []Entry{{Key: "x", Value: []byte("newer")}}})
	if name, err := s.Leader(t.Context()); err != nil || name != t.Name() {
		t.Errorf("%q leads: %v", name, err)
	}
	_, err = s.Commit(t.Context(), Txn{If: []Condition{{"x", 1}}, Put: []Entry{{Key: "x"}}})
	wantIs(t, err, ErrConflict)
}
