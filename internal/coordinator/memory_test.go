package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

const tooSmall = "COORDINATOR_TOO_SMALL"

// spectralJob is a job that finds eigenvectors in the coordinator, and what it takes there.
func spectralJob(h *coordinatortest.Harness) (*cleavev1.JobSpec, int64) {
	h.T.Helper()
	d, err := wire.SendDataset(h.T.Context(), h.Datasets, "noise", coordinatortest.Noise(h.T, 1000, 2),
		wire.UploadStart{})
	if err != nil {
		h.T.Fatal(err)
	}
	s := &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: d.GetDatasetId()},
		Clusters: &cleavev1.JobSpec_K{K: 20}, Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}}
	ready, err := h.Coordinator.Problems().Make(h.T.Context(), s, runner.Accepted)
	if err != nil {
		h.T.Fatal(err)
	}
	return s, ready.CoordinatorBytes()
}

// A job is refused if its data set, or that and what its algorithm takes, is more than the coordinator has.
func TestAJobThatTheCoordinatorHasNoMemoryFor(t *testing.T) {
	_, needed := spectralJob(coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1)))
	cfg := coordinatortest.Config()
	cfg.MemoryBytes = needed - 1
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	data, err := wire.SendDataset(t.Context(), h.Datasets, "noise", coordinatortest.Noise(t, 1000, 2),
		wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	s := &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: data.GetDatasetId()},
		Clusters: &cleavev1.JobSpec_K{K: 20}, Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}}
	_, err = h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s})
	coordinatortest.WantError(t, err, codes.ResourceExhausted, tooSmall)
	if !strings.Contains(err.Error(), "start the coordinator with more --memory") ||
		!strings.Contains(err.Error(), "for the data set and") {
		t.Errorf("it says %v", err)
	}
	_, err = h.Jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: s})
	coordinatortest.WantError(t, err, codes.ResourceExhausted, tooSmall)
	// By these the coordinator has the data set alone.
	s.Algorithm = &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}
	s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM}
	h.WantSuccess(h.Create(s))

	cfg.MemoryBytes = int64(data.GetBytes()) - 1
	h = coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	if _, err = wire.SendDataset(t.Context(), h.Datasets, "noise", coordinatortest.Noise(t, 1000, 2),
		wire.UploadStart{}); err != nil {
		t.Fatal(err)
	}
	_, err = h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s})
	coordinatortest.WantError(t, err, codes.ResourceExhausted, tooSmall)
}

// Assigning constrained points jointly takes memory in each restart. Fewer restarts run at once where there is less,
// and a job that does not fit with one is refused.
func TestConstrainedPointsTakeTheCoordinatorsMemory(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	data, err := wire.SendDataset(t.Context(), h.Datasets, "noise", coordinatortest.Noise(t, 1000, 2),
		wire.UploadStart{})
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
		Supervision: &cleavev1.Supervision{Constraints: coordinatortest.Constraints(links...)},
		Algorithm:   &cleavev1.JobSpec_HmrfKmeans{HmrfKmeans: &cleavev1.HmrfKmeans{}},
	}
	lanesWith := func(memory int64) (lanes int, needed int64, err error) {
		problems := *h.Coordinator.Problems()
		problems.MemoryBytes = memory
		ready, err := problems.Make(t.Context(), proto.CloneOf(s), runner.Accepted)
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
	cfg := coordinatortest.DurableConfig(t)
	shown := make(chan struct{}, 1)
	before := coordinatortest.StartScripted(t, cfg, coordinatortest.Halfway(1, shown))
	s, needed := spectralJob(before)
	id := before.Create(s)
	coordinatortest.Within(t, shown, "the run")
	before.Close()
	cfg.MemoryBytes = needed - 1
	after := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	if job := after.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_FAILED ||
		job.GetError().GetReason() != tooSmall {
		t.Errorf("the job is %v", job)
	}
}

// Jobs that run at once share the memory; one that has no room waits, and lets no other pass.
func TestJobsShareTheCoordinatorsMemory(t *testing.T) {
	probe := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	ready, err := probe.Coordinator.Problems().Make(t.Context(), coordinatortest.Spec(probe.Upload()), runner.Accepted)
	if err != nil {
		t.Fatal(err)
	}
	cfg := coordinatortest.Config()
	cfg.MemoryBytes = 2*ready.CoordinatorBytes() + 1
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	data := h.Upload()
	var ids []string
	for range 4 {
		ids = append(ids, h.Create(coordinatortest.Spec(data)))
	}
	coordinatortest.Within(t, g.Entered, "the first run")
	coordinatortest.Within(t, g.Entered, "the second run")
	for _, id := range ids[2:] {
		if job := h.Job(id); job.GetState() != cleavev1.JobState_JOB_STATE_PENDING ||
			!strings.Contains(job.GetStatusMessage(), "of the coordinator's memory") {
			t.Errorf("a job without room is %v", job)
		}
	}
	if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: ids[2]}); err != nil {
		t.Fatal(err)
	}
	if len(g.Entered) != 0 {
		t.Error("three jobs run at once")
	}
	close(g.Open)
	for _, id := range []string{ids[0], ids[1], ids[3]} {
		h.WantSuccess(id)
	}
}

