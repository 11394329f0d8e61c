package clustertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/tabletest"
)

// badUploads are data sets that must be refused.
var badUploads = []struct {
	name   string
	parts  []*cleavev1.CreateDatasetRequest
	code   codes.Code
	reason string
	says   string // part of the sentence: where the mistake is
}{
	{"nothing", nil, codes.InvalidArgument, "HEADER_MISSING", "header"},
	{"no header", upload(values(1, 2)), codes.InvalidArgument, "HEADER_MISSING", "header"},
	{"no form", upload(&cleavev1.DatasetHeader{}), codes.InvalidArgument, "FORM_MISSING",
		"points, a graph or a kernel matrix"},
	{"NaN", upload(points(2, 3), values(1, 2, 3, 4, math.NaN(), 6)), codes.InvalidArgument, "NOT_FINITE",
		"row 1, column 1"},
	{"infinity", upload(points(2, 3), values(1, 2, math.Inf(-1), 4, 5, 6)), codes.InvalidArgument, "NOT_FINITE",
		"row 0, column 2"},
	{"no rows", upload(points(0, 3)), codes.InvalidArgument, "EMPTY_DATA", "without a row"},
	{"no columns", upload(points(3, 0)), codes.InvalidArgument, "EMPTY_DATA", "0 columns"},
	{"too few values", upload(points(2, 2), values(1, 2, 3)), codes.InvalidArgument, "TOO_FEW_VALUES", "3 values"},
	{"too many values", upload(points(2, 2), values(1, 2, 3), values(4, 5)), codes.InvalidArgument, "TOO_MANY_VALUES",
		"5 values"},
	{"a size that overflows", upload(points(1<<30, 1<<31)), codes.InvalidArgument, "SIZE_OVERFLOW",
		"more values than can be counted"},
	{"too many rows", upload(points(1<<31, 1)), codes.InvalidArgument, "TOO_MANY_ROWS", "rows"},
	{"more than the limit", upload(points(1<<20, 1<<20)), codes.ResourceExhausted, "DATASET_TOO_LARGE", "at most"},
	{"an asymmetric kernel", upload(kernelOf(2), values(1, 0.5, 0.25, 1)), codes.InvalidArgument,
		"ASYMMETRIC_KERNEL", "0.5"},
	{"a kernel that is not square", upload(kernelOf(2), values(1, 0, 0, 1, 0, 0)), codes.InvalidArgument,
		"TOO_MANY_VALUES", "2 rows of 2 columns"},
	{"an empty graph", upload(graphOf(0)), codes.InvalidArgument, "EMPTY_DATA", "no edges and no vertices"},
	{"a vertex out of range", upload(graphOf(3), edges([]uint32{0, 1}, []uint32{1, 3})), codes.InvalidArgument,
		"INDEX_OUT_OF_RANGE", "1-3"},
	{"an edge of weight NaN", upload(graphOf(3), edges([]uint32{0}, []uint32{1}, math.NaN())), codes.InvalidArgument,
		"NOT_FINITE", "0-1"},
	{"edges without ends", upload(graphOf(3), edges([]uint32{0, 1}, []uint32{1})), codes.InvalidArgument,
		"EDGE_COUNTS_DIFFER", "2 sources, 1 targets"},
	{"a graph of vertices without edges", upload(graphOf(1<<28), edges([]uint32{0}, []uint32{1})),
		codes.InvalidArgument, "TOO_FEW_EDGES", "only 1 edge"},
}

