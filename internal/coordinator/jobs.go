package coordinator

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// jobService is the public face of jobs.
type jobService struct {
	cleavev1.UnimplementedJobServiceServer
	c *Coordinator
}

func (s *jobService) CreateJob(ctx context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.CreateJobResponse, error) {
	job, err := s.c.create(ctx, request)
	if err != nil {
		return nil, err
	}
	return &cleavev1.CreateJobResponse{Job: job}, nil
}

// create makes a job, or finds the one that the same request made before.
func (c *Coordinator) create(ctx context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.Job, error) {
	spec := request.GetSpec()
	if spec == nil {
		return nil, fault.Invalid("FIELD_REQUIRED", "the request has no spec; say what to cluster and how").OnField("spec")
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
	// A request that was answered gets the same answer again, even if it could not be made now.
	if earlier, err := c.madeBy(ctx, requestID, hash[:]); err != nil {
		return nil, err
	} else if earlier != "" {
		return c.get(ctx, earlier)
	}
	if err := c.check(ctx, spec); err != nil {
		return nil, err
	}
	id, err := newJobID()
	if err != nil {
		return nil, err
	}
	if err := c.putBlob(ctx, specBlob(id), spec); err != nil {
		return nil, err
	}
	record := &statev1.JobRecord{
		SpecBlob: specBlob(id), TableIds: wire.TableIDs(spec),
		Job: &cleavev1.Job{
			JobId: id, DisplayName: spec.GetDisplayName(), DatasetId: spec.GetDatasetId(), RequestId: requestID,
			State: cleavev1.JobState_JOB_STATE_PENDING, CreateTime: c.now(),
		},
	}
	admitted, err := c.admit(ctx, record, hash[:])
	if admitted != id {
		_ = c.blobs.Delete(context.WithoutCancel(ctx), specBlob(id)) // nobody knows of it
	}
	if err != nil {
		return nil, err
	}
	return c.get(ctx, admitted)
}

// check refuses at once what could never run.
func (c *Coordinator) check(ctx context.Context, p *cleavev1.JobSpec) error {
	if err := required("spec.dataset_id", p.GetDatasetId()); err != nil {
		return err
	}
	if err := wire.CheckName("spec.display_name", p.GetDisplayName()); err != nil {
		return err
	}
	_, err := c.prepare(ctx, p)
	return err
}

// admit makes a checked job durable, gives it over to run, and returns its id; or that of the job
// which the same request made in the meantime.
func (c *Coordinator) admit(ctx context.Context, record *statev1.JobRecord, hash []byte) (string, error) {
	c.admission.Lock()
	defer c.admission.Unlock()
	id, requestID := record.GetJob().GetJobId(), record.GetJob().GetRequestId()
	// It may have been deleted since it was checked, and cannot be while we hold the lock.
	if _, _, err := c.datasets.record(ctx, record.GetJob().GetDatasetId()); err != nil {
		return "", err
	}
	for _, table := range record.GetTableIds() {
		if _, err := c.tables.record(ctx, table); err != nil {
			return "", err
		}
	}
	entry, err := jobEntry(record)
	if err != nil {
		return "", err
	}
	txn := store.Txn{Put: []store.Entry{entry, {Key: unfinishedKey(id)}}}
	if requestID != "" {
		value, err := proto.Marshal(&statev1.RequestRecord{JobId: id, SpecSha256: hash})
		if err != nil {
			return "", err
		}
		txn.If = []store.Condition{{Key: requestKey(requestID)}}
		txn.Put = append(txn.Put, store.Entry{Key: requestKey(requestID), Value: value})
	}
	err = c.commit(txn)
	if errors.Is(err, store.ErrConflict) {
		// Another call with this id came first, or this one did and the store's answer was lost.
		first, err := c.madeBy(c.life, requestID, hash)
		if err != nil || first != id {
			return first, err
		}
	} else if err != nil {
		return "", err
	}
	j := c.newJob(record, newEventLog(id, c.commit))
	c.launch(j)
	c.log.Info("job is accepted", "job", id, "dataset", record.GetJob().GetDatasetId())
	return id, nil
}

// launch lets a durable job run when its turn comes.
func (c *Coordinator) launch(j *job) {
	c.mu.Lock()
	c.jobs[j.id] = j
	c.mu.Unlock()
	c.turns.enter(j)
	c.runs.Go(func() { c.attend(j) })
}

func canonicalRequestID(id string) (string, error) {
	if id == "" {
		return "", nil
	}
	parsed, err := uuid.Parse(id)
	if err != nil {
		return "", fault.Invalid("INVALID_REQUEST_ID", "request_id %.60q is not a UUID; make one for each job, and repeat it only to retry", id).
			OnField("request_id")
	}
	return parsed.String(), nil
}

// madeBy is the id of the job that a request made before, "" when there is none.
func (c *Coordinator) madeBy(ctx context.Context, requestID string, hash []byte) (string, error) {
	if requestID == "" {
		return "", nil
	}
	entry, err := c.state.Get(ctx, requestKey(requestID))
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

func (c *Coordinator) get(ctx context.Context, id string) (*cleavev1.Job, error) {
	j, record, err := c.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if j != nil {
		return j.view(), nil
	}
	return record.GetJob(), nil
}

func (s *jobService) GetJob(ctx context.Context, request *cleavev1.GetJobRequest) (*cleavev1.GetJobResponse, error) {
	job, err := s.c.get(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	spec, err := s.c.readSpec(ctx, job.GetJobId())
	if err != nil {
		return nil, err
	}
	return &cleavev1.GetJobResponse{Job: job, Spec: spec}, nil
}

func (s *jobService) ListJobs(ctx context.Context, request *cleavev1.ListJobsRequest) (*cleavev1.ListJobsResponse, error) {
	size, err := pageSize(request.GetPageSize())
	if err != nil {
		return nil, err
	}
	after, err := pageStart(request.GetPageToken(), jobPrefix)
	if err != nil {
		return nil, err
	}
	response := &cleavev1.ListJobsResponse{}
	for {
		entries, err := s.c.state.List(ctx, jobPrefix, after, largestPage)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			record, err := readJob(entry)
			if err != nil {
				return nil, err
			}
			job := record.GetJob()
			if j := s.c.unfinished(job.GetJobId()); j != nil {
				job = j.view()
			}
			if request.GetState() != cleavev1.JobState_JOB_STATE_UNSPECIFIED && job.GetState() != request.GetState() {
				after = entry.Key
				continue
			}
			if len(response.Jobs) == size {
				response.NextPageToken = pageToken(after)
				return response, nil
			}
			response.Jobs = append(response.Jobs, job)
			after = entry.Key
		}
		if len(entries) < largestPage {
			return response, nil
		}
	}
}

func (s *jobService) CancelJob(ctx context.Context, request *cleavev1.CancelJobRequest) (*cleavev1.CancelJobResponse, error) {
	j, record, err := s.c.find(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	if j == nil {
		return nil, tooLateToCancel(record.GetJob())
	}
	err = j.write(s.c.commit, store.Txn{}, func(record *statev1.JobRecord) error {
		if j.closing || record.GetJob().GetCancelRequested() {
			return tooLateToCancel(record.GetJob())
		}
		record.Job.CancelRequested = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.c.log.Info("job is being cancelled", "job", j.id)
	j.cancel(errCancelled)
	return &cleavev1.CancelJobResponse{Job: j.view()}, nil
}

func tooLateToCancel(job *cleavev1.Job) error {
	if job.GetCancelRequested() {
		return fault.New(fault.FailedPrecondition, "JOB_ALREADY_CANCELLED", "job %s is cancelled already", job.GetJobId())
	}
	return fault.New(fault.FailedPrecondition, "JOB_ALREADY_ENDED", "job %s has ended; there is nothing to cancel", job.GetJobId())
}

func (s *jobService) DeleteJob(ctx context.Context, request *cleavev1.DeleteJobRequest) (*cleavev1.DeleteJobResponse, error) {
	record, err := s.c.finished(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	job := record.GetJob()
	events, err := s.c.state.List(ctx, eventsOf(job.GetJobId()), "", 0)
	if err != nil {
		return nil, err
	}
	leftOver := make([]string, len(events))
	for at, entry := range events {
		leftOver[at] = entry.Key
	}
	if err := s.c.deleteKeys(leftOver); err != nil {
		return nil, err
	}
	txn := store.Txn{Delete: []string{jobKey(job.GetJobId())}}
	if job.GetRequestId() != "" {
		txn.Delete = append(txn.Delete, requestKey(job.GetRequestId()))
	}
	if err := s.c.commit(txn); err != nil {
		return nil, err
	}
	s.c.forget(job.GetJobId()) // its end may be so recent that it is still there
	return &cleavev1.DeleteJobResponse{}, s.c.deleteBlobs(ctx, jobBlobs(job.GetJobId()))
}

// deleteBlobs deletes all that begin with a prefix, also those of attempts that did not finish.
func (c *Coordinator) deleteBlobs(ctx context.Context, prefix string) error {
	names, err := c.blobs.List(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := c.blobs.Delete(ctx, name); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}
