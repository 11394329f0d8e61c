package jobs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/events"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
)

// OfRequest returns the job that an earlier request of the caller created, or nil if there is none. It fails with
// REQUEST_ID_REUSED if the spec of that request had another hash.
func (m *Manager) OfRequest(ctx context.Context, requestID string, hash []byte) (*cleavev1.Job, error) {
	id, err := m.jobOfRequest(ctx, identity.FromContext(ctx).Name, requestID, hash)
	if id == "" || err != nil {
		return nil, err
	}
	return m.Get(ctx, id)
}

// Submission is a job that a caller may create.
type Submission struct {
	Record  *statev1.JobRecord
	Spec    *cleavev1.JobSpec
	Hash    []byte          // of the spec as the caller sent it; the same for a repeated request
	Problem *runner.Problem // of the spec; used if the job runs at once
	Release func()          // gives back the memory of Problem, which the job reserves once it is created
}

// Create makes a job durable, queues it, and returns it. If a concurrent call with the same request id is first, Create
// returns the job of that call.
func (m *Manager) Create(ctx context.Context, s Submission) (*cleavev1.Job, error) {
	record, hash, release := s.Record, s.Hash, s.Release // so that the change does not hold the problem
	if err := m.putBlob(ctx, record.GetSpecBlob(), s.Spec); err != nil {
		return nil, err
	}
	var kept atomic.Pointer[runner.Problem] // empty once the caller has left, so that only callers who wait keep memory
	kept.Store(s.Problem)
	defer kept.Store(nil)
	admitted, err := records.DetachValue(ctx, m.d.Writer, func(change records.Change) (string, error) {
		admitted, err := m.admit(change, record, hash, func() *runner.Problem {
			release()
			return kept.Load()
		})
		if admitted != record.GetJob().GetJobId() && !records.MayBeCommitted(err) {
			_ = m.d.Parts.Blobs.Delete(change, record.GetSpecBlob()) // no record refers to it
		}
		return admitted, err
	})
	if fault.Is(err, records.StoreBusy) { // the job was not even tried
		_ = m.d.Parts.Blobs.Delete(m.d.Writer.Context, record.GetSpecBlob())
	}
	if err != nil {
		return nil, err
	}
	return m.Get(ctx, admitted)
}

func (m *Manager) putBlob(ctx context.Context, name string, message proto.Message) error {
	encoded, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	return m.d.Parts.Blobs.Put(ctx, name, func(w io.Writer) error {
		_, err := w.Write(encoded)
		return err
	})
}

// admit makes a job durable, launches it, and returns its id. If a concurrent call with the same request id created a
// job first, admit returns the id of that job instead. If it is unknown whether the commit succeeded, admit returns
// an error and a background goroutine launches the job once the store can tell. ready returns the problem of the job,
// or nil. If the caller leaves before it is the turn of the job, no job is created.
func (m *Manager) admit(change records.Change, record *statev1.JobRecord, hash []byte,
	ready func() *runner.Problem) (string, error) {
	leave, err := m.admission.create(change.Caller())
	if err != nil {
		return "", fault.New(fault.Canceled, "CALL_CANCELLED", "the call was canceled before the job was created").
			Because(err)
	}
	defer leave()
	id := record.GetJob().GetJobId()
	owner := record.GetJob().GetOwner()
	requestID := record.GetJob().GetRequestId()
	// The data set and the tables may have been deleted since the spec was checked. While admission is held they
	// stay.
	if data := record.GetJob().GetDatasetId(); data != "" { // otherwise the job clusters a table
		if _, err := m.d.Datasets.Record(change, data); err != nil {
			return "", err
		}
	}
	for _, table := range record.GetTableIds() {
		if _, err := m.d.Tables.Record(change, table); err != nil {
			return "", err
		}
	}
	entry, err := jobEntry(record)
	if err != nil {
		return "", err
	}
	txn := store.Txn{Put: []store.Entry{entry, {Key: records.UnfinishedKey(id)}}}
	if owner != "" {
		txn.Put = append(txn.Put, store.Entry{Key: records.OwnerKey(owner, id)})
	}
	if requestID != "" {
		value, err := proto.Marshal(&statev1.RequestRecord{JobId: id, SpecSha256: hash})
		if err != nil {
			return "", err
		}
		txn.If = []store.Condition{{Key: records.RequestKey(owner, requestID)}}
		txn.Put = append(txn.Put, store.Entry{Key: records.RequestKey(owner, requestID), Value: value})
	}
	first, err := m.commitJob(txn, record, hash)
	if err != nil && records.MayBeCommitted(err) && !Interrupted(err) {
		m.supervisors.Go(func() { m.adoptWhenKnown(id) })
	}
	if err != nil || first != id {
		return first, err
	}
	m.launch(m.newJob(record, events.New(id, m.flushEvents), false), ready())
	m.d.Observe.Accepted()
	m.d.Logger.Info("job is accepted", "job", id, "request", observe.RequestID(change),
		"dataset", record.GetJob().GetDatasetId())
	return id, nil
}

