package coordinator_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// createAs creates a job of an owner, who sees the data set of the test.
func createAs(h *coordinatortest.Harness, owner string, s *cleavev1.JobSpec) (string, error) {
	return submitAs(h, owner, &cleavev1.CreateJobRequest{Spec: s})
}

// submitAs is createAs for a whole request.
func submitAs(h *coordinatortest.Harness, owner string, request *cleavev1.CreateJobRequest) (string, error) {
	ctx := identity.NewContext(h.T.Context(), identity.Caller{Name: owner, Role: identity.Admin})
	created, err := h.Coordinator.JobService().CreateJob(ctx, request)
	return created.GetJob().GetJobId(), err
}

func TestOpenStreams(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Limits.Streams = 1
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	watch := func() (grpc.ServerStreamingClient[cleavev1.WatchJobResponse], context.CancelFunc, error) {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := h.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id})
		if err == nil {
			_, err = stream.Recv()
		}
		return stream, cancel, err
	}
	_, leave, err := watch()
	if err != nil {
		t.Fatal(err)
	}
	_, cancel, err := watch()
	coordinatortest.WantRefusal(t, err, "TOO_MANY_STREAMS")
	cancel()
	leave() // a reader who goes away makes room
	h.Settle(0, 0)
	stream, cancel, err := watch()
	defer cancel()
	if err != nil {
		t.Fatal(err)
	}
	close(g.Open)
	for err == nil {
		_, err = stream.Recv()
	}
	h.Settle(0, 0)
}

func TestQueuesAreBounded(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxConcurrentJobs, cfg.Limits.Queued, cfg.Limits.QueuedPerOwner = 1, 3, 2
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	data := h.Upload()
	for _, owner := range []string{"ann", "ann", "ann"} { // one runs
		if _, err := createAs(h, owner, coordinatortest.Spec(data)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := createAs(h, "ann", coordinatortest.Spec(data))
	coordinatortest.WantRefusal(t, wire.Status(err), "OWN_QUEUE_FULL")
	if _, err := createAs(h, "bob", coordinatortest.Spec(data)); err != nil {
		t.Fatal(err)
	}
	_, err = createAs(h, "bob", coordinatortest.Spec(data))
	coordinatortest.WantRefusal(t, wire.Status(err), "QUEUE_FULL")
	close(g.Open)
}

// Owners take turns in the order in which they began to wait, and within an owner the priority decides.
func TestOwnersTakeTurns(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxConcurrentJobs = 1
	started := make(chan struct{})
	next := make(chan struct{})
	h := coordinatortest.StartScripted(t, cfg,
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			started <- struct{}{}
			<-next
			return coordinatortest.Steps(1)(ctx, o)
		})
	data := h.Upload()
	names := map[string]string{}
	for at, of := range []string{"ann", "ann", "ann low", "ann", "bob", "cid"} {
		owner, low := strings.CutSuffix(of, " low")
		request := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data)}
		if low {
			request.Scheduling = &cleavev1.Scheduling{Priority: cleavev1.Priority_PRIORITY_LOW}
		}
		id, err := submitAs(h, owner, request)
		if err != nil {
			t.Fatal(err)
		}
		names[id] = fmt.Sprint(of, " ", at)
		if at == 0 {
			coordinatortest.Within(t, started, "the first run")
		}
	}
	var order []string
	for range names {
		for id, name := range names {
			if job := h.Job(id); job.GetState() == cleavev1.JobState_JOB_STATE_RUNNING &&
				!slices.Contains(order, name) {
				order = append(order, name)
			}
		}
		next <- struct{}{}
		if len(order) < len(names) {
			coordinatortest.Within(t, started, "the next run")
		}
	}
	if got := strings.Join(order, ", "); got != "ann 0, ann 1, bob 4, cid 5, ann 3, ann low 2" {
		t.Errorf("jobs ran in the order %s", got)
	}
}

func TestPriorities(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	urgent := &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(h.Upload()),
		Scheduling: &cleavev1.Scheduling{Priority: cleavev1.Priority_PRIORITY_HIGH}}
	ann := identity.NewContext(t.Context(), identity.Caller{Name: "ann", Role: identity.Submitter})
	_, err := h.Coordinator.JobService().CreateJob(ann, urgent)
	coordinatortest.WantError(t, wire.Status(err), codes.PermissionDenied, "PRIORITY_DENIED")
	// nobody is known, so that all may
	if job := h.End(h.Submit(urgent)); job.GetPriority() != cleavev1.Priority_PRIORITY_HIGH {
		t.Errorf("the job is %v", job)
	}
	urgent.Scheduling.Priority = 17
	_, err = h.Jobs.CreateJob(t.Context(), urgent)
	coordinatortest.WantError(t, err, codes.InvalidArgument, "UNKNOWN_PRIORITY")
}

