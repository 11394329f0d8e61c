package wire

import (
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/metric"
)

func TestVectorSpec(t *testing.T) {
	vector := func(v centroid.Options) clustering.Spec {
		return clustering.Spec{MaxIterations: clustering.DefaultMaxIterations, Algorithm: &v}
	}
	checkMeanings(t, []meaning{
		{`{"kmeans": {}}`, vector(centroid.Options{Algorithm: centroid.Kmeans})},
		{`{"seededKmeans": {}}`, vector(centroid.Options{Algorithm: centroid.SeededKmeans})},
		{`{"constrainedKmeans": {}}`, vector(centroid.Options{Algorithm: centroid.ConstrainedKmeans})},
		{`{"copKmeans": {}}`, vector(centroid.Options{Algorithm: centroid.CopKmeans})},
		{`{"pcKmeans": {}}`, vector(centroid.Options{Algorithm: centroid.PCKmeans})},
		{`{"mKmeans": {}}`, vector(centroid.Options{Algorithm: centroid.MKmeans})},
		{`{"mpcKmeans": {}}`, vector(centroid.Options{Algorithm: centroid.MPCKmeans})},
		{`{"hmrfKmeans": {}}`, vector(centroid.Options{Algorithm: centroid.HMRFKmeans})},

		{`{"kmeans": {"geometry": "GEOMETRY_SPHERICAL"}}`, vector(centroid.Options{Algorithm: centroid.Kmeans, Distortion: metric.Cosine})},
		{`{"seededKmeans": {"geometry": "GEOMETRY_EUCLIDEAN"}}`, vector(centroid.Options{Algorithm: centroid.SeededKmeans, Distortion: metric.SquaredEuclidean})},
		{`{"constrainedKmeans": {"geometry": "GEOMETRY_SPHERICAL"}}`, vector(centroid.Options{Algorithm: centroid.ConstrainedKmeans, Distortion: metric.Cosine})},
		{`{"copKmeans": {"geometry": "GEOMETRY_SPHERICAL", "maxRestarts": 3}}`, vector(centroid.Options{
			Algorithm: centroid.CopKmeans, Distortion: metric.Cosine, MaxRestarts: 3})},
		{`{"pcKmeans": {"inference": "INFERENCE_BP"}}`, vector(centroid.Options{Algorithm: centroid.PCKmeans, Inference: inference.BP})},
		{`{"mKmeans": {"metric": "METRIC_FULL"}}`, vector(centroid.Options{Algorithm: centroid.MKmeans, Metric: metric.Full})},
		{`{"mpcKmeans": {"metric": "METRIC_DIAGONAL", "penalty": "PENALTY_POTTS", "inference": "INFERENCE_LP"}}`, vector(centroid.Options{
			Algorithm: centroid.MPCKmeans, Metric: metric.Diagonal, Penalty: metric.Potts, Inference: inference.LP})},
		{`{"hmrfKmeans": {"distortion": "DISTORTION_I_DIVERGENCE", "metric": "METRIC_IDENTITY", "penalty": "PENALTY_BASU2003", "inference": "INFERENCE_EXACT"}}`,
			vector(centroid.Options{Algorithm: centroid.HMRFKmeans, Distortion: metric.IDivergence, Metric: metric.Identity,
				Penalty: metric.Basu2003, Inference: inference.Exact})},
		{`{"initialization": {"start": "START_CENTROIDS", "centroids": [1, 2]}, "kmeans": {}}`, clustering.Spec{
			MaxIterations: clustering.DefaultMaxIterations, Start: clustering.StartCentroids,
			Algorithm: &centroid.Options{Algorithm: centroid.Kmeans, InitialCentroids: []float64{1, 2}}}},
	})
}

func TestVectorSpecRefusesWhatItCannotSay(t *testing.T) {
	checkRefusals(t, []refusal{
		{"BAD_MAX_RESTARTS", "spec.cop_kmeans.max_restarts", `{"copKmeans": {"maxRestarts": 0}}`},
		{"BAD_PROBABILITY", "spec.supervision.seeds", `{"seededKmeans": {}, "supervision": {"seeds": {"inline": {"columns": [{"name": "index", "integers": {"values": [3]}},
			{"name": "label", "integers": {"values": [1]}}, {"name": "probability", "numbers": {"values": [0]}}]}}}}`},
		{"NOT_FINITE", "spec.supervision.seeds", `{"seededKmeans": {}, "supervision": {"seeds": {"inline": {"columns": [{"name": "index", "integers": {"values": [3]}},
			{"name": "label", "integers": {"values": [1]}}, {"name": "probability", "numbers": {"values": ["NaN"]}}]}}}}`},
		{"OPTION_DOES_NOT_APPLY", "spec.storage", `{"storage": "STORAGE_MODE_FLOAT16", "kmeans": {}}`},
	})
}
