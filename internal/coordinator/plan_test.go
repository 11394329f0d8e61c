package coordinator_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
	"github.com/cleave-project/cleave/test/tabletest"
)

const (
	whatFits = cleavev1.StorageMode_STORAGE_MODE_UNSPECIFIED
	float32  = cleavev1.StorageMode_STORAGE_MODE_FLOAT32
	none     = cleavev1.StorageMode_STORAGE_MODE_NONE
)

// noiseJob uploads 300 points, which make 19 tiles, and returns a job on them and what it needs.
func noiseJob(h *coordinatortest.Harness, storage cleavev1.StorageMode) (*cleavev1.JobSpec, planning.Workload) {
	h.T.Helper()
	d, err := wire.SendDataset(h.T.Context(), h.Datasets, "noise", coordinatortest.Noise(h.T, 300, 3),
		wire.UploadStart{})
	if err != nil {
		h.T.Fatal(err)
	}
	s := coordinatortest.Spec(d.GetDatasetId())
	s.Clusters = &cleavev1.JobSpec_K{K: 4}
	s.Storage = storage
	s.PaperSettings = true // one run, without eigenvectors
	ready, err := h.Coordinator.Problems().Make(h.T.Context(), s, runner.Accepted)
	if err != nil {
		h.T.Fatal(err)
	}
	return s, ready.Need
}

// memoryFor is the memory by which a worker with one thread stores this many tiles.
func memoryFor(need planning.Workload, tiles int64) uint64 {
	return uint64(max(need.MinFreeBytes(1), need.FixedBytes(1)+tiles*need.TileSize(0).Stored))
}

func plan(h *coordinatortest.Harness, s *cleavev1.JobSpec) (*cleavev1.Plan, error) {
	response, err := h.Jobs.PlanJob(h.T.Context(), &cleavev1.PlanJobRequest{Spec: s})
	return response.GetPlan(), err
}

func TestPlanJob(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	s, need := noiseJob(h, whatFits)
	_, err := plan(h, s)
	coordinatortest.WantError(t, err, codes.FailedPrecondition, "NO_WORKERS")
	defer h.StartWorkerWith("ann", memoryFor(need, 8))()
	defer h.StartWorkerWith("bob", memoryFor(need, 8))()
	if err := h.Coordinator.AwaitWorkers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		storage          cleavev1.StorageMode
		stored, computed int
		name             string
	}{{whatFits, 15, 4, "float32+none"}, {none, 0, 19, "none"}} {
		s.Storage = c.storage
		p, err := plan(h, s)
		if err != nil {
			t.Fatal(err)
		}
		if int(p.GetStoredTiles()) != c.stored || int(p.GetComputedTiles()) != c.computed ||
			wire.PlanStorageName(p.GetStorage()) != c.name ||
			p.GetTiles() != 19 || p.GetTileRows() != 16 || p.GetWorkers() != 2 || p.GetGridExponent() == 0 {
			t.Errorf("storage %v is planned as %v", c.storage, p)
		}
		if p.GetPasses() < 2 || p.GetPredictedTime().AsDuration() <= 0 || p.GetExplanation() == "" ||
			p.GetBytes() == 0 {
			t.Errorf("storage %v is planned as %v", c.storage, p)
		}
		for at, share := range p.GetShares() {
			if share.GetName() != []string{"ann", "bob"}[at] || share.GetThreads() != 1 ||
				share.GetBytes() > share.GetMemoryBytes() {
				t.Errorf("share %v", share)
			}
		}
	}
	s.Storage = float32
	_, err = plan(h, s)
	coordinatortest.WantError(t, err, codes.ResourceExhausted, "PLAN_DOES_NOT_FIT")
	for _, part := range []string{"needs", "are free on 2 workers", "storage auto (or none)", "1 more worker"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	// A job that does not fit fails for the same reason.
	job := h.End(h.Create(s))
	if job.GetError().GetReason() != "PLAN_DOES_NOT_FIT" ||
		codes.Code(job.GetError().GetCode()) != codes.ResourceExhausted {
		t.Errorf("the job is %v", job)
	}
	_, err = h.Jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{})
	coordinatortest.WantError(t, err, codes.InvalidArgument, "FIELD_REQUIRED")
	s.Clusters = &cleavev1.JobSpec_K{K: 0}
	_, err = plan(h, s)
	coordinatortest.WantError(t, err, codes.InvalidArgument, "BAD_K")
}

