package runner_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// Jobs of the spectral family on real workers end with the labels, objective and embedding of a local run.
func TestSpectralOnRealWorkersGivesTheLocalAnswer(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	points := coordinatortest.Noise(t, 200, 3)
	// Two rings that are not connected, so that components can be joined.
	var edges []dataset.Edge
	for i := range int32(100) {
		edges = append(edges, dataset.Edge{Source: i, Target: (i + 1) % 100, Weight: 1},
			dataset.Edge{Source: 100 + i, Target: 100 + (i+1)%100, Weight: 2})
	}
	rings, err := dataset.NewGraph(200, edges)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ann", "bob"} {
		defer h.StartWorker(name)()
	}
	if err := h.Coordinator.AwaitWorkers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	supervision := &cleavev1.Supervision{Constraints: coordinatortest.Constraints("must 0 7", "must 3 9", "cannot 7 9",
		"cannot 100 50")}
	for name, c := range map[string]struct {
		data dataset.Dataset
		spec *cleavev1.JobSpec
	}{
		"spectral": {points, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, Supervision: supervision,
			Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}}},
		"spectral-learning": {points, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3}, Supervision: supervision,
			Algorithm: &cleavev1.JobSpec_SpectralLearning{}}},
		"constrained": {points, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 2}, Supervision: supervision,
			Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{}}},
		"joined": {rings, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 2}, Supervision: supervision,
			Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{
				ConstrainedSpectral: &cleavev1.ConstrainedSpectral{
					Components: cleavev1.ComponentPolicy_COMPONENT_POLICY_JOIN}}}},
		"start": {points, &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3},
			Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_SPECTRAL},
			Algorithm:      &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}}}},
	} {
		d, err := wire.SendDataset(t.Context(), h.Datasets, name, c.data, wire.UploadStart{})
		if err != nil {
			t.Fatal(err)
		}
		c.spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: d.GetDatasetId()}
		c.spec.Seed = 5
		want := coordinatortest.Local(t, c.data, c.spec)
		id := h.Create(c.spec)
		job := h.End(id)
		if job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED ||
			math.Float64bits(job.GetObjective()) != math.Float64bits(want.Objective) ||
			job.GetObjectiveName() != want.ObjectiveName {
			t.Fatalf("%s: the job is %v, its objective should be %v", name, job, want.Objective)
		}
		if !slices.Equal(h.Labels(id), wire.LabelsProto(want.Labels)) {
			t.Errorf("%s: the labels differ from those of a local run", name)
		}
		if want.Spectral.Embedding == nil {
			continue
		}
		if got, err := h.Embedding(id); err != nil || !reflect.DeepEqual(got, want.Spectral.Embedding) {
			t.Errorf("%s: the embedding differs from that of a local run (%v)", name, err)
		}
		stream, err := h.Jobs.PredictJob(t.Context(), &cleavev1.PredictJobRequest{JobId: id,
			DatasetId: c.spec.GetDatasetId()})
		if err == nil {
			_, err = stream.Recv()
		}
		coordinatortest.WantError(t, err, codes.FailedPrecondition, "JOB_HAS_NO_MODEL")
	}
}