// Uploads get what they are to have, and no data set is accepted that cannot be uploaded.
func TestMemoryForUploads(t *testing.T) {
	for _, test := range []struct{ total, uploads, want int64 }{
		{6400 << 20, 0, 1600 << 20},
		{400 << 20, 0, 100 << 20},
		{400 << 20, 50 << 20, 50 << 20},
		{400 << 20, 1 << 30, 200 << 20},
	} {
		cfg := coordinatortest.Config()
		cfg.SetMemory(test.total, test.uploads)
		cfg, err := cfg.WithDefaults()
		if err == nil && cfg.UploadBytes != test.want {
			t.Errorf("%+v: uploads get %d bytes (%v)", test, cfg.UploadBytes, err)
		}
		if cfg.MaxDatasetBytes > (cfg.MemoryBytes+cfg.UploadBytes)/2 {
			t.Errorf("%+v: a data set may have %d bytes", test, cfg.MaxDatasetBytes)
		}
	}
}

// A large upload takes memory that no running job has reserved.
func TestALargeUploadTakesTheMemoryOfJobs(t *testing.T) {
	probe := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	noise := coordinatortest.Spec(probe.Send("noise", coordinatortest.Noise(t, 1000, 1)))
	ready, err := probe.Coordinator.Problems().Make(t.Context(), noise, runner.Accepted)
	if err != nil {
		t.Fatal(err)
	}
	cfg := coordinatortest.Config()
	cfg.MemoryBytes = ready.CoordinatorBytes() + 1000
	cfg.UploadBytes = 10_000
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	id := h.Create(coordinatortest.Spec(h.Send("noise", coordinatortest.Noise(t, 1000,
		1)))) // takes 16,000 bytes while it is uploaded
	coordinatortest.Within(t, g.Entered, "the job")
	_, err = h.BeginUpload(1000, 1000).CloseAndRecv()
	coordinatortest.WantError(t, err, codes.ResourceExhausted, "TOO_MANY_UPLOADS")
	close(g.Open)
	h.End(id)
	if _, err = h.BeginUpload(1000, 1000).CloseAndRecv(); err != nil {
		t.Errorf("after the job has ended: %v", err)
	}
}

// A prediction loads neither new nor old points that do not fit into memory.
func TestAPredictionThatTheCoordinatorHasNoMemoryFor(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	data := h.Upload()
	point := h.Points(7)
	s := coordinatortest.Spec(data)
	s.Algorithm = &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}
	job := h.Create(s)
	h.End(job)
	problems := *h.Coordinator.Problems()
	problems.MemoryBytes = 40 // for one point, and not for four
	d := h.Coordinator.ForResults()
	d.Problems = &problems
	service := results.New(d)
	for _, fresh := range []string{point, data} {
		err := service.Predict(t.Context(), &cleavev1.PredictJobRequest{JobId: job, DatasetId: fresh}, unsent)
		coordinatortest.WantError(t, wire.Status(err), codes.ResourceExhausted, tooSmall)
	}
}

// Calls and jobs together hold no more data than there is memory for, and give it back.
func TestCallsShareTheMemoryOfJobs(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MemoryBytes, cfg.Limits.SlowReader = 1<<20, 100*time.Millisecond
	cfg.CacheBytes = 0 // otherwise the data set is in memory already
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	data := h.Upload()
	job := h.Create(coordinatortest.Spec(data))
	h.End(job)
	calls := map[string]func() error{
		"plan": func() error {
			_, err := h.Jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: coordinatortest.Spec(data)})
			return err
		},
		"create": func() error {
			created, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(data)})
			if err == nil {
				h.End(created.GetJob().GetJobId())
			}
			return err
		},
		"predict": func() error {
			_, err := predict(h, job, data)
			return err
		},
	}
	for name, call := range calls {
		all, err := h.Coordinator.JobMemory().Reserve(t.Context(), cfg.MemoryBytes,
			time.Minute) // once everything is given back
		if err != nil {
			t.Fatalf("before %s: %v", name, err)
		}
		if err := call(); coordinatortest.Reason(err) != "TOO_MANY_LARGE_CALLS" {
			t.Errorf("%s while jobs hold the memory: %v", name, err)
		}
		all.Release()
		if err := call(); coordinatortest.Reason(err) == "TOO_MANY_LARGE_CALLS" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
