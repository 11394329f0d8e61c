package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/coordinator/webhook"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// Jobs implements cleave.v1.JobService. Its calls about results are methods of results.Service. It is safe for
// concurrent use.
type Jobs struct {
	*results.Service
	Manager  *jobs.Manager
	Fleet    *fleet.Fleet
	Problems *runner.ProblemMaker
	Parts    *results.Parts
	Room     *Room
	Writer   *records.Writer // only its State is used
	Webhooks webhook.Config
	Now      func() time.Time
}

// CreateJob implements JobService.
func (s *Jobs) CreateJob(ctx context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.CreateJobResponse, error) {
	job, err := s.create(ctx, request)
	if err != nil {
		return nil, err
	}
	return &cleavev1.CreateJobResponse{Job: job}, nil
}

// PlanJob implements JobService.
func (s *Jobs) PlanJob(ctx context.Context, request *cleavev1.PlanJobRequest) (*cleavev1.PlanJobResponse, error) {
	if request.GetSpec() == nil {
		return nil, fault.Required("spec", "")
	}
	ready, release, err := s.Room.problem(ctx, request.GetSpec())
	if err != nil {
		return nil, err
	}
	defer release()
	ready.FitLanes(s.Fleet)
	plan, err := s.Fleet.Plan(ready.Parts()...)
	if err != nil {
		return nil, err
	}
	response := &cleavev1.PlanJobResponse{Plan: wire.PlanProto(plan, ready.Need.Grid())}
	snapshots, _ := s.Problems.SnapshotBytes(ready)
	response.Plan.SnapshotBytes = uint64(snapshots)
	if t := ready.Table; t != nil {
		response.Recipe = wire.RecipeProto(t.Recipe)
		response.Notices = wire.NoticesProto(t.Notices)
	}
	return response, nil
}

// GetJob implements JobService.
func (s *Jobs) GetJob(ctx context.Context, request *cleavev1.GetJobRequest) (*cleavev1.GetJobResponse, error) {
	job, err := s.Manager.Get(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	if request.GetWithoutSpec() {
		return &cleavev1.GetJobResponse{Job: job}, nil
	}
	spec, err := s.Parts.Spec(ctx, job.GetJobId())
	if err != nil {
		return nil, err
	}
	return &cleavev1.GetJobResponse{Job: job, Spec: spec}, nil
}

// ListJobs implements JobService.
func (s *Jobs) ListJobs(ctx context.Context, request *cleavev1.ListJobsRequest) (*cleavev1.ListJobsResponse, error) {
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
		return nil, fault.Invalid("UNKNOWN_ORDER", "there is no order %d; give NEWEST_FIRST or OLDEST_FIRST",
			request.GetOrder()).OnField("order")
	}
	var err error
	if request.RequestId, err = canonicalRequestID(request.GetRequestId()); err != nil {
		return nil, err
	}
	prefix := records.JobKey(request.GetIdPrefix())
	find := s.listedJob
	if owner != "" {
		prefix = records.OwnerKey(owner, request.GetIdPrefix())
		find = func(ctx context.Context, index store.Entry) (*statev1.JobRecord, error) {
			return s.existingJob(ctx, records.JobOfKey(index.Key))
		}
		if request.GetRequestId() != "" {
			prefix = records.RequestKey(owner, request.GetRequestId())
			find = s.requestedJob
		}
	}
	found, next, err := records.PageOf(ctx, s.Writer.State, prefix, order, request,
		func(entry store.Entry) (*cleavev1.Job, bool, error) {
			record, err := find(ctx, entry)
			if record == nil || err != nil || !caller.Sees(record.GetJob().GetOwner()) {
				return nil, false, err
			}
			job := record.GetJob()
			if j := s.Manager.Unfinished(job.GetJobId()); j != nil {
				job = j.View()
			}
			return job, listed(request, job, record.GetTableIds()), nil
		})
	return &cleavev1.ListJobsResponse{Jobs: found, NextPageToken: next}, err
}

// listedJob decodes a listed entry. For a damaged record it returns a job that carries the error and has no owner, so
// that listing goes on.
func (s *Jobs) listedJob(_ context.Context, entry store.Entry) (*statev1.JobRecord, error) {
	record, err := records.ReadJob(entry)
	if damage, is := errors.AsType[*fault.Error](err); is {
		return &statev1.JobRecord{Job: &cleavev1.Job{JobId: records.JobOfKey(entry.Key),
			Error: wire.ErrorProto(damage)}}, nil
	}
	return record, err
}

