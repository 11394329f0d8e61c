package coordinator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// listAs lists the names of jobs as a caller, page by page.
func listAs(h *coordinatortest.Harness, caller identity.Caller, request *cleavev1.ListJobsRequest) (names []string) {
	h.T.Helper()
	request.PageSize, request.PageToken = 2, ""
	ctx := identity.NewContext(h.T.Context(), caller)
	for {
		page, err := h.Coordinator.JobService().ListJobs(ctx, request)
		if err != nil {
			h.T.Fatal(err)
		}
		for _, job := range page.GetJobs() {
			names = append(names, job.GetDisplayName())
		}
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return names
		}
	}
}

// Lists are filtered and ordered, and owners see their own jobs, also after a restart.
func TestListJobs(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.DataDir = t.TempDir()
	cfg.Store, cfg.Blobs = "embedded", ""
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	data := h.Upload()
	other := h.Send("other", coordinatortest.Groups(t, 30))
	ids := map[string]string{}
	const number = "4a8ec0ab-4ea1-4d7d-8a4e-0d5e4c1d1b3f"
	requests := []string{"nightly", "nightly", "nightly 2", number, "nightly"}
	for at, owner := range []string{"ann", "bob", "ann", "ann", ""} {
		s := coordinatortest.Spec(data)
		if at == 3 {
			s = coordinatortest.Spec(other)
		}
		name := fmt.Sprint("job ", at)
		id, err := submitAs(h, owner, &cleavev1.CreateJobRequest{Spec: s, DisplayName: name, RequestId: requests[at]})
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = id
		h.End(id)
	}
	admin := identity.Caller{Name: "root", Role: identity.Admin}
	ann := identity.Caller{Name: "ann", Role: identity.Reader}
	created := func(name string) *timestamppb.Timestamp { return h.Job(ids[name]).GetCreateTime() }
	check := func() {
		t.Helper()
		for what, c := range map[string]struct {
			caller  identity.Caller
			request *cleavev1.ListJobsRequest
			want    []string
		}{
			"all": {admin, &cleavev1.ListJobsRequest{}, []string{"job 4", "job 3", "job 2",
				"job 1", "job 0"}},
			"the oldest first": {admin, &cleavev1.ListJobsRequest{Order: cleavev1.JobOrder_JOB_ORDER_OLDEST_FIRST},
				[]string{"job 0", "job 1", "job 2", "job 3", "job 4"}},
			"her own": {ann, &cleavev1.ListJobsRequest{}, []string{"job 3", "job 2", "job 0"}},
			"her oldest": {ann, &cleavev1.ListJobsRequest{Order: cleavev1.JobOrder_JOB_ORDER_OLDEST_FIRST},
				[]string{"job 0", "job 2", "job 3"}},
			"somebody else's":    {ann, &cleavev1.ListJobsRequest{Owner: "bob"}, nil},
			"those of one owner": {admin, &cleavev1.ListJobsRequest{Owner: "bob"}, []string{"job 1"}},
			"on a data set":      {admin, &cleavev1.ListJobsRequest{DatasetId: other}, []string{"job 3"}},
			"by name":            {admin, &cleavev1.ListJobsRequest{NameContains: "2"}, []string{"job 2"}},
			"by its id":          {admin, &cleavev1.ListJobsRequest{IdPrefix: ids["job 2"]}, []string{"job 2"}},
			"by a prefix":        {ann, &cleavev1.ListJobsRequest{IdPrefix: ids["job 2"][:34]}, []string{"job 2"}},
			"by a short prefix": {ann, &cleavev1.ListJobsRequest{IdPrefix: ids["job 0"][:1], NameContains: "2"},
				[]string{"job 2"}},
			"by another's id": {ann, &cleavev1.ListJobsRequest{IdPrefix: ids["job 1"]}, nil},
			"by both ids":     {ann, &cleavev1.ListJobsRequest{IdPrefix: ids["job 2"], RequestId: "nightly"}, nil},
			"of a request":    {ann, &cleavev1.ListJobsRequest{RequestId: "nightly"}, []string{"job 0"}},
			"of all requests": {admin, &cleavev1.ListJobsRequest{RequestId: "nightly"},
				[]string{"job 4", "job 1", "job 0"}},
			"of his request": {admin, &cleavev1.ListJobsRequest{RequestId: "nightly", Owner: "bob"}, []string{"job 1"}},
			"of no request":  {ann, &cleavev1.ListJobsRequest{RequestId: "night"}, nil},
			"of a UUID":      {ann, &cleavev1.ListJobsRequest{RequestId: strings.ToUpper(number)}, []string{"job 3"}},
			"in a state": {admin,
				&cleavev1.ListJobsRequest{States: []cleavev1.JobState{cleavev1.JobState_JOB_STATE_FAILED,
					cleavev1.JobState_JOB_STATE_PENDING}}, nil},
			"in two states": {ann,
				&cleavev1.ListJobsRequest{States: []cleavev1.JobState{cleavev1.JobState_JOB_STATE_FAILED,
					cleavev1.JobState_JOB_STATE_SUCCEEDED}}, []string{"job 3", "job 2", "job 0"}},
			"from a time on": {admin, &cleavev1.ListJobsRequest{CreatedFrom: created("job 3")},
				[]string{"job 4", "job 3"}},
			"before a time": {admin, &cleavev1.ListJobsRequest{CreatedBefore: created("job 1")}, []string{"job 0"}},
		} {
			if got := listAs(h, c.caller, c.request); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", what, got, c.want)
			}
		}
	}
	check()
	_, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{Order: 77})
	coordinatortest.WantError(t, err, codes.InvalidArgument, "UNKNOWN_ORDER")
	_, err = h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{RequestId: strings.Repeat("x", 201)})
	coordinatortest.WantError(t, err, codes.InvalidArgument, "INVALID_REQUEST_ID")

	h.Close()
	h = coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	check()

	if err := h.Coordinator.Jobs().Delete(identity.NewContext(t.Context(), admin), ids["job 2"],
		time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := listAs(h, ann, &cleavev1.ListJobsRequest{}); !slices.Equal(got, []string{"job 3", "job 0"}) {
		t.Errorf("after a deletion: %q", got)
	}
}

