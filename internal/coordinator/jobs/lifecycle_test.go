package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
	"github.com/cleave-project/cleave/test/tabletest"
)

func TestLifecycle(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(3))
	id := h.Create(coordinatortest.Spec(h.Upload()))
	job := h.End(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED ||
		job.GetStopReason() != cleavev1.StopReason_STOP_REASON_CONVERGED ||
		job.GetIterations() != 3 || job.GetObjective() != 25 || job.GetObjectiveName() != "kernel-kmeans" ||
		job.GetLastSequence() != 5 {
		t.Errorf("the job is %v", job)
	}
	if !job.GetEndTime().IsValid() || job.GetEndTime().AsTime().Before(job.GetStartTime().AsTime()) {
		t.Errorf("the job began at %v and ended at %v", job.GetStartTime(), job.GetEndTime())
	}
	if got := h.Labels(id); !slices.Equal(got, []uint32{0, 1, 0, 1}) {
		t.Errorf("labels are %v", got)
	}
	response, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	if err != nil {
		t.Fatal(err)
	}
	r := response.GetResult()
	if r.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || len(r.GetHistory()) != 4 || r.GetRows() != 4 ||
		r.GetK() != 2 {
		t.Errorf("the result is %v", r)
	}
	if p := r.GetPlan(); p.GetTiles() != 1 || p.GetTileRows() != 16 || p.GetWorkers() != 2 ||
		p.GetStorage() != cleavev1.PlanStorage_PLAN_STORAGE_FLOAT32 || p.GetTileBytes() == 0 {
		t.Errorf("the plan is %v", p)
	}
	if r.GetTimings().GetTotal().AsDuration() <= 0 {
		t.Errorf("the timings are %v", r.GetTimings())
	}
	truth := wire.InlineTable(tabletest.Labels([]int64{7, -1, 7, 7}))
	some := wire.InlineTable(tabletest.Indices([]int32{2, 1, 0}))
	evaluation, err := h.Jobs.EvaluateJob(t.Context(), &cleavev1.EvaluateJobRequest{JobId: id, Truth: h.Store(truth)})
	if err != nil || evaluation.GetEvaluation().GetNmi() >= 1 {
		t.Errorf("the evaluation is %v, %v", evaluation, err)
	}
	evaluation, err = h.Jobs.EvaluateJob(t.Context(), &cleavev1.EvaluateJobRequest{JobId: id, Truth: truth,
		ScoreOn: some})
	if err != nil || evaluation.GetEvaluation().GetNmi() != 1 {
		t.Errorf("the evaluation without point 3 is %v, %v", evaluation, err)
	}
}

func TestWatchResumesAnywhere(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	coordinatortest.Within(t, g.Entered, "the run")

	// Watchers that come before there are events, one of them for events that never come.
	type seen struct {
		after  uint32
		events []*cleavev1.Event
	}
	watched := make(chan seen)
	for _, after := range []uint32{0, 1, 2, 3, 99} {
		go func() {
			events, _ := h.Watch(id, after)
			watched <- seen{after, events}
		}()
	}
	close(g.Open)
	whole, _ := h.Watch(id, 0)
	if len(whole) != 3 || whole[2].GetEnded().GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("the events are %v", whole)
	}
	for range 5 {
		s := coordinatortest.Within(t, watched, "a watcher")
		if want := whole[min(s.after, 3):]; !slices.EqualFunc(s.events, want, func(a, b *cleavev1.Event) bool {
			return proto.Equal(a, b)
		}) {
			t.Errorf("after %d came %v, want %v", s.after, s.events, want)
		}
	}
	for after := range uint32(5) { // again, from the outcome
		if events, _ := h.Watch(id, after); len(events) != len(whole[min(after, 3):]) {
			t.Errorf("after %d came %d events of the outcome", after, len(events))
		}
	}
	if left, err := h.State.List(t.Context(), records.EventPrefix, "", 0); err != nil || len(left) != 0 {
		t.Errorf("events of a job that ended are left over: %v, %v", left, err)
	}
}

