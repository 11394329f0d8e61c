package coordinator

import (
	"errors"
	"time"

	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// storeRetries paces the attempts to reach a store that does not answer.
var storeRetries = backoff.Policy{First: 50 * time.Millisecond, Max: 30 * time.Second}

// maxTxnDeletes is how many keys a transaction deletes at most: an etcd with default settings takes 128
// changes in one.
const maxTxnDeletes = 100

// commit makes a transaction durable. While the store does not answer it tries again, until the
// coordinator is closed. That is safe because only the leader writes: a transaction that was committed
// although its answer was lost has no further effect, or, when it requires that a key is new, ends in
// a conflict.
func (c *Coordinator) commit(txn store.Txn) error {
	return c.commitWhile(txn, func(err error) bool { return !store.IsPermanent(err) })
}

// persist is commit for what a run has done: on a full disk it waits for space. Nobody waits for its answer, and the run
// would be lost.
func (c *Coordinator) persist(txn store.Txn) error {
	return c.commitWhile(txn, func(err error) bool { return !store.IsPermanent(err) || fault.Is(err, store.DiskFull) })
}

// commitWhile commits a transaction, again while its error is one that may pass.
func (c *Coordinator) commitWhile(txn store.Txn, mayPass func(error) bool) error {
	unknown := false // whether an earlier attempt was committed
	for pause := backoff.New(storeRetries); ; {
		_, err := c.state.Commit(c.storeCtx, txn)
		if err != nil && unknown && !errors.Is(err, store.ErrConflict) {
			err = unknownOutcome{err}
		}
		if err == nil || !mayPass(err) || c.storeCtx.Err() != nil {
			return err
		}
		unknown = unknown || mayBeCommitted(err)
		c.log.Warn("the store takes nothing now, trying again", "error", err)
		if pause.Wait(c.storeCtx) != nil {
			return err
		}
	}
}

// unknownOutcome is the error of a transaction that was refused, or not answered, after an attempt whose answer was lost.
type unknownOutcome struct{ error }

func (e unknownOutcome) Unwrap() error { return e.error }

// mayBeCommitted tells whether a transaction may have been committed although it gave an error: then what it refers to
// must stay. It was not if the store refused it for good.
func mayBeCommitted(err error) bool {
	_, unknown := errors.AsType[unknownOutcome](err)
	return err != nil && (unknown || !store.IsPermanent(err) || errors.Is(err, store.ErrClosed))
}

// deleteKeys deletes any number of keys, in several transactions.
func (c *Coordinator) deleteKeys(keys []string) error {
	for len(keys) > 0 {
		portion := keys[:min(len(keys), maxTxnDeletes)]
		if err := c.commit(store.Txn{Delete: portion}); err != nil {
			return err
		}
		keys = keys[len(portion):]
	}
	return nil
}
