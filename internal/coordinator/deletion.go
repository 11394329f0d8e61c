package coordinator

import (
	"context"
	"errors"
	"time"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// DeleteJob succeeds even if the job does not exist, so that clients can safely repeat it if the response was lost.
func (s *jobService) DeleteJob(ctx context.Context, request *cleavev1.DeleteJobRequest) (*cleavev1.DeleteJobResponse, error) {
	return &cleavev1.DeleteJobResponse{}, s.c.deleteJob(ctx, request.GetJobId(), s.c.cfg.Now())
}

// deleteJob deletes a job that has ended, and records that the job used its data set and tables until used. It does
// nothing if the job does not exist, and fails if the job is unfinished.
func (c *Coordinator) deleteJob(ctx context.Context, id string, used time.Time) error {
	record, err := c.endedRecord(ctx, id)
	if fault.Is(err, reasonJobNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.writer.Finish(ctx, func(change records.Change) error { return c.deleteEnded(change, record, used) })
}

// deleteEnded deletes the record of a job that has ended, and then what belongs to it.
func (c *Coordinator) deleteEnded(ctx context.Context, record *statev1.JobRecord, used time.Time) error {
	job := record.GetJob()
	// First, because a sweep may run as soon as the record is gone.
	if data := job.GetDatasetId(); data != "" {
		_, _ = c.datasets.TouchAt(ctx, data, used)
	}
	for _, table := range record.GetTableIds() {
		_, _ = c.tables.TouchAt(ctx, table, used)
	}
	blobs := records.JobBlobPrefix(job.GetJobId())
	txn := store.Txn{
		Put: []store.Entry{{Key: records.GarbageKey(blobs)}}, Delete: []string{records.JobKey(job.GetJobId())}, Urgent: true,
	}
	if job.GetRequestId() != "" {
		txn.Delete = append(txn.Delete, records.RequestKey(job.GetOwner(), job.GetRequestId()))
	}
	if job.GetOwner() != "" {
		txn.Delete = append(txn.Delete, records.OwnerKey(job.GetOwner(), job.GetJobId()))
	}
	if err := c.writer.Commit(txn); err != nil {
		return err
	}
	c.jobs.remove(job.GetJobId()) // a job that ended just now is still in the table
	// The job is gone. If anything fails from here on, the next coordinator cleans up.
	if err := errors.Join(c.garbage.DeleteEvents(c.storeCtx, job.GetJobId()), c.garbage.Delete(c.storeCtx, blobs)); err != nil {
		c.log.Warn("parts of a deleted job are left until the next start", "job", job.GetJobId(), "error", err)
	}
	return nil
}

// needsEvents reports whether the state holds the only copy of a job's events.
func (c *Coordinator) needsEvents(ctx context.Context, id string) (bool, error) {
	if c.jobs.get(id) != nil {
		return true, nil
	}
	entry, err := c.state.Get(ctx, records.JobKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	var record *statev1.JobRecord
	if err == nil {
		record, err = records.ReadJob(entry)
	}
	if records.IsDamaged(err) {
		return true, nil // keep them for whoever repairs the record
	}
	return record.GetOutcomeBlob() == "", err
}
