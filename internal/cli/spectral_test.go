package cli

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// startSpectral starts a fake coordinator with a job of constrained-spectral on p.csv that has ended after these
// steps of its eigensolver.
func startSpectral(t *testing.T, steps ...*cleavev1.WatchJobResponse) *fake {
	t.Helper()
	f := startFake(t)
	f.labels = []int32{0, 0, 1, 1}
	f.embedding = &clustering.Embedding{Rows: 4, Columns: 2, Values: []float64{1, 0.1, 1, -0.25, -1, 0, -1, 1.0 / 3}}
	f.result = clitest.ExampleResult()
	f.result.Iterations, f.result.History, f.result.Shifts, f.result.Sigma = 0, nil, nil, 0
	f.result.ObjectiveName = "constrained-spectral"
	f.result.Embedding = wire.EmbeddingHead(f.embedding)
	f.result.Spectral = &cleavev1.SpectralReport{
		Beta: proto.Float64(1.5), Volume: 14, FeasibleVectors: proto.Uint32(3), Eigenvalues: []float64{0.25, 0.5},
		Costs:                  []float64{2, 4},
		ConstraintSatisfaction: []float64{16, 15}, Residuals: []float64{1e-12, 2e-12}, Products: 20,
	}
	f.watch = func(_ int, _ *cleavev1.WatchJobRequest,
		stream grpc.ServerStreamingServer[cleavev1.WatchJobResponse]) error {
		for _, item := range append(steps, clitest.EndedItem()) {
			if err := stream.Send(item); err != nil {
				return err
			}
		}
		return nil
	}
	data, err := jobflags.DataIn("p.csv").LoadPoints(t.Context(), jobflags.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	f.spec = &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 2}, Algorithm: &cleavev1.JobSpec_ConstrainedSpectral{}}
	id, err := dataset.ID(data.Data)
	if err != nil {
		t.Fatal(err)
	}
	f.spec.Data = &cleavev1.JobSpec_DatasetId{DatasetId: id}
	return f
}

func TestFilesOfAnEmbedding(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	f := startSpectral(t, clitest.SolverItem(1, 0.5, 0), clitest.SolverItem(2, 1e-9, 2))
	succeed(t, "result job-1 --quiet --data p.csv --out o --server "+f.address)
	if got := clitest.Read(t,
		"o/embedding.csv"); got != "index,u0,u1\n0,1,0.1\n1,1,-0.25\n2,-1,0\n3,-1,0.3333333333333333\n" {
		t.Errorf("embedding.csv is %q", got)
	}
	text := clitest.Read(t, "o/result.json")
	for _, want := range []string{`"beta": 1.5`, `"volume": 14`, `"feasibleVectors": 3`, `"eigenvalues": [`,
		`"costs": [`, `"constraintSatisfaction": [`, `"residuals": [`, `"products": 20`} {
		if !strings.Contains(text, want) {
			t.Errorf("result.json has no %s", want)
		}
	}
	d := readResult(t, text)
	if want := f.result.GetSpectral(); !proto.Equal(d.Spectral, want) || d.Model != nil {
		t.Errorf("got %+v, want %+v", d.Spectral, want)
	}
	if picture := clitest.Read(t, "o/objective.svg"); !strings.Contains(picture, "residual") {
		t.Error("the residuals are not drawn")
	}
	if picture := clitest.Read(t, "o/clusters.svg"); strings.Contains(picture, "iteration") {
		t.Error("the picture of the clusters speaks of iterations")
	}
	refused(t, "predict --model o --data p.csv", "o: spectral clustering cannot assign new points")

	f = startSpectral(t) // solved at once
	f.result.Spectral.Beta, f.result.Spectral.FeasibleVectors = nil, nil
	f.result.Spectral.Chosen = cleavev1.CutRule_CUT_RULE_PENCIL
	f.result.Spectral.Width = 12
	f.result.Spectral.Candidates = []*cleavev1.CutCandidate{
		{Rule: cleavev1.CutRule_CUT_RULE_UNCONSTRAINED, Width: 2, Loss: 0.5, Violated: proto.Float64(0.25)},
		{Rule: cleavev1.CutRule_CUT_RULE_PENCIL, Width: 12, Theta: proto.Float64(-1), Loss: 0.25,
			Violated: proto.Float64(0.125)},
		{Rule: cleavev1.CutRule_CUT_RULE_STRICT, Loss: 0.75},
	}
	out := succeed(t, "result job-1 --data p.csv --out o --server "+f.address)
	if _, err := os.Stat("o/objective.svg"); err == nil {
		t.Error("the course of an earlier run stays")
	}
	const chosen = "chosen       pencil of 12 eigenvectors; held-out constraints violated: unconstrained 25.0%, " +
		"pencil 12.5%; not clearly better on held-out constraints: strict\n"
	if !strings.Contains(out, "eigenvalues  0.25, 0.5") || strings.Contains(out, "beta") ||
		!strings.Contains(out, chosen) {
		t.Errorf("the summary is %s", out)
	}
}
