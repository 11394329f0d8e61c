package centroid

import (
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/metric"
)

// vectorStarts are the starts that an algorithm can have.
var starts = map[Algorithm][]clustering.Start{
	Kmeans:            {clustering.StartKmeansPlusPlus, clustering.StartRandom, clustering.StartLabels, clustering.StartCentroids},
	SeededKmeans:      {clustering.StartSeeds},
	ConstrainedKmeans: {clustering.StartSeeds},
	CopKmeans:         {clustering.StartRandom, clustering.StartKmeansPlusPlus, clustering.StartLabels, clustering.StartCentroids},
	PCKmeans:          constrainedStarts,
	MKmeans:           constrainedStarts,
	MPCKmeans:         constrainedStarts,
	HMRFKmeans:        constrainedStarts,
}

var constrainedStarts = []clustering.Start{clustering.StartNeighborhoods, clustering.StartWeightedFarthestFirst, clustering.StartKmeansPlusPlus, clustering.StartRandom, clustering.StartLabels, clustering.StartCentroids}

// Name implements clustering.Algorithm.
func (v *Options) Name() string { return v.Algorithm.String() }

// Validate implements clustering.Algorithm.
func (v *Options) Validate(kind dataset.Kind, _ int, spec clustering.Spec) error {
	const does = "OPTION_DOES_NOT_APPLY"
	if v.Algorithm < Kmeans || v.Algorithm > HMRFKmeans {
		return fault.Invalid("BAD_ALGORITHM", "algorithm %d is unknown", v.Algorithm).OnField("spec.algorithm")
	}
	field := clustering.Field(v, "")
	if kind != dataset.KindPoints && kind != dataset.KindSparsePoints {
		return fault.Invalid(does, "%v clusters points; this data set is a %v", v.Algorithm, kind).OnField("spec.algorithm")
	}
	switch {
	case spec.HalfPrecision:
		return fault.Invalid(does, "float16 storage is for kernel matrices; %v has none", v.Algorithm).OnField("spec.storage")
	case spec.FarthestMean:
		return fault.Invalid(does, "the farthest rule applies to the farthest-first start of the kernel family only").OnField("spec.initialization.farthest")
	case len(spec.Constraints) > 0 && v.Algorithm < CopKmeans:
		return fault.Invalid(does, "%v knows no constraints; cop-kmeans keeps them, pc-kmeans, mpc-kmeans and hmrf-kmeans weigh them", v.Algorithm).OnField("spec.supervision.constraints")
	case len(spec.Seeds) > 0 && !v.Algorithm.seeded():
		return fault.Invalid(does, "%v knows no seeds; seeded-kmeans and constrained-kmeans do", v.Algorithm).OnField("spec.supervision.seeds")
	case len(spec.Seeds) == 0 && v.Algorithm.seeded():
		return fault.Invalid("NO_SEEDS", "%v starts from seeds; give at least one", v.Algorithm).OnField("spec.supervision.seeds")
	case spec.Start != clustering.StartDefault && !slices.Contains(starts[v.Algorithm], spec.Start):
		return fault.Invalid(does, "%v does not start that way", v.Algorithm).OnField("spec.initialization.start")
	case (v.startKind(spec.Start) == clustering.StartCentroids) != (len(v.InitialCentroids) > 0):
		return fault.Invalid("BAD_START", "initial centroids and the start from centroids go together: give both or neither").OnField("spec.initialization.centroids")
	case v.Distortion > metric.IDivergence:
		return fault.Invalid("BAD_DISTORTION", "distortion %d is unknown", v.Distortion).OnField(field + "distortion")
	case v.Distortion > metric.Cosine && v.Algorithm != HMRFKmeans, v.Distortion == metric.Cosine && v.Algorithm.withParts() && v.Algorithm != HMRFKmeans:
		return fault.Invalid(does, "the distortion %v is for hmrf-kmeans", v.Distortion).OnField(field + "distortion")
	case v.Metric > metric.Full:
		return fault.Invalid("BAD_METRIC", "metric %d is unknown", v.Metric).OnField(field + "metric")
	case v.Metric > metric.Identity && (!v.Algorithm.withParts() || v.Algorithm == PCKmeans):
		return fault.Invalid(does, "%v learns no metric; m-kmeans, mpc-kmeans and hmrf-kmeans do", v.Algorithm).OnField(field + "metric")
	case v.Metric > metric.Identity && v.Distortion > metric.SquaredEuclidean:
		return fault.Invalid(does, "the distortion %v learns no metric", v.Distortion).OnField(field + "metric")
	case v.Penalty > metric.Bilenko2004:
		return fault.Invalid("BAD_PENALTY", "penalty %d is unknown", v.Penalty).OnField(field + "penalty")
	case v.Penalty != 0 && !v.Algorithm.constrained(), v.Algorithm == PCKmeans && v.Penalty > metric.Potts:
		return fault.Invalid(does, "the penalty %v does not apply to %v", v.Penalty, v.Algorithm).OnField(field + "penalty")
	case v.Inference > inference.Exact:
		return fault.Invalid("BAD_INFERENCE", "inference engine %d is unknown", v.Inference).OnField(field + "inference")
	case v.Inference != 0 && !v.Algorithm.constrained():
		return fault.Invalid(does, "%v does no inference; pc-kmeans, mpc-kmeans and hmrf-kmeans do", v.Algorithm).OnField(field + "inference")
	case v.MaxRestarts < 0 || v.MaxRestarts > clustering.MaxRestarts || v.MaxRestarts != 0 && v.Algorithm != CopKmeans:
		return fault.Invalid(does, "max restarts is for cop-kmeans, 1 to %d", clustering.MaxRestarts).OnField(field + "max_restarts")
	}
	return nil
}
