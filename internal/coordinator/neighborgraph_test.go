package coordinator_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
	"github.com/cleave-project/cleave/test/tabletest"
)

func neighborGraph(h *coordinatortest.Harness, job string) (*dataset.Graph, error) {
	stream, err := h.Jobs.GetNeighborGraph(h.T.Context(), &cleavev1.GetNeighborGraphRequest{JobId: job})
	if err != nil {
		h.T.Fatal(err)
	}
	return wire.ReceiveNeighborGraph(stream.Recv)
}

// gaussianPoints uploads 120 points in three groups, the second column in other units.
func gaussianPoints(h *coordinatortest.Harness) (string, *dataset.Points) {
	h.T.Helper()
	points, _, err := synth.Gaussians(120, 8, 3, 0.3, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		h.T.Fatal(err)
	}
	for i := range points.N {
		points.Row(i)[1] *= 1e4
	}
	return h.Send("points", points), points
}

func neighborSpec(dataset string, neighbors uint32) *cleavev1.JobSpec {
	return &cleavev1.JobSpec{
		Data: &cleavev1.JobSpec_DatasetId{DatasetId: dataset}, Clusters: &cleavev1.JobSpec_K{K: 3},
		NeighborGraph: &cleavev1.NeighborGraph{Neighbors: &neighbors},
		Algorithm:     &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}},
	}
}

// The graph that a job makes can be fetched and used again, its points find their labels, and it goes with the job.
func TestNeighborGraph(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	defer h.StartWorker("a")()
	defer h.StartWorker("b")()
	if err := h.Coordinator.AwaitWorkers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	id, points := gaussianPoints(h)
	s := neighborSpec(id, 6)
	job := h.Create(s)
	if ended := h.End(job); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("ended with %v", ended)
	}
	plan, err := plan(h, s) // with the workers that the job had
	if err != nil || !strings.Contains(plan.GetExplanation(), "step 1, nearest neighbors") ||
		plan.GetCoordinatorBytes() == 0 {
		t.Errorf("planned as %v, %v", plan, err)
	}
	response, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: job})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := neighborGraph(h, job)
	if err != nil {
		t.Fatal(err)
	}
	want := &cleavev1.NeighborGraphReport{Neighbors: 6, Weights: cleavev1.NeighborWeights_NEIGHBOR_WEIGHTS_UNWEIGHTED,
		Edges: uint64(len(graph.Column) / 2)}
	result := response.GetResult()
	if !proto.Equal(result.GetNeighborGraph(), want) || result.GetScale() != cleavev1.Scale_SCALE_ZSCORE ||
		result.GetWarnings()[0].GetReason() != "COLUMNS_STANDARDIZED" {
		t.Errorf("the result is %v", result)
	}
	if bytes := uint64(dataset.EncodedSize(graph)); graph.N != points.N || result.GetPlan().GetTileBytes() != bytes {
		t.Errorf("a graph of %d vertices and %d bytes, planned %v", graph.N, bytes, result.GetPlan())
	}
	if got, err := predict(h, job, id); err != nil || !slices.Equal(got, h.Labels(job)) {
		t.Errorf("its own points get the labels %v, %v; want %v", got, err, h.Labels(job))
	}

	again := neighborSpec(h.Send("graph", graph), 0)
	again.NeighborGraph = nil
	second := h.Create(again)
	h.End(second)
	if !slices.Equal(h.Labels(second), h.Labels(job)) {
		t.Error("the graph that was fetched gives other labels")
	}
	_, err = neighborGraph(h, second)
	coordinatortest.WantError(t, err, codes.FailedPrecondition, "JOB_HAS_NO_NEIGHBOR_GRAPH")

	if _, err := h.Jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: job}); err != nil {
		t.Fatal(err)
	}
	if left, err := h.Blobs.List(t.Context(), records.JobBlobPrefix(job)); err != nil || len(left) > 0 {
		t.Errorf("the job is deleted, but %v are left, %v", left, err)
	}
	if h.Coordinator.Datasets().Temporaries() > 0 {
		t.Error("workers can still open the graph")
	}
}