// A request that is repeated with another name and scheduling finds its job.
func TestSchedulingIsNoPartOfTheSpec(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(h.Upload()), RequestId: "nightly",
		DisplayName: "first"}
	first := h.Submit(request)
	request.DisplayName = "second"
	request.Scheduling = &cleavev1.Scheduling{Priority: cleavev1.Priority_PRIORITY_LOW,
		TimeLimit: coordinatortest.Limited(nil, time.Hour).GetScheduling().GetTimeLimit()}
	if again := h.Submit(request); again != first || h.Job(first).GetDisplayName() != "first" {
		t.Errorf("job %s became %s, %v", first, again, h.Job(first))
	}
}

// Downloads begin at any row.
func TestDownloadsBeginAnywhere(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	defer h.StartWorker("a")()
	data := h.Send("groups", coordinatortest.Groups(t, 30))
	id := h.Create(&cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: data},
		Clusters:  &cleavev1.JobSpec_K{K: 3},
		Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}})
	h.End(id)
	whole := h.Labels(id)
	for _, first := range []uint32{0, 1, 29, 30} {
		stream, err := h.Jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: id, FirstIndex: first})
		if err != nil {
			t.Fatal(err)
		}
		got := []uint32{}
		next := first
		err = wire.Receive(stream.Recv, func(part *cleavev1.GetLabelsResponse) error {
			if part.GetFirstIndex() != next {
				t.Errorf("labels from %d on, want %d", part.GetFirstIndex(), next)
			}
			got = append(got, part.GetLabels()...)
			next += uint32(len(part.GetLabels()))
			return nil
		})
		if err != nil || !slices.Equal(got, whole[first:]) {
			t.Errorf("from %d on: %v, %v; all are %v", first, got, err, whole)
		}
	}
	beyond, err := h.Jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: id, FirstIndex: 31})
	if err == nil {
		_, err = beyond.Recv()
	}
	coordinatortest.WantError(t, err, codes.InvalidArgument, "OFFSET_OUT_OF_RANGE")

	err = drain(h.Jobs.GetModel(t.Context(), &cleavev1.GetModelRequest{JobId: id, FirstValue: 1 << 61})) // 2^64 bytes
	coordinatortest.WantError(t, err, codes.InvalidArgument, "OFFSET_OUT_OF_RANGE")

	values := func(firstValue uint64, firstRow uint32) (model, scores []float64) {
		m, err := h.Jobs.GetModel(t.Context(), &cleavev1.GetModelRequest{JobId: id, FirstValue: firstValue})
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.Receive(m.Recv, func(p *cleavev1.GetModelResponse) error {
			model = append(model, p.GetValues().GetValues()...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		s, err := h.Jobs.GetRowScores(t.Context(), &cleavev1.GetRowScoresRequest{JobId: id, FirstRow: firstRow})
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.Receive(s.Recv, func(p *cleavev1.GetRowScoresResponse) error {
			scores = append(scores, p.GetValues().GetValues()...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return model, scores
	}
	model, scores := values(0, 0)
	laterModel, laterScores := values(2, 10)
	if !slices.Equal(laterModel, model[2:]) || !slices.Equal(laterScores, scores[len(scores)/3:]) {
		t.Errorf("the rest of %d and %d values has %d and %d", len(model), len(scores), len(laterModel),
			len(laterScores))
	}
}

// pairedState answers a look at a record only once there is another one to answer.
type pairedState struct {
	store.State
	pair chan struct{}
}

func (s pairedState) Get(ctx context.Context, key string) (store.Entry, error) {
	select {
	case s.pair <- struct{}{}:
	case <-s.pair:
	case <-ctx.Done():
		return store.Entry{}, ctx.Err()
	}
	return s.State.Get(ctx, key)
}

// The jobs of an owner are not read one after the other.
func TestListJobsReadsConcurrently(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	data := h.Upload()
	var want []string
	for range 4 {
		id, err := createAs(h, "ann", coordinatortest.Spec(data))
		if err != nil {
			t.Fatal(err)
		}
		want = append([]string{id}, want...)
		h.End(id)
	}
	before := h.State.Behavior()
	h.State.Behave(pairedState{before, make(chan struct{})})
	defer h.State.Behave(before)
	ctx, cancel := context.WithTimeout(identity.NewContext(t.Context(),
		identity.Caller{Name: "ann", Role: identity.Submitter}), 20*time.Second)
	defer cancel()
	page, err := h.Coordinator.JobService().ListJobs(ctx, &cleavev1.ListJobsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, job := range page.GetJobs() {
		got = append(got, job.GetJobId())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the jobs are %v, want %v", got, want)
	}
}
