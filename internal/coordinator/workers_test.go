package coordinator

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	solver "github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker"
)

// Predictions have tiles on workers, but are no jobs that could be asked for.
func TestWorkersListJobs(t *testing.T) {
	g := newBarrier()
	h := newHarness(t, testConfig(), scripted(g.run))
	id := h.create(spec(h.upload()))
	<-g.entered
	cluster := api.Cluster{Jobs: h.c.jobs}
	info := fleet.WorkerInfo{JobIDs: []string{id, "predict-" + id}}
	for caller, want := range map[identity.Caller][]string{
		identity.Local(): {id},
		{Name: "somebody else", Role: identity.Reader}: {},
	} {
		if got := cluster.Worker(identity.NewContext(t.Context(), caller), info).GetJobIds(); !slices.Equal(got, want) {
			t.Errorf("%v sees the jobs %v, want %v", caller, got, want)
		}
	}
	close(g.open)
	h.end(id)
}

// startWorker attaches a worker; the returned function stops it.
func (h *harness) startWorker(name string) (stop func()) { return h.startWorkerWith(name, 0) }

// startWorkerWith attaches a worker with this much memory; 0 means no limit.
func (h *harness) startWorkerWith(name string, memory uint64) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- worker.Run(ctx, worker.Config{
			Coordinator: "passthrough:///test", Name: name, Threads: 1, MemoryBytes: memory,
			DialOptions: []grpc.DialOption{grpc.WithContextDialer(
				func(ctx context.Context, _ string) (net.Conn, error) {
					return h.listener.Dial(ctx)
				})},
		})
	}()
	return func() {
		cancel()
		if err := within(h.t, done, "the end of the worker"); err != nil {
			h.t.Error(err)
		}
	}
}

