package wire

import (
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

func TestVectorSpec(t *testing.T) {
	vector := func(v kmeans.Options) clustering.Spec {
		return clustering.Spec{MaxIterations: clustering.DefaultMaxIterations, Algorithm: &v}
	}
	checkMeanings(t, []meaning{
		{`{"kmeans": {}}`, vector(kmeans.Options{Algorithm: kmeans.Kmeans})},
		{`{"seededKmeans": {}}`, vector(kmeans.Options{Algorithm: kmeans.SeededKmeans})},
		{`{"constrainedKmeans": {}}`, vector(kmeans.Options{Algorithm: kmeans.ConstrainedKmeans})},
		{`{"copKmeans": {}}`, vector(kmeans.Options{Algorithm: kmeans.CopKmeans})},
		{`{"pcKmeans": {}}`, vector(kmeans.Options{Algorithm: kmeans.PCKmeans})},
		{`{"mKmeans": {}}`, vector(kmeans.Options{Algorithm: kmeans.MKmeans})},
		{`{"mpcKmeans": {}}`, vector(kmeans.Options{Algorithm: kmeans.MPCKmeans})},
		{`{"hmrfKmeans": {}}`, vector(kmeans.Options{Algorithm: kmeans.HMRFKmeans})},

		{`{"kmeans": {"geometry": "GEOMETRY_SPHERICAL"}}`,
			vector(kmeans.Options{Algorithm: kmeans.Kmeans, Distortion: metric.Cosine})},
		{`{"seededKmeans": {"geometry": "GEOMETRY_EUCLIDEAN"}}`,
			vector(kmeans.Options{Algorithm: kmeans.SeededKmeans, Distortion: metric.SquaredEuclidean})},
		{`{"constrainedKmeans": {"geometry": "GEOMETRY_SPHERICAL"}}`,
			vector(kmeans.Options{Algorithm: kmeans.ConstrainedKmeans, Distortion: metric.Cosine})},
		{`{"copKmeans": {"geometry": "GEOMETRY_SPHERICAL", "maxRestarts": 3}}`, vector(kmeans.Options{
			Algorithm: kmeans.CopKmeans, Distortion: metric.Cosine, MaxRestarts: 3})},
		{`{"pcKmeans": {"inference": "INFERENCE_BP"}}`,
			vector(kmeans.Options{Algorithm: kmeans.PCKmeans, Inference: inference.BP})},
		{`{"mKmeans": {"metric": "METRIC_FULL"}}`,
			vector(kmeans.Options{Algorithm: kmeans.MKmeans, Metric: metric.Full})},
		{`{"mpcKmeans": {"metric": "METRIC_DIAGONAL", "penalty": "PENALTY_POTTS", "inference": "INFERENCE_LP"}}`,
			vector(kmeans.Options{
				Algorithm: kmeans.MPCKmeans, Metric: metric.Diagonal, Penalty: metric.Potts, Inference: inference.LP})},
		{`{"hmrfKmeans": {"distortion": "DISTORTION_I_DIVERGENCE", "metric": "METRIC_IDENTITY", "penalty": ` +
			`"PENALTY_BASU2003", "inference": "INFERENCE_EXACT"}}`,
			vector(kmeans.Options{Algorithm: kmeans.HMRFKmeans, Distortion: metric.IDivergence, Metric: metric.Identity,
				Penalty: metric.Basu2003, Inference: inference.Exact})},
		{`{"initialization": {"start": "START_CENTROIDS", "centroids": [1, 2]}, "kmeans": {}}`, clustering.Spec{
			MaxIterations:  clustering.DefaultMaxIterations,
			Initialization: clustering.Initialization{Start: clustering.StartCentroids},
			Algorithm:      &kmeans.Options{Algorithm: kmeans.Kmeans, InitialCentroids: []float64{1, 2}}}},
	})
}

func TestVectorSpecRefusesWhatItCannotSay(t *testing.T) {
	checkRefusals(t, []refusedSpec{
		{"BAD_MAX_RESTARTS", "spec.cop_kmeans.max_restarts", `{"copKmeans": {"maxRestarts": 0}}`},
		{"BAD_PROBABILITY", "spec.supervision.seeds",
			`{"seededKmeans": {}, "supervision": {"seeds": {"inline": {"columns": [
			{"name": "index", "integers": {"values": [3]}},
			{"name": "label", "integers": {"values": [1]}},
			{"name": "probability", "numbers": {"values": [0]}}]}}}}`},
		{"NOT_FINITE", "spec.supervision.seeds",
			`{"seededKmeans": {}, "supervision": {"seeds": {"inline": {"columns": [
			{"name": "index", "integers": {"values": [3]}},
			{"name": "label", "integers": {"values": [1]}},
			{"name": "probability", "numbers": {"values": ["NaN"]}}]}}}}`},
		{"OPTION_DOES_NOT_APPLY", "spec.storage", `{"storage": "STORAGE_MODE_FLOAT16", "kmeans": {}}`},
	})
}