// badSpecs are jobs that must be refused, when they are created or when they run.
var badSpecs = []struct {
	name   string
	data   string // points, graph, negative or kernel
	change func(*cleavev1.JobSpec)
	code   codes.Code
	reason string
	says   string
}{
	{"k of 0", "points", func(s *cleavev1.JobSpec) { s.Clusters = &cleavev1.JobSpec_K{K: 0} }, codes.InvalidArgument,
		"BAD_K", "k is 0"},
	{"k over n", "points", func(s *cleavev1.JobSpec) { s.Clusters = &cleavev1.JobSpec_K{K: 7} }, codes.InvalidArgument,
		"BAD_K", "only 6 rows"},
	{"no algorithm for all", "points", func(s *cleavev1.JobSpec) {
		s.Algorithm = nil
		s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_NEIGHBORHOODS,
			Farthest: cleavev1.FarthestRule_FARTHEST_RULE_MEAN}
	}, codes.InvalidArgument, "OPTION_DOES_NOT_APPLY", "no algorithm takes init neighborhoods and farthest together"},
	{"no such data set", "points", func(s *cleavev1.JobSpec) {
		s.Data = &cleavev1.JobSpec_DatasetId{DatasetId: "feed"}
	}, codes.NotFound, "DATASET_NOT_FOUND", "feed"},
	{"a constraint out of range", "points", constrain(mustLink(0, 6)), codes.InvalidArgument,
		"INDEX_OUT_OF_RANGE", "6"},
	{"a constraint far out of range", "points", constrain(mustLink(0, math.MaxInt32)), codes.InvalidArgument,
		"INDEX_OUT_OF_RANGE", "2147483647"},
	{"a self cannot-link", "points", constrain(cannotLink(2, 2)), codes.InvalidArgument, "SELF_CANNOT_LINK", "2"},
	{"a constraint of no kind", "points", constrain(constraint.Constraint{I: 0, J: 1}), codes.InvalidArgument,
		"UNKNOWN_CONSTRAINT_KIND", "kind"},
	{"a negative constraint weight", "points", constrain(weighted(-1)), codes.InvalidArgument, "BAD_WEIGHT", "-1"},
	{"a constraint weight of NaN", "points", constrain(weighted(math.NaN())), codes.InvalidArgument,
		"NOT_FINITE", "NaN"},
	{"a seed out of range", "points", seed(6, 0), codes.InvalidArgument, "INDEX_OUT_OF_RANGE", "6"},
	{"a seed label out of range", "points", seed(0, 2), codes.InvalidArgument, "BAD_SEED_LABEL", "2"},
	{"a negative point weight", "points", weigh(1, 1, -2, 1, 1, 1), codes.InvalidArgument, "BAD_WEIGHT", "row 2"},
	{"too many point weights", "points", weigh(1, 1, 1, 1, 1, 1, 1), codes.InvalidArgument, "INDEX_OUT_OF_RANGE",
		"point 6 is outside 0..5"},
	{"a width of 0", "points", func(s *cleavev1.JobSpec) {
		s.GetKernelKmeans().Kernel = &cleavev1.Kernel{Rho: proto.Float64(0)}
	},
		codes.InvalidArgument, "BAD_RHO", "rho"},
	{"labels out of range", "points", func(s *cleavev1.JobSpec) {
		s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_LABELS,
			Labels: wire.InlineTable(tabletest.Labels([]int64{0, 1, 0, 1, 0, 9}))}
	}, codes.InvalidArgument, "BAD_START", "9"},
	{"too few labels", "points", func(s *cleavev1.JobSpec) {
		s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_LABELS,
			Labels: wire.InlineTable(tabletest.Labels([]int64{0, 1}))}
	}, codes.InvalidArgument, "SIZE_MISMATCH", "2 labels for 6 points"},
	{"no such table", "points", func(s *cleavev1.JobSpec) {
		s.Supervision = &cleavev1.Supervision{
			Constraints: &cleavev1.TableInput{Source: &cleavev1.TableInput_TableId{TableId: "feed"}}}
	}, codes.NotFound, "TABLE_NOT_FOUND", "feed"},
	{"a table of nothing", "points", func(s *cleavev1.JobSpec) {
		s.Supervision = &cleavev1.Supervision{Seeds: &cleavev1.TableInput{}}
	}, codes.InvalidArgument, "FIELD_REQUIRED", "spec.supervision.seeds"},
	{"a table of something else", "points", func(s *cleavev1.JobSpec) {
		s.Supervision = &cleavev1.Supervision{Seeds: wire.InlineTable(tabletest.Weights([]float64{1}))}
	}, codes.InvalidArgument, "UNKNOWN_COLUMN", "weight"},
	{"an enum of tomorrow", "points", func(s *cleavev1.JobSpec) { s.GetKernelKmeans().Objective = 77 },
		codes.InvalidArgument, "UNKNOWN_ENUM_VALUE", "77"},
	{"a kernel function on a graph", "graph", func(s *cleavev1.JobSpec) {
		s.GetKernelKmeans().Kernel = &cleavev1.Kernel{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR}
	}, codes.InvalidArgument, "OPTION_DOES_NOT_APPLY", "its own affinity"},
	{"negative affinities under normalized cut", "negative", func(*cleavev1.JobSpec) {}, codes.InvalidArgument,
		"NEGATIVE_AFFINITY", "at least 0"},
	{"negative kernel entries under normalized cut", "kernel", func(s *cleavev1.JobSpec) {
		s.GetKernelKmeans().Objective = cleavev1.Objective_OBJECTIVE_NORMALIZED_CUT
	}, codes.InvalidArgument, "NEGATIVE_AFFINITY", "at least 0"},
	{"a linear kernel with negative entries under normalized cut", "points", func(s *cleavev1.JobSpec) {
		s.GetKernelKmeans().Kernel = &cleavev1.Kernel{Function: cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR}
		s.GetKernelKmeans().Objective = cleavev1.Objective_OBJECTIVE_NORMALIZED_CUT
	}, codes.InvalidArgument, "NEGATIVE_AFFINITY", "at least 0"},
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	data := map[string]string{
		"points":   c.Upload(smallPoints(t)),
		"graph":    c.Upload(smallGraph(t, 6, 1)),
		"negative": c.Upload(smallGraph(t, 6, -1)),
		"kernel":   c.Upload(smallKernel(t)),
	}
	spec := func(of string) *cleavev1.JobSpec {
		return &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: data[of]},
			Clusters: &cleavev1.JobSpec_K{K: 2}, Algorithm: kernelKmeans(&cleavev1.KernelKmeans{})}
	}
	good := c.Create(spec("points"))
	c.Watch(good).End()
	before := c.Outcome(good)

	for _, bad := range badUploads {
		_, err := send(ctx, c, bad.parts)
		wantError(t, bad.name, err, bad.code, bad.reason)
		wantSaying(t, bad.name, status.Convert(err).Message(), bad.says)
	}
	for _, bad := range badSpecs {
		s := spec(bad.data)
		bad.change(s)
		code, reason, message := c.refusal(s)
		if code != bad.code || reason != bad.reason {
			t.Errorf("%s: got %v %q: %q; want %v %q", bad.name, code, reason, message, bad.code, bad.reason)
		}
		wantSaying(t, bad.name, message, bad.says)
	}
	badCalls(t, c, good, spec("points"))

	if again := c.Create(spec("points")); c.Watch(again).End().GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Error("after all that, a good job does not succeed")
	}
	SameOutcome(t, "the job from before", c.Outcome(good), before)
	c.AwaitWorkers(2)
}

