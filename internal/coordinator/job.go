package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
)

var (
	// errCanceled ends a run when the user asks for it.
	errCanceled = errors.New("the job was cancelled")
	// errUnchanged is returned by a change of a record that turns out to be none.
	errUnchanged = errors.New("the record does not change")
)

const (
	reasonJobNotFound = "JOB_NOT_FOUND"
	reasonNotStored   = "RESULT_NOT_STORED"
)

// job is a job that has not ended. When it ends it is removed from the coordinator's table; its watchers
// still read its log to the end.
type job struct {
	id         string
	owner      string
	datasetID  string
	tableIDs   []string
	log        *eventlog.Log
	progress   *liveProgress
	mayRun     chan struct{} // closed when it may run
	done       chan struct{} // closed when its supervision has ended
	problem    *prepared     // if it may run at once; only its supervisor uses it
	queue      *runQueue
	priority   int           // 0 is normal
	timeLimit  time.Duration // of its run; 0: none
	timeUsed   time.Duration // by its runs under earlier coordinators
	memory     int64         // of the coordinator, that it takes while it runs
	alone      bool          // no other job runs beside it
	counted    bool          // its run is counted as an attempt; only its supervisor uses it
	trust      *fleet.Trust  // in the workers that take part; only its supervisor uses it
	resumed    bool          // an earlier coordinator accepted it, and may have run it
	remembered bool          // there are snapshots of it, or may be
	snapshots  int           // how many this coordinator has named; only its supervisor uses it
	observed   *observe.Job

	ctx    context.Context // of the run; its cause is errCanceled, errTimeLimit, errStopping or why the log failed
	cancel context.CancelCauseFunc

	writing chan struct{} // semaphore: held while the record is changed and committed
	ending  bool          // how it ends is decided; guarded by writing
	mu      sync.Mutex
	record  *statev1.JobRecord // the durable one; replaced, never changed
	waiting string             // for people: what it waits for; empty when it does not wait
	refused error              // why the store refused its end; nil unless it did
}

func (c *Coordinator) newJob(record *statev1.JobRecord, log *eventlog.Log) *job {
	j := &job{
		id: record.GetJob().GetJobId(), datasetID: record.GetJob().GetDatasetId(), tableIDs: record.GetTableIds(),
		queue: c.queue, owner: record.GetJob().GetOwner(), priority: priorityOf(record), memory: int64(record.GetCoordinatorBytes()),
		timeLimit: record.GetJob().GetTimeLimit().AsDuration(), timeUsed: record.GetTimeUsed().AsDuration(),
		writing: make(chan struct{}, 1), log: log, progress: newLiveProgress(c.cfg.Now), mayRun: make(chan struct{}), done: make(chan struct{}), record: record,
	}
	ctx, observed := c.cfg.Observe.BeginJob(c.runCtx, j.id, record.GetTraceParent())
	j.observed = observed
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	return j
}

// view is the job as clients see it.
func (j *job) view() *cleavev1.Job {
	j.mu.Lock()
	record, waiting, refused := j.record, j.waiting, j.refused
	j.mu.Unlock()
	job := proto.CloneOf(record.GetJob())
	if ended(job) {
		return job
	}
	sequence, iteration := j.log.Latest()
	job.LastSequence = sequence
	if iteration != nil {
		job.Iterations, job.Objective = iteration.GetIteration(), iteration.GetObjective()
	}
	switch {
	case refused != nil:
		job.StatusMessage = refused.Error()
	case job.GetCancelRequested():
		job.StatusMessage = "stopping, as asked"
	default:
		job.StatusMessage = cmp.Or(waiting, j.queue.why(j))
	}
	return job
}

// setWaiting says what the job waits for; "" when it no longer waits.
func (j *job) setWaiting(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting = what
}

// write changes the record, together with the rest of a transaction. The change becomes visible when it is
// durable. If there turns out to be nothing to change, nothing is written.
func (j *job) write(commit func(store.Txn) error, txn store.Txn, change func(*statev1.JobRecord) error) error {
	j.writing <- struct{}{}
	defer func() { <-j.writing }()
	j.mu.Lock()
	record := proto.CloneOf(j.record)
	j.mu.Unlock()
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

// cancelRequested tells whether the job is to be canceled.
func (j *job) cancelRequested() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.record.GetJob().GetCancelRequested()
}

// beginEnd rules out that the job is canceled from now on, and tells whether it was.
func (j *job) beginEnd() (canceled bool) {
	j.writing <- struct{}{}
	defer func() { <-j.writing }()
	j.ending = true
	return j.cancelRequested()
}

// refuseEnd notes that the store refused the end of the job. The store still has the job as unfinished,
// so that the next coordinator runs it again.
func (j *job) refuseEnd(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.refused = fault.New(fault.Internal, "END_NOT_STORED",
		"job %s has ended, but the store refuses to keep its end: %v; mend the store and restart the coordinator, which runs the job again", j.id, err).
		With("job_id", j.id)
}

// refusal is why the store refused the end of the job, nil unless it did.
func (j *job) refusal() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.refused
}