// commitJob commits the transaction that creates a job and returns the job's id, or the id of the job that the same
// request created before. If records.MayBeCommitted(err) is true for the returned error, the job may exist.
func (m *Manager) commitJob(txn store.Txn, record *statev1.JobRecord, hash []byte) (string, error) {
	id := record.GetJob().GetJobId()
	owner := record.GetJob().GetOwner()
	requestID := record.GetJob().GetRequestId()
	err := m.d.Writer.Commit(txn)
	if records.MayBeCommitted(err) && !Interrupted(err) {
		if _, missing := m.d.Writer.State.Get(m.d.Writer.Context, records.JobKey(id)); missing == nil {
			err = nil // the job exists and has to run
		}
	}
	if errors.Is(err, store.ErrConflict) {
		// Either another call with this request id came first, or this transaction was committed and the store's
		// answer was lost.
		first, err := m.jobOfRequest(m.d.Writer.Context, owner, requestID, hash)
		if err != nil {
			return "", records.Undecided(err)
		}
		return first, nil
	}
	if err != nil {
		return "", err
	}
	return id, nil
}

// adoptWhenKnown waits until the store can tell whether a job was created, and launches it if so. Otherwise it
// deletes the job's spec.
func (m *Manager) adoptWhenKnown(id string) {
	for pause := dial.NewBackoff(records.StoreRetries); ; {
		err := m.adopt(m.d.Writer.Context, id)
		if errors.Is(err, store.ErrNotFound) { // it was not created
			_ = m.d.Parts.Blobs.Delete(m.d.Writer.Context, records.SpecBlob(id))
			return
		}
		if err == nil || Interrupted(err) || m.d.Writer.Context.Err() != nil {
			return
		}
		m.d.Logger.Warn("a job that may have been created cannot be looked up now, trying again", "job", id,
			"error", err)
		if pause.Wait(m.d.Writer.Context) != nil {
			return
		}
	}
}

// adopt launches an unfinished job that is stored but not launched, because an earlier coordinator left it or because
// the store did not answer when it was created. It does nothing if the job is already running or has ended.
func (m *Manager) adopt(ctx context.Context, id string) error {
	resume, err := m.StopAdmission(ctx) // waits for jobs that are being created to be launched
	if err != nil {
		return err
	}
	defer resume()
	if m.IsUnfinished(id) {
		return nil
	}
	return m.resumeJob(ctx, id)
}

// launch queues a durable job and starts its supervisor. ready may be nil. It is kept only if the job may run at
// once; a job that has to wait prepares it again later, so that queued jobs use no memory. During a shutdown the job
// is left to the next coordinator.
func (m *Manager) launch(j *Job, ready *runner.Problem) {
	m.jobs.Store(j.id, j)
	record := j.Record()
	m.queue.Enter(j, queue.Job{Owner: j.owner, Priority: placeOf(record.GetJob().GetPriority()),
		Memory: int64(record.GetCoordinatorBytes()), Alone: j.alone})
	m.advanceQueue()
	if m.queue.Runs(j) {
		j.problem = ready
	}
	m.supervisors.Go(func() { m.supervise(j) })
}

// placeOf returns a priority as the queue counts it.
func placeOf(p cleavev1.Priority) int {
	switch p {
	case cleavev1.Priority_PRIORITY_LOW:
		return -1
	case cleavev1.Priority_PRIORITY_HIGH:
		return 1
	default:
		return 0
	}
}

// jobOfRequest returns the id of the job that an owner's request created, or "" if there is none. It fails with
// REQUEST_ID_REUSED if that job has a different spec.
func (m *Manager) jobOfRequest(ctx context.Context, owner, requestID string, hash []byte) (string, error) {
	if requestID == "" {
		return "", nil
	}
	entry, err := m.d.Writer.State.Get(ctx, records.RequestKey(owner, requestID))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	record, err := records.Decode[statev1.RequestRecord](entry)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(record.GetSpecSha256(), hash) {
		return "", fault.New(fault.AlreadyExists, "REQUEST_ID_REUSED",
			"request_id %s made job %s from another spec; a new job needs a new request_id", requestID,
			record.GetJobId()).
			OnField("request_id").With("job_id", record.GetJobId())
	}
	return record.GetJobId(), nil
}

// leaveQueue removes a job that has run or no longer wants to, and starts those that can run instead. It may be called
// again.
func (m *Manager) leaveQueue(j *Job) {
	m.queue.Leave(j)
	m.advanceQueue()
}

// advanceQueue tells every job whose turn has come that it may run.
func (m *Manager) advanceQueue() {
	for _, j := range m.queue.Advance() {
		close(j.turn)
	}
}
