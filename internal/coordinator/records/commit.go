package records

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// StoreRetries spaces the attempts to reach a store that does not answer.
var StoreRetries = dial.BackoffPolicy{First: 50 * time.Millisecond, Max: 30 * time.Second}

// MaxTxnChanges caps the keys that one transaction of a bulk change puts or deletes. etcd's default limit is 128
// operations, which must also cover conditions and the fence.
const MaxTxnChanges = 100

// Writer makes transactions durable. Only the leader has one. It is safe for concurrent use. While the store does not
// answer, every method tries again until Context ends. This is how they differ, and what each is for:
//
//	                       on a full disk   after the caller has left   for
//	Commit                 fails            goes on, as does its call   a part of Detach, and what may be done later
//	CommitWaitingForSpace  waits for space  goes on, as does its call   what a run has done, which would be lost
//	Detach                 as its commits   goes on, and has returned   every change that a client asks for
//
// DetachValue is Detach for a change that returns a value. If any of them fails, MayBeCommitted says whether the
// transaction may be durable nevertheless.
type Writer struct {
	State   store.State
	Context context.Context // ends when writing must stop
	Logger  hclog.Logger

	pending  atomic.Int64   // changes that Detach has begun and that are not done
	detached sync.WaitGroup // their goroutines
}

// maxPending is how many changes wait for a store that does not answer, including those whose callers have left.
const maxPending = 1000

// StoreBusy is the reason of the error of Detach if maxPending changes wait. It has not called do then.
const StoreBusy = "STORE_BUSY"

// Commit makes a transaction durable. Trying again is safe because only the leader writes: a transaction that was
// committed although its answer was lost has no further effect or, if it requires that a key is new, ends in a
// conflict.
func (w *Writer) Commit(txn store.Txn) error {
	return w.commitWhile(txn, store.Answer.MayPass)
}

// CommitWaitingForSpace is Commit, but waits for space on a full disk.
func (w *Writer) CommitWaitingForSpace(txn store.Txn) error {
	return w.commitWhile(txn, store.Answer.MayPassWithSpace)
}

// Change is the context of a change that Detach makes for a caller. It has the values of the caller's context, but ends
// only when writing must stop.
type Change struct {
	context.Context
	caller context.Context
}

// Caller returns the context of the caller. Work that is pointless once the caller has left, such as waiting for a
// lock, must use it.
func (c Change) Caller() context.Context { return c.caller }

// Detach makes a change for a caller. If ctx ends first, it returns why, and do continues until its transactions are
// decided, so that what follows from them is done: a job that was created runs, a blob that nothing refers to is
// deleted. do must not refer to anything large, since callers may come and leave for as long as the store does not
// answer.
func (w *Writer) Detach(ctx context.Context, do func(Change) error) error {
	_, err := DetachValue(ctx, w, func(change Change) (none struct{}, _ error) { return none, do(change) })
	return err
}

// DetachValue is Detach for a change that returns a value.
func DetachValue[T any](ctx context.Context, w *Writer, do func(Change) (T, error)) (T, error) {
	var none T
	if w.pending.Add(1) > maxPending {
		w.pending.Add(-1)
		return none, fault.New(fault.Unavailable, StoreBusy,
			"the state store has not answered %d changes; try again when it answers", maxPending)
	}
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(w.Context, cancel)
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	w.detached.Go(func() {
		var r result
		r.err = fault.Guard(w.Logger.Error, func() (err error) {
			r.value, err = do(Change{detached, ctx})
			return err
		})
		stop()
		cancel()
		w.pending.Add(-1)
		done <- r
	})
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// Wait waits for the changes that Detach has begun. They end soon after the Writer's context.
func (w *Writer) Wait() { w.detached.Wait() }

// commitWhile tries to commit a transaction until it succeeds or gets an answer that stays the same.
func (w *Writer) commitWhile(txn store.Txn, mayPass func(store.Answer) bool) error {
	undecided := false // whether an earlier attempt may have been committed
	for pause := dial.NewBackoff(StoreRetries); ; {
		_, err := w.State.Commit(w.Context, txn)
		answer := store.AnswerOf(err)
		if err != nil && undecided && answer != store.Conflict {
			err = Undecided(err)
		}
		if err == nil || !mayPass(answer) || w.Context.Err() != nil {
			return err
		}
		undecided = undecided || answer.MayBeCommitted()
		w.Logger.Warn("the state store is unavailable, trying again", "key", firstKey(txn), "error", err)
		if pause.Wait(w.Context) != nil {
			return err
		}
	}
}

// firstKey returns a key that names a transaction in the log.
func firstKey(txn store.Txn) string {
	switch {
	case len(txn.Put) > 0:
		return txn.Put[0].Key
	case len(txn.Delete) > 0:
		return txn.Delete[0]
	}
	return ""
}

// undecidedError is what Undecided returns.
type undecidedError struct{ error }

func (e undecidedError) Unwrap() error { return e.error }

// Undecided wraps an error that leaves open whether a transaction was committed, although the error alone does not say
// so: MayBeCommitted then reports it. Whoever looks up in vain what a transaction has done returns such an error.
func Undecided(err error) error { return undecidedError{err} }

// MayBeCommitted reports whether a transaction may have been committed although a Writer returned an error, for its
// last attempt or an earlier one. Whatever the transaction refers to must then be kept.
func MayBeCommitted(err error) bool {
	_, undecided := errors.AsType[undecidedError](err)
	return undecided || store.AnswerOf(err).MayBeCommitted()
}

// Batch collects entries into transactions.
type Batch struct {
	Commit func(store.Txn) error
	puts   []store.Entry
	bytes  int
}

// maxBatchBytes is how many bytes of keys and values are in one transaction of a batch, unless one value is larger.
const maxBatchBytes = 512 << 10

// Add adds an entry, and commits those before it if there are many.
func (b *Batch) Add(e store.Entry) error {
	size := len(e.Key) + len(e.Value)
	if len(b.puts) == MaxTxnChanges || b.bytes+size > maxBatchBytes {
		if err := b.Flush(); err != nil {
			return err
		}
	}
	b.puts = append(b.puts, e)
	b.bytes += size
	return nil
}

// Flush commits the entries that are not committed yet, if there are any.
func (b *Batch) Flush() error {
	if len(b.puts) == 0 {
		return nil
	}
	err := b.Commit(store.Txn{Put: b.puts})
	b.puts, b.bytes = nil, 0
	return err
}

// DeleteKeys deletes any number of keys, in several transactions.
func (w *Writer) DeleteKeys(keys []string) error {
	for len(keys) > 0 {
		portion := keys[:min(len(keys), MaxTxnChanges)]
		if err := w.Commit(store.Txn{Delete: portion}); err != nil {
			return err
		}
		keys = keys[len(portion):]
	}
	return nil
}
