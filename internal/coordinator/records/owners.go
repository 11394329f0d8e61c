package records

import (
	"context"
	"errors"

	"github.com/cleave-project/cleave/internal/store"
)

// IndexOwners adds jobs stored by an earlier version to the owner index. It does nothing if the state already has the
// current layout.
func (w *Writer) IndexOwners(ctx context.Context) error {
	created, err := w.State.Get(ctx, CreatedKey)
	unused := errors.Is(err, store.ErrNotFound) // for example in memory
	if err != nil && !unused || string(created.Value) == Layout {
		return err
	}
	batch := Batch{Commit: w.Commit}
	err = Each(ctx, w.State, JobPrefix, func(entry store.Entry) error {
		record, err := ReadJob(entry)
		if err != nil || record.GetJob().GetOwner() == "" {
			return nil // the owner of a damaged record is unknown
		}
		return batch.Add(store.Entry{Key: OwnerKey(record.GetJob().GetOwner(), record.GetJob().GetJobId())})
	})
	if err == nil && !unused {
		err = batch.Add(store.Entry{Key: CreatedKey, Value: []byte(Layout)})
	}
	if err != nil {
		return err
	}
	return batch.Flush()
}