// What is too large is refused, and nothing says that trying again helps.
func TestSizes(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Limits.Rows, cfg.Limits.Clusters, cfg.Limits.Constraints = 4, 2, 1
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	data := h.Upload()
	for _, rows := range []int{5, 1 << 30} { // the second one only says so
		err := refusedUpload(h, rows)
		coordinatortest.WantError(t, err, codes.ResourceExhausted, "TOO_MANY_ROWS")
		if _, helps := wire.RetryDelay(err); helps {
			t.Error("to try again is said to help")
		}
	}
	many := coordinatortest.Spec(data)
	many.Clusters = &cleavev1.JobSpec_K{K: 3}
	_, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: many})
	coordinatortest.WantError(t, err, codes.ResourceExhausted, "TOO_MANY_CLUSTERS")
	many.Clusters = &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: 2, Max: 3}}
	_, err = h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: many})
	coordinatortest.WantError(t, err, codes.ResourceExhausted, "TOO_MANY_CLUSTERS")
	for _, stored := range []bool{false, true} {
		s := coordinatortest.Spec(data)
		pairs := coordinatortest.Constraints("must 0 2", "must 1 3")
		if stored {
			pairs = h.Store(pairs)
		}
		s.Supervision = &cleavev1.Supervision{Constraints: pairs}
		_, err = h.Jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: s})
		coordinatortest.WantError(t, err, codes.ResourceExhausted, "TOO_MANY_CONSTRAINTS")
	}
	classes := onClasses(h.StoreTable(twoClasses(t)))
	_, err = h.Jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: classes})
	coordinatortest.WantError(t, err, codes.ResourceExhausted, "TOO_MANY_CONSTRAINTS")
}

// twoClasses is a table of four rows; its classes become two constraints.
func twoClasses(t testing.TB) *table.Table {
	made, err := table.New([]table.Column{
		{Name: "x", Type: table.Number, Numbers: []float64{1, 2.5, 8, 9}},
		{Name: "kind", Type: table.Text, Texts: []string{"a", "a", "b", ""}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// onClasses is a job whose constraints are the classes of such a table.
func onClasses(id string) *cleavev1.JobSpec {
	return &cleavev1.JobSpec{
		Data:        &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: id, LabelColumn: "kind"}},
		Supervision: &cleavev1.Supervision{LabelAs: cleavev1.LabelUse_LABEL_USE_CONSTRAINTS},
		Algorithm:   &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}},
	}
}

// Classes that would become more constraints than fit into memory are rejected before they become any.
func TestClassesBecomeTooManyConstraints(t *testing.T) {
	const rows = 8_000
	number := table.Column{Name: "x", Type: table.Number}
	kind := table.Column{Name: "kind", Type: table.Text}
	for row := range rows {
		number.Numbers, kind.Texts = append(number.Numbers, float64(row)/7), append(kind.Texts, fmt.Sprintf("k%d", row))
	}
	made, err := table.New([]table.Column{number, kind})
	if err != nil {
		t.Fatal(err)
	}
	cfg := coordinatortest.Config()
	for _, memory := range []int64{0, 64 << 20} {
		cfg.MemoryBytes = memory
		h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
		_, err = h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: onClasses(h.StoreTable(made))})
		if memory > 0 {
			coordinatortest.WantError(t, err, codes.ResourceExhausted, "COORDINATOR_TOO_SMALL")
			continue
		}
		coordinatortest.WantError(t, err, codes.InvalidArgument, "TOO_MANY_CONSTRAINTS")
	}
}