func TestEventsComeInOrderWhileRunning(t *testing.T) {
	const n = 3000
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(n))
	id := h.Create(coordinatortest.Spec(h.Upload()))
	events, _ := h.Watch(id, 0)
	if len(events) != n+2 {
		t.Fatalf("%d events", len(events))
	}
	for i, e := range events[:n+1] {
		if e.GetIteration().GetIteration() != uint32(i) ||
			e.GetIteration().GetObjective() != coordinatortest.Entry(i).Objective {
			t.Fatalf("event %d is %v", i+1, e)
		}
	}
}

func TestProgressIsLive(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	coordinatortest.Within(t, g.Entered, "the run")
	stream, err := h.Jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: id})
	if err != nil {
		t.Fatal(err)
	}
	for {
		item, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if p := item.GetProgress(); p != nil {
			if p.GetWorkers() != 2 || p.GetTiles() != 1 || p.GetTilesBuilt() != 1 || p.GetObjective() != 100 {
				t.Errorf("progress is %v", p)
			}
			break
		}
	}
	close(g.Open)
	h.End(id)
}

// Any text makes a request idempotent, not only a UUID.
func TestTextsAsRequestIDs(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	data := h.Upload()
	made := map[string]string{}
	for _, id := range []string{"nightly/2026-11-16", "nightly", "nightly/2026-11-16", "Größe: 5 %"} {
		response, err := h.Jobs.CreateJob(t.Context(),
			&cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data), RequestId: id})
		if err != nil {
			t.Fatal(err)
		}
		job := response.GetJob().GetJobId()
		if first, again := made[id]; again && job != first {
			t.Errorf("%q made %s and %s", id, first, job)
		}
		made[id] = job
		h.End(job)
	}
	if first := made["nightly"]; first == made["nightly/2026-11-16"] {
		t.Error("two ids made one job")
	}
}

func TestRequestIDIsIdempotent(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	data := h.Upload()
	request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data), RequestId: uuid.NewString()}
	made := make(chan string)
	for range 8 {
		go func() {
			response, err := h.Jobs.CreateJob(t.Context(), request)
			if err != nil {
				t.Error(err)
			}
			made <- response.GetJob().GetJobId()
		}()
	}
	id := coordinatortest.Within(t, made, "a job")
	for range 7 {
		if other := coordinatortest.Within(t, made, "a job"); other != id {
			t.Errorf("the same request made %s and %s", id, other)
		}
	}
	list, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil || len(list.GetJobs()) != 1 {
		t.Errorf("jobs are %v, %v", list, err)
	}
	h.End(id)
	if response, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{
		Spec: coordinatortest.Spec(data), RequestId: strings.ToUpper(request.GetRequestId()),
	}); err != nil || response.GetJob().GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("after its end: %v, %v", response, err)
	}
	other := coordinatortest.Spec(data)
	other.Seed = 1
	_, err = h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: other, RequestId: request.GetRequestId()})
	coordinatortest.WantError(t, err, codes.AlreadyExists, "REQUEST_ID_REUSED")
	names, err := h.Blobs.List(t.Context(), records.JobPrefix)
	if err != nil || len(names) != 3 { // spec, labels, outcome
		t.Errorf("blobs are %v, %v", names, err)
	}
}

func TestCancelWhileRunning(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	coordinatortest.Within(t, g.Entered, "the run")
	response, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: id})
	if err != nil || !response.GetJob().GetCancelRequested() {
		t.Fatalf("cancel gave %v, %v", response, err)
	}
	job := h.End(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED ||
		job.GetStopReason() != cleavev1.StopReason_STOP_REASON_CANCELLED {
		t.Errorf("the job is %v", job)
	}
	if got := h.Labels(id); len(got) != 4 {
		t.Errorf("the labels so far are %v", got)
	}
	result, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	if err != nil || result.GetResult().GetState() != cleavev1.JobState_JOB_STATE_CANCELLED {
		t.Errorf("the result is %v, %v", result, err)
	}
}

