package coordinator

import (
	"context"
	"errors"
	"strings"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// Something that is deleted disappears with one transaction: its record goes, and a garbage key says
// which blobs are no longer needed. Only then are the blobs deleted, and at last the garbage key. If
// that fails half-way, the next coordinator finds the key and does the rest.

// DeleteJob succeeds also when there is no such job, so that it can be repeated when its answer was lost.
func (s *jobService) DeleteJob(ctx context.Context, request *cleavev1.DeleteJobRequest) (*cleavev1.DeleteJobResponse, error) {
	return &cleavev1.DeleteJobResponse{}, s.c.deleteJob(ctx, request.GetJobId())
}

// deleteJob deletes a job that has ended, if there is one.
func (c *Coordinator) deleteJob(ctx context.Context, id string) error {
	record, err := c.endedRecord(ctx, id)
	if fault.Is(err, reasonJobNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	job := record.GetJob()
	blobs := records.JobBlobPrefix(job.GetJobId())
	txn := store.Txn{Put: []store.Entry{{Key: records.GarbageKey(blobs)}}, Delete: []string{records.JobKey(job.GetJobId())}}
	if job.GetRequestId() != "" {
		txn.Delete = append(txn.Delete, records.RequestKey(job.GetOwner(), job.GetRequestId()))
	}
	if err := c.writer.Commit(txn); err != nil {
		return err
	}
	c.forget(job.GetJobId()) // it is still in the table when it ended this moment
	// The job is gone. What fails from here on is made up for by the next coordinator.
	if err := errors.Join(c.deleteEvents(c.storeCtx, job.GetJobId()), c.deleteGarbage(c.storeCtx, blobs)); err != nil {
		c.log.Warn("parts of a deleted job are left until the next start", "job", job.GetJobId(), "error", err)
	}
	if data := job.GetDatasetId(); data != "" {
		_, _ = c.datasets.Find(ctx, data) // it was in use until now
	}
	for _, table := range record.GetTableIds() {
		_, _ = c.tables.Find(ctx, table)
	}
	return nil
}

// deleteEvents deletes the events of a job that are not in its outcome.
func (c *Coordinator) deleteEvents(ctx context.Context, job string) error {
	entries, err := c.state.List(ctx, records.EventsPrefix(job), "", 0)
	if err != nil {
		return err
	}
	keys := make([]string, len(entries))
	for at, entry := range entries {
		keys[at] = entry.Key
	}
	return c.writer.DeleteKeys(keys)
}

// deleteGarbage deletes the blobs whose names begin with a prefix, and the garbage key that names it.
func (c *Coordinator) deleteGarbage(ctx context.Context, prefix string) error {
	names, err := c.blobs.List(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.blobs.Delete(ctx, name); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return c.writer.Commit(store.Txn{Delete: []string{records.GarbageKey(prefix)}})
}

// collectGarbage does what earlier coordinators did not get to. What fails again is left for the next one:
// it takes room, and nothing depends on it.
func (c *Coordinator) collectGarbage(ctx context.Context) error {
	entries, err := c.state.List(ctx, records.GarbagePrefix, "", 0)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		blobs := strings.TrimPrefix(entry.Key, records.GarbagePrefix)
		if err := c.deleteGarbage(ctx, blobs); err != nil {
			c.log.Warn("blobs that are no longer needed cannot be deleted", "blobs", blobs, "error", err)
			if unavailable(err) {
				break // no other can be either
			}
		}
	}
	return c.deleteLeftoverEvents(ctx)
}

// deleteLeftoverEvents deletes the events that nobody reads: those of jobs that were deleted, and those
// that are in the outcome of their job but were too many for the transaction that ended it.
func (c *Coordinator) deleteLeftoverEvents(ctx context.Context) error {
	const portion = 1000
	for after := ""; ; {
		entries, err := c.state.List(ctx, records.EventPrefix, after, portion)
		if err != nil {
			return err
		}
		var leftover []string
		for _, entry := range entries {
			after = entry.Key
			id, _, _ := strings.Cut(strings.TrimPrefix(entry.Key, records.EventPrefix), "/")
			needed, err := c.needsEvents(ctx, id)
			if err != nil {
				return err
			}
			if !needed {
				leftover = append(leftover, entry.Key)
			}
		}
		if err := c.writer.DeleteKeys(leftover); err != nil {
			return err
		}
		if len(entries) < portion {
			return nil
		}
	}
}

// needsEvents tells whether the events of a job are not stored anywhere else.
func (c *Coordinator) needsEvents(ctx context.Context, id string) (bool, error) {
	if c.unfinished(id) != nil {
		return true, nil
	}
	entry, err := c.state.Get(ctx, records.JobKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	var record *statev1.JobRecord
	if err == nil {
		record, err = readJob(entry)
	}
	if isRecordDamaged(err) {
		return true, nil // for whoever repairs it
	}
	return record.GetOutcomeBlob() == "", err
}
