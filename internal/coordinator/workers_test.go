package coordinator_test

import (
	"slices"
	"strings"
	"testing"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// Predictions have tiles on workers, but are no jobs that could be asked for.
func TestWorkersListJobs(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	<-g.Entered
	cluster := api.Cluster{Jobs: h.Coordinator.Jobs()}
	info := fleet.WorkerInfo{JobIDs: []string{id, "predict-" + id}}
	for caller, want := range map[identity.Caller][]string{
		identity.Local(): {id},
		{Name: "somebody else", Role: identity.Reader}: {},
	} {
		if got := cluster.Worker(identity.NewContext(t.Context(), caller), info).GetJobIds(); !slices.Equal(got, want) {
			t.Errorf("%v sees the jobs %v, want %v", caller, got, want)
		}
	}
	close(g.Open)
	h.End(id)
}

func TestRealWorkersGiveTheLocalAnswer(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	points := coordinatortest.Noise(t, 300, 3)
	d, err := wire.SendDataset(t.Context(), h.Datasets, "noise", points, wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	s := coordinatortest.Spec(d.GetDatasetId())
	s.Clusters = &cleavev1.JobSpec_K{K: 4}
	s.Restarts = 2
	s.Supervision = &cleavev1.Supervision{Constraints: coordinatortest.Constraints("must 0 7", "must 3 9")}
	s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
	want := coordinatortest.Local(t, points, s)

	// Without workers the job waits. GetJob and WatchJob say so.
	id := h.Create(s)
	stream, err := h.Jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: id})
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
	if job := h.Job(id); job.GetState() != cleavev1.JobState_JOB_STATE_PENDING ||
		!strings.Contains(job.GetStatusMessage(), "worker") {
		t.Errorf("without workers the job is %v", job)
	}

	for _, name := range []string{"ann", "bob"} {
		defer h.StartWorker(name)()
	}
	job := h.End(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetObjective() != want.Objective {
		t.Errorf("the job is %v, its objective should be %v", job, want.Objective)
	}
	if got := h.Labels(id); !slices.Equal(got, wire.LabelsProto(want.Labels)) {
		t.Error("the labels differ from those of a local run")
	}
	response, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
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
	h := coordinatortest.Start(t, coordinatortest.Config())
	for _, name := range []string{"cid", "ann", "bob", "ann"} {
		defer h.StartWorker(name)()
	}
	if err := h.Coordinator.AwaitWorkers(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	for size, pages := range map[int32]int{0: 1, 1: 4, 3: 2, 4: 1} {
		var names []string
		request := &cleavev1.ListWorkersRequest{PageSize: size}
		for page := 1; ; page++ {
			response, err := h.Cluster.ListWorkers(t.Context(), request)
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
	h := coordinatortest.Start(t, coordinatortest.Config())
	graph, err := dataset.NewGraph(4, []dataset.Edge{{Source: 0, Target: 1, Weight: -1}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := wire.SendDataset(t.Context(), h.Datasets, "", graph, wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(d.GetDatasetId())})
	if !fault.Is(wire.Fault(err), "NEGATIVE_AFFINITY") {
		t.Errorf("got %v", err)
	}
}

func TestDrainWorker(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	changed := h.Coordinator.Fleet().Changed()
	defer h.StartWorker("ann")()
	coordinatortest.Within(t, changed, "the worker")
	response, err := h.Cluster.DrainWorker(t.Context(), &cleavev1.DrainWorkerRequest{WorkerId: "ann"})
	if err != nil || response.GetWorker().GetName() != "ann" {
		t.Errorf("drained %v, %v", response, err)
	}
}

// A coordinator shuts down while workers are attached and a job runs. The next one, with another worker,
// runs the job to its end.
func TestShutdownDuringARun(t *testing.T) {
	cfg := coordinatortest.DurableConfig(t)
	first := coordinatortest.Start(t, cfg)
	points := coordinatortest.Noise(t, 1000, 4)
	d, err := wire.SendDataset(t.Context(), first.Datasets, "noise", points, wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	s := coordinatortest.Spec(d.GetDatasetId())
	s.Clusters = &cleavev1.JobSpec_K{K: 10}
	want := coordinatortest.Local(t, points, s)
	stopWorker := first.StartWorker("ann")
	id := first.Create(s)
	first.FirstEvents(id, 2)
	first.Close()
	stopWorker()

	second := coordinatortest.Start(t, cfg)
	defer second.StartWorker("bob")()
	job := second.End(id)
	if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || job.GetObjective() != want.Objective {
		t.Errorf("the job is %v, its objective should be %v", job, want.Objective)
	}
	if got := second.Labels(id); !slices.Equal(got, wire.LabelsProto(want.Labels)) {
		t.Error("the labels differ from those of a local run")
	}
}

func TestHealthAndReflection(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	client := healthv1.NewHealthClient(h.Conn)
	for _, service := range []string{"", "cleave.v1.JobService", "cleave.v1.DatasetService", "cleave.v1.ClusterService",
		"cleave.worker.v1.WorkerService"} {
		response, err := client.Check(t.Context(), &healthv1.HealthCheckRequest{Service: service})
		if err != nil || response.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("%q is %v, %v", service, response, err)
		}
	}
	for _, service := range []string{"grpc.reflection.v1.ServerReflection",
		"grpc.reflection.v1alpha.ServerReflection"} {
		if _, there := h.Coordinator.Server().GetServiceInfo()[service]; !there {
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
	go h.Close()
	if response, err := watch.Recv(); err == nil && response.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while shutting down: %v", response)
	}
}
