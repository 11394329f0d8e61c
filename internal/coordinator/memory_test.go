package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

const tooSmall = "COORDINATOR_TOO_SMALL"

// spectralJob is a job that finds eigenvectors in the coordinator, and what it takes there.
func (h *harness) spectralJob() (*cleavev1.JobSpec, int64) {
	h.t.Helper()
	d, err := wire.SendDataset(h.t.Context(), h.datasets, "noise", noise(h.t, 1000, 2), wire.UploadStart{})
	if err != nil {
		h.t.Fatal(err)
	}
	s := &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: d.GetDatasetId()},
		Clusters: &cleavev1.JobSpec_K{K: 20}, Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}}
	ready, err := h.c.problems.Make(h.t.Context(), s, runner.Accepted)
	if err != nil {
		h.t.Fatal(err)
	}
	return s, ready.CoordinatorBytes()
}

// A job is refused if its data set, or that and what its algorithm takes, is more than the coordinator has.
func TestAJobThatTheCoordinatorHasNoMemoryFor(t *testing.T) {
	_, needed := newHarness(t, testConfig(), scripted(steps(1))).spectralJob()
	cfg := testConfig()
	cfg.MemoryBytes = needed - 1
	h := newHarness(t, cfg, scripted(steps(1)))
	data, err := wire.SendDataset(t.Context(), h.datasets, "noise", noise(t, 1000, 2), wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	s := &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: data.GetDatasetId()},
		Clusters: &cleavev1.JobSpec_K{K: 20}, Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}}
	_, err = h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s})
	wantError(t, err, codes.ResourceExhausted, tooSmall)
	if !strings.Contains(err.Error(), "start the coordinator with more --memory") ||
		!strings.Contains(err.Error(), "for the data set and") {
		t.Errorf("it says %v", err)
	}
	_, err = h.jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: s})
	wantError(t, err, codes.ResourceExhausted, tooSmall)
	// By these the coordinator has the data set alone.
	s.Algorithm = &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}
	s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
	if job := h.end(h.create(s)); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job is %v", job)
	}

	cfg.MemoryBytes = int64(data.GetBytes()) - 1
	h = newHarness(t, cfg, scripted(steps(1)))
	if _, err = wire.SendDataset(t.Context(), h.datasets, "noise", noise(t, 1000, 2), wire.UploadStart{}); err != nil {
		t.Fatal(err)
	}
	_, err = h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s})
	wantError(t, err, codes.ResourceExhausted, tooSmall)
}

// Assigning constrained points jointly takes memory in each restart. Fewer restarts run at once where there is less,
// and a job that does not fit with one is refused.
func TestConstrainedPointsTakeTheCoordinatorsMemory(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	data, err := wire.SendDataset(t.Context(), h.datasets, "noise", noise(t, 1000, 2), wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	var links []string
	for i := range 999 {
		links = append(links, fmt.Sprintf("must %d %d", i, i+1))
	}
	s := &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: data.GetDatasetId()}, Clusters: &cleavev1.JobSpec_K{K: 20},
		Restarts:    8,
		Supervision: &cleavev1.Supervision{Constraints: constraintTable(links...)},
		Algorithm:   &cleavev1.JobSpec_HmrfKmeans{HmrfKmeans: &cleavev1.HmrfKmeans{}},
	}
	lanesWith := func(memory int64) (lanes int, needed int64, err error) {
		h.c.problems.MemoryBytes = memory
		ready, err := h.c.problems.Make(t.Context(), proto.CloneOf(s), runner.Accepted)
		if err != nil {
			return 0, 0, err
		}
		return ready.Need.Lanes, ready.CoordinatorBytes(), nil
	}
	lanes, needed, err := lanesWith(0)
	const costs = 8 * 1000 * 20
	if err != nil || lanes != 8 || needed < 8*2*costs || needed > 8*4*costs {
		t.Fatalf("%d restarts at once need %d bytes: %v", lanes, needed, err)
	}
	if lanes, needed, err = lanesWith(needed - 1); err != nil || lanes != 4 {
		t.Errorf("%d restarts at once need %d bytes: %v", lanes, needed, err)
	}
	if lanes, _, err = lanesWith(needed / 3); err != nil || lanes != 1 {
		t.Errorf("%d restarts at once: %v", lanes, err)
	}
	if _, _, err = lanesWith(int64(data.GetBytes()) + costs); !fault.Is(err, tooSmall) {
		t.Error(err)
	}
}

// A job that was accepted by a larger coordinator fails when a smaller one resumes it.
func TestASmallerCoordinatorResumesAJob(t *testing.T) {
	cfg := durableConfig(t)
	shown := make(chan struct{}, 1)
	before := newHarness(t, cfg, scripted(halfway(1, shown)))
	s, needed := before.spectralJob()
	id := before.create(s)
	within(t, shown, "the run")
	before.close()
	cfg.MemoryBytes = needed - 1
	after := newHarness(t, cfg, scripted(steps(1)))
	if job := after.end(id); job.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
		job.GetError().GetReason() != tooSmall {
		t.Errorf("the job is %v", job)
	}
}