func jobEntry(record *statev1.JobRecord) (store.Entry, error) {
	value, err := proto.Marshal(record)
	return store.Entry{Key: records.JobKey(record.GetJob().GetJobId()), Value: value}, err
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

// findJob is the id of a job that has not ended and is such a one, "" when there is none.
func (c *Coordinator) findJob(is func(*job) bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, j := range c.jobs {
		if is(j) {
			return id
		}
	}
	return ""
}

// forget removes a job that has ended from the table.
func (c *Coordinator) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.jobs, id)
}

// find returns a job of the caller if it has not ended, and otherwise its record. A job of somebody else is not found.
func (c *Coordinator) find(ctx context.Context, id string) (*job, *statev1.JobRecord, error) {
	if err := fault.Required("job_id", id); err != nil {
		return nil, nil, err
	}
	caller := identity.FromContext(ctx)
	for {
		if j := c.unfinished(id); j != nil {
			if !caller.Sees(j.owner) {
				return nil, nil, jobNotFound(id)
			}
			return j, nil, nil
		}
		entry, err := c.state.Get(ctx, records.JobKey(id))
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil, jobNotFound(id)
		}
		if err != nil {
			return nil, nil, err
		}
		record, err := readJob(entry)
		if err == nil && !caller.Sees(record.GetJob().GetOwner()) {
			return nil, nil, jobNotFound(id)
		}
		if err != nil || ended(record.GetJob()) {
			return nil, record, err
		}
		// It is durable but not launched yet: it is being created at this moment, or the store's answer was lost.
		if err := c.adopt(ctx, id); err != nil {
			return nil, nil, err
		}
	}
}

func jobNotFound(id string) error {
	return fault.New(fault.NotFound, reasonJobNotFound, "there is no job %q", id).With("job_id", id)
}

// endedRecord is the record of a job that has ended.
func (c *Coordinator) endedRecord(ctx context.Context, id string) (*statev1.JobRecord, error) {
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

func (c *Coordinator) now() *timestamppb.Timestamp { return timestamppb.New(c.cfg.Now()) }

// reasonRecordDamaged is the reason of the error about a stored record that cannot be used.
const reasonRecordDamaged = "RECORD_DAMAGED"

// isRecordDamaged reports whether an error says that the record of a job is not what was stored.
func isRecordDamaged(err error) bool {
	return fault.Is(err, reasonRecordDamaged) || fault.Is(err, store.ValueDamaged)
}

// readJob decodes the record of a job. An error has the reason reasonRecordDamaged.
func readJob(entry store.Entry) (*statev1.JobRecord, error) {
	record := &statev1.JobRecord{}
	damaged := func(why error) error {
		return fault.New(fault.DataLoss, reasonRecordDamaged, "the record %s is damaged: %v; restore the state from a backup", entry.Key, why).Because(why)
	}
	if err := proto.Unmarshal(entry.Value, record); err != nil {
		return nil, damaged(err)
	}
	if id := record.GetJob().GetJobId(); records.JobKey(id) != entry.Key {
		return nil, damaged(fmt.Errorf("it is that of job %q", id))
	}
	return record, nil
}

func (c *Coordinator) readSpec(ctx context.Context, job string) (*cleavev1.JobSpec, error) {
	spec := &cleavev1.JobSpec{}
	return spec, c.readMessage(ctx, job, records.SpecBlob(job), records.PartSpec, spec)
}

// readOutcome reads the result and the events of a job that has ended.
func (c *Coordinator) readOutcome(ctx context.Context, record *statev1.JobRecord) (*statev1.Outcome, error) {
	outcome := &statev1.Outcome{}
	return outcome, c.readMessage(ctx, record.GetJob().GetJobId(), record.GetOutcomeBlob(), records.PartOutcome, outcome)
}

// readMessage reads a part of a job that is one message.
func (c *Coordinator) readMessage(ctx context.Context, job, blob, part string, message proto.Message) error {
	r, err := c.openPart(ctx, job, blob, part, 0)
	if err != nil {
		return err
	}
	defer r.Close()
	encoded, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(encoded, message); err != nil {
		return records.JobPart(part, job).Damaged(err)
	}
	return nil
}

// openPart opens a stored part of a job at an offset.
func (c *Coordinator) openPart(ctx context.Context, job, blob, part string, offset int64) (io.ReadCloser, error) {
	var err error
	var r io.ReadCloser
	if size := int64(0); offset != 0 {
		if size, err = c.blobs.Size(ctx, blob); err == nil && (offset < 0 || offset > size) {
			return nil, fault.Invalid("OFFSET_OUT_OF_RANGE", "the %s of job %s end before the first one that is asked for", part, job).With("job_id", job)
		}
	}
	if err == nil {
		r, err = c.blobs.Open(ctx, blob, offset, -1)
	}
	if errors.Is(err, store.ErrNotFound) {
		if _, _, deleted := c.find(ctx, job); deleted != nil { // since the caller found it
			return nil, deleted
		}
	}
	if err != nil {
		return nil, records.JobPart(part, job).Explain(err)
	}
	return records.JobPart(part, job).Reader(r), nil
}

func (c *Coordinator) putBlob(ctx context.Context, name string, message proto.Message) error {
	encoded, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	return c.blobs.Put(ctx, name, func(w io.Writer) error {
		_, err := w.Write(encoded)
		return err
	})
}