// badCalls are calls about things that do not exist, or at the wrong time.
func badCalls(t *testing.T, c *Coordinator, ended string, spec *cleavev1.JobSpec) {
	t.Helper()
	ctx := t.Context()
	id := uuid.NewString()
	first, err := c.Jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: spec, RequestId: id})
	must(t, first, err)
	other := proto.CloneOf(spec)
	other.Clusters = &cleavev1.JobSpec_K{K: 3}
	for _, bad := range []struct {
		name   string
		call   func() error
		code   codes.Code
		reason string
	}{
		{"unknown job", func() error {
			_, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: "nobody"})
			return err
		},
			codes.NotFound, "JOB_NOT_FOUND"},
		{"watch of an unknown job", func() error {
			stream, err := c.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: "nobody"})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, codes.NotFound, "JOB_NOT_FOUND"},
		{"cancel of an unknown job", func() error {
			_, err := c.Jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: "nobody"})
			return err
		},
			codes.NotFound, "JOB_NOT_FOUND"},
		{"result of an unknown job", func() error {
			_, err := c.Jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: "nobody"})
			return err
		}, codes.NotFound, "JOB_NOT_FOUND"},
		{"no spec", func() error { _, err := c.Jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{}); return err },
			codes.InvalidArgument, "FIELD_REQUIRED"},
		{"a request id that is none", func() error {
			_, err := c.Jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: spec, RequestId: "two\nlines"})
			return err
		}, codes.InvalidArgument, "INVALID_REQUEST_ID"},
		{"a request id with another spec", func() error {
			_, err := c.Jobs.CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: other, RequestId: id})
			return err
		}, codes.AlreadyExists, "REQUEST_ID_REUSED"},
		{"unknown data set", func() error {
			_, err := c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: "feed"})
			return err
		}, codes.NotFound, "DATASET_NOT_FOUND"},
		{"unknown worker", func() error {
			_, err := c.Cluster.DrainWorker(ctx, &cleavev1.DrainWorkerRequest{WorkerId: "nobody"})
			return err
		}, codes.NotFound, "WORKER_NOT_FOUND"},
		{"truth of another length", func() error {
			_, err := c.Jobs.EvaluateJob(ctx, &cleavev1.EvaluateJobRequest{JobId: ended,
				Truth: wire.InlineTable(tabletest.Labels([]int64{1, 2}))})
			return err
		}, codes.InvalidArgument, "SIZE_MISMATCH"},
	} {
		wantError(t, bad.name, bad.call(), bad.code, bad.reason)
	}
}

