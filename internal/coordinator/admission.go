package coordinator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// create creates a job, or finds the one that the same request created before.
func (c *Coordinator) create(ctx context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.Job, error) {
	spec := request.GetSpec()
	if spec == nil {
		return nil, errNoSpec()
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
	owner := identity.FromContext(ctx).Name
	// First of all, so that a repeated request gets its answer even if the spec would be refused now.
	if earlier, err := c.jobOfRequest(ctx, owner, requestID, hash[:]); err != nil {
		return nil, err
	} else if earlier != "" {
		return c.get(ctx, earlier)
	}
	if err := wire.CheckName("display_name", request.GetDisplayName()); err != nil {
		return nil, err
	}
	scheduling := request.GetScheduling()
	timeLimit, err := c.cfg.Limits.timeLimit(scheduling.GetTimeLimit())
	if err := cmp.Or(err, checkPriority(ctx, scheduling.GetPriority()), checkVerify(scheduling)); err != nil {
		return nil, err
	}
	if err := c.checkQueue(owner); err != nil { // before a problem is prepared that has no room
		return nil, err
	}
	if err := c.checkDisk(int64(len(encoded))); err != nil {
		return nil, err
	}
	if err := c.checkSize(ctx, spec); err != nil {
		return nil, err
	}
	problem, err := c.prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	id, err := records.NewJobID()
	if err != nil {
		return nil, err
	}
	if err := c.putBlob(ctx, records.SpecBlob(id), spec); err != nil {
		return nil, err
	}
	record := &statev1.JobRecord{
		SpecBlob: records.SpecBlob(id), TableIds: wire.TableIDs(spec), CoordinatorBytes: uint64(c.reservedBytes(problem)),
		TraceParent: observe.TraceParent(ctx), Verify: verifyOf(scheduling),
		Job: &cleavev1.Job{
			Owner: owner, Priority: scheduling.GetPriority(), TimeLimit: timeLimit,
			JobId: id, DisplayName: request.GetDisplayName(), DatasetId: spec.GetDatasetId(), RequestId: requestID,
			State: cleavev1.JobState_JOB_STATE_PENDING, CreateTime: c.now(),
		},
	}
	admitted, err := c.admit(ctx, record, hash[:], problem)
	if admitted != id && !records.MayBeCommitted(err) {
		_ = c.blobs.Delete(context.WithoutCancel(ctx), records.SpecBlob(id)) // no record refers to it
	}
	if err != nil {
		return nil, err
	}
	return c.get(ctx, admitted)
}

// admit makes a job durable, starts it, and returns its id; or the id of the job that the same request
// created in the meantime.
func (c *Coordinator) admit(ctx context.Context, record *statev1.JobRecord, hash []byte, problem *prepared) (string, error) {
	if err := c.admission.Acquire(ctx, 1); err != nil {
		return "", err
	}
	defer c.admission.Release(1)
	id, owner, requestID := record.GetJob().GetJobId(), record.GetJob().GetOwner(), record.GetJob().GetRequestId()
	// The data set and the tables may have been deleted since the spec was checked. While we hold the lock they
	// stay.
	if data := record.GetJob().GetDatasetId(); data != "" { // else a table is clustered
		if _, err := c.datasets.Record(ctx, data); err != nil {
			return "", err
		}
	}
	for _, table := range record.GetTableIds() {
		if _, err := c.tables.Record(ctx, table); err != nil {
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
	c.launch(c.newJob(record, eventlog.New(id, c.flushEvents)), problem)
	c.cfg.Observe.Accepted()
	c.log.Info("job is accepted", "job", id, "request", observe.RequestID(ctx), "dataset", record.GetJob().GetDatasetId())
	return id, nil
}

// commitJob commits the transaction that creates a job, and returns its id; or the id of the job that the same request
// created before. After an error for which mayBeCommitted is true, the job may exist.
func (c *Coordinator) commitJob(txn store.Txn, record *statev1.JobRecord, hash []byte) (string, error) {
	id, owner, requestID := record.GetJob().GetJobId(), record.GetJob().GetOwner(), record.GetJob().GetRequestId()
	err := c.writer.Commit(txn)
	if records.MayBeCommitted(err) && !interrupted(err) {
		if _, missing := c.state.Get(c.storeCtx, records.JobKey(id)); missing == nil {
			err = nil // it is there, and has to run
		}
	}
	if errors.Is(err, store.ErrConflict) {
		// Either another call with this request id came first, or this one was committed and the answer
		// of the store was lost.
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

// adoptWhenKnown launches a job that may have been created, as soon as the store tells whether it was.
func (c *Coordinator) adoptWhenKnown(id string) {
	for pause := backoff.New(records.StoreRetries); ; {
		err := c.adopt(c.storeCtx, id)
		if errors.Is(err, store.ErrNotFound) { // it was not
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

// adopt launches an unfinished job that is stored but that this coordinator has not launched: it was left by an earlier one,
// or the store did not answer when it was created. It does nothing if the job runs already or has ended.
func (c *Coordinator) adopt(ctx context.Context, id string) error {
	resume, err := c.stopAdmission(ctx) // waits until jobs are launched that are being created
	if err != nil {
		return err
	}
	defer resume()
	if c.unfinished(id) != nil {
		return nil
	}
	return c.resumeJob(ctx, id)
}

// allAdmission is the weight of the admission semaphore.
const allAdmission = 1 << 30

// stopAdmission keeps jobs from being created until release is called.
func (c *Coordinator) stopAdmission(ctx context.Context) (release func(), err error) {
	if err := c.admission.Acquire(ctx, allAdmission); err != nil {
		return nil, err
	}
	return func() { c.admission.Release(allAdmission) }, nil
}

// launch puts a durable job into the queue. The problem may be nil. It is handed to a job that may run at
// once; one that has to wait prepares it again later, so that queued jobs take no memory.
func (c *Coordinator) launch(j *job, problem *prepared) {
	c.mu.Lock()
	c.jobs[j.id] = j
	c.mu.Unlock()
	if atOnce := c.queue.enter(j); atOnce {
		j.problem = problem
	}
	c.supervisors.Go(func() { c.supervise(j) })
}

// maxRequestID is the length of the longest request id, in bytes.
const maxRequestID = 200

// canonicalRequestID checks a request id. Any short text will do; of a UUID, all spellings are one.
func canonicalRequestID(id string) (string, error) {
	if parsed, err := uuid.Parse(id); err == nil {
		return parsed.String(), nil
	}
	return id, checkText("request_id", id)
}

// checkText refuses an id of a client that is too long or has control characters.
func checkText(field, id string) error {
	if len(id) > maxRequestID || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
		return fault.Invalid("INVALID_"+strings.ToUpper(field), "%s %.60q is not a text of at most %d bytes without control characters", field, id, maxRequestID).
			OnField(field)
	}
	return nil
}

// jobOfRequest is the id of the job that a request of an owner created, "" when there is none.
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
	record := &statev1.RequestRecord{}
	if err := proto.Unmarshal(entry.Value, record); err != nil {
		return "", err
	}
	if !bytes.Equal(record.GetSpecSha256(), hash) {
		return "", fault.New(fault.AlreadyExists, "REQUEST_ID_REUSED",
			"request_id %s made job %s from another spec; a new job needs a new request_id", requestID, record.GetJobId()).
			OnField("request_id").With("job_id", record.GetJobId())
	}
	return record.GetJobId(), nil
}

// runQueue lets jobs run when it is their turn, which package turns decides.
type runQueue struct {
	mu    sync.Mutex
	turns *queue.Queue[*job]
}

func newRunQueue(limits queue.Limits) *runQueue {
	return &runQueue{turns: queue.NewQueue[*job](limits)}
}

// enter lets a job run now, or when its turn has come. It tells whether the job may run at once.
func (q *runQueue) enter(j *job) (atOnce bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns.Enter(j, queue.Job{Owner: j.owner, Priority: j.priority, Memory: j.memory, Alone: j.alone})
	q.advance()
	return q.turns.Runs(j)
}

// leave removes a job that has run or that no longer wants to.
func (q *runQueue) leave(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns.Leave(j)
	q.advance()
}

// advance lets the jobs run that may. q.mu is held.
func (q *runQueue) advance() {
	for _, j := range q.turns.Advance() {
		close(j.mayRun)
	}
}

// why says why a job waits for its turn, "" if it does not.
func (q *runQueue) why(j *job) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if why := q.turns.Why(j); why != "" {
		return "waiting for its turn: " + why
	}
	return ""
}

// waiting is how many jobs wait for their turn, in all and of one owner, and how many run.
func (q *runQueue) waiting(owner string) (all, own, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all, own = q.turns.Waiting(owner)
	return all, own, q.turns.Running()
}

// memory is what the jobs that run have together.
func (q *runQueue) memory() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.turns.Memory()
}

// priorityOf is the priority of a job as a number.
func priorityOf(record *statev1.JobRecord) int {
	switch record.GetJob().GetPriority() {
	case cleavev1.Priority_PRIORITY_LOW:
		return -1
	case cleavev1.Priority_PRIORITY_HIGH:
		return 1
	}
	return 0
}
