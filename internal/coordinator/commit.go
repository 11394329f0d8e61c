package coordinator

import (
	"errors"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// The delay between attempts to reach a store that does not answer doubles from the first to the last.
const (
	firstRetryDelay = 50 * time.Millisecond
	lastRetryDelay  = 30 * time.Second
)

// maxTxnDeletes is how many keys a transaction deletes at most: an etcd with default settings takes 128
// changes in one.
const maxTxnDeletes = 100

// commit makes a transaction durable. While the store does not answer it tries again, until the
// coordinator is closed. That is safe because only the leader writes: a transaction that was committed
// although its answer was lost has no further effect, or, when it requires that a key is new, ends in
// a conflict.
func (c *Coordinator) commit(txn store.Txn) error {
	for delay := firstRetryDelay; ; delay = min(2*delay, lastRetryDelay) {
		_, err := c.state.Commit(c.storeCtx, txn)
		if err == nil || isPermanent(err) || c.storeCtx.Err() != nil {
			return err
		}
		c.log.Warn("the store does not answer, trying again", "error", err, "in", delay)
		select {
		case <-time.After(delay):
		case <-c.storeCtx.Done():
			return err
		}
	}
}

// isPermanent tells whether trying the same transaction again is pointless.
func isPermanent(err error) bool {
	if _, isFault := errors.AsType[*fault.Error](err); isFault {
		return true // the store has understood the transaction and says why it refuses it
	}
	return errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotLeader) || errors.Is(err, store.ErrClosed)
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
