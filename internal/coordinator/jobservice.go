package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/eventlog"
	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/coordinator/progress"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// jobService implements cleave.v1.JobService. Its methods about results are those of package results.
type jobService struct {
	*results.Service
	c *Coordinator
}

func (c *Coordinator) jobService() *jobService { return &jobService{c.results, c} }

func (s *jobService) CreateJob(ctx context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.CreateJobResponse, error) {
	job, err := s.c.create(ctx, request)
	if err != nil {
		return nil, err
	}
	return &cleavev1.CreateJobResponse{Job: job}, nil
}

func (s *jobService) PlanJob(ctx context.Context, request *cleavev1.PlanJobRequest) (*cleavev1.PlanJobResponse, error) {
	if request.GetSpec() == nil {
		return nil, fault.Required("spec", "")
	}
	ready, release, err := s.c.borrowProblem(ctx, request.GetSpec())
	if err != nil {
		return nil, err
	}
	defer release()
	ready.FitLanes(s.c.fleet)
	plan, err := s.c.fleet.Plan(ready.Parts()...)
	if err != nil {
		return nil, err
	}
	response := &cleavev1.PlanJobResponse{Plan: wire.PlanProto(plan, ready.Need.Matrix.Grid)}
	snapshots, _ := s.c.problems.SnapshotBytes(ready)
	response.Plan.SnapshotBytes = uint64(snapshots)
	if t := ready.Table; t != nil {
		response.Recipe, response.Notices = wire.RecipeProto(t.Recipe), wire.NoticesProto(t.Notices)
	}
	return response, nil
}

// get returns the job as clients see it.
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
	if request.GetWithoutSpec() {
		return &cleavev1.GetJobResponse{Job: job}, nil
	}
	spec, err := s.c.parts.Spec(ctx, job.GetJobId())
	if err != nil {
		return nil, err
	}
	return &cleavev1.GetJobResponse{Job: job, Spec: spec}, nil
}

func (s *jobService) ListJobs(ctx context.Context, request *cleavev1.ListJobsRequest) (*cleavev1.ListJobsResponse, error) {
	caller := identity.FromContext(ctx)
	owner := request.GetOwner()
	if caller.Role != identity.Admin {
		if owner != "" && owner != caller.Name {
			return &cleavev1.ListJobsResponse{}, nil // do not reveal whether others have jobs
		}
		owner = caller.Name
	}
	order := records.Ascending // keys contain inverted ids, so ascending order is newest first
	switch request.GetOrder() {
	case cleavev1.JobOrder_JOB_ORDER_UNSPECIFIED, cleavev1.JobOrder_JOB_ORDER_NEWEST_FIRST:
	case cleavev1.JobOrder_JOB_ORDER_OLDEST_FIRST:
		order = records.Descending
	default:
		return nil, fault.Invalid("UNKNOWN_ORDER", "there is no order %d; give NEWEST_FIRST or OLDEST_FIRST", request.GetOrder()).OnField("order")
	}
	var err error
	if request.RequestId, err = canonicalRequestID(request.GetRequestId()); err != nil {
		return nil, err
	}
	prefix, find := records.JobKey(request.GetIdPrefix()), s.c.listedJob
	if owner != "" {
		prefix = records.OwnerKey(owner, request.GetIdPrefix())
		find = func(ctx context.Context, index store.Entry) (*statev1.JobRecord, error) {
			return s.c.existingJob(ctx, records.JobOfKey(index.Key))
		}
		if request.GetRequestId() != "" {
			prefix, find = records.RequestKey(owner, request.GetRequestId()), s.c.requestedJob
		}
	}
	jobs, next, err := records.PageOf(ctx, s.c.state, prefix, order, request, func(entry store.Entry) (*cleavev1.Job, bool, error) {
		record, err := find(ctx, entry)
		if record == nil || err != nil || !caller.Sees(record.GetJob().GetOwner()) {
			return nil, false, err
		}
		job := record.GetJob()
		if j := s.c.jobs.get(job.GetJobId()); j != nil {
			job = j.view()
		}
		return job, listed(request, job, record.GetTableIds()), nil
	})
	return &cleavev1.ListJobsResponse{Jobs: jobs, NextPageToken: next}, err
}