// TestContradictoryConstraints: kernel k-means accepts them, but reports each contradiction: a cannot-link
// and the chain of must-links between its points.
func TestContradictoryConstraints(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 1)
	spec := &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: c.Upload(smallPoints(t))},
		Clusters: &cleavev1.JobSpec_K{K: 2}, Algorithm: kernelKmeans(&cleavev1.KernelKmeans{})}
	constrain(mustLink(0, 1), mustLink(1, 2), mustLink(4, 5), cannotLink(2, 0))(spec)
	job := c.Create(spec)
	w := c.Watch(job)
	if end := w.End(); end.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("the job ended with %v", end)
	}
	noticed := 0
	for _, e := range w.Events {
		if e.GetNotice().GetReason() == "CONFLICTING_CONSTRAINTS" {
			noticed++
		}
	}
	warnings := c.Outcome(job).Result.GetWarnings()
	if noticed != 1 || len(warnings) != 1 || !strings.Contains(warnings[0].GetMessage(), "0 = 1 = 2") {
		t.Errorf("%d notices came, and the warnings are %v; want one with the chain 0 = 1 = 2", noticed, warnings)
	}
}

// TestEdgesAddUp: the weights of repeated edges are added, in either direction, and a loop is one entry.
func TestEdgesAddUp(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{})
	plain, err := send(t.Context(), c, upload(graphOf(3), edges([]uint32{0, 1, 2}, []uint32{1, 2, 2}, 3, 1, 5)))
	must(t, plain, err)
	repeated, err := send(t.Context(), c, upload(graphOf(3), edges([]uint32{1, 0, 2}, []uint32{0, 1, 2}, 1, 2, 2),
		edges([]uint32{2, 2}, []uint32{1, 2}, 1, 3)))
	must(t, repeated, err)
	if plain.GetDatasetId() != repeated.GetDatasetId() || plain.GetNonZeros() != 5 {
		t.Errorf("the same edges are %v and, repeated, %v", plain, repeated)
	}
}

// refusal is the error of a job: of the call that creates it, or of its failure.
func (c *Client) refusal(spec *cleavev1.JobSpec) (code codes.Code, reason, message string) {
	c.t.Helper()
	response, err := c.Jobs.CreateJob(c.t.Context(), &cleavev1.CreateJobRequest{Spec: spec})
	if err != nil {
		return status.Code(err), wire.Reason(err), status.Convert(err).Message()
	}
	id := response.GetJob().GetJobId()
	end := c.Watch(id).End()
	job := c.Job(id)
	if end.GetState() != cleavev1.JobState_JOB_STATE_FAILED || job.GetState() != end.GetState() ||
		!proto.Equal(job.GetError(), end.GetError()) {
		return codes.OK, "", fmt.Sprintf("the job ended with %v and is %v", end, job)
	}
	return codes.Code(job.GetError().GetCode()), job.GetError().GetReason(), job.GetError().GetMessage()
}

func wantSaying(t testing.TB, what, message, part string) {
	t.Helper()
	if !strings.Contains(message, part) {
		t.Errorf("%s: it says %q, which should speak of %q", what, message, part)
	}
}

// send uploads parts without checking them.
func send(ctx context.Context, c *Coordinator, parts []*cleavev1.CreateDatasetRequest) (*cleavev1.Dataset, error) {
	stream, err := c.Datasets.CreateDataset(ctx)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if err := stream.Send(part); err != nil && !errors.Is(err, io.EOF) { // EOF: the server has answered already
			return nil, err
		}
	}
	response, err := stream.CloseAndRecv()
	return response.GetDataset(), err
}

