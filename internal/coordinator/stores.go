package coordinator

import (
	"context"
	"errors"
	"time"

	"github.com/cleave-project/cleave/internal/credentials"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
)

// Stores are stores that are open already, as simulated ones are. The coordinator closes them.
type Stores struct {
	State store.State
	Blobs store.Blobs
}

// openStores opens the state and the blobs, unless they are given.
func (c *Coordinator) openStores(ctx context.Context) (err error) {
	if c.state, c.blobs = c.cfg.Stores.State, c.cfg.Stores.Blobs; c.state == nil {
		if c.state, err = store.Open(ctx, c.cfg.Store, c.cfg.DataDir, c.sharing(), c.log.Named("store")); err != nil {
			return err
		}
	}
	if c.blobs == nil {
		if c.blobs, err = store.OpenBlobs(ctx, c.cfg.Blobs); err != nil {
			return err
		}
		if c.cfg.Blobs != blobsInMemory { // which cannot hang
			c.blobs = store.Patient(c.blobs, c.cfg.BlobsStall)
		}
	}
	return nil
}

// sharing is how the state is opened where it may be shared.
func (c *Coordinator) sharing() store.Sharing {
	dial, security := c.cfg.Security.Store, c.cfg.Security
	if dial == (credentials.Dial{}) {
		dial.Insecure = security.Serve.Insecure
	}
	return store.Sharing{Lease: c.cfg.Election.Lease, Dial: dial, Unchecked: c.cfg.Election.again}
}

// stateFailure is why the state ended by itself, nil unless it did.
func (c *Coordinator) stateFailure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := c.state.Get(ctx, createdKey)
	if f, is := errors.AsType[*fault.Error](err); is {
		return f
	}
	return nil
}

// checkStores refuses a state that was never used together with blobs that are there already: the state that knows them
// is missing, and a coordinator that started empty would leave it unnoticed until the backups are gone.
func (c *Coordinator) checkStores(ctx context.Context) error {
	if c.cfg.Store == storeMemory && c.cfg.Stores.State == nil { // always empty at the start
		return nil
	}
	entries, err := c.state.List(ctx, "", "", 1)
	if err != nil {
		return err
	}
	used := len(entries) > 0
	if used && entries[0].Key == createdKey { // the first of all keys
		return nil
	}
	if !used {
		blobs, err := c.blobs.List(ctx, "")
		if err != nil {
			return err
		}
		if len(blobs) > 0 {
			return fault.New(fault.DataLoss, "STATE_MISSING", "the state store is empty, but the blob store %s has %s, such as %s: "+
				"the state that belongs to it is missing; restore it from a backup, or name another place for the blobs to start empty",
				c.cfg.Blobs, text.Plural(len(blobs), "blob"), blobs[0])
		}
	}
	if err := c.commit(store.Txn{Put: []store.Entry{{Key: createdKey}}}); !used || !fault.Is(err, store.DiskFull) {
		return err
	}
	return nil // a state of an earlier version, on a full disk: next time
}
