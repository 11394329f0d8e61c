package coordinator_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// vectorSpecs are a job of every algorithm of the k-means family.
func vectorSpecs(dataset string) map[string]*cleavev1.JobSpec {
	seeds := coordinatortest.Seeds([2]int32{1, 0}, [2]int32{20, 1}, [2]int32{30, 2}, [2]int32{41, 3}, [2]int32{77, 3})
	constraints := coordinatortest.Constraints("must 0 7", "must 3 9", "cannot 7 9", "cannot 100 200")
	specs := map[string]*cleavev1.JobSpec{
		"kmeans": {Restarts: 3, Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}},
		"spherical": {
			Algorithm: &cleavev1.JobSpec_Kmeans{
				Kmeans: &cleavev1.Kmeans{Geometry: cleavev1.Geometry_GEOMETRY_SPHERICAL}}},
		"seeded-kmeans": {Supervision: &cleavev1.Supervision{Seeds: seeds},
			Algorithm: &cleavev1.JobSpec_SeededKmeans{SeededKmeans: &cleavev1.SeededKmeans{}}},
		"constrained-kmeans": {Supervision: &cleavev1.Supervision{Seeds: seeds},
			Algorithm: &cleavev1.JobSpec_ConstrainedKmeans{ConstrainedKmeans: &cleavev1.ConstrainedKmeans{}}},
		"cop-kmeans": {Supervision: &cleavev1.Supervision{Constraints: constraints},
			Algorithm: &cleavev1.JobSpec_CopKmeans{CopKmeans: &cleavev1.CopKmeans{}}},
		"pc-kmeans": {Supervision: &cleavev1.Supervision{Constraints: constraints},
			Algorithm: &cleavev1.JobSpec_PcKmeans{PcKmeans: &cleavev1.PcKmeans{}}},
		"m-kmeans": {Algorithm: &cleavev1.JobSpec_MKmeans{MKmeans: &cleavev1.MKmeans{}}},
		"mpc-kmeans": {Supervision: &cleavev1.Supervision{Constraints: constraints},
			Algorithm: &cleavev1.JobSpec_MpcKmeans{
				MpcKmeans: &cleavev1.MpcKmeans{Metric: cleavev1.Metric_METRIC_FULL}}},
		"hmrf-kmeans": {Supervision: &cleavev1.Supervision{Constraints: constraints},
			Algorithm: &cleavev1.JobSpec_HmrfKmeans{HmrfKmeans: &cleavev1.HmrfKmeans{}}},
	}
	for _, s := range specs {
		s.Data = &cleavev1.JobSpec_DatasetId{DatasetId: dataset}
		s.Clusters = &cleavev1.JobSpec_K{K: 4}
		s.Seed = 5
	}
	return specs
}

// Jobs of the k-means family on real workers end with the labels, objective and model of a local run.
func TestVectorsOnRealWorkersGiveTheLocalAnswer(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	points := coordinatortest.Noise(t, 300, 3)
	d, err := wire.SendDataset(t.Context(), h.Datasets, "noise", points, wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "bob"} {
		defer h.StartWorker(name)()
	}
	if err := h.Coordinator.AwaitWorkers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	for name, s := range vectorSpecs(d.GetDatasetId()) {
		want := coordinatortest.Local(t, points, s)
		id := h.Create(s)
		job := h.End(id)
		if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED ||
			math.Float64bits(job.GetObjective()) != math.Float64bits(want.Objective) ||
			job.GetObjectiveName() != want.ObjectiveName {
			t.Fatalf("%s: the job is %v, its objective should be %v", name, job, want.Objective)
		}
		if !slices.Equal(h.Labels(id), wire.LabelsProto(want.Labels)) {
			t.Errorf("%s: the labels differ from those of a local run", name)
		}
		if got, err := modelOf(h, id); err != nil || !slices.Equal(got.Centroids, want.Model.Centroids) ||
			!reflect.DeepEqual(got.Metric.Values(), want.Model.Metric.Values()) {
			t.Errorf("%s: the model is %v, want %v: %v", name, got, want.Model, err)
		}
		response, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
		if err != nil {
			t.Fatal(err)
		}
		if got, history := response.GetResult().GetHistory(),
			wire.ResultProto(want).GetHistory(); len(got) != len(history) || got[0].String() != history[0].String() {
			t.Errorf("%s: the history is %v, want %v", name, got, history)
		}
		p := response.GetResult().GetPlan()
		if p.GetStorage() != cleavev1.PlanStorage_PLAN_STORAGE_VECTORS || p.GetStoredTiles() != 19 ||
			p.GetTiles() != 19 || p.GetComputedTiles() != 0 || p.GetWorkers() != 2 || p.GetTileBytes() < 300*3*8 {
			t.Errorf("%s: it was held as %v", name, p)
		}
	}
}

func TestPlanJobOfVectors(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	points, err := dataset.NewSparsePoints(40, 7, oneEntryPerRow(40), make([]int32, 40),
		slices.Repeat([]float64{2}, 40))
	if err != nil {
		t.Fatal(err)
	}
	d, err := wire.SendDataset(t.Context(), h.Datasets, "sparse", points, wire.UploadStart{})
	if err != nil {
		t.Fatal(err)
	}
	s := vectorSpecs(d.GetDatasetId())["kmeans"]
	ready, err := h.Coordinator.Problems().Make(t.Context(), s, runner.Accepted)
	if err != nil {
		t.Fatal(err)
	}
	alone := ready.Need
	alone.Lanes = 1
	stopSmall := h.StartWorkerWith("ann", memoryFor(alone, 1))
	if err := h.Coordinator.AwaitWorkers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	_, err = plan(h, s)
	coordinatortest.WantError(t, err, codes.ResourceExhausted, "PLAN_DOES_NOT_FIT")
	if job := h.End(h.Create(s)); job.GetError().GetReason() != "PLAN_DOES_NOT_FIT" {
		t.Errorf("the job is %v", job)
	}
	defer h.StartWorkerWith("bob", memoryFor(alone, 3))()
	if err := h.Coordinator.AwaitWorkers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	p, err := plan(h, s)
	if err != nil || p.GetStorage() != cleavev1.PlanStorage_PLAN_STORAGE_SPARSE_VECTORS || p.GetStoredTiles() != 3 ||
		p.GetPasses() < 3 || p.GetPredictedTime().AsDuration() <= 0 || p.GetExplanation() == "" {
		t.Errorf("planned is %v, %v", p, err)
	}
	for _, share := range p.GetShares() {
		if share.GetBytes() > share.GetMemoryBytes() {
			t.Errorf("share %v", share)
		}
	}
	stopSmall()
	// A seed that is not in the data is refused before anything runs.
	s = vectorSpecs(d.GetDatasetId())["seeded-kmeans"]
	s.Supervision.Seeds = coordinatortest.Seeds(
		[2]int32{40, 0}, [2]int32{20, 1}, [2]int32{30, 2}, [2]int32{41, 3}, [2]int32{77, 3})
	_, err = h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s})
	if err == nil || coordinatortest.Reason(err) == "" {
		t.Errorf("a seed beyond the last row: %v", err)
	}
}

// oneEntryPerRow are the row starts of a sparse matrix with one entry in each row.
func oneEntryPerRow(rows int) []int64 {
	list := make([]int64, rows+1)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}
