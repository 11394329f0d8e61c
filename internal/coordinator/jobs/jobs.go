// Package jobs runs jobs. It admits them, queues them, supervises their runs, and stores how they end. It keeps what
// clients may ask of a job: its state, its events, and its cancellation and deletion.
//
// A job is acknowledged only once it is durable, and an event is sent only once it is durable, so a crash never takes
// back anything a client has seen. Runs are deterministic: after a crash, an unfinished job resumes from its last
// snapshot and must produce the same events that were already sent.
//
// A job moves through the files as follows: admission.go creates and queues it, supervise.go runs it, decide.go decides
// how it ends, outcome.go stores its result, and end.go commits and publishes the end. recover.go resumes the jobs that
// an earlier coordinator left unfinished; attempts.go counts how often a job crashed it. progress.go keeps what a job
// is doing at the moment. The comment of type Job lists the states in between.
package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/coordinator/webhook"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/store"
)

// Manager owns the jobs of a coordinator that leads, from their creation to their deletion. It is safe for concurrent
// use.
type Manager struct {
	d Dependencies
	*UnfinishedJobs

	queue       *queue.Queue[*Job]
	supervisors signal.Group // one for each unfinished job
	term        int64        // set by Begin
}

// Dependencies is what a Manager needs.
type Dependencies struct {
	// Context is that of the runs. It ends when the coordinator shuts down, with ErrStopping as its cause.
	Context context.Context
	// Outlived are the terms in which this process led and that ended without a crash.
	Outlived []int64

	// What is stored.
	Writer    *records.Writer // reads use its State
	Parts     *results.Parts  // writes use its Blobs
	Garbage   *records.Collector
	Snapshots *runner.SnapshotStore
	Datasets  *datasets.Datasets
	Tables    datasets.Tables

	// What runs a job.
	Limits   queue.Limits // of the queue
	Problems *runner.ProblemMaker
	Fleet    *fleet.Fleet
	Engine   Engine

	// Who is told.
	Webhooks *webhook.Sender
	Observe  *observe.Coordinator
	Logger   hclog.Logger

	Version string // of this software, stored with results
	Now     func() time.Time
}

// New returns a Manager without unfinished jobs. Once the coordinator leads, the caller must call Begin, and then
// ResumeAll until it succeeds, before it calls anything else that changes a job.
func New(unfinished *UnfinishedJobs, d Dependencies) *Manager {
	m := &Manager{d: d, UnfinishedJobs: unfinished}
	m.queue = queue.NewQueue[*Job](d.Limits, m.advanceQueue)
	return m
}

// Begin says in which term the coordinator leads.
func (m *Manager) Begin(term int64) {
	m.term = term
	m.d.Snapshots.Begin(term)
}

// Close waits for the runs to end, which Context must have told to, and prevents new ones. It may be called again.
func (m *Manager) Close() { m.supervisors.Close() }

// ErrStopping is the cause with which runs are canceled when the coordinator shuts down. Their jobs stay unfinished.
var ErrStopping = errors.New("the coordinator is shutting down")

// Interrupted reports whether err only means that this coordinator is shutting down, no longer leads, or has lost its
// store. What it did not finish is left to the next coordinator.
func Interrupted(err error) bool {
	return errors.Is(err, ErrStopping) || store.AnswerOf(err).IsFinal()
}

// RunsOn reports whether a job that runs uses a data set.
func (m *Manager) RunsOn(dataset string) bool {
	return m.first(func(j *Job) bool { return j.datasetID == dataset && m.queue.Runs(j) }) != ""
}

// Count returns how many jobs run and how many wait, in total and of one owner.
func (m *Manager) Count(of string) (running, waiting, own int) {
	waiting, own = m.queue.Waiting(of)
	return m.queue.Running(), waiting, own
}

// Get returns a job as clients see it.
func (m *Manager) Get(ctx context.Context, id string) (*cleavev1.Job, error) {
	j, record, err := m.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if j != nil {
		return j.View(), nil
	}
	return record.GetJob(), nil
}

// Ended returns the record of a job that has ended, and fails with JOB_NOT_ENDED for one that has not.
func (m *Manager) Ended(ctx context.Context, id string) (*statev1.JobRecord, error) {
	j, record, err := m.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if j != nil {
		record = j.Record()
	}
	if !records.Ended(record.GetJob()) {
		return nil, fault.New(fault.FailedPrecondition, "JOB_NOT_ENDED", "job %s has not ended; watch it, or cancel it",
			id).
			With("job_id", id)
	}
	return record, nil
}