// listedJob decodes a listed entry. For a damaged record it returns a job that carries the error and has no owner, so
// that listing goes on.
func (c *Coordinator) listedJob(_ context.Context, entry store.Entry) (*statev1.JobRecord, error) {
	record, err := records.ReadJob(entry)
	if damage, is := errors.AsType[*fault.Error](err); is {
		return &statev1.JobRecord{Job: &cleavev1.Job{JobId: records.JobOfKey(entry.Key), Error: wire.ErrorProto(damage)}}, nil
	}
	return record, err
}

// requestedJob resolves the record of a request; see existingJob.
func (c *Coordinator) requestedJob(ctx context.Context, request store.Entry) (*statev1.JobRecord, error) {
	record, err := records.Decode[statev1.RequestRecord](request)
	if err != nil {
		return nil, err
	}
	return c.existingJob(ctx, record.GetJobId())
}

// existingJob returns the record of a job, or nil if the job was deleted meanwhile or its stored record is damaged.
func (c *Coordinator) existingJob(ctx context.Context, id string) (*statev1.JobRecord, error) {
	if j := c.jobs.get(id); j != nil {
		return j.durable(), nil
	}
	entry, err := c.state.Get(ctx, records.JobKey(id))
	if errors.Is(err, store.ErrNotFound) || records.IsDamaged(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.listedJob(ctx, entry)
}

// listed reports whether a job matches the filters of a request.
func listed(request *cleavev1.ListJobsRequest, job *cleavev1.Job, tables []string) bool {
	created := job.GetCreateTime().AsTime()
	return (len(request.GetStates()) == 0 || slices.Contains(request.GetStates(), job.GetState())) &&
		strings.HasPrefix(job.GetJobId(), request.GetIdPrefix()) &&
		(request.GetDatasetId() == "" || request.GetDatasetId() == job.GetDatasetId()) &&
		(request.GetTableId() == "" || slices.Contains(tables, request.GetTableId())) &&
		strings.Contains(job.GetDisplayName(), request.GetNameContains()) &&
		(request.GetRequestId() == "" || request.GetRequestId() == job.GetRequestId()) &&
		(request.GetCreatedFrom() == nil || !created.Before(request.GetCreatedFrom().AsTime())) &&
		(request.GetCreatedBefore() == nil || created.Before(request.GetCreatedBefore().AsTime()))
}

// indexOwners adds jobs stored by an earlier version to the owner index. It does nothing if the state already has the
// current layout.
func (c *Coordinator) indexOwners(ctx context.Context) error {
	created, err := c.state.Get(ctx, records.CreatedKey)
	unused := errors.Is(err, store.ErrNotFound) // for example in memory
	if err != nil && !unused || string(created.Value) == records.Layout {
		return err
	}
	batch := records.Batch{Commit: c.writer.Commit}
	err = records.Each(ctx, c.state, records.JobPrefix, func(entry store.Entry) error {
		record, err := records.ReadJob(entry)
		if err != nil || record.GetJob().GetOwner() == "" {
			return nil // the owner of a damaged record is unknown
		}
		return batch.Add(store.Entry{Key: records.OwnerKey(record.GetJob().GetOwner(), record.GetJob().GetJobId())})
	})
	if err == nil && !unused {
		err = batch.Add(store.Entry{Key: records.CreatedKey, Value: []byte(records.Layout)})
	}
	if err != nil {
		return err
	}
	return batch.Flush()
}

// cancelTimeout is how long a cancellation waits for a change of the job's record that the store has not taken yet.
const cancelTimeout = 5 * time.Second

// CancelJob succeeds in every state of the job, so that clients can safely repeat it if the response was lost.
func (s *jobService) CancelJob(ctx context.Context, request *cleavev1.CancelJobRequest) (*cleavev1.CancelJobResponse, error) {
	j, record, err := s.c.find(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	if j == nil {
		return &cleavev1.CancelJobResponse{Job: record.GetJob()}, nil
	}
	tooLate, err := records.FinishWith(ctx, s.c.writer, func(records.Change) (bool, error) { return s.c.requestCancel(ctx, j) })
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
	return &cleavev1.CancelJobResponse{Job: j.view()}, nil
}

// requestCancel durably records that a job is to be canceled, and cancels its run. It reports whether the end of the
// job is already decided, in which case nothing changes. ctx limits the wait for another change of the record.
func (c *Coordinator) requestCancel(ctx context.Context, j *job) (tooLate bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cancelTimeout, fault.New(fault.Unavailable, records.StoreBusy,
		"the state store has not taken an earlier change of job %s for %v; "+
			"its disk may be full: try again when it answers", j.id, cancelTimeout).With("job_id", j.id))
	defer cancel()
	requested := false
	err = j.write(ctx, c.writer.Commit, store.Txn{Urgent: true}, func(record *statev1.JobRecord) error {
		if tooLate = j.ending; tooLate || record.GetJob().GetCancelRequested() {
			return errUnchanged
		}
		record.Job.CancelRequested, requested = true, true
		return nil
	})
	if err == nil && requested {
		c.log.Info("job is being canceled", "job", j.id)
		j.cancel(errCanceled)
	}
	return tooLate, err
}

// watchStream sends the events of a job to a client that watches it.
type watchStream = grpc.ServerStreamingServer[cleavev1.WatchJobResponse]

func sendEvent(stream watchStream, e *cleavev1.Event) error {
	return stream.Send(&cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Event{Event: e}})
}

