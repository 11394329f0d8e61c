package coordinator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
	"github.com/cleave-project/cleave/internal/coordinator/problem"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// create creates a job, or returns the one that an earlier call with the same request id created.
func (c *Coordinator) create(ctx context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.Job, error) {
	spec := request.GetSpec()
	if spec == nil {
		return nil, fault.Required("spec", "")
	}
	requestID, err := canonicalRequestID(request.GetRequestId())
	if err != nil {
		return nil, err
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(spec)
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(encoded)
	// Before any other check, so that a repeated request gets its answer even if the spec would be rejected now.
	if earlier, err := c.jobOfRequest(ctx, identity.FromContext(ctx).Name, requestID, hash[:]); err != nil {
		return nil, err
	} else if earlier != "" {
		return c.get(ctx, earlier)
	}
	record, err := c.newRecord(ctx, request, requestID)
	if err != nil {
		return nil, err
	}
	if err := c.checkDisk(int64(len(encoded))); err != nil {
		return nil, err
	}
	ready, release, err := c.borrowProblem(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer release()
	record.CoordinatorBytes = uint64(c.problems.ReservedBytes(ready))
	if err := c.putBlob(ctx, record.GetSpecBlob(), spec); err != nil {
		return nil, err
	}
	var kept atomic.Pointer[problem.Problem] // empty once the caller has left, so that only callers who wait keep memory
	kept.Store(ready)
	defer kept.Store(nil)
	admitted, err := records.FinishWith(ctx, c.writer, func(change records.Change) (string, error) {
		admitted, err := c.admit(change, record, hash[:], func() *problem.Problem {
			release() // the job reserves the memory now
			return kept.Load()
		})
		if admitted != record.GetJob().GetJobId() && !records.MayBeCommitted(err) {
			_ = c.blobs.Delete(change, record.GetSpecBlob()) // no record refers to it
		}
		return admitted, err
	})
	if fault.Is(err, records.StoreBusy) { // the job was not even tried
		_ = c.blobs.Delete(c.storeCtx, record.GetSpecBlob())
	}
	if err != nil {
		return nil, err
	}
	return c.get(ctx, admitted)
}

// newRecord returns the record of a new job, but for the memory that it reserves. It rejects a request that may not
// create a job, before its problem is prepared.
func (c *Coordinator) newRecord(ctx context.Context, request *cleavev1.CreateJobRequest, requestID string) (*statev1.JobRecord, error) {
	if err := wire.CheckName("display_name", request.GetDisplayName()); err != nil {
		return nil, err
	}
	spec, scheduling, owner := request.GetSpec(), cmp.Or(request.GetScheduling(), &cleavev1.Scheduling{}), identity.FromContext(ctx).Name
	timeLimit, err := c.cfg.Limits.timeLimit(scheduling.GetTimeLimit())
	if err := cmp.Or(err, checkPriority(ctx, scheduling.GetPriority()), checkVerify(scheduling),
		c.cfg.Webhooks.CheckURL(scheduling.GetWebhookUrl()), c.checkQueue(owner)); err != nil {
		return nil, err
	}
	id, err := records.NewJobID()
	if err != nil {
		return nil, err
	}
	return &statev1.JobRecord{
		NumericClass: clustering.NumericClass(), SpecBlob: records.SpecBlob(id), TableIds: wire.TableIDs(spec),
		TraceParent: observe.TraceParent(ctx), Verify: scheduling.Verify, WebhookUrl: scheduling.GetWebhookUrl(),
		Job: &cleavev1.Job{
			Owner: owner, Priority: scheduling.GetPriority(), TimeLimit: timeLimit,
			JobId: id, DisplayName: request.GetDisplayName(), DatasetId: spec.GetDatasetId(), RequestId: requestID,
			State: cleavev1.JobState_JOB_STATE_PENDING, CreateTime: c.now(),
		},
	}, nil
}

// borrowProblem checks a spec and prepares its problem, which the caller may hold until it calls release.
func (c *Coordinator) borrowProblem(ctx context.Context, spec *cleavev1.JobSpec) (_ *problem.Problem, release func(), err error) {
	if err := c.checkSize(ctx, spec); err != nil {
		return nil, nil, err
	}
	if release, err = c.borrow(ctx, c.memoryFor(ctx, spec.GetDatasetId(), spec.GetTable().GetTableId())); err != nil {
		return nil, nil, err
	}
	ready, err := c.problems.Make(ctx, spec, !problem.Accepted)
	if err != nil {
		release()
		return nil, nil, err
	}
	return ready, release, nil
}

// admit makes a job durable, launches it, and returns its id. If a concurrent call with the same request id created a
// job first, admit returns the id of that job instead. If it is unknown whether the commit succeeded, admit returns
// an error and a background goroutine launches the job once the store can tell. ready returns the problem of the job,
// or nil. If the caller leaves before it is the turn of the job, no job is created.
func (c *Coordinator) admit(change records.Change, record *statev1.JobRecord, hash []byte, ready func() *problem.Problem) (string, error) {
	if err := c.admission.Acquire(change.Caller(), 1); err != nil {
		return "", fault.New(fault.Canceled, "CALL_CANCELLED", "the call was canceled before the job was created").Because(err)
	}
	defer c.admission.Release(1)
	id, owner, requestID := record.GetJob().GetJobId(), record.GetJob().GetOwner(), record.GetJob().GetRequestId()
	// The data set and the tables may have been deleted since the spec was checked. While admission is held they
	// stay.
	if data := record.GetJob().GetDatasetId(); data != "" { // otherwise the job clusters a table
		if _, err := c.datasets.Record(change, data); err != nil {
			return "", err
		}
	}
	for _, table := range record.GetTableIds() {
		if _, err := c.tables.Record(change, table); err != nil {
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
	first, err := c.commitJob(txn, record, hash)
	if err != nil && records.MayBeCommitted(err) && !interrupted(err) {
		c.supervisors.Go(func() { c.adoptWhenKnown(id) })
	}
	if err != nil || first != id {
		return first, err
	}
	c.launch(c.newJob(record, eventlog.New(id, c.flushEvents), false), ready())
	c.cfg.Observe.Accepted()
	c.log.Info("job is accepted", "job", id, "request", observe.RequestID(change), "dataset", record.GetJob().GetDatasetId())
	return id, nil
}

// commitJob commits the transaction that creates a job and returns the job's id, or the id of the job that the same
// request created before. If records.MayBeCommitted(err) is true for the returned error, the job may exist.
func (c *Coordinator) commitJob(txn store.Txn, record *statev1.JobRecord, hash []byte) (string, error) {
	id, owner, requestID := record.GetJob().GetJobId(), record.GetJob().GetOwner(), record.GetJob().GetRequestId()
	err := c.writer.Commit(txn)
	if records.MayBeCommitted(err) && !interrupted(err) {
		if _, missing := c.state.Get(c.storeCtx, records.JobKey(id)); missing == nil {
			err = nil // the job exists and has to run
		}
	}
	if errors.Is(err, store.ErrConflict) {
		// Either another call with this request id came first, or this transaction was committed and the store's
		// answer was lost.
		first, err := c.jobOfRequest(c.storeCtx, owner, requestID, hash)
		if err != nil {
			return "", records.Unknown(err)
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
func (c *Coordinator) adoptWhenKnown(id string) {
	for pause := backoff.New(records.StoreRetries); ; {
		err := c.adopt(c.storeCtx, id)
		if errors.Is(err, store.ErrNotFound) { // it was not created
			_ = c.blobs.Delete(c.storeCtx, records.SpecBlob(id))
			return
		}
		if err == nil || interrupted(err) || c.storeCtx.Err() != nil {
			return
		}
		c.log.Warn("a job that may have been created cannot be looked up now, trying again", "job", id, "error", err)
		if pause.Wait(c.storeCtx) != nil {
			return
		}
	}
}

// adopt launches an unfinished job that is stored but not launched, because an earlier coordinator left it or because
// the store did not answer when it was created. It does nothing if the job is already running or has ended.
func (c *Coordinator) adopt(ctx context.Context, id string) error {
	resume, err := c.stopAdmission(ctx) // waits for jobs that are being created to be launched
	if err != nil {
		return err
	}
	defer resume()
	if c.jobs.get(id) != nil {
		return nil
	}
	return c.resumeJob(ctx, id)
}

// allAdmission is the total weight of the admission semaphore.
const allAdmission = 1 << 30

// stopAdmission prevents jobs from being created until release is called. It waits for those being created.
func (c *Coordinator) stopAdmission(ctx context.Context) (release func(), err error) {
	if err := c.admission.Acquire(ctx, allAdmission); err != nil {
		return nil, err
	}
	return func() { c.admission.Release(allAdmission) }, nil
}

// launch queues a durable job and starts its supervisor. ready may be nil. It is kept only if the job may run at
// once; a job that has to wait prepares it again later, so that queued jobs use no memory. During a shutdown the job
// is left to the next coordinator.
func (c *Coordinator) launch(j *job, ready *problem.Problem) {
	c.jobs.add(j)
	record := j.durable()
	priority := map[cleavev1.Priority]int{cleavev1.Priority_PRIORITY_LOW: -1, cleavev1.Priority_PRIORITY_HIGH: 1}[record.GetJob().GetPriority()]
	c.queue.Enter(j, queue.Job{Owner: j.owner, Priority: priority, Memory: int64(record.GetCoordinatorBytes()), Alone: j.alone})
	c.advanceQueue()
	if c.queue.Runs(j) {
		j.problem = ready
	}
	c.supervisors.Go(func() { c.supervise(j) })
}

// maxRequestID is the maximum length of a request id in bytes.
const maxRequestID = 200

// canonicalRequestID validates a request id and returns its canonical form. Any short text is valid; all spellings of
// a UUID are the same id.
func canonicalRequestID(id string) (string, error) {
	if parsed, err := uuid.Parse(id); err == nil {
		return parsed.String(), nil
	}
	return id, checkText("request_id", id)
}

// checkText rejects a client's id that is too long, is not UTF-8, or has control characters.
func checkText(field, id string) error {
	if len(id) > maxRequestID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return fault.Invalid("INVALID_"+strings.ToUpper(field),
			"%s is %.60q; it must be UTF-8 text of at most %d bytes without control characters", field, id, maxRequestID).
			OnField(field)
	}
	return nil
}

// jobOfRequest returns the id of the job that an owner's request created, or "" if there is none. It fails with
// REQUEST_ID_REUSED if that job has a different spec.
func (c *Coordinator) jobOfRequest(ctx context.Context, owner, requestID string, hash []byte) (string, error) {
	if requestID == "" {
		return "", nil
	}
	entry, err := c.state.Get(ctx, records.RequestKey(owner, requestID))
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
			"request_id %s made job %s from another spec; a new job needs a new request_id", requestID, record.GetJobId()).
			OnField("request_id").With("job_id", record.GetJobId())
	}
	return record.GetJobId(), nil
}

// leaveQueue removes a job that has run or no longer wants to, and starts those that can run instead. It may be called
// again.
func (c *Coordinator) leaveQueue(j *job) {
	c.queue.Leave(j)
	c.advanceQueue()
}

// advanceQueue tells every job whose turn has come that it may run.
func (c *Coordinator) advanceQueue() {
	for _, j := range c.queue.Advance() {
		close(j.turn)
	}
}