// requestedJob resolves the record of a request; see existingJob.
func (s *Jobs) requestedJob(ctx context.Context, request store.Entry) (*statev1.JobRecord, error) {
	record, err := records.Decode[statev1.RequestRecord](request)
	if err != nil {
		return nil, err
	}
	return s.existingJob(ctx, record.GetJobId())
}

// existingJob returns the record of a job, or nil if the job was deleted meanwhile or its stored record is damaged.
func (s *Jobs) existingJob(ctx context.Context, id string) (*statev1.JobRecord, error) {
	if j := s.Manager.Unfinished(id); j != nil {
		return j.Record(), nil
	}
	entry, err := s.Writer.State.Get(ctx, records.JobKey(id))
	if errors.Is(err, store.ErrNotFound) || records.IsDamaged(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.listedJob(ctx, entry)
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

// CancelJob succeeds in every state of the job, so that clients can safely repeat it if the response was lost.
func (s *Jobs) CancelJob(ctx context.Context, request *cleavev1.CancelJobRequest) (*cleavev1.CancelJobResponse, error) {
	job, err := s.Manager.Cancel(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	return &cleavev1.CancelJobResponse{Job: job}, nil
}

// DeleteJob succeeds even if the job does not exist, so that clients can safely repeat it if the response was lost.
func (s *Jobs) DeleteJob(ctx context.Context, request *cleavev1.DeleteJobRequest) (*cleavev1.DeleteJobResponse, error) {
	return &cleavev1.DeleteJobResponse{}, s.Manager.Delete(ctx, request.GetJobId(), s.Now())
}

// WatchJob streams the events of a job at the client's pace.
func (s *Jobs) WatchJob(request *cleavev1.WatchJobRequest,
	stream grpc.ServerStreamingServer[cleavev1.WatchJobResponse]) error {
	after := request.GetAfterSequence()
	err := s.Manager.Watch(stream.Context(), request.GetJobId(), &after, stream.Send)
	if f, is := errors.AsType[*fault.Error](err); is && f.Reason == queue.SlowReader {
		return f.With("last_sequence", fmt.Sprint(after))
	}
	return err
}

// create creates a job, or returns the one that an earlier call with the same request id created.
func (s *Jobs) create(ctx context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.Job, error) {
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
	if earlier, err := s.Manager.OfRequest(ctx, requestID, hash[:]); earlier != nil || err != nil {
		return earlier, err
	}
	record, err := s.newRecord(ctx, request, requestID)
	if err != nil {
		return nil, err
	}
	if err := s.Room.CheckDisk(int64(len(encoded))); err != nil {
		return nil, err
	}
	ready, release, err := s.Room.problem(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer release()
	record.CoordinatorBytes = uint64(s.Problems.ReservedBytes(ready))
	return s.Manager.Create(ctx, jobs.Submission{Record: record, Spec: spec, Hash: hash[:], Problem: ready,
		Release: release})
}

// newRecord returns the record of a new job, except for the memory that the job reserves. It fails if the request may
// not create a job.
func (s *Jobs) newRecord(ctx context.Context, request *cleavev1.CreateJobRequest,
	requestID string) (*statev1.JobRecord, error) {
	if err := wire.CheckName("display_name", request.GetDisplayName()); err != nil {
		return nil, err
	}
	spec := request.GetSpec()
	owner := identity.FromContext(ctx).Name
	scheduling := cmp.Or(request.GetScheduling(), &cleavev1.Scheduling{})
	timeLimit, err := s.Room.Limits.timeLimit(scheduling.GetTimeLimit())
	if err := cmp.Or(err, checkPriority(ctx, scheduling.GetPriority()),
		s.Webhooks.CheckURL(scheduling.GetWebhookUrl()), s.Room.checkQueue(owner)); err != nil {
		return nil, err
	}
	id, err := records.NewJobID()
	if err != nil {
		return nil, err
	}
	return &statev1.JobRecord{
		NumericClass: clustering.NumericClass(), SpecBlob: records.SpecBlob(id), TableIds: wire.TableIDs(spec),
		TraceParent: observe.TraceParent(ctx), WebhookUrl: scheduling.GetWebhookUrl(),
		Job: &cleavev1.Job{
			Owner: owner, Priority: scheduling.GetPriority(), TimeLimit: timeLimit,
			JobId: id, DisplayName: request.GetDisplayName(), DatasetId: spec.GetDatasetId(), RequestId: requestID,
			State: cleavev1.JobState_JOB_STATE_PENDING, CreateTime: timestamppb.New(s.Now()),
		},
	}, nil
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
			"%s is %.60q; it must be UTF-8 text of at most %d bytes without control characters", field,
			id, maxRequestID).
			OnField(field)
	}
	return nil
}
