package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/store"
)

var (
	// errCanceled is the cause with which a run is canceled at the user's request.
	errCanceled = errors.New("the job was canceled")
	// errUnchanged reports that an update left the record as it was, so nothing is written. See Job.write.
	errUnchanged = errors.New("the record does not change")
)

// Job is an unfinished job. These are its states, each with what the store has, and what moves the job on:
//
//	state      in the store                          until
//	created    the record, PENDING, and its key      launch adds it to the unfinished ones and queues it
//	           in unfinished/
//	queued     the same                              the queue closes turn
//	preparing  the attempt is counted                its problem and a worker are there (prepare in supervise.go)
//	running    RUNNING; events, snapshots, the       the run returns (execute in supervise.go)
//	           time used
//	deciding   blobs of the result                   beginEnd sets ending (storeEnd in outcome.go)
//	ending     the same                              the transaction that ends the job is committed (commitEnd in
//	                                                 end.go)
//	ended      the final record; no key in           Delete, which records.Sweeper calls, too
//	           unfinished/
//	suspended  as before; no attempt is counted      the next coordinator resumes it (recover.go)
//	refused    as before                             a restart after the store is repaired
//
// A cancellation is part of the record. It cancels ctx from queued to running; while the end is decided, it changes
// what is decided; from ending on it is too late. A job that is canceled before it runs, fails to prepare or reaches
// its time limit goes on to deciding. A job is suspended instead if its coordinator stops before ending, and refused if
// the store rejects its end. In each of the last three states its supervisor has returned, and done is closed. An ended
// job is removed from the unfinished ones; its watchers keep reading its log to the end.
type Job struct {
	// Set when the job is made, and never changed.
	id        string
	owner     string
	datasetID string
	tableIDs  []string
	timeLimit time.Duration // total running time allowed; 0 means no limit
	timeUsed  time.Duration // running time used under earlier coordinators
	alone     bool          // must not run beside another job
	resumed   bool          // accepted by an earlier coordinator, which may have run it

	// Safe for concurrent use.
	queue    *queue.Queue[*Job]
	log      *events.Log
	progress *Progress
	observed *observe.Job
	turn     chan struct{} // closed when its turn has come
	done     chan struct{} // closed when its supervisor has returned
	// ctx is the context of the run. Its cause is errCanceled, errTimeLimit, ErrStopping, or the error of the event
	// log.
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Owned by the supervisor once the job is launched; no lock needed.
	problem   *runner.Problem // set if the job could run at once
	counted   bool            // this run is counted as an attempt
	snapshots *runner.Snapshots

	writing chan struct{} // semaphore, held while the record is updated and committed
	ending  bool          // the end is decided and cancellation comes too late; guarded by writing

	// mu guards the fields below.
	mu      sync.Mutex
	record  *statev1.JobRecord // as the next change stores it; replaced as a whole, never modified
	waiting string             // human-readable reason for waiting; "" if not waiting
	refused error              // why the store rejected the job's end; nil if it did not
}

// newJob returns a job that has yet to be launched. resumed says that an earlier coordinator accepted it.
func (m *Manager) newJob(record *statev1.JobRecord, log *events.Log, resumed bool) *Job {
	j := &Job{
		id: record.GetJob().GetJobId(), datasetID: record.GetJob().GetDatasetId(), tableIDs: record.GetTableIds(),
		queue: m.queue, owner: record.GetJob().GetOwner(),
		timeLimit: record.GetJob().GetTimeLimit().AsDuration(), timeUsed: record.GetTimeUsed().AsDuration(),
		writing: make(chan struct{}, 1), log: log, progress: newProgress(m.d.Now),
		turn: make(chan struct{}), done: make(chan struct{}), record: record,
		resumed: resumed, snapshots: m.d.Snapshots.Of(record.GetJob().GetJobId(), resumed),
	}
	ctx, observed := m.d.Observe.BeginJob(m.d.Context, j.id, record.GetTraceParent())
	j.observed = observed
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	return j
}

// View returns a copy of the job as clients see it: the durable record plus the live progress.
func (j *Job) View() *cleavev1.Job {
	j.mu.Lock()
	record, waiting, refused := j.record, j.waiting, j.refused
	j.mu.Unlock()
	job := proto.CloneOf(record.GetJob())
	if records.Ended(job) {
		return job
	}
	sequence, iteration := j.log.Latest()
	job.LastSequence = sequence
	if iteration != nil {
		job.Iterations = iteration.GetIteration()
		job.Objective = iteration.GetObjective()
	}
	switch {
	case refused != nil:
		job.StatusMessage = refused.Error()
	case job.GetCancelRequested():
		job.StatusMessage = "stopping: its cancellation was requested"
	case waiting != "":
		job.StatusMessage = waiting
	default:
		if why := j.queue.Why(j); why != "" {
			job.StatusMessage = "waiting for its turn: " + why
		}
	}
	return job
}

// setWaiting sets what the job is waiting for; "" means that it is not waiting.
func (j *Job) setWaiting(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting = what
}

// write applies change to a copy of the record and commits it together with txn. The new record becomes visible once
// it is durable. If change returns errUnchanged, nothing is written and write returns nil. While another change waits
// for the store, write waits too, until ctx ends.
func (j *Job) write(ctx context.Context, commit func(store.Txn) error, txn store.Txn,
	change func(*statev1.JobRecord) error) error {
	select {
	case j.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-j.writing }()
	record := proto.CloneOf(j.Record())
	if err := change(record); errors.Is(err, errUnchanged) {
		return nil
	} else if err != nil {
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

// Record returns the record of the job, which must not be modified.
func (j *Job) Record() *statev1.JobRecord {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.record
}

// cancelRequested reports whether the user asked to cancel the job.
func (j *Job) cancelRequested() bool { return j.Record().GetJob().GetCancelRequested() }

// beginEnd rejects further cancellation requests and reports whether one arrived before.
func (j *Job) beginEnd() (canceled bool) {
	j.writing <- struct{}{}
	defer func() { <-j.writing }()
	j.ending = true
	return j.cancelRequested()
}

// refuseEnd records that the store rejected the end of the job. The store still lists the job as unfinished, so the
// next coordinator runs it again.
func (j *Job) refuseEnd(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.refused = fault.New(fault.Internal, "END_NOT_STORED",
		"job %s has ended, but its end cannot be stored: %v; "+
			"repair the store and restart the coordinator, which runs the job again", j.id, err).
		With("job_id", j.id)
}

// refusal returns why the store rejected the end of the job, or nil if it did not.
func (j *Job) refusal() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.refused
}

func jobEntry(record *statev1.JobRecord) (store.Entry, error) {
	value, err := proto.Marshal(record)
	return store.Entry{Key: records.JobKey(record.GetJob().GetJobId()), Value: value}, err
}
