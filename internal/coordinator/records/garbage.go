package records

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/store"
)

// Collector deletes garbage: what nothing refers to anymore. A deletion is a single transaction: it removes a record
// and adds a garbage key that names the blobs no longer needed. Only then are the blobs deleted, and finally the
// garbage key. If that is interrupted, the next coordinator finds the key and does the rest. An upload adds such a key
// before it stores its blob, and removes it in the transaction that stores its record.
//
// It is safe for concurrent use.
type Collector struct {
	Blobs  store.Blobs
	Writer *Writer
	Hold   *Hold // no blob is deleted while it is active
	Logger hclog.Logger
}

// NotGarbage knows what looks like garbage and is not.
type NotGarbage interface {
	// IsWriting reports whether a blob, which is marked as garbage, may still get a record.
	IsWriting(blob string) bool
	// NeedsEvents reports whether the state holds the only copy of a job's events.
	NeedsEvents(ctx context.Context, job string) (bool, error)
}

// DeleteEvents deletes the events of a job that are stored in the state.
func (c *Collector) DeleteEvents(ctx context.Context, job string) error {
	entries, err := c.Writer.State.List(ctx, EventsPrefix(job), "", 0)
	if err != nil {
		return err
	}
	keys := make([]string, len(entries))
	for at, entry := range entries {
		keys[at] = entry.Key
	}
	return c.Writer.DeleteKeys(keys)
}

// Delete deletes the blobs whose names begin with prefix, and then the garbage key for that prefix. During a
// backup it leaves both for the end of the backup.
func (c *Collector) Delete(ctx context.Context, prefix string) error {
	_, err := c.Hold.Delete(func() error { return c.deleteNow(ctx, prefix) })
	return err
}

func (c *Collector) deleteNow(ctx context.Context, prefix string) error {
	names, err := c.Blobs.List(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.Blobs.Delete(ctx, name); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return c.Writer.Commit(store.Txn{Delete: []string{GarbageKey(prefix)}})
}

// Collect finishes the deletions that earlier coordinators did not complete. What fails again is left for the
// next coordinator; it wastes space, but nothing depends on it.
func (c *Collector) Collect(ctx context.Context, keep NotGarbage) error {
	entries, err := c.Writer.State.List(ctx, GarbagePrefix, "", 0)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		blobs := strings.TrimPrefix(entry.Key, GarbagePrefix)
		if keep.IsWriting(blobs) {
			continue
		}
		err := c.confirmLeader(store.Condition{Key: entry.Key, Revision: entry.Revision})
		if errors.Is(err, store.ErrConflict) {
			continue // an upload that ended since the keys were listed has taken its own back
		}
		if err == nil {
			err = c.Delete(ctx, blobs)
		}
		if err != nil {
			c.Logger.Warn("blobs that are no longer needed cannot be deleted", "blobs", blobs, "error", err)
			if answer := store.AnswerOf(err); answer == store.Unanswered || answer.IsFinal() {
				break // the others would fail too
			}
		}
	}
	return c.deleteLeftoverEvents(ctx, keep)
}

// confirmLeader returns an error unless this coordinator leads and the condition holds. Whoever deletes blobs must call
// it after it has listed them: what a former leader lists may belong to a call of its successor.
func (c *Collector) confirmLeader(condition store.Condition) error {
	return c.Writer.Commit(store.Txn{If: []store.Condition{condition}, Urgent: true})
}

// DeleteSpecs deletes the specs of jobs that an earlier coordinator did not create, because it ended after it had
// stored them. newest is an id that this coordinator made when it began to lead: its own jobs have larger ones, and
// jobs of earlier terms can no longer be created.
func (c *Collector) DeleteSpecs(ctx context.Context, newest string) error {
	state, blobs := c.Writer.State, c.Blobs
	names, err := blobs.List(ctx, JobPrefix)
	if err != nil {
		return err
	}
	for at, name := range names {
		id := JobOfSpec(name)
		// a job with results was created
		if id == "" || id >= newest || at > 0 && strings.HasPrefix(names[at-1], JobBlobPrefix(id)) {
			continue
		}
		if _, err := state.Get(ctx, JobKey(id)); !errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err := c.confirmLeader(store.Condition{Key: JobKey(id)}); errors.Is(err, store.ErrConflict) {
			continue
		} else if err != nil {
			return err
		}
		c.Logger.Info("deleting the spec of a job that was not created", "job", id)
		if _, err := c.Hold.Delete(func() error { return blobs.Delete(ctx, name) }); err != nil &&
			!errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// deleteLeftoverEvents deletes events that are never read again: those of deleted jobs, and those that are part of
// their job's outcome but exceeded the transaction that ended it.
func (c *Collector) deleteLeftoverEvents(ctx context.Context, keep NotGarbage) error {
	var leftover []string
	err := Each(ctx, c.Writer.State, EventPrefix, func(entry store.Entry) error {
		id, _, _ := strings.Cut(strings.TrimPrefix(entry.Key, EventPrefix), "/")
		needed, err := keep.NeedsEvents(ctx, id)
		if err == nil && !needed {
			leftover = append(leftover, entry.Key)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Writer.DeleteKeys(leftover)
}
