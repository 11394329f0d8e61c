package store

import (
	"context"
	"errors"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// mark fences off transactions that got no answer. Such a transaction may still be on its way: an etcd member that
// was suspended forwards it when it wakes up, after others have changed the same keys. Every transaction therefore
// requires that the key of the term was last written at a certain revision, its mark. After a transaction without an
// answer, the key is written again before the next one. Whatever was still on its way has an old mark by then, and
// does nothing.
type mark struct {
	// mu guards the fields below.
	mu       sync.Mutex
	revision int64
	retired  bool // a transaction with this mark got no answer
}

// errMoved reports that a transaction had an old mark and did nothing.
var errMoved = errors.New("store: the mark was moved")

// holds returns the condition that this term has not ended.
func (t *etcdTerm) holds() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(t.key), "=", t.revision)
}

// fence returns the mark for the next transaction, after moving it if it is retired.
func (t *etcdTerm) fence(ctx context.Context) (int64, error) {
	t.mark.mu.Lock()
	defer t.mark.mu.Unlock()
	if !t.mark.retired {
		return t.mark.revision, nil
	}
	write := clientv3.OpPut(t.key, t.name, clientv3.WithLease(t.lease))
	resp, err := t.state.transact(ctx, []clientv3.Cmp{t.holds()}, []clientv3.Op{write}, nil)
	if err != nil {
		return 0, err
	}
	if !resp.Succeeded {
		return 0, t.over()
	}
	t.mark.revision, t.mark.retired = resp.Header.Revision, false
	return t.mark.revision, nil
}

// retire makes fence move the mark before the next transaction, if used is still the current mark.
func (t *etcdTerm) retire(used int64) {
	t.mark.mu.Lock()
	defer t.mark.mu.Unlock()
	t.mark.retired = t.mark.retired || used == t.mark.revision
}

// moved records that an attempt without an answer has moved the mark.
func (t *etcdTerm) moved(from, to int64) {
	t.mark.mu.Lock()
	defer t.mark.mu.Unlock()
	if t.mark.revision == from {
		t.mark.revision = to
	}
}

// over ends a term that has ended according to etcd.
func (t *etcdTerm) over() error {
	t.end()
	<-t.lost
	return ErrNotLeader
}

// transact runs a transaction. It fails as unavailable if there is no answer within s.txnTimeout.
func (s *etcdState) transact(
	ctx context.Context, conditions []clientv3.Cmp, changes, otherwise []clientv3.Op,
) (*clientv3.TxnResponse, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if s.txnTimeout > 0 {
		limited, cancel = context.WithTimeout(ctx, s.txnTimeout)
	}
	defer cancel()
	resp, err := s.client.Txn(limited).If(conditions...).Then(changes...).Else(otherwise...).Commit()
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = unanswered(err)
	}
	return resp, err
}