// upload makes the messages of an upload.
func upload(parts ...proto.Message) []*cleavev1.CreateDatasetRequest {
	var requests []*cleavev1.CreateDatasetRequest
	for _, part := range parts {
		request := &cleavev1.CreateDatasetRequest{}
		switch part := part.(type) {
		case *cleavev1.DatasetHeader:
			request.Part = &cleavev1.CreateDatasetRequest_Header{Header: part}
		case *cleavev1.DenseValues:
			request.Part = &cleavev1.CreateDatasetRequest_Values{Values: part}
		case *cleavev1.Edges:
			request.Part = &cleavev1.CreateDatasetRequest_Edges{Edges: part}
		}
		requests = append(requests, request)
	}
	return requests
}

func points(rows, columns uint32) *cleavev1.DatasetHeader {
	return &cleavev1.DatasetHeader{
		Form: &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Rows: rows, Columns: columns}}}
}

func kernelOf(rows uint32) *cleavev1.DatasetHeader {
	return &cleavev1.DatasetHeader{Form: &cleavev1.DatasetHeader_Kernel{Kernel: &cleavev1.KernelForm{Rows: rows}}}
}

func graphOf(vertices uint32) *cleavev1.DatasetHeader {
	return &cleavev1.DatasetHeader{Form: &cleavev1.DatasetHeader_Graph{Graph: &cleavev1.GraphForm{Vertices: vertices}}}
}

func values(v ...float64) *cleavev1.DenseValues { return &cleavev1.DenseValues{Values: v} }

func edges(sources, targets []uint32, weights ...float64) *cleavev1.Edges {
	return &cleavev1.Edges{Sources: sources, Targets: targets, Weights: weights}
}

// Constraints among six points.

func mustLink(i, j int32) constraint.Constraint {
	return constraint.Constraint{I: i, J: j, Kind: constraint.MustLink}
}

func cannotLink(i, j int32) constraint.Constraint {
	return constraint.Constraint{I: i, J: j, Kind: constraint.CannotLink}
}

func weighted(weight float64) constraint.Constraint {
	return constraint.Constraint{I: 0, J: 1, Kind: constraint.MustLink, Weight: weight, Weighted: true}
}

func constrain(list ...constraint.Constraint) func(*cleavev1.JobSpec) {
	return func(s *cleavev1.JobSpec) {
		s.Supervision = &cleavev1.Supervision{Constraints: wire.InlineTable(tabletest.Constraints(list))}
	}
}

func seed(index, label int32) func(*cleavev1.JobSpec) {
	return func(s *cleavev1.JobSpec) {
		s.Supervision = &cleavev1.Supervision{
			Seeds: wire.InlineTable(tabletest.Seeds([]constraint.Seed{{Index: index, Label: label}}))}
	}
}

func weigh(weights ...float64) func(*cleavev1.JobSpec) {
	return func(s *cleavev1.JobSpec) { s.GetKernelKmeans().Weights = wire.InlineTable(tabletest.Weights(weights)) }
}

func smallPoints(t testing.TB) dataset.Dataset {
	p, err := dataset.NewPoints(6, 1, []float64{-6, -5, -4, 4, 5, 6})
	return must(t, p, err)
}

// smallGraph has edges among its first six vertices.
func smallGraph(t testing.TB, vertices int, weight float64) dataset.Dataset {
	g, err := dataset.NewGraph(vertices, []dataset.Edge{
		{Source: 0, Target: 1, Weight: 1}, {Source: 1, Target: 2, Weight: 1}, {Source: 2, Target: 0, Weight: 1},
		{Source: 4, Target: 5, Weight: 1}, {Source: 5, Target: 0, Weight: 1}, {Source: 2, Target: 4, Weight: weight},
		{Source: 3, Target: 4, Weight: 1},
	})
	return must(t, g, err)
}

func smallKernel(t testing.TB) dataset.Dataset {
	k, err := dataset.NewKernel(3, 3, []float64{1, -0.5, 0.1, -0.5, 1, 0.2, 0.1, 0.2, 1})
	return must(t, k, err)
}
