package wire

import (
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/metric"
)

func TestVectorSpec(t *testing.T) {
	vector := func(v clustering.Vector) clustering.Spec {
		return clustering.Spec{MaxIterations: DefaultMaxIterations, Vector: &v}
	}
	checkMeanings(t, []meaning{
		{`{"kmeans": {}}`, vector(clustering.Vector{Algorithm: clustering.Kmeans})},
		{`{"seededKmeans": {}}`, vector(clustering.Vector{Algorithm: clustering.SeededKmeans})},
		{`{"constrainedKmeans": {}}`, vector(clustering.Vector{Algorithm: clustering.ConstrainedKmeans})},
		{`{"copKmeans": {}}`, vector(clustering.Vector{Algorithm: clustering.CopKmeans})},
		{`{"pcKmeans": {}}`, vector(clustering.Vector{Algorithm: clustering.PCKmeans})},
		{`{"mKmeans": {}}`, vector(clustering.Vector{Algorithm: clustering.MKmeans})},
		{`{"mpcKmeans": {}}`, vector(clustering.Vector{Algorithm: clustering.MPCKmeans})},
		{`{"hmrfKmeans": {}}`, vector(clustering.Vector{Algorithm: clustering.HMRFKmeans})},

		{`{"kmeans": {"geometry": "GEOMETRY_SPHERICAL"}}`, vector(clustering.Vector{Algorithm: clustering.Kmeans, Distortion: metric.Cosine})},
		{`{"seededKmeans": {"geometry": "GEOMETRY_EUCLIDEAN"}}`, vector(clustering.Vector{Algorithm: clustering.SeededKmeans, Distortion: metric.SquaredEuclidean})},
		{`{"constrainedKmeans": {"geometry": "GEOMETRY_SPHERICAL"}}`, vector(clustering.Vector{Algorithm: clustering.ConstrainedKmeans, Distortion: metric.Cosine})},
		{`{"copKmeans": {"geometry": "GEOMETRY_SPHERICAL", "maxRestarts": 3}}`, vector(clustering.Vector{
			Algorithm: clustering.CopKmeans, Distortion: metric.Cosine, MaxRestarts: 3})},
		{`{"pcKmeans": {"inference": "INFERENCE_BP"}}`, vector(clustering.Vector{Algorithm: clustering.PCKmeans, Inference: inference.BP})},
		{`{"mKmeans": {"metric": "METRIC_FULL"}}`, vector(clustering.Vector{Algorithm: clustering.MKmeans, Metric: metric.Full})},
		{`{"mpcKmeans": {"metric": "METRIC_DIAGONAL", "penalty": "PENALTY_POTTS", "inference": "INFERENCE_LP"}}`, vector(clustering.Vector{
			Algorithm: clustering.MPCKmeans, Metric: metric.Diagonal, Penalty: metric.Potts, Inference: inference.LP})},
		{`{"hmrfKmeans": {"distortion": "DISTORTION_I_DIVERGENCE", "metric": "METRIC_IDENTITY", "penalty": "PENALTY_BASU2003", "inference": "INFERENCE_EXACT"}}`,
			vector(clustering.Vector{Algorithm: clustering.HMRFKmeans, Distortion: metric.IDivergence, Metric: metric.Identity,
				Penalty: metric.Basu2003, Inference: inference.Exact})},
		{`{"initialization": {"start": "START_CENTROIDS", "centroids": [1, 2]}, "kmeans": {}}`, clustering.Spec{
			MaxIterations: DefaultMaxIterations, Start: clustering.StartCentroids,
			Vector: &clustering.Vector{Algorithm: clustering.Kmeans, InitialCentroids: []float64{1, 2}}}},
	})
}

func TestVectorSpecRefusesWhatItCannotSay(t *testing.T) {
	checkRefusals(t, []refusal{
		{"BAD_MAX_RESTARTS", "spec.cop_kmeans.max_restarts", `{"copKmeans": {"maxRestarts": 0}}`},
		{"BAD_PROBABILITY", "spec.supervision.seeds", `{"seededKmeans": {}, "supervision": {"seeds": [{"index": 3, "label": 1, "probability": 0}]}}`},
		{"BAD_PROBABILITY", "spec.supervision.seeds", `{"seededKmeans": {}, "supervision": {"seeds": [{"index": 3, "label": 1, "probability": "NaN"}]}}`},
		{"BAD_PROBABILITY", "spec.supervision.seeds", `{"seededKmeans": {}, "supervision": {"seeds": [{"index": 3, "label": 1, "probability": "Infinity"}]}}`},
		{"OPTION_DOES_NOT_APPLY", "spec.storage", `{"storage": "STORAGE_MODE_FLOAT16", "kmeans": {}}`},
	})
}
