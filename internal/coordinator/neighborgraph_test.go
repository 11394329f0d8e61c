package coordinator

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
	"github.com/cleave-project/cleave/test/tabletest"
)

func (h *harness) neighborGraph(job string) (*dataset.Graph, error) {
	stream, err := h.jobs.GetNeighborGraph(h.t.Context(), &cleavev1.GetNeighborGraphRequest{JobId: job})
	if err != nil {
		h.t.Fatal(err)
	}
	return wire.ReceiveNeighborGraph(stream.Recv)
}

// gaussianPoints uploads 120 points in three groups, the second column in other units.
func (h *harness) gaussianPoints() (string, *dataset.Points) {
	h.t.Helper()
	points, _, err := synth.Gaussians(120, 8, 3, 0.3, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := range points.N {
		points.Row(i)[1] *= 1e4
	}
	return h.send("points", points), points
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
	h := newHarness(t, testConfig(), jobs.RealEngine())
	defer h.startWorker("a")()
	defer h.startWorker("b")()
	if err := h.c.AwaitWorkers(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	id, points := h.gaussianPoints()
	s := neighborSpec(id, 6)
	job := h.create(s)
	if ended := h.end(job); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("ended with %v", ended)
	}
	plan, err := h.plan(s) // with the workers that the job had
	if err != nil || !strings.Contains(plan.GetExplanation(), "step 1, nearest neighbors") ||
		plan.GetCoordinatorBytes() == 0 {
		t.Errorf("planned as %v, %v", plan, err)
	}
	response, err := h.jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: job})
	if err != nil {
		t.Fatal(err)
	}
	graph, err := h.neighborGraph(job)
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
	if got, err := h.predict(job, id); err != nil || !slices.Equal(got, h.labels(job)) {
		t.Errorf("its own points get the labels %v, %v; want %v", got, err, h.labels(job))
	}

	again := neighborSpec(h.send("graph", graph), 0)
	again.NeighborGraph = nil
	second := h.create(again)
	h.end(second)
	if !slices.Equal(h.labels(second), h.labels(job)) {
		t.Error("the graph that was fetched gives other labels")
	}
	_, err = h.neighborGraph(second)
	wantError(t, err, codes.FailedPrecondition, "JOB_HAS_NO_NEIGHBOR_GRAPH")

	if _, err := h.jobs.DeleteJob(t.Context(), &cleavev1.DeleteJobRequest{JobId: job}); err != nil {
		t.Fatal(err)
	}
	if left, err := h.c.blobs.List(t.Context(), records.JobBlobPrefix(job)); err != nil || len(left) > 0 {
		t.Errorf("the job is deleted, but %v are left, %v", left, err)
	}
	if h.c.datasets.Temporaries() > 0 {
		t.Error("workers can still open the graph")
	}
}

// What is wrong with a job is said before neighbors are looked for.
func TestBadNeighborGraphs(t *testing.T) {
	h := newHarness(t, testConfig(), jobs.RealEngine())
	id, _ := h.gaussianPoints()
	graph := h.send("graph", &dataset.Graph{N: 2, RowStart: []int64{0, 1, 2}, Column: []int32{1, 0},
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
		_, err := h.jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: s})
		why, _, _ = strings.Cut(why, " ")
		wantError(t, err, codes.InvalidArgument, why)
	}
}

// A job that is canceled before it holds anything on the workers has no plan, whatever it would have begun with.
func TestAJobThatHeldNothingHasNoPlan(t *testing.T) {
	waits := make(chan struct{}, 100)
	real := jobs.RealEngine()
	h := newHarness(t, testConfig(), jobs.Engine{
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
	})
	points, _ := h.gaussianPoints()
	sparse, err := dataset.NewSparsePoints(4, 2, []int64{0, 1, 2, 3, 4}, []int32{0, 1, 0, 1}, []float64{1, 1, 2, 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*cleavev1.JobSpec{
		"a search for the graph": neighborSpec(points, 6),
		"a search as the first of several": {Data: &cleavev1.JobSpec_DatasetId{DatasetId: h.send("sparse", sparse)},
			Clusters: &cleavev1.JobSpec_K{K: 2}},
		"rows": spec(points),
	} {
		job := h.create(s)
		within(t, waits, name)
		if _, err := h.jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: job}); err != nil {
			t.Fatal(err)
		}
		h.end(job)
		for len(waits) > 0 {
			<-waits
		}
		if result := h.result(job); result.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED || result.Plan != nil {
			t.Errorf("%s: the result is %v", name, result)
		}
	}
}
