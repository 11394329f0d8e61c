package runner_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
	"github.com/cleave-project/cleave/test/testscale"
)

// groupGraph is a graph of three groups, vertex i in group i mod 3.
func groupGraph(t *testing.T, n int) *dataset.Graph {
	t.Helper()
	var edges []dataset.Edge
	for i := range int32(n - 1) {
		edges = append(edges, dataset.Edge{Source: i, Target: i + 1, Weight: 0.2})
		for _, step := range []int32{3, 6, 12, 27} {
			if i+step < int32(n) {
				edges = append(edges, dataset.Edge{Source: i, Target: i + step, Weight: 1})
			}
		}
	}
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Jobs with a range of k have the answer of a run in one process, on 1 and 3 workers, in a long run on 2 too, and
// labels for every k.
func TestRangesOnWorkers(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	points := coordinatortest.Groups(t, 90)
	graph := groupGraph(t, 60)
	var pairs []string
	for i := range 57 {
		pairs = append(pairs, fmt.Sprintf("must %d %d", i, i+3), fmt.Sprintf("cannot %d %d", i, i+1))
	}
	constrained := &cleavev1.Supervision{Constraints: coordinatortest.Constraints(pairs...)}
	jobs := map[string]struct {
		data dataset.Dataset
		spec *cleavev1.JobSpec
	}{
		"auto": {points, &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Auto{Auto: &cleavev1.Auto{}}}},
		"k-means": {points,
			&cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}}},
		"kernel k-means": {points,
			&cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_KernelKmeans{KernelKmeans: &cleavev1.KernelKmeans{}},
				Supervision: constrained}},
		"spectral": {graph,
			&cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}}}},
		"spectral learning": {graph,
			&cleavev1.JobSpec{
				Algorithm:   &cleavev1.JobSpec_SpectralLearning{SpectralLearning: &cleavev1.SpectralLearning{}},
				Supervision: constrained}},
		"constrained spectral": {graph,
			&cleavev1.JobSpec{
				Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{
					ConstrainedSpectral: &cleavev1.ConstrainedSpectral{}},
				Supervision: constrained}},
		"neighbors": {points, &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}},
			NeighborGraph: &cleavev1.NeighborGraph{Neighbors: new(uint32(8))}}},
	}
	names := testscale.Some(slices.Sorted(maps.Keys(jobs)), 4)
	want := map[string]*clustering.Result{}
	for _, name := range names {
		c := jobs[name]
		c.spec.Clusters = &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: 2, Max: 4}}
		c.spec.Restarts = 2
		if c.data == graph || c.spec.GetNeighborGraph() != nil {
			c.spec.Restarts = 0 // which eigenvectors have none of
		}
		c.spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: h.Send(name, c.data)}
		want[name] = coordinatortest.Local(t, c.data, c.spec)
	}
	for workers := range 3 {
		defer h.StartWorker(fmt.Sprint("worker ", workers))()
		if workers < 2 && !testscale.Long {
			continue
		}
		for _, name := range names {
			checkRange(t, h, fmt.Sprintf("%s, %d workers", name, workers+1), jobs[name].spec, want[name])
		}
	}
}

// checkRange runs a job and compares it with its local answer, which proposes 3 unless the groups are too small to be
// cut.
func checkRange(t *testing.T, h *coordinatortest.Harness, name string, s *cleavev1.JobSpec, want *clustering.Result) {
	t.Helper()
	if want.KSelection.Proposed != 3 && s.GetSpectral() == nil {
		t.Errorf("%s: %d is proposed: %s", name, want.KSelection.Proposed, want.KSelection.Reason)
	}
	id := h.Create(s)
	if job := h.End(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("%s: %v", name, job)
	}
	response, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	if err != nil {
		t.Fatal(err)
	}
	got := response.GetResult()
	if len(got.GetPlan().GetShares()) == 0 {
		t.Errorf("%s: the plan is %v", name, got.GetPlan())
	}
	if int(got.GetK()) != want.KSelection.Proposed || got.GetKSelection().GetReason() != want.KSelection.Reason ||
		!slices.Equal(h.Labels(id), wire.LabelsProto(want.Labels)) {
		t.Errorf("%s: %v", name, got.GetKSelection())
	}
	same := func(a, b *float64) bool {
		return (a == nil) == (b == nil) && (a == nil || math.Float64bits(*a) == math.Float64bits(*b))
	}
	for at, s := range got.GetKSelection().GetScores() {
		own := want.KSelection.Scores[at]
		if !same(s.Stability, own.Stability) || !same(s.Silhouette, own.Silhouette) ||
			!same(s.Agreement, own.Agreement) || !same(s.Modularity, own.Modularity) {
			t.Errorf("%s: k = %d has the scores %v, want %+v", name, s.GetK(), s, own)
		}
		labels, err := labelsOf(h, id, s.GetK())
		if err != nil || !slices.Equal(labels, wire.LabelsProto(want.KSelection.Labels[at])) {
			t.Errorf("%s: other labels for k = %d, %v", name, s.GetK(), err)
		}
	}
	if _, err := labelsOf(h, id, 6); !fault.Is(wire.Fault(err), "NO_SUCH_K") {
		t.Errorf("%s: labels for k = 6: %v", name, err)
	}
}

// labelsOf are the labels of a job for one k.
func labelsOf(h *coordinatortest.Harness, id string, k uint32) (labels []uint32, err error) {
	stream, err := h.Jobs.GetLabels(h.T.Context(), &cleavev1.GetLabelsRequest{JobId: id, K: k})
	if err != nil {
		return nil, err
	}
	return labels, wire.Receive(stream.Recv, func(part *cleavev1.GetLabelsResponse) error {
		labels = append(labels, part.GetLabels()...)
		return nil
	})
}

// Ranges that cannot be run are refused when the job is created.
func TestRangesThatAreRefused(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	id := h.Send("groups", coordinatortest.Groups(t, 30))
	for name, change := range map[string]func(s *cleavev1.JobSpec){
		"from 1":    func(s *cleavev1.JobSpec) { s.GetKRange().Min = 1 },
		"backwards": func(s *cleavev1.JobSpec) { s.GetKRange().Min = 6 },
		"one":       func(s *cleavev1.JobSpec) { s.GetKRange().Min = 5 },
		"beyond n":  func(s *cleavev1.JobSpec) { s.GetKRange().Max = 31 },
		"too many":  func(s *cleavev1.JobSpec) { s.GetKRange().Max = 90 },
		"seeds": func(s *cleavev1.JobSpec) {
			s.Supervision = &cleavev1.Supervision{Seeds: coordinatortest.Seeds([2]int32{0, 0}, [2]int32{1, 1},
				[2]int32{2, 2})}
		},
	} {
		s := &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: id},
			Clusters: &cleavev1.JobSpec_KRange{KRange: &cleavev1.KRange{Min: 2, Max: 5}}}
		change(s)
		_, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s})
		if err = wire.Fault(err); !fault.Is(err, "BAD_K") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