// A call whose answer was lost is repeated: the second one must not look like a failure.
func TestCancelCanBeRepeated(t *testing.T) {
	g := coordinatortest.NewBarrier()
	stopped := make(chan struct{})
	h := coordinatortest.StartScripted(t, coordinatortest.Config(),
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			r, err := g.Run(ctx, o)
			if ctx.Err() != nil {
				<-stopped
			}
			return r, err
		})
	data := h.Upload()
	canceled := h.Create(coordinatortest.Spec(data))
	coordinatortest.Within(t, g.Entered, "the run")
	cancel := func(id string) *cleavev1.Job {
		response, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: id})
		if err != nil {
			t.Fatal(err)
		}
		return response.GetJob()
	}
	for range 2 { // while it is on its way to stop
		if job := cancel(canceled); job.GetState() != cleavev1.JobState_JOB_STATE_RUNNING || !job.GetCancelRequested() {
			t.Errorf("the job is %v", job)
		}
	}
	close(stopped)
	want := h.End(canceled)
	if job := cancel(canceled); job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED || !proto.Equal(job, want) {
		t.Errorf("the canceled job was %v and is %v", want, job)
	}
	close(g.Open)
	succeeded := h.Create(coordinatortest.Spec(data))
	want = h.End(succeeded)
	if job := cancel(succeeded); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || !proto.Equal(job, want) {
		t.Errorf("the job that succeeded was %v and is %v", want, job)
	}
}

func TestJobsRunInTurn(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxConcurrentJobs = 1
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	data := h.Upload()
	first := h.Create(coordinatortest.Spec(data))
	second := h.Create(coordinatortest.Spec(data))
	third := h.Create(coordinatortest.Spec(data))
	coordinatortest.Within(t, g.Entered, "the first run")
	if job := h.Job(third); job.GetState() != cleavev1.JobState_JOB_STATE_PENDING ||
		!strings.Contains(job.GetStatusMessage(), "turn") {
		t.Errorf("a job in the queue is %v", job)
	}
	// A job that never ran has no labels.
	if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: second}); err != nil {
		t.Fatal(err)
	}
	if job := h.End(second); job.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED {
		t.Errorf("a canceled job in the queue is %v", job)
	}
	_, err := h.FirstLabels(second)
	coordinatortest.WantError(t, err, codes.FailedPrecondition, "JOB_HAS_NO_LABELS")

	if len(g.Entered) != 0 {
		t.Error("two jobs run at once")
	}
	close(g.Open)
	for _, id := range []string{first, third} {
		h.WantSuccess(id)
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name   string
		run    coordinatortest.Script
		reason string
		code   codes.Code
		words  string
	}{
		{"a fault", func(context.Context, clustering.Observer) (*clustering.Result, error) {
			return nil, fault.Invalid("ISOLATED_VERTEX", "vertex 3 has no edges")
		}, "ISOLATED_VERTEX", codes.InvalidArgument, "vertex 3"},
		{"an error", func(context.Context, clustering.Observer) (*clustering.Result, error) {
			return nil, errors.New("the disk is full")
		}, "INTERNAL", codes.Internal, "disk"},
		{"a panic", func(context.Context, clustering.Observer) (*clustering.Result, error) {
			panic("out of bounds")
		}, "PANIC", codes.Internal, "bounds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := coordinatortest.StartScripted(t, coordinatortest.Config(), c.run)
			id := h.Create(coordinatortest.Spec(h.Upload()))
			job := h.End(id)
			if job.GetState() != cleavev1.JobState_JOB_STATE_FAILED || job.GetError().GetReason() != c.reason ||
				codes.Code(job.GetError().GetCode()) != c.code ||
				!strings.Contains(job.GetError().GetMessage(), c.words) {
				t.Errorf("the job is %v", job)
			}
			_, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
			coordinatortest.WantError(t, err, codes.FailedPrecondition, "JOB_FAILED")
		})
	}
}