// However the tiles are held, the answer is that of a local run, and the result says how they were held.
func TestStorageIsAsPlannedAndChangesNothing(t *testing.T) {
	points := coordinatortest.Noise(t, 300, 3)
	for _, c := range []struct {
		name    string
		storage cleavev1.StorageMode
		tiles   int64 // stored ones that fit on each worker
		want    string
	}{
		{"float32", float32, 19, "float32"},
		{"none", none, 19, "none"},
		{"auto, plenty", whatFits, 19, "float32"},
		{"auto, little", whatFits, 4, "float32+none"},
		{"auto, none", whatFits, 0, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := coordinatortest.Start(t, coordinatortest.Config())
			s, need := noiseJob(h, c.storage)
			want := coordinatortest.Local(t, points, s)
			for _, name := range []string{"ann", "bob"} {
				defer h.StartWorkerWith(name,
					max(memoryFor(need, c.tiles), uint64(need.FixedBytes(1)+10*need.TileSize(0).Computed)))()
			}
			if err := h.Coordinator.AwaitWorkers(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			id := h.Create(s)
			if job := h.End(id); job.GetObjective() != want.Objective {
				t.Fatalf("the job is %v, its objective should be %v", job, want.Objective)
			}
			if got := h.Labels(id); !slices.Equal(got, wire.LabelsProto(want.Labels)) {
				t.Error("the labels differ from those of a local run")
			}
			response, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
			if err != nil {
				t.Fatal(err)
			}
			p := response.GetResult().GetPlan()
			if wire.PlanStorageName(p.GetStorage()) != c.want || p.GetStoredTiles()+p.GetComputedTiles() != 19 ||
				p.GetBytes() == 0 || len(p.GetShares()) != 2 ||
				(p.GetTileBytes() > 0) != (p.GetStoredTiles() > 0) {
				t.Errorf("it was held as %v", p)
			}
		})
	}
}

func TestStorageThatDoesNotApply(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	graph, err := dataset.NewGraph(3, []dataset.Edge{{Source: 0, Target: 1, Weight: 1},
		{Source: 1, Target: 2, Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	given, err := dataset.NewKernel(2, 2, []float64{1, 0.5, 0.5, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []dataset.Dataset{graph, given} {
		d, err := wire.SendDataset(t.Context(), h.Datasets, "", data, wire.UploadStart{})
		if err != nil {
			t.Fatal(err)
		}
		s := coordinatortest.Spec(d.GetDatasetId())
		s.Storage = none
		_, err = h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s})
		coordinatortest.WantError(t, err, codes.InvalidArgument, "OPTION_DOES_NOT_APPLY")
		_, err = plan(h, s)
		coordinatortest.WantError(t, err, codes.InvalidArgument, "OPTION_DOES_NOT_APPLY")
		for _, storage := range []cleavev1.StorageMode{whatFits, float32} {
			s.Storage = storage
			if _, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s}); err != nil {
				t.Errorf("storage %v on a %v: %v", storage, data.Kind(), err)
			}
		}
	}
}

// A job of auto counts the rows in both units, the search for neighbors, and the graph and eigenvectors in the
// coordinator. It is refused if a part does not fit, before anything is done.
func TestPlansOfAuto(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	s, _ := noiseJob(h, whatFits)
	s.PaperSettings = false
	s.Algorithm = &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}
	ready, err := h.Coordinator.Problems().Make(t.Context(), s, runner.Accepted)
	if err != nil {
		t.Fatal(err)
	}
	if parts := ready.Parts(); len(parts) != 2 || parts[0].Vectors == nil || parts[1].Neighbors == nil ||
		parts[1].CoordinatorBytes() == 0 {
		t.Errorf("without constraints: %+v", parts)
	}
	s.Supervision = &cleavev1.Supervision{
		Constraints: wire.InlineTable(
			tabletest.Constraints([]constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink}}))}
	if ready, err = h.Coordinator.Problems().Make(t.Context(), s, runner.Accepted); err != nil {
		t.Fatal(err)
	}
	parts := ready.Parts()
	if len(parts) != 4 || parts[0].Scaled == parts[2].Scaled || parts[1].Scaled == parts[3].Scaled {
		t.Errorf("with constraints: %+v", parts)
	}
	stop := h.StartWorkerWith("large", 1<<30)
	if err := h.Coordinator.AwaitWorkers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	planned, err := plan(h, s)
	if err != nil || planned.GetCoordinatorBytes() == 0 ||
		!strings.Contains(planned.GetExplanation(), "for the search for neighbors and") {
		t.Errorf("%v, %v", planned, err)
	}
	stop()
	workers := h.Coordinator.Fleet()
	for changed := workers.Changed(); len(workers.Workers()) > 0; changed = workers.Changed() {
		coordinatortest.Within(t, changed, "the end of the session")
	}
	defer h.StartWorkerWith("small", uint64(parts[1].MinFreeBytes(1)-1))()
	if err := h.Coordinator.AwaitWorkers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	_, err = plan(h, s)
	coordinatortest.WantError(t, err, codes.ResourceExhausted, planning.DoesNotFit)
}
