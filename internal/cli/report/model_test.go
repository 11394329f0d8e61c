package report

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/mixture"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// A mixture is read back as it was, and a folder without mixture.csv has no model.
func TestMixtureFiles(t *testing.T) {
	gaussians, err := mixture.New([]float64{0.25, 0.75}, 2, []float64{-1, 0, 1.0 / 3, 1, 0, 0.25, 1, 0, 0, 0, 2, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	model := &model.Model{
		Distortion: metric.SquaredEuclidean, K: 2, D: 2, Centroids: []float64{10, 20, 30, 40}, Metric: metric.NewIdentity(2),
		Units: &dataset.Units{Center: []float64{1, 2}, Scale: []float64{3, 4}}, Mixture: gaussians,
	}
	result := &cleavev1.Result{K: 2, Rows: 2, ClusterSizes: []uint32{1, 1}, Model: wire.ModelHead(model), RowScores: &cleavev1.RowScoresHead{Rows: 2, Posterior: true}}
	r := New(&client.Outcome{Result: result, Labels: []int32{0, 1}, Model: model, Rows: &clustering.RowScores{Posterior: true, Confidence: []float64{0.5, 1}}}, nil)
	dir := t.TempDir()
	if err := WriteFolder(t.Context(), dir, r.Files(Scene{Header: []string{"a", "b"}}, nil, func(string, ...any) {})); err != nil {
		t.Fatal(err)
	}
	back, err := ReadFolder(dir, result, &cleavev1.RunRecord{})
	if err != nil || !reflect.DeepEqual(back.Model, model) || !back.Rows.Posterior || !slices.Equal(back.Rows.Confidence, []float64{0.5, 1}) {
		t.Errorf("read back: %+v, %v", back, err)
	}
	for _, spoil := range []func(*cleavev1.ModelHead){
		func(h *cleavev1.ModelHead) { h.Mixture.Shares = []float64{1} },
		func(h *cleavev1.ModelHead) { h.Mixture.Shares = []float64{0.5, 0.75} },
		func(h *cleavev1.ModelHead) { h.Distortion = cleavev1.Distortion_DISTORTION_COSINE },
	} {
		spoiled := proto.CloneOf(result)
		spoil(spoiled.Model)
		if _, _, err := LoadModel(dir, spoiled); err == nil {
			t.Errorf("a spoiled model was read: %v", spoiled.Model)
		}
	}
	if err := os.Remove(filepath.Join(dir, mixtureFile)); err != nil {
		t.Fatal(err)
	}
	if back, err := ReadFolder(dir, result, &cleavev1.RunRecord{}); err != nil || back.Model != nil {
		t.Errorf("a folder without the mixture is read with %v, %v", back, err)
	}
}

func TestHugeModelsAreNotWrittenAsText(t *testing.T) {
	const d = maxTableBytes/20 + 1
	centroid := slices.Repeat([]float64{1.0 / 3}, d)
	r := &Report{Outcome: &client.Outcome{Model: &model.Model{K: 1, D: d, Centroids: centroid, Metric: metric.NewIdentity(d)}}}
	said := ""
	if files := r.modelFiles(Scene{}, func(format string, args ...any) { said = format }); len(files) != 0 || !strings.Contains(said, "was not written") {
		t.Errorf("%d files, %q", len(files), said)
	}
}
