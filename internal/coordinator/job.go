package coordinator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// errCancelled is why a run is cut short when the user asks for it.
var errCancelled = errors.New("the job was cancelled")

// job is a job that has not ended. When it ends it leaves the coordinator's table; watchers that
// hold on to it still read its log.
type job struct {
	id        string
	datasetID string
	tableIDs  []string
	log       *eventLog
	board     *board
	turn      chan struct{} // closed when it may run

	ctx    context.Context // the run's; its cause is errCancelled, errStopping or errReplayMismatch
	cancel context.CancelCauseFunc

	writing sync.Mutex // held over a change of the record and its commit
	closing bool       // its end is decided; guarded by writing
	mu      sync.Mutex
	record  *statev1.JobRecord // as it is durable; replaced, never changed
	waiting string             // what it waits for, for people; empty while it does not
}

func (c *Coordinator) newJob(record *statev1.JobRecord, log *eventLog) *job {
	j := &job{
		id: record.GetJob().GetJobId(), datasetID: record.GetJob().GetDatasetId(), tableIDs: record.GetTableIds(),
		log: log, board: newBoard(c.cfg.Now), turn: make(chan struct{}), record: record,
	}
	j.ctx, j.cancel = context.WithCancelCause(c.work)
	return j
}

// view is the job as clients see it.
func (j *job) view() *cleavev1.Job {
	j.mu.Lock()
	record, waiting := j.record, j.waiting
	j.mu.Unlock()
	job := proto.CloneOf(record.GetJob())
	if ended(job) {
		return job
	}
	sequence, iteration := j.log.latest()
	job.LastSequence = sequence
	if iteration != nil {
		job.Iterations, job.Objective = iteration.GetIteration(), iteration.GetObjective()
	}
	job.StatusMessage = waiting
	if job.GetCancelRequested() {
		job.StatusMessage = "stopping, as asked"
	}
	return job
}

// wait says what the job waits for; "" when it goes on.
func (j *job) wait(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting = what
}

// write changes the record durably, together with the rest of a transaction. Only when the store
// has it does anyone see the change.
func (j *job) write(commit func(store.Txn) error, txn store.Txn, change func(*statev1.JobRecord) error) error {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.mu.Lock()
	record := proto.CloneOf(j.record)
	j.mu.Unlock()
	if err := change(record); err != nil {
		return err
	}
	entry, err := jobEntry(record)
	if err != nil {
		return err
	}
	txn.Put = append(txn.Put, entry)
	if err := commit(txn); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.record = record
	return nil
}

// close decides that the job ends, so that it can no longer be cancelled, and tells whether it was.
func (j *job) close() (cancelled bool) {
	j.writing.Lock()
	defer j.writing.Unlock()
	j.closing = true
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.record.GetJob().GetCancelRequested()
}

func jobEntry(record *statev1.JobRecord) (store.Entry, error) {
	value, err := proto.Marshal(record)
	return store.Entry{Key: jobKey(record.GetJob().GetJobId()), Value: value}, err
}

func ended(job *cleavev1.Job) bool {
	switch job.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED, cleavev1.JobState_JOB_STATE_FAILED, cleavev1.JobState_JOB_STATE_CANCELLED:
		return true
	}
	return false
}

// unfinished is a job that has not ended, or nil.
func (c *Coordinator) unfinished(id string) *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jobs[id]
}

// forget takes a job that has ended out of the table.
func (c *Coordinator) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.jobs, id)
}

// find gives a job: live when it has not ended, else its record.
func (c *Coordinator) find(ctx context.Context, id string) (*job, *statev1.JobRecord, error) {
	if err := required("job_id", id); err != nil {
		return nil, nil, err
	}
	for {
		if j := c.unfinished(id); j != nil {
			return j, nil, nil
		}
		entry, err := c.state.Get(ctx, jobKey(id))
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil, fault.New(fault.NotFound, "JOB_NOT_FOUND", "there is no job %q", id).With("job_id", id)
		}
		if err != nil {
			return nil, nil, err
		}
		record, err := readJob(entry)
		if err != nil || ended(record.GetJob()) {
			return nil, record, err
		}
		// Durable but not yet in the table: it is being admitted this moment.
		c.admission.Lock()
		c.admission.Unlock() //nolint:staticcheck // waits for the admission, holds nothing
	}
}

// finished gives the record of a job that has ended.
func (c *Coordinator) finished(ctx context.Context, id string) (*statev1.JobRecord, error) {
	j, record, err := c.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if j != nil {
		job := j.view()
		if !ended(job) {
			return nil, fault.New(fault.FailedPrecondition, "JOB_NOT_ENDED",
				"job %s has not ended; watch it, or cancel it", id).With("job_id", id)
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		record = j.record
	}
	return record, nil
}

func readJob(entry store.Entry) (*statev1.JobRecord, error) {
	record := &statev1.JobRecord{}
	if err := proto.Unmarshal(entry.Value, record); err != nil {
		return nil, fmt.Errorf("the record %s cannot be read: %w", entry.Key, err)
	}
	return record, nil
}
