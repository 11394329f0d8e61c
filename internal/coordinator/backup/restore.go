package backup

import (
	"context"
	"io"
	"os"

	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
)

// Target is where a backup is restored to. Only the leader has one.
type Target struct {
	State  store.State
	Blobs  store.Blobs
	Commit func(store.Txn) error
	// TakeBlobs makes the blob store belong to the cluster of this state, or returns an error.
	TakeBlobs func(context.Context) error
}

// restoring is the value of records.CreatedKey until everything is restored, so that no coordinator uses a partial
// restore.
const restoring = "restoring"

// room is how much space must be left after a restore, since a coordinator does not work with less.
const room = 128 << 20

// Restore restores the backup in a file. It reads the file twice: nothing is written before all of it is known to be
// intact.
func Restore(ctx context.Context, path string, to Target) (Head, error) {
	if err := to.checkEmpty(ctx); err != nil {
		return Head{}, err
	}
	var created store.Entry
	head, err := readFile(path, visitor{entry: func(e store.Entry) error {
		if e.Key == records.CreatedKey {
			created = e
		}
		return nil
	}})
	if err != nil {
		return head, err
	}
	if created.Key == "" {
		return head, damaged("its state lacks the key %q", records.CreatedKey)
	}
	if err := records.CheckLayout(created.Value); err != nil {
		return head, err
	}
	if free, known := to.Blobs.Free(); known && free < head.Bytes+room {
		return head, fault.New(fault.ResourceExhausted, store.DiskFull,
			"the backup needs %s, but only %s are free; free some space, or restore to another disk",
			text.Bytes(uint64(head.Bytes+room)), text.Bytes(uint64(free)))
	}
	begun := store.Entry{Key: records.CreatedKey, Value: []byte(restoring)}
	if err := to.Commit(store.Txn{Put: []store.Entry{begun}}); err != nil {
		return head, err
	}
	if err := to.TakeBlobs(ctx); err != nil {
		return head, err
	}
	puts := &records.Batch{Commit: to.Commit}
	_, err = readFile(path, visitor{
		entry: func(e store.Entry) error {
			if e.Key == records.CreatedKey { // last
				return nil
			}
			return puts.Add(e)
		},
		blob: func(name string, content io.Reader) error {
			return to.Blobs.Put(ctx, name, func(w io.Writer) error {
				_, err := io.Copy(w, content)
				return err
			})
		},
	})
	if err != nil {
		return head, err
	}
	if err := puts.Flush(); err != nil {
		return head, err
	}
	return head, to.Commit(store.Txn{Put: []store.Entry{created}})
}

// readFile calls read for the file at a path.
func readFile(path string, visit visitor) (Head, error) {
	file, err := os.Open(path)
	if err != nil {
		return Head{}, fault.Invalid("BACKUP_UNREADABLE", "the backup cannot be opened: %v", err)
	}
	defer file.Close()
	return read(file, visit)
}

// checkEmpty fails unless both stores are empty, because a restore neither merges nor replaces anything.
func (t Target) checkEmpty(ctx context.Context) error {
	if err := Unfinished(ctx, t.State); err != nil {
		return err
	}
	entries, err := t.State.List(ctx, "", "", 1)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fault.New(fault.FailedPrecondition, "STATE_NOT_EMPTY",
			"the state store already has entries, such as %q, but a backup can only be restored into an empty one; "+
				"leave out --restore if it was restored before, or give another --data-dir or --store", entries[0].Key)
	}
	blobs, err := t.Blobs.List(ctx, "")
	if err != nil {
		return err
	}
	if len(blobs) > 0 {
		return fault.New(fault.FailedPrecondition, "BLOBS_NOT_EMPTY",
			"the blob store already has %s, such as %s, but a backup can only be restored into an empty one; give "+
				"another --data-dir or --blobs",
			text.Plural(len(blobs), "blob"), blobs[0])
	}
	return nil
}

// Unfinished returns an error if a restore into this state was interrupted.
func Unfinished(ctx context.Context, state store.State) error {
	entries, err := state.List(ctx, records.CreatedKey, "", 1)
	if err != nil || len(entries) == 0 || string(entries[0].Value) != restoring {
		return err
	}
	return fault.New(fault.DataLoss, "RESTORE_INTERRUPTED",
		"a restore into these stores did not end; empty the data directory, or the state and blob stores, and "+
			"restore again")
}
