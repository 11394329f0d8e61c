package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cleave-project/cleave/internal/coordinator/backup"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
)

// checkStores rejects a state of another layout, blobs of another cluster, and an empty state store combined with
// blobs that already exist. The state that describes those blobs is missing, and a coordinator that started empty
// would hide that until the backups are gone.
func (c *Coordinator) checkStores(ctx context.Context) error {
	if c.cfg.Store == storeMemory && c.cfg.Stores.State == nil { // always empty at the start
		if err := c.ownership().Refuse(ctx); fault.Is(err, records.ForeignBlobs) {
			return err
		}
		return nil
	}
	entries, err := c.storage.state.List(ctx, "", "", 1)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		if err := c.refuseLeftovers(ctx); err != nil {
			return err
		}
		created := store.Entry{Key: records.CreatedKey, Value: []byte(records.Layout)}
		if err := c.storage.writer.Commit(store.Txn{Put: []store.Entry{created}}); err != nil {
			return err
		}
		return c.ownership().Take(ctx)
	}
	var layout []byte
	if entries[0].Key == records.CreatedKey { // it sorts before all other keys
		if entries[0].Damage != nil {
			return entries[0].Damage
		}
		layout = entries[0].Value
	}
	if err := records.CheckLayout(layout); err != nil {
		return err
	}
	if err := c.checkBlobs(ctx); err != nil {
		return err
	}
	return c.takeBlobsSoon(ctx)
}

// refuseLeftovers rejects a blob store that is not empty, for a state that is.
func (c *Coordinator) refuseLeftovers(ctx context.Context) error {
	blobs, err := c.listBlobs(ctx)
	if err != nil {
		return err
	}
	if len(blobs) == 0 {
		return c.ownership().Refuse(ctx)
	}
	owner := ""
	if o, err := records.ReadOwner(ctx, c.storage.blobs); err == nil {
		owner = fmt.Sprintf(" of the cluster %s", o)
	}
	return fault.New(fault.DataLoss, "STATE_MISSING",
		"the state store is empty, but the blob store %s already has %s%s (for example %s). "+
			"The state that describes them is missing: restore it from a backup, or use another --blobs location "+
			"to start empty",
		c.cfg.Blobs, text.Plural(len(blobs), "blob"), owner, blobs[0])
}

// listBlobs returns the names of all blobs but that of their owner.
func (c *Coordinator) listBlobs(ctx context.Context) ([]string, error) {
	blobs, err := c.storage.blobs.List(ctx, "")
	return slices.DeleteFunc(blobs, func(name string) bool { return name == records.IdentityBlob }), err
}

const (
	// ownerTimeout is how long the start waits for the blob store to tell which cluster it belongs to.
	ownerTimeout = time.Second
	// ownerSettle is longer than writing a small object takes.
	ownerSettle = time.Second
)

// ownership returns what makes the blob store belong to this cluster.
func (c *Coordinator) ownership() records.BlobsOwnership {
	ownership := records.BlobsOwnership{State: c.storage.state, Blobs: c.storage.blobs, Commit: c.storage.writer.Commit,
		Where: c.cfg.Blobs, Host: c.advertised(), Now: c.cfg.Now(), Settle: ownerSettle}
	if c.cfg.Stores.Blobs != nil || c.cfg.Blobs == blobsInMemory ||
		c.cfg.Store == storeEmbedded && c.cfg.Blobs == defaultBlobs(c.cfg.DataDir) {
		ownership.Settle = 0 // the data directory is locked
	}
	return ownership
}

// takeBlobsSoon takes the blob store of a cluster that was used before. If the store does not answer, the coordinator
// starts all the same, as it does without blobs, and tries again until it does. If the store then turns out to belong
// to another cluster, or its owner cannot be read, the coordinator ends, since it would not start either.
func (c *Coordinator) takeBlobsSoon(ctx context.Context) error {
	ownership := c.ownership()
	first, cancel := context.WithTimeout(ctx, ownerTimeout+ownership.Settle)
	defer cancel()
	err := ownership.Take(first)
	mayPass := func(err error) bool { return store.AnswerOf(err).MayPassWithSpace() }
	if !mayPass(err) {
		return err
	}
	const asking = "cannot find out which cluster the blob store belongs to, trying again"
	c.log.Warn(asking, "error", err)
	c.sweeping.Go(func() {
		for pause := dial.NewBackoff(records.StoreRetries); pause.Wait(c.storeCtx) == nil; {
			switch err := ownership.Take(c.storeCtx); {
			case err == nil || jobs.Interrupted(err):
				return
			case mayPass(err):
				c.log.Warn(asking, "error", err)
			default:
				c.disowned <- err
				return
			}
		}
	})
	return nil
}

// checkBlobs rejects an empty blob store if there are jobs, as when a disk is not mounted: unfinished jobs would
// fail, and new blobs would go to the wrong place. An unavailable blob store is not an error here; other code waits
// for it.
func (c *Coordinator) checkBlobs(ctx context.Context) error {
	newest, err := c.storage.state.List(ctx, records.JobPrefix, "", 1)
	if err != nil || len(newest) == 0 {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := c.storage.blobs.Size(asking, records.SpecBlob(records.JobOfKey(newest[0].Key))); !errors.Is(err,
		store.ErrNotFound) {
		return nil
	}
	if blobs, err := c.listBlobs(asking); err != nil || len(blobs) > 0 {
		return nil // a damaged blob is reported when it is read
	}
	return fault.New(fault.DataLoss, "BLOBS_MISSING",
		"the state store has jobs, but the blob store %s is empty: is it the right one, and mounted? "+
			"Restore it from a backup, or start with another state store", c.cfg.Blobs)
}

// restore restores the configured backup, if there is one, and refuses stores with a part of one.
func (c *Coordinator) restore(ctx context.Context) error {
	if c.cfg.Restore == "" || c.past.restored {
		return c.retry(ctx, "the state cannot be read now, trying again", func() error {
			return backup.Unfinished(ctx, c.storage.state)
		})
	}
	c.log.Info("restoring a backup", "file", c.cfg.Restore)
	head, err := backup.Restore(ctx, c.cfg.Restore, backup.Target{State: c.storage.state, Blobs: c.storage.blobs,
		Commit: c.storage.writer.Commit, TakeBlobs: c.ownership().Take})
	if err != nil {
		return err
	}
	c.past.restored = true
	c.log.Info("restored a backup", "created", head.Created, "version", head.Version, "revision", head.Revision,
		"blobs", head.Blobs, "bytes", head.Bytes)
	return nil
}
