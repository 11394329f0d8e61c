package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/cleave-project/cleave/test/etcdtest"
)

// An etcd that reaches its quota while several transactions are on their way applies most of them, and says of all
// that there is no space.
func TestEtcdAtItsQuota(t *testing.T) {
	s := external(t, etcdtest.Start(t, "--quota-backend-bytes=2000000", "--max-txn-ops=1024")).(*etcdState)
	defer s.Close()
	lead(t, s)
	value := make([]byte, 20_000)
	var filling sync.WaitGroup
	var full atomic.Int64
	for writer := range 16 {
		filling.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%d/%d", writer, n)
				revision, err := s.Commit(t.Context(), Txn{Put: []Entry{{Key: key, Value: value}}})
				stored, getErr := s.Get(t.Context(), key)
				if AnswerOf(err) == NoSpace && errors.Is(getErr, ErrNotFound) {
					full.Add(1)
					return
				}
				if err != nil || getErr != nil || stored.Revision != revision {
					t.Errorf("a commit of %s returned %d, %v, and then there is %d, %v", key, revision, err,
						stored.Revision, getErr)
					return
				}
			}
		})
	}
	filling.Wait()
	if full.Load() == 0 {
		t.Fatal("etcd does not reach its quota")
	}

	// What puts nothing is still possible, but makes no room.
	commit(t, s, Txn{Delete: []string{"0/0"}})
	small := Txn{Put: []Entry{{Key: "small"}}, Delete: []string{"1/0"}}
	if _, err := s.Commit(t.Context(), small); AnswerOf(err) != NoSpace {
		t.Errorf("a commit returned %v", err)
	}
	get(t, s, "1/0")

	// What the message says does.
	var all []string
	for _, e := range list(t, s, "", "", 0) {
		all = append(all, e.Key)
	}
	deleted := commit(t, s, Txn{Delete: all[1:]})
	_, err := s.client.Compact(t.Context(), deleted, clientv3.WithCompactPhysical())
	check(t, err)
	_, err = s.client.Defragment(t.Context(), s.client.Endpoints()[0])
	check(t, err)
	_, err = s.client.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})
	check(t, err)
	commit(t, s, small)
}
