package kernelkmeans

import (
	"context"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The points of a run that has converged get their own labels when they are taken for new ones.
func TestPredictionOfTheRunsOwnPoints(t *testing.T) {
	ctx := context.Background()
	for seed, function := range []kernel.Function{kernel.Gaussian, kernel.Linear, kernel.Laplacian, kernel.Cosine} {
		rng := clusteringtest.NewRand(uint64(seed))
		data := clusteringtest.Blobs(t, rng, 120, 3, 3)
		spec := clustering.Spec{K: 3, MaxIterations: 200, Algorithm: &Options{Function: function}}
		if seed == 1 {
			weights := make([]float64, data.N)
			for i := range weights {
				weights[i] = 0.5 + rng.Float64()
			}
			optionsOf(spec).Weights = weights
		}
		problem, err := Prepare(data, spec)
		if err != nil {
			t.Fatal(err)
		}
		result := solve(t, data, spec)
		if result.StopReason != clustering.StopConverged {
			t.Fatalf("function %d: %v", function, result.StopReason)
		}
		p, err := NewPrediction(problem, data, result.Labels, data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Run(ctx, localOver(t, p))
		if err != nil {
			t.Fatal(err)
		}
		// A weighted point counts as one of weight 1 when it is new, which changes no distance.
		if !slices.Equal(got, result.Labels) {
			t.Errorf("function %d: %v, want %v", function, got, result.Labels)
		}
	}
}

func localOver(t *testing.T, p *Prediction) *local {
	t.Helper()
	source, err := kernel.NewSource(p.Matrix, p.Points, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &local{shard: kernel.NewShard(source, 2), tiles: partition.AllTiles(p.Points.Rows())}
	if err := l.shard.Build(context.Background(), l.tiles, false); err != nil {
		t.Fatal(err)
	}
	return l
}

// What cannot be predicted is refused with its reason.
func TestPredictionRefuses(t *testing.T) {
	data := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 30, 2, 2)
	other := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 30, 3, 2)
	for name, c := range map[string]struct {
		objective Objective
		fresh     dataset.Dataset
		reason    string
	}{
		"a cut":         {ObjectiveRatioAssociation, data, "CANNOT_PREDICT"},
		"other columns": {ObjectiveKernelKmeans, other, "SIZE_MISMATCH"},
		"a graph": {ObjectiveKernelKmeans, clusteringtest.RandomGraph(t, clusteringtest.NewRand(2), 20, 2),
			"OTHER_DATA"},
	} {
		problem, err := Prepare(data, clustering.Spec{K: 2, MaxIterations: 10,
			Algorithm: &Options{Objective: c.objective}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewPrediction(problem, data, make([]int32, 30), c.fresh); !fault.Is(refusal.Of(err), c.reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A fault of a new point names its row among the new points.
func TestPredictionNamesRowsOfTheNewPoints(t *testing.T) {
	data := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 30, 2, 2)
	problem, err := Prepare(data, clustering.Spec{K: 2, MaxIterations: 10,
		Algorithm: &Options{Function: kernel.Cosine}})
	if err != nil {
		t.Fatal(err)
	}
	for reason, values := range map[string][]float64{"ZERO_ROW": {1, 1, 0, 0},
		"OUT_OF_FLOAT32_RANGE": {1, 1, 1e40, 0}} {
		_, err := NewPrediction(problem, data, make([]int32, 30), &dataset.Points{N: 2, D: 2, Values: values})
		clusteringtest.WantFault(t, err, reason, "row 1")
	}
}