// What is wrong with a job is said before neighbors are looked for.
func TestBadNeighborGraphs(t *testing.T) {
	h := coordinatortest.Start(t, coordinatortest.Config())
	id, _ := gaussianPoints(h)
	graph := h.Send("graph", &dataset.Graph{N: 2, RowStart: []int64{0, 1, 2}, Column: []int32{1, 0},
		Weight: []float64{1, 1}})
	linked := func(s *cleavev1.JobSpec, pairs ...constraint.Constraint) *cleavev1.JobSpec {
		s.Supervision = &cleavev1.Supervision{Constraints: wire.InlineTable(tabletest.Constraints(pairs))}
		return s
	}
	with := func(s *cleavev1.JobSpec, change func(*cleavev1.JobSpec)) *cleavev1.JobSpec {
		change(s)
		return s
	}
	for why, s := range map[string]*cleavev1.JobSpec{
		"BAD_KNN":   neighborSpec(id, 120),
		"BAD_KNN 0": neighborSpec(id, 0),
		"FIELD_REQUIRED": with(neighborSpec(id, 1), func(s *cleavev1.JobSpec) {
			s.NeighborGraph = &cleavev1.NeighborGraph{}
		}),
		"OPTION_DOES_NOT_APPLY to a graph": neighborSpec(graph, 1),
		"OPTION_DOES_NOT_APPLY to k-means": with(neighborSpec(id, 5), func(s *cleavev1.JobSpec) {
			s.Algorithm = &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}
		}),
		"OPTION_DOES_NOT_APPLY to a kernel": with(neighborSpec(id, 5), func(s *cleavev1.JobSpec) {
			s.GetSpectral().Kernel = &cleavev1.Kernel{Rho: proto.Float64(1)}
		}),
		"INDEX_OUT_OF_RANGE": linked(neighborSpec(id, 5), constraint.Constraint{I: 0, J: 120,
			Kind: constraint.MustLink}),
		"UNKNOWN_ENUM_VALUE": with(neighborSpec(id, 5), func(s *cleavev1.JobSpec) { s.NeighborGraph.Weights = 9 }),
	} {
		_, err := h.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s})
		why, _, _ = strings.Cut(why, " ")
		coordinatortest.WantError(t, err, codes.InvalidArgument, why)
	}
}

// A job that is canceled before it holds anything on the workers has no plan, whatever it would have begun with.
func TestAJobThatHeldNothingHasNoPlan(t *testing.T) {
	waits := make(chan struct{}, 100)
	real := jobs.RealEngine()
	cfg := coordinatortest.Config()
	cfg.Engine = jobs.Engine{
		Await: func(context.Context, *fleet.Fleet, func(fleet.Status), []planning.Workload) error { return nil },
		Execute: func(r runner.Runner, ctx context.Context, f *fleet.Fleet, task fleet.Task,
			o clustering.Observer) (*clustering.Result, *fleet.Usage, error) {
			report := task.Report
			task.Report = func(s fleet.Status) {
				report(s)
				waits <- struct{}{} // there is no worker
			}
			return real.Execute(r, ctx, f, task, o)
		},
	}
	h := coordinatortest.Start(t, cfg)
	points, _ := gaussianPoints(h)
	sparse, err := dataset.NewSparsePoints(4, 2, []int64{0, 1, 2, 3, 4}, []int32{0, 1, 0, 1}, []float64{1, 1, 2, 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*cleavev1.JobSpec{
		"a search for the graph": neighborSpec(points, 6),
		"a search as the first of several": {Data: &cleavev1.JobSpec_DatasetId{DatasetId: h.Send("sparse", sparse)},
			Clusters: &cleavev1.JobSpec_K{K: 2}},
		"rows": coordinatortest.Spec(points),
	} {
		job := h.Create(s)
		coordinatortest.Within(t, waits, name)
		if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: job}); err != nil {
			t.Fatal(err)
		}
		h.End(job)
		for len(waits) > 0 {
			<-waits
		}
		if result := result(h, job); result.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED || result.Plan != nil {
			t.Errorf("%s: the result is %v", name, result)
		}
	}
}