// A job that was accepted is run by a coordinator that has smaller limits.
func TestAcceptedJobsKeepTheirSize(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	s := coordinatortest.Spec(h.Upload())
	s.Supervision = &cleavev1.Supervision{Constraints: coordinatortest.Constraints("must 0 2", "must 1 3")}
	id := h.Create(s)
	onTable := &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 2},
		Data: &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: h.StoreTable(coordinatortest.Plants(t,
			30))}}}
	ids := []string{id, h.Create(onTable), h.Create(onClasses(h.StoreTable(twoClasses(t))))}
	h.FirstEvents(ids[0], 1)
	h.Crash()
	cfg.Limits.Clusters, cfg.Limits.Constraints, cfg.Limits.Queued, cfg.MaxDatasetBytes = 2, 1, 1, 1
	again := coordinatortest.StartScripted(t, cfg, coordinatortest.NewBarrier().Run)
	_, err := again.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: onTable})
	coordinatortest.WantError(t, err, codes.ResourceExhausted, "DATASET_TOO_LARGE")
	again.Crash()
	cfg.Limits.Rows, cfg.Limits.Clusters = 1, 1
	again = coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	for _, id := range ids {
		if job := again.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			t.Errorf("the job ended as %v", job)
		}
	}
}

// refusedUpload is why an upload of so many rows, of one column, is refused.
func refusedUpload(h *coordinatortest.Harness, rows int) error {
	h.T.Helper()
	stream, err := h.Datasets.CreateDataset(h.T.Context())
	if err != nil {
		h.T.Fatal(err)
	}
	header := &cleavev1.DatasetHeader{
		Form: &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Rows: uint32(rows), Columns: 1}}}
	// the answer says why not
	_ = stream.Send(&cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_Header{Header: header}})
	return stream.RecvMsg(&cleavev1.CreateDatasetResponse{})
}

// The limits are shown as they were set, with what is in use.
func TestLimitsAreShown(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxConcurrentJobs, cfg.Limits.Rows, cfg.Limits.MaxTime, cfg.Retention.Quota = 1, 77, time.Hour, 1<<30
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	data := h.Upload()
	h.Create(coordinatortest.Spec(data))
	h.Create(coordinatortest.Spec(data))
	got, err := h.Cluster.GetLimits(t.Context(), &cleavev1.GetLimitsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	l := got.GetLimits()
	u := got.GetUsage()
	if l.GetRows() != 77 || l.GetMaxTimeLimit().AsDuration() != time.Hour || l.GetDefaultTimeLimit() != nil ||
		l.GetDiskQuotaBytes() != 1<<30 || l.GetCalls() != uint32(api.CallsPerProcessor*runtime.GOMAXPROCS(0)) {
		t.Errorf("the limits are %v", l)
	}
	if u.GetJobsRunning() != 1 || u.GetJobsQueued() != 1 || u.GetJobsQueuedOwn() != 1 || u.GetCalls() != 0 ||
		u.GetReads() != 1 {
		t.Errorf("in use are %v", u)
	}
	close(g.Open)
}

// With less space than is to be left, nothing new is taken.
func TestFreeDisk(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	data := h.Upload()
	h.Close()
	cfg.Limits.FreeDisk = 1 << 60
	h = coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	coordinatortest.WantRefusal(t, refusedUpload(h, 10), "DISK_FULL")
	_, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data)})
	coordinatortest.WantRefusal(t, err, "DISK_FULL")
}

// Calls that are refused because nobody knows who makes them take no place.
func TestUnknownCallersTakeNoPlace(t *testing.T) {
	cfg, metrics := watchedBy(t, coordinatortest.Config())
	cfg.Limits.Calls, cfg.Limits.Streams = 1, 1
	s := coordinatortest.StartSecured(t, cfg, coordinatortest.Steps(1))
	nobody := s.WithToken("wrong")
	for range 3 {
		_, err := nobody.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: "none"})
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("a call: %v", err)
		}
		stream, err := nobody.Jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: "none"})
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("a watch: %v", err)
		}
	}
	s.Caller("ada").Settle(0, 0)
	wantLines(t, metrics(),
		`cleave_grpc_requests_total{code="Unauthenticated",method="/cleave.v1.JobService/GetJob"} 3`)
}

// A duration that a coordinator refuses is written as one.
func TestNegativeTimeLimits(t *testing.T) {
	for _, limits := range []api.Limits{{DefaultTime: -time.Hour}, {MaxTime: -time.Hour}} {
		cfg := coordinatortest.Config()
		cfg.Limits.DefaultTime, cfg.Limits.MaxTime = limits.DefaultTime, limits.MaxTime
		if _, err := cfg.WithDefaults(); !fault.Is(err, "INVALID_CONFIG") ||
			!strings.Contains(err.Error(), "job-timeout is -1h0m0s; it must not be negative") {
			t.Errorf("got %v", err)
		}
	}
}
