package cli

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func solverItem(step uint32, residual float64, converged uint32) *cleavev1.WatchJobResponse {
	return eventItem(&cleavev1.Event{Sequence: uint64(step), What: &cleavev1.Event_Solver{Solver: &cleavev1.SolverStep{
		Step: step, Products: 10 * step, Residual: residual, Tolerance: 1e-8, Converged: converged, Wanted: 2}}})
}

// startSpectral is a coordinator with a job of constrained-spectral over p.csv that has ended, after these
// steps of its solver.
func startSpectral(t *testing.T, steps ...*cleavev1.WatchJobResponse) *fake {
	t.Helper()
	f := startFake(t)
	f.labels = []int32{0, 0, 1, 1}
	f.embedding = &clustering.Embedding{Rows: 4, Columns: 2, Values: []float64{1, 0.1, 1, -0.25, -1, 0, -1, 1.0 / 3}}
	f.result = exampleResult()
	f.result.Iterations, f.result.History, f.result.Shifts, f.result.Sigma = 0, nil, nil, 0
	f.result.ObjectiveName, f.result.Embedding = "constrained-spectral", wire.EmbeddingHead(f.embedding)
	f.result.Spectral = &cleavev1.SpectralReport{
		Beta: proto.Float64(1.5), Volume: 14, FeasibleVectors: proto.Uint32(3), Eigenvalues: []float64{0.25, 0.5}, Costs: []float64{2, 4},
		ConstraintSatisfaction: []float64{16, 15}, Residuals: []float64{1e-12, 2e-12}, Products: 20,
	}
	f.watch = func(_ int, _ *cleavev1.WatchJobRequest, stream grpc.ServerStreamingServer[cleavev1.WatchJobResponse]) error {
		for _, item := range append(steps, endedItem()) {
			if err := stream.Send(item); err != nil {
				return err
			}
		}
		return nil
	}
	data, _, err := loadPoints("p.csv", 0)
	if err != nil {
		t.Fatal(err)
	}
	f.spec = &cleavev1.JobSpec{DisplayName: "p.csv", K: 2, Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{}}
	if f.spec.DatasetId, err = identify(data); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFilesOfAnEmbedding(t *testing.T) {
	folder(t, smallFiles)
	f := startSpectral(t, solverItem(1, 0.5, 0), solverItem(2, 1e-9, 2))
	succeed(t, "result job-1 --quiet --data p.csv --out o --server "+f.address)
	if got := read(t, "o/embedding.csv"); got != "index,u0,u1\n0,1,0.1\n1,1,-0.25\n2,-1,0\n3,-1,0.3333333333333333\n" {
		t.Errorf("embedding.csv is %q", got)
	}
	text := read(t, "o/result.json")
	for _, want := range []string{`"beta": 1.5`, `"volume": 14`, `"feasibleVectors": 3`, `"eigenvalues": [`, `"costs": [`, `"constraintSatisfaction": [`, `"residuals": [`, `"products": 20`} {
		if !strings.Contains(text, want) {
			t.Errorf("result.json has no %s", want)
		}
	}
	d := document(t, text)
	if want := newSpectral(f.result.GetSpectral()); !reflect.DeepEqual(d.Spectral, want) || d.Kernel != nil || d.Model != nil {
		t.Errorf("got %+v, want %+v", d.Spectral, want)
	}
	if picture := read(t, "o/objective.svg"); !strings.Contains(picture, "residual") {
		t.Error("the residuals are not drawn")
	}
	if picture := read(t, "o/clusters.svg"); strings.Contains(picture, "iteration") {
		t.Error("the picture of the clusters speaks of iterations")
	}
	misused(t, "predict --model o --data p.csv", "o: spectral clustering places only the points that it was given")

	f = startSpectral(t) // solved at once
	f.result.Spectral.Beta, f.result.Spectral.FeasibleVectors = nil, nil
	out := succeed(t, "result job-1 --data p.csv --out o --server "+f.address)
	if _, err := os.Stat("o/objective.svg"); err == nil {
		t.Error("the course of an earlier run stays")
	}
	if !strings.Contains(out, "eigenvalues  0.25, 0.5") || strings.Contains(out, "beta") {
		t.Errorf("the summary is %s", out)
	}
}

func TestProgressOfASolver(t *testing.T) {
	var plain, terminal bytes.Buffer
	lines := &progress{w: &plain, now: time.Now}
	live := &progress{w: &terminal, width: 120, now: time.Now}
	progressed := func(phase cleavev1.Phase, step *cleavev1.WatchJobResponse, left time.Duration) *cleavev1.WatchJobResponse {
		p := &cleavev1.Progress{Phase: phase, Workers: 2, Solver: step.GetEvent().GetSolver()}
		if step == nil && phase == cleavev1.Phase_PHASE_ITERATING {
			p.Iteration, p.Objective = 1, 1.5
		}
		if left > 0 {
			p.TimeLeft = durationpb.New(left)
		}
		return progressItem(p)
	}
	first, second, third := solverItem(1, 0.51234, 0), solverItem(2, 1e-4, 1), solverItem(3, 1e-9, 2)
	second.GetEvent().GetSolver().StepsLeft = proto.Uint32(7)
	third.GetEvent().GetSolver().StepsLeft = proto.Uint32(0)
	starting, iterating := cleavev1.Phase_PHASE_INITIALIZING, cleavev1.Phase_PHASE_ITERATING
	for _, p := range []*progress{lines, live} {
		for _, item := range []*cleavev1.WatchJobResponse{
			progressed(starting, nil, 0), first, progressed(starting, first, 0), progressed(iterating, second, 3500*time.Millisecond), second,
			progressed(iterating, third, 0), third, iterationItem(1, 3, 1.5, 0), progressed(iterating, nil, 0),
		} {
			p.item(item)
		}
	}
	const want = "start  2 workers\neigenvectors: step 1, residual 0.512 of 1e-08, 0 of 2 converged\n" +
		"eigenvectors: step 2, residual 0.0001 of 1e-08, 1 of 2 converged, about 7 steps, about 4s left\n" +
		"eigenvectors: step 3, residual 1e-09 of 1e-08, 2 of 2 converged\niteration 1: objective 1.5, 3 moved\n"
	if plain.String() != want {
		t.Errorf("got\n%s\nwant\n%s", plain.String(), want)
	}
	for _, want := range []string{
		"start  step 1  residual 0.512 of 1e-08  0 of 2 converged  2 workers",
		"iterate  step 2  residual 0.0001 of 1e-08  1 of 2 converged  about 7 steps  about 4s left  2 workers",
		"iterate  step 3  residual 1e-09 of 1e-08  2 of 2 converged  2 workers", "iterate  iteration 1",
	} {
		if !strings.Contains(terminal.String(), want) {
			t.Errorf("the terminal shows %q, without %q", terminal.String(), want)
		}
	}
}