// Jobs that run at once share the memory; one that has no room waits, and lets no other pass.
func TestJobsShareTheCoordinatorsMemory(t *testing.T) {
	probe := newHarness(t, testConfig(), scripted(steps(1)))
	ready, err := probe.c.problems.Make(t.Context(), spec(probe.upload()), runner.Accepted)
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	cfg.MemoryBytes = 2*ready.CoordinatorBytes() + 1
	g := newBarrier()
	h := newHarness(t, cfg, scripted(g.run))
	data := h.upload()
	ids := []string{h.create(spec(data)), h.create(spec(data)), h.create(spec(data)), h.create(spec(data))}
	within(t, g.entered, "the first run")
	within(t, g.entered, "the second run")
	for _, id := range ids[2:] {
		if job := h.job(id); job.GetState() != cleavev1.JobState_JOB_STATE_PENDING ||
			!strings.Contains(job.GetStatusMessage(), "of the coordinator's memory") {
			t.Errorf("a job without room is %v", job)
		}
	}
	if _, err := h.jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: ids[2]}); err != nil {
		t.Fatal(err)
	}
	if len(g.entered) != 0 {
		t.Error("three jobs run at once")
	}
	close(g.open)
	for _, id := range []string{ids[0], ids[1], ids[3]} {
		if job := h.end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
			t.Errorf("the job is %v", job)
		}
	}
}

// The parts of the memory are no more than all of it, and no data set is accepted that cannot be uploaded.
func TestMemoryIsDivided(t *testing.T) {
	for _, test := range []struct{ total, uploads, want int64 }{
		{6400 << 20, 0, 1600 << 20},
		{400 << 20, 0, 100 << 20},
		{400 << 20, 50 << 20, 50 << 20},
		{400 << 20, 1 << 30, 200 << 20},
	} {
		cfg := testConfig()
		cfg.SetMemory(test.total, test.uploads)
		cfg, err := cfg.withDefaults()
		if err == nil && cfg.UploadBytes != test.want {
			t.Errorf("%+v: uploads get %d bytes (%v)", test, cfg.UploadBytes, err)
		}
		if sum := cfg.MemoryBytes + cfg.UploadBytes + 7*cfg.CacheBytes/2; sum != test.total ||
			cfg.MemoryBytes < test.total/4 {
			t.Errorf("%+v: the parts are %d bytes, %d of them for jobs", test, sum, cfg.MemoryBytes)
		}
		if cfg.MaxDatasetBytes > (cfg.MemoryBytes+cfg.UploadBytes)/2 {
			t.Errorf("%+v: a data set may have %d bytes", test, cfg.MaxDatasetBytes)
		}
	}
}

// A large upload takes memory that no running job has reserved.
func TestALargeUploadTakesTheMemoryOfJobs(t *testing.T) {
	probe := newHarness(t, testConfig(), scripted(steps(1)))
	ready, err := probe.c.problems.Make(t.Context(), spec(probe.send("noise", noise(t, 1000, 1))), runner.Accepted)
	if err != nil {
		t.Fatal(err)
	}
	cfg := testConfig()
	cfg.MemoryBytes = ready.CoordinatorBytes() + 1000
	cfg.UploadBytes = 10_000
	g := newBarrier()
	h := newHarness(t, cfg, scripted(g.run))
	id := h.create(spec(h.send("noise", noise(t, 1000, 1)))) // takes 16,000 bytes while it is uploaded
	within(t, g.entered, "the job")
	_, err = h.beginUpload(1000, 1000).CloseAndRecv()
	wantError(t, err, codes.ResourceExhausted, "TOO_MANY_UPLOADS")
	close(g.open)
	h.end(id)
	if _, err = h.beginUpload(1000, 1000).CloseAndRecv(); err != nil {
		t.Errorf("after the job has ended: %v", err)
	}
}

// A prediction loads neither new nor old points that do not fit into memory.
func TestAPredictionThatTheCoordinatorHasNoMemoryFor(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	data := h.upload()
	point := h.points(7)
	s := spec(data)
	s.Algorithm = &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}
	job := h.create(s)
	h.end(job)
	h.c.problems.MemoryBytes = 40 // for one point, and not for four
	for _, fresh := range []string{point, data} {
		_, err := h.predict(job, fresh)
		wantError(t, err, codes.ResourceExhausted, "COORDINATOR_TOO_SMALL")
	}
}

// Calls and jobs together hold no more data than there is memory for, and give it back.
func TestCallsShareTheMemoryOfJobs(t *testing.T) {
	cfg := testConfig()
	cfg.MemoryBytes, cfg.Limits.SlowReader = 1<<20, 100*time.Millisecond
	cfg.CacheBytes = 0 // otherwise the data set is in memory already
	h := newHarness(t, cfg, scripted(steps(1)))
	data := h.upload()
	job := h.create(spec(data))
	h.end(job)
	service := h.c.jobService
	calls := map[string]func() error{
		"plan": func() error {
			_, err := service.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: spec(data)})
			return err
		},
		"create": func() error {
			created, err := service.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: spec(data)})
			if err == nil {
				h.end(created.GetJob().GetJobId())
			}
			return err
		},
		"predict": func() error {
			return h.c.results.Predict(t.Context(), &cleavev1.PredictJobRequest{JobId: job, DatasetId: data}, unsent)
		},
	}
	for name, call := range calls {
		all, err := h.c.memory.jobs.Reserve(t.Context(), cfg.MemoryBytes, time.Minute) // once everything is given back
		if err != nil {
			t.Fatalf("before %s: %v", name, err)
		}
		if err := call(); !fault.Is(err, "TOO_MANY_LARGE_CALLS") {
			t.Errorf("%s while jobs hold the memory: %v", name, err)
		}
		all.Release()
		if err := call(); fault.Is(err, "TOO_MANY_LARGE_CALLS") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