// local runs a job in this process, without a coordinator.
func local(t *testing.T, data dataset.Dataset, p *cleavev1.JobSpec) *clustering.Result {
	t.Helper()
	s, err := wire.Spec(p, &recipe.Rows{Count: data.Rows()}, wire.NoTables)
	if err != nil {
		t.Fatal(err)
	}
	r, err := solver.Solve(t.Context(), data, s, 1, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func noise(t *testing.T, n, d int) *dataset.Points {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, n*d)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func TestRealWorkersGiveTheLocalAnswer(t *testing.T) {
	h := newHarness(t, testConfig(), jobs.RealEngine())
	points := noise(t, 300, 3)
	d, err := wire.SendDataset(t.Context(), h.datasets, "noise", points, wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	s := spec(d.GetDatasetId())
	s.Clusters = &cleavev1.JobSpec_K{K: 4}
	s.Restarts = 2
	s.Supervision = &cleavev1.Supervision{Constraints: constraintTable("must 0 7", "must 3 9")}
	s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
	want := local(t, points, s)

	// Without workers the job waits. GetJob and WatchJob say so.
	id := h.create(s)
	stream, err := h.jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: id})
	if err != nil {
		t.Fatal(err)
	}
	for {
		item, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if p := item.GetProgress(); p.GetPhase() == cleavev1.Phase_PHASE_WAITING &&
			strings.Contains(p.GetMessage(), "worker") {
			break
		}
	}
	if job := h.job(id); job.GetState() != cleavev1.JobState_JOB_STATE_PENDING ||
		!strings.Contains(job.GetStatusMessage(), "worker") {
		t.Errorf("without workers the job is %v", job)
	}

	for _, name := range []string{"ann", "bob"} {
		defer h.startWorker(name)()
	}
	job := h.end(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetObjective() != want.Objective {
		t.Errorf("the job is %v, its objective should be %v", job, want.Objective)
	}
	if got := h.labels(id); !slices.Equal(got, wire.LabelsProto(want.Labels)) {
		t.Error("the labels differ from those of a local run")
	}
	response, err := h.jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	if err != nil {
		t.Fatal(err)
	}
	r := response.GetResult()
	if int(r.GetRestart()) != want.Restart || len(r.GetHistory()) != len(want.History) ||
		r.GetConstraints().GetTotal() != 2 || r.GetKernel().GetRho() == 0 {
		t.Errorf("the result is %v", r)
	}
	if r.GetPlan().GetTiles() == 0 || r.GetPlan().GetWorkers() == 0 || r.GetTimings().GetBuild().AsDuration() <= 0 {
		t.Errorf("plan %v, timings %v", r.GetPlan(), r.GetTimings())
	}

	if kernel := r.GetKernel(); kernel.GetFunction() != cleavev1.KernelFunction_KERNEL_FUNCTION_GAUSSIAN ||
		kernel.GetRho() != want.Kernel.Matrix.Rho {
		t.Errorf("the kernel is %v, its width should be %v", kernel, want.Kernel.Matrix.Rho)
	}
}

func TestListsOfWorkersArePaged(t *testing.T) {
	h := newHarness(t, testConfig(), jobs.RealEngine())
	for _, name := range []string{"cid", "ann", "bob", "ann"} {
		defer h.startWorker(name)()
	}
	if err := h.c.AwaitWorkers(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	for size, pages := range map[int32]int{0: 1, 1: 4, 3: 2, 4: 1} {
		var names []string
		request := &cleavev1.ListWorkersRequest{PageSize: size}
		for page := 1; ; page++ {
			response, err := h.cluster.ListWorkers(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range response.GetWorkers() {
				names = append(names, w.GetName())
				if w.GetState() != cleavev1.WorkerState_WORKER_STATE_READY {
					t.Errorf("worker %v", w)
				}
			}
			if request.PageToken = response.GetNextPageToken(); request.GetPageToken() == "" {
				if page != pages {
					t.Errorf("pages of %d: there are %d", size, page)
				}
				break
			}
		}
		if !slices.Equal(names, []string{"ann", "ann", "bob", "cid"}) {
			t.Errorf("pages of %d: workers are %v", size, names)
		}
	}
}

// A spec that does not go with its data is refused when the job is created, not when it runs.
func TestBadDataIsRefusedEvenWithoutWorkers(t *testing.T) {
	h := newHarness(t, testConfig(), jobs.RealEngine())
	graph, err := dataset.NewGraph(4, []dataset.Edge{{Source: 0, Target: 1, Weight: -1}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := wire.SendDataset(t.Context(), h.datasets, "", graph, wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec(d.GetDatasetId())})
	if !fault.Is(wire.Fault(err), "NEGATIVE_AFFINITY") {
		t.Errorf("got %v", err)
	}
}

func TestDrainWorker(t *testing.T) {
	h := newHarness(t, testConfig(), jobs.RealEngine())
	changed := h.c.fleet.Changed()
	defer h.startWorker("ann")()
	within(t, changed, "the worker")
	response, err := h.cluster.DrainWorker(t.Context(), &cleavev1.DrainWorkerRequest{WorkerId: "ann"})
	if err != nil || response.GetWorker().GetName() != "ann" {
		t.Errorf("drained %v, %v", response, err)
	}
}

// A coordinator shuts down while workers are attached and a job runs. The next one, with another worker,
// runs the job to its end.
func TestShutdownDuringARun(t *testing.T) {
	cfg := durableConfig(t)
	first := newHarness(t, cfg, jobs.RealEngine())
	points := noise(t, 1000, 4)
	d, err := wire.SendDataset(t.Context(), first.datasets, "noise", points, wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	s := spec(d.GetDatasetId())
	s.Clusters = &cleavev1.JobSpec_K{K: 10}
	want := local(t, points, s)
	stopWorker := first.startWorker("ann")
	id := first.create(s)
	first.firstEvents(id, 2)
	first.close()
	stopWorker()

	second := newHarness(t, cfg, jobs.RealEngine())
	defer second.startWorker("bob")()
	job := second.end(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetObjective() != want.Objective {
		t.Errorf("the job is %v, its objective should be %v", job, want.Objective)
	}
	if got := second.labels(id); !slices.Equal(got, wire.LabelsProto(want.Labels)) {
		t.Error("the labels differ from those of a local run")
	}
}

func TestHealthAndReflection(t *testing.T) {
	h := newHarness(t, testConfig(), jobs.RealEngine())
	client := healthv1.NewHealthClient(h.conn)
	for _, service := range []string{"", "cleave.v1.JobService", "cleave.v1.DatasetService", "cleave.v1.ClusterService",
		"cleave.worker.v1.WorkerService"} {
		response, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		if err != nil || response.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q is %v, %v", service, response, err)
		}
	}
	for _, service := range []string{"grpc.reflection.v1.ServerReflection",
		"grpc.reflection.v1alpha.ServerReflection"} {
		if _, there := h.c.server.GetServiceInfo()[service]; !there {
			t.Errorf("%s is not served", service)
		}
	}
	watch, err := client.Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	go h.stop()
	if response, err := watch.Recv(); err == nil && response.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while shutting down: %v", response)
	}
}