// find returns the job if it is unfinished, and otherwise its record. It returns JOB_NOT_FOUND for jobs that the
// caller may not see.
func (m *Manager) find(ctx context.Context, id string) (*Job, *statev1.JobRecord, error) {
	if err := fault.Required("job_id", id); err != nil {
		return nil, nil, err
	}
	caller := identity.FromContext(ctx)
	for {
		if j := m.Unfinished(id); j != nil {
			if !caller.Sees(j.owner) {
				return nil, nil, records.NoJob(id)
			}
			return j, nil, nil
		}
		entry, err := m.d.Writer.State.Get(ctx, records.JobKey(id))
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil, records.NoJob(id)
		}
		if err != nil {
			return nil, nil, err
		}
		record, err := records.ReadJob(entry)
		if err == nil && !caller.Sees(record.GetJob().GetOwner()) {
			return nil, nil, records.NoJob(id)
		}
		if err != nil || records.Ended(record.GetJob()) {
			return nil, record, err
		}
		// The job is durable but not launched: it is being created right now, or the store's answer was lost.
		if err := m.adopt(ctx, id); err != nil {
			return nil, nil, err
		}
	}
}

// cancelTimeout is how long a cancellation waits for a change of the job's record that the store has not taken yet.
const cancelTimeout = 5 * time.Second

// Cancel cancels a job and returns it. It succeeds in every state of the job, so that clients can safely repeat it if
// the response was lost.
func (m *Manager) Cancel(ctx context.Context, id string) (*cleavev1.Job, error) {
	j, record, err := m.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if j == nil {
		return record.GetJob(), nil
	}
	tooLate, err := records.DetachValue(ctx, m.d.Writer, func(change records.Change) (bool, error) {
		return m.requestCancel(change.Caller(), j)
	})
	if err != nil {
		return nil, err
	}
	if tooLate { // wait, so that the response shows how the job ended
		select {
		case <-j.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return j.View(), nil
}

// requestCancel durably records that a job is to be canceled, and cancels its run. It reports whether the end of the
// job is already decided, in which case nothing changes. ctx limits the wait for another change of the record.
func (m *Manager) requestCancel(ctx context.Context, j *Job) (tooLate bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cancelTimeout, fault.New(fault.Unavailable, records.StoreBusy,
		"the state store has not taken an earlier change of job %s for %v; "+
			"its disk may be full: try again when it answers", j.id, cancelTimeout).With("job_id", j.id))
	defer cancel()
	requested := false
	err = j.write(ctx, m.d.Writer.Commit, store.Txn{Urgent: true}, func(record *statev1.JobRecord) error {
		if tooLate = j.ending; tooLate || record.GetJob().GetCancelRequested() {
			return errUnchanged
		}
		record.Job.CancelRequested, requested = true, true
		return nil
	})
	if err == nil && requested {
		m.d.Logger.Info("job is being canceled", "job", j.id)
		j.cancel(errCanceled)
	}
	return tooLate, err
}

func (m *Manager) now() *timestamppb.Timestamp { return timestamppb.New(m.d.Now()) }

// Delete deletes a job that has ended, and records that the job used its data set and tables until used. It does
// nothing if the job does not exist, and fails if the job is unfinished.
func (m *Manager) Delete(ctx context.Context, id string, used time.Time) error {
	record, err := m.Ended(ctx, id)
	if fault.Is(err, records.JobNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.d.Writer.Detach(ctx, func(change records.Change) error { return m.deleteEnded(change, record, used) })
}

// deleteEnded deletes the record of a job that has ended, and then what belongs to it.
func (m *Manager) deleteEnded(ctx context.Context, record *statev1.JobRecord, used time.Time) error {
	job := record.GetJob()
	// First, because a sweep may run as soon as the record is gone.
	if data := job.GetDatasetId(); data != "" {
		_, _ = m.d.Datasets.TouchAt(ctx, data, used)
	}
	for _, table := range record.GetTableIds() {
		_, _ = m.d.Tables.TouchAt(ctx, table, used)
	}
	blobs := records.JobBlobPrefix(job.GetJobId())
	txn := store.Txn{
		Put: []store.Entry{{Key: records.GarbageKey(blobs)}}, Delete: []string{records.JobKey(job.GetJobId())},
		Urgent: true,
	}
	if job.GetRequestId() != "" {
		txn.Delete = append(txn.Delete, records.RequestKey(job.GetOwner(), job.GetRequestId()))
	}
	if job.GetOwner() != "" {
		txn.Delete = append(txn.Delete, records.OwnerKey(job.GetOwner(), job.GetJobId()))
	}
	if err := m.d.Writer.Commit(txn); err != nil {
		return err
	}
	m.jobs.Delete(job.GetJobId()) // a job that ended just now is still in the table
	// The job is gone. If anything fails from here on, the next coordinator cleans up.
	ctx = m.d.Writer.Context
	err := errors.Join(m.d.Garbage.DeleteEvents(ctx, job.GetJobId()), m.d.Garbage.Delete(ctx, blobs))
	if err != nil {
		m.d.Logger.Warn("parts of a deleted job are left until the next start", "job", job.GetJobId(), "error", err)
	}
	return nil
}

// NeedsEvents reports whether the state holds the only copy of a job's events.
func (m *Manager) NeedsEvents(ctx context.Context, id string) (bool, error) {
	if m.IsUnfinished(id) {
		return true, nil
	}
	entry, err := m.d.Writer.State.Get(ctx, records.JobKey(id))
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
