package report

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/clustering/mixture"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// A mixture is read back as it was, and a folder without mixture.csv has no model.
func TestMixtureFiles(t *testing.T) {
	gaussians, err := mixture.New([]float64{0.25, 0.75}, 2, []float64{-1, 0, 1.0 / 3, 1, 0, 0.25, 1, 0, 0,
		0, 2, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	model := &model.Model{
		Distortion: metric.SquaredEuclidean, K: 2, D: 2, Centroids: []float64{10, 20, 30, 40},
		Metric: metric.NewIdentity(2),
		Units:  &dataset.Units{Center: []float64{1, 2}, Scale: []float64{3, 4}}, Mixture: gaussians,
	}
	result := &cleavev1.Result{K: 2, Rows: 2, ClusterSizes: []uint32{1, 1}, Model: wire.ModelHead(model),
		RowScores: &cleavev1.RowScoresHead{Rows: 2, Posterior: true}}
	r := New(&client.Outcome{Result: result, Labels: []int32{0, 1}, Model: model,
		Rows: &clustering.RowScores{Posterior: true, Confidence: []float64{0.5, 1}}}, jobflags.Rows{})
	dir := t.TempDir()
	if err := WriteFolder(t.Context(), dir, r.Files(Scene{Header: []string{"a", "b"}}, nil,
		func(string, ...any) {})); err != nil {
		t.Fatal(err)
	}
	back, err := ReadFolder(dir, result, &cleavev1.RunRecord{})
	if err != nil || !reflect.DeepEqual(back.Model, model) || !back.Rows.Posterior ||
		!slices.Equal(back.Rows.Confidence, []float64{0.5, 1}) {
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

// An error about a model begins with the file that is damaged.
func TestDamagedModelFiles(t *testing.T) {
	mixed, err := mixture.New([]float64{1}, 2, []float64{-1, 0, 0, 0, 1, 0, 0, 1})
	trees, err2 := forest.New(2, 2, []float64{-1, 0})
	weights, err3 := metric.NewDiagonal([]float64{1, 2})
	full, err4 := metric.NewFull(2, []float64{2, 1, 1, 2})
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	units := &dataset.Units{Center: []float64{1, 2}, Scale: []float64{3, 4}}
	landmarks := &model.Landmarks{Points: &dataset.Points{N: 2, D: 2, Values: []float64{1, 2, 3, 4}},
		Projection: []float64{1, 0, 0, 1},
		Matrix:     kernel.MatrixSpec{Function: kernel.Gaussian, Rho: 1, Columns: 2}}
	plain := model.Model{Distortion: metric.SquaredEuclidean, K: 1, D: 2, Centroids: []float64{1, 2},
		Metric: metric.NewIdentity(2), Units: units}
	mixes, weighted, turned, classifier := plain, plain, plain, plain
	mixes.Mixture, weighted.Metric, turned.Metric = mixed, weights, full
	classifier.K = 2
	classifier.Centroids = model.IdealScores(2)
	classifier.Landmarks = landmarks
	features := classifier
	classifier.Forest = &model.Forest{Trees: trees, Weight: 1}
	choice := &cleavev1.Choice{
		Chosen: &cleavev1.Method{ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_DISCRIMINANT}}
	head := func(damage func(*cleavev1.ModelHead)) func(*cleavev1.Result) {
		return func(r *cleavev1.Result) { damage(r.Model) }
	}
	for name, c := range map[string]struct {
		model   model.Model
		choice  *cleavev1.Choice
		file    string
		content string                 // of the file
		damage  func(*cleavev1.Result) // of result.json
		want    string
	}{
		"centroids":   {plain, nil, centroidsFile, "1\n", nil, "the file has 1 row of 1 column"},
		"units":       {plain, nil, unitsFile, "1,2\n3,0\n", nil, "column 1 has the center 2 and the scale 0"},
		"weights":     {weighted, nil, metricFile, "1,-2\n", nil, "the metric's weight of feature 1 is -2"},
		"full metric": {turned, nil, metricFile, "2,1\n0,2\n", nil, "the metric is not symmetric"},
		"mixture": {mixes, nil, mixtureFile, "-1,0\n-5,0\n1,0\n0,1\n", nil,
			"the variance of column 0 of the mixture is -5"},
		"landmarks":  {features, nil, landmarksFile, "1,2\n3,x\n", nil, ""},
		"projection": {features, nil, projectionFile, "1,2\n", nil, "the file has 1 row"},
		"forest":     {classifier, choice, forestFile, "9,0\n", nil, "node 0 compares column 9 of 2"},
		"trees": {classifier, choice, ResultFile, "", head(func(h *cleavev1.ModelHead) {
			h.Forest.Weight = -1
		}), "the weight of the forest is -1"},
		"forest of nothing": {features, choice, ResultFile, "", head(func(h *cleavev1.ModelHead) {
			h.K, h.Columns = 1, 2
		}), "there is no classifier of 1 class"},
		"distortion": {plain, nil, ResultFile, "", head(func(h *cleavev1.ModelHead) { h.Distortion = 0 }),
			"the distortion of the model is missing or unknown"},
		"unknown metric": {plain, nil, ResultFile, "", head(func(h *cleavev1.ModelHead) { h.Metric = 0 }),
			"the metric of the model is missing or unknown"},
		"kernel function": {features, nil, ResultFile, "", head(func(h *cleavev1.ModelHead) {
			h.Landmarks.Kernel.Function = 0
		}), "the kernel function of the landmarks is missing or unknown"},
		"shares": {mixes, nil, ResultFile, "", head(func(h *cleavev1.ModelHead) {
			h.Mixture.Shares = []float64{0.5}
		}), "the shares of the clusters of the mixture add up to 0.5"},
		"number of shares": {mixes, nil, ResultFile, "", head(func(h *cleavev1.ModelHead) { h.Mixture.Shares = nil }),
			"the mixture has 0 shares for 1 cluster"},
	} {
		result := &cleavev1.Result{K: uint32(c.model.K), Model: wire.ModelHead(&c.model), Choice: c.choice}
		r := New(&client.Outcome{Result: result, Labels: []int32{0}, Model: &c.model}, jobflags.Rows{})
		dir := t.TempDir()
		if err := WriteFolder(t.Context(), dir, r.modelFiles(Scene{}, t.Errorf)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := LoadModel(dir, result); err != nil {
			t.Fatalf("%s: the model cannot be read: %v", name, err)
		}
		if c.content != "" {
			clitest.Write(t, filepath.Join(dir, c.file), c.content)
		}
		if c.damage != nil {
			c.damage(result)
		}
		if _, _, err := LoadModel(dir, result); err == nil || shell.ExitCode(err) != 2 ||
			strings.Contains(err.Error(), "wire") ||
			!strings.HasPrefix(err.Error(), filepath.Join(dir, c.file)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHugeModelsAreNotWrittenAsText(t *testing.T) {
	const d = maxTableBytes/20 + 1
	centroid := slices.Repeat([]float64{1.0 / 3}, d)
	r := &Report{
		Outcome: &client.Outcome{Model: &model.Model{K: 1, D: d, Centroids: centroid, Metric: metric.NewIdentity(d)}}}
	said := ""
	if files := r.modelFiles(Scene{}, func(format string, args ...any) { said = format }); len(files) != 0 ||
		!strings.Contains(said, "was not written") {
		t.Errorf("%d files, %q", len(files), said)
	}
}
