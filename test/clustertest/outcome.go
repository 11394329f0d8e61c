package clustertest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/comparison"
	"github.com/cleave-project/cleave/internal/clustering/local"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/wire"
)

// Outcome is the results of a job.
type Outcome struct {
	Result *cleavev1.Result
	Labels []uint32
	Model  []byte // encoded, for a job that has one
	Rows   []byte // the scores of the rows, encoded, where there are any
	// Embedding is the coordinates of a job of the spectral family.
	Embedding *clustering.Embedding
}

// Compute computes the outcome of a job in this process with the pure packages alone: no coordinator, no
// workers, no network. Every cluster must give the same.
func Compute(t testing.TB, data dataset.Dataset, spec *cleavev1.JobSpec) Outcome {
	t.Helper()
	domain, err := wire.Spec(spec, &recipe.Rows{Count: data.Rows()}, wire.NoTables)
	must(t, domain, err)
	result, err := local.Solve(context.WithoutCancel(t.Context()), data, domain, 1, clustering.NopObserver{})
	must(t, result, err)
	if c := comparison.New(data, domain); c != nil && !spec.GetPaperSettings() {
		notice, err := c.Run(context.WithoutCancel(t.Context()), 1)
		if must(t, notice, err) != nil {
			result.Warnings = append(result.Warnings, *notice)
		}
	}
	return Outcome{
		Result: wire.ResultProto(result), Labels: wire.LabelsProto(result.Labels), Model: modelBytes(t, result.Model),
		Rows: RowBytes(t, result.Rows), Embedding: result.Spectral.Embedding,
	}
}

// RowBytes encodes the scores of rows so that any different bit shows.
func RowBytes(t testing.TB, s *clustering.RowScores) []byte {
	t.Helper()
	if s == nil {
		return nil
	}
	all := &bytes.Buffer{}
	if err := wire.WriteRowScores(all, s); err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

// modelBytes encodes a model so that any different bit shows.
func modelBytes(t testing.TB, m *model.Model) []byte {
	t.Helper()
	if m == nil {
		return nil
	}
	head, err := proto.MarshalOptions{Deterministic: true}.Marshal(wire.ModelHead(m))
	all := bytes.NewBuffer(must(t, head, err))
	if err := wire.WriteModel(all, m); err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

// SameOutcome fails the test unless two outcomes are the same in everything that the input determines: the
// labels, and every bit of the result, the scores of rows, the model and the embedding. The placement of the work and
// its duration may differ.
func SameOutcome(t testing.TB, what string, got, want Outcome) {
	t.Helper()
	if !slices.Equal(got.Labels, want.Labels) {
		t.Errorf("%s: the labels differ: %s", what, firstDifference(got.Labels, want.Labels))
	}
	if g, w := got.Result.GetObjective(), want.Result.GetObjective(); math.Float64bits(g) != math.Float64bits(w) {
		t.Errorf("%s: the objective is %v (%#x), want %v (%#x)", what, g, math.Float64bits(g), w, math.Float64bits(w))
	}
	if !bytes.Equal(got.Model, want.Model) {
		t.Errorf("%s: the models differ", what)
	}
	if !bytes.Equal(got.Rows, want.Rows) {
		t.Errorf("%s: the scores of the rows differ", what)
	}
	if !sameEmbedding(got.Embedding, want.Embedding) {
		t.Errorf("%s: the embeddings differ", what)
	}
	if !bytes.Equal(encoded(t, got.Result), encoded(t, want.Result)) {
		t.Errorf("%s: the results differ:\n got %v\nwant %v", what, determined(got.Result), determined(want.Result))
	}
}

// sameEmbedding compares the sizes and all bits.
func sameEmbedding(a, b *clustering.Embedding) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Rows == b.Rows && a.Columns == b.Columns && slices.EqualFunc(a.Values, b.Values, func(v, w float64) bool {
		return math.Float64bits(v) == math.Float64bits(w)
	})
}

// determined returns a result without what depends on the machine and the time, and without the state of the job and
// the recipe of a table, which Compute does not have.
func determined(r *cleavev1.Result) *cleavev1.Result {
	r = proto.CloneOf(r)
	r.State, r.Plan, r.Timings, r.Version, r.Recipe = 0, nil, nil, "", nil
	return r
}

// encoded returns a result as bytes, which show every different bit; == would miss the sign of zero and NaN.
func encoded(t testing.TB, r *cleavev1.Result) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(determined(r))
	return must(t, b, err)
}

func firstDifference(got, want []uint32) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d of them, want %d", len(got), len(want))
	}
	differ := 0
	first := -1
	for i := range got {
		if got[i] != want[i] {
			differ++
			if first < 0 {
				first = i
			}
		}
	}
	return fmt.Sprintf("%d of %d, first that of %d: %d, want %d", differ, len(got), first, got[first], want[first])
}