// WatchJob streams the events of a job at the client's pace. A slow client never holds up the run.
func (s *jobService) WatchJob(request *cleavev1.WatchJobRequest, stream watchStream) error {
	j, record, err := s.c.find(stream.Context(), request.GetJobId())
	if err != nil {
		return err
	}
	after := request.GetAfterSequence()
	if j == nil {
		err = s.c.replay(stream, record, &after)
	} else {
		err = s.c.follow(stream, j, &after)
	}
	if f, is := errors.AsType[*fault.Error](err); is && f.Reason == gate.SlowReader {
		return f.With("last_sequence", fmt.Sprint(after))
	}
	return err
}

// follow sends the events after sequence number *after as they become visible, with progress in between, until the
// event that ends the job. It advances *after with every event sent.
func (c *Coordinator) follow(stream watchStream, j *job, after *uint32) error {
	silence := time.NewTimer(progress.KeepAlive)
	defer silence.Stop()
	var shown uint64
	silent := false
	done, supervised := j.done, true
	for {
		news := j.log.After(*after)
		for _, e := range news.Events {
			if err := sendEvent(stream, e); err != nil {
				return err
			}
			*after = e.GetSequence()
		}
		if news.Ended {
			return nil
		}
		if err := j.refusal(); err != nil && !supervised {
			return err // there will be no final event
		}
		doing := j.progress.Announced()
		if doing.Version != shown || silent {
			item := &cleavev1.WatchJobResponse_Progress{Progress: doing.Progress}
			if err := stream.Send(&cleavev1.WatchJobResponse{Item: item}); err != nil {
				return err
			}
			shown, silent = doing.Version, false
		}
		silence.Reset(progress.KeepAlive)
		select {
		case <-news.Changed:
		case <-doing.Changed:
		case <-silence.C:
			silent = true
		case <-done: // loop once more: the final event may have arrived at the same time
			done, supervised = nil, false
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-c.stopping:
			return errStopping
		}
	}
}

// replay sends the events of a job that has ended, starting after sequence number *after, which it advances.
func (c *Coordinator) replay(stream watchStream, record *statev1.JobRecord, after *uint32) error {
	events, err := c.eventsOf(stream.Context(), record)
	if err != nil {
		return err
	}
	for _, e := range events[min(*after, uint32(len(events))):] {
		if err := sendEvent(stream, e); err != nil {
			return err
		}
		*after = e.GetSequence()
	}
	return nil
}

// eventsOf returns the events of a job that has ended. It reads them from the outcome or, if that could not be
// stored, from the state.
func (c *Coordinator) eventsOf(ctx context.Context, record *statev1.JobRecord) ([]*cleavev1.Event, error) {
	if record.GetOutcomeBlob() == "" {
		log, err := eventlog.Load(ctx, c.state, record.GetJob().GetJobId(), nil)
		if err != nil {
			return nil, err
		}
		return log.All(), nil
	}
	outcome, err := c.parts.Outcome(ctx, record)
	return outcome.GetEvents(), err
}