func TestListsAreNewestFirstAndPaged(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(0))
	data := h.Upload()
	var ids []string
	for range 7 {
		id := h.Create(coordinatortest.Spec(data))
		h.End(id)
		ids = append([]string{id}, ids...)
	}
	for _, size := range []int32{1, 3, 7, 100} {
		var got []string
		request := &cleavev1.ListJobsRequest{PageSize: size,
			States: []cleavev1.JobState{cleavev1.JobState_JOB_STATE_SUCCEEDED}}
		for {
			response, err := h.Jobs.ListJobs(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			for _, job := range response.GetJobs() {
				got = append(got, job.GetJobId())
			}
			if len(response.GetJobs()) > int(size) {
				t.Errorf("a page of %d has %d jobs", size, len(response.GetJobs()))
			}
			if request.PageToken = response.GetNextPageToken(); request.GetPageToken() == "" {
				break
			}
		}
		if !slices.Equal(got, ids) {
			t.Errorf("pages of %d give %v, want %v", size, got, ids)
		}
	}
	none, err := h.Jobs.ListJobs(t.Context(),
		&cleavev1.ListJobsRequest{States: []cleavev1.JobState{cleavev1.JobState_JOB_STATE_RUNNING}})
	if err != nil || len(none.GetJobs()) != 0 {
		t.Errorf("running: %v, %v", none, err)
	}
}

func TestDeleteJobLeavesNothing(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
	response, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(h.Upload()),
		RequestId: uuid.NewString()})
	if err != nil {
		t.Fatal(err)
	}
	id := response.GetJob().GetJobId()
	h.End(id)
	if _, err := h.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: id}); err != nil {
		t.Errorf("a deletion cannot be repeated: %v", err)
	}
	_, err = h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
	coordinatortest.WantError(t, err, codes.NotFound, "JOB_NOT_FOUND")
	if keys, blobs := h.Leftovers(); len(keys) != 1 || len(blobs) != 1 { // the data set
		t.Errorf("left over are %v and %v", keys, blobs)
	}
}

func TestShutdownEndsOpenWatches(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	coordinatortest.Within(t, g.Entered, "the run")
	stream, err := h.Jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatal(err)
	}
	h.Close()
	for err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the watch ended with %v", err)
	}
}

func TestPanicInACallIsAnErrorOfThatCall(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(0))
	data := h.Upload()
	before := h.State.Behavior()
	h.State.Intercept(func(int64, func() error) error { panic("as in a defect") })
	stream, err := h.Datasets.CreateDataset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range coordinatortest.PointParts(1, 1, 5) {
		if err := stream.Send(part); err != nil {
			t.Fatal(err)
		}
	}
	_, err = stream.CloseAndRecv()
	coordinatortest.WantError(t, err, codes.Internal, "PANIC")
	h.State.Behave(before)
	if job := h.End(h.Create(coordinatortest.Spec(data))); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Error("the coordinator does not go on")
	}
}

func TestJobKeysSortNewestFirst(t *testing.T) {
	previous := ""
	for range 1000 {
		id, err := records.NewJobID()
		if err != nil {
			t.Fatal(err)
		}
		key := records.JobKey(id)
		if previous != "" && key >= previous {
			t.Fatalf("%s does not come before %s", key, previous)
		}
		if back := records.JobKey(strings.TrimPrefix(key, records.JobPrefix)); back != records.JobPrefix+id {
			t.Fatalf("%s inverted twice is %s", id, back)
		}
		previous = key
	}
	if got, want := records.EventKey("x", 12), fmt.Sprintf("events/x/%020d", 12); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
