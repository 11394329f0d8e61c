package coordinator

import (
	"context"
	"errors"
	"strings"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// jobService implements cleave.v1.JobService, in this file and in plan.go, watch.go, results.go and
// predict.go.
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

func errNoSpec() error {
	return fault.Invalid("FIELD_REQUIRED", "the request has no spec; say what to cluster and how").OnField("spec")
}

// get is a job as clients see it.
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
	caller := identity.FromContext(ctx)
	jobs, next, err := records.PageOf(ctx, s.c.state, records.JobPrefix, request, func(entry store.Entry) (*cleavev1.Job, bool, error) {
		record, err := readJob(entry)
		job := record.GetJob()
		if damage, is := errors.AsType[*fault.Error](err); is { // its owner is not known; the list goes on
			job = &cleavev1.Job{JobId: strings.TrimPrefix(entry.Key, records.JobPrefix), Error: wire.ErrorProto(damage)}
		}
		if !caller.Sees(job.GetOwner()) {
			return nil, false, nil
		}
		if j := s.c.unfinished(job.GetJobId()); j != nil {
			job = j.view()
		}
		return job, request.GetState() == cleavev1.JobState_JOB_STATE_UNSPECIFIED || job.GetState() == request.GetState(), nil
	})
	return &cleavev1.ListJobsResponse{Jobs: jobs, NextPageToken: next}, err
}

// CancelJob succeeds whatever the state of the job, so that it can be repeated when its answer was lost.
func (s *jobService) CancelJob(ctx context.Context, request *cleavev1.CancelJobRequest) (*cleavev1.CancelJobResponse, error) {
	j, record, err := s.c.find(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	if j == nil {
		return &cleavev1.CancelJobResponse{Job: record.GetJob()}, nil
	}
	requested, tooLate := false, false
	err = j.write(s.c.writer.Commit, store.Txn{}, func(record *statev1.JobRecord) error {
		if tooLate = j.ending; tooLate || record.GetJob().GetCancelRequested() {
			return errUnchanged
		}
		record.Job.CancelRequested, requested = true, true
		return nil
	})
	if err != nil {
		return nil, err
	}
	if requested {
		s.c.log.Info("job is being canceled", "job", j.id)
		j.cancel(errCanceled)
	}
	if tooLate { // the answer shows how the job ended
		select {
		case <-j.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &cleavev1.CancelJobResponse{Job: j.view()}, nil
}
