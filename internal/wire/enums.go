package wire

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/metric"
)

// apiEnum is a generated enum of the API.
type apiEnum interface {
	~int32
	protoreflect.Enum
}

// enumMap says what each value of an API enum is in the domain. The two are numbered independently, so that
// either side can take its next number freely.
type enumMap[P apiEnum, D comparable] map[P]D

// read is the domain's value. A value that is not in the map is noted as a fault of its field.
func (m enumMap[P, D]) read(r *specReader, value P, field string) D {
	d, known := m[value]
	switch {
	case known:
	case value == 0:
		r.note(fault.Invalid("VALUE_MISSING", "%s is unspecified, and there is no default", field).OnField(field))
	default:
		r.note(fault.Invalid("UNKNOWN_ENUM_VALUE", "%s has the value %d, which this version does not know", field, int32(value)).OnField(field))
	}
	return d
}

// decode is the domain's value, or an error where there is none; 0 has none.
func (m enumMap[P, D]) decode(value P) (D, error) {
	d, known := m[value]
	if !known || value == 0 {
		return d, fmt.Errorf("wire: unknown %s %d", value.Descriptor().Name(), int32(value))
	}
	return d, nil
}

// write is the API's value, 0 where it has none. Of several that mean the same it is the one with a name
// of its own.
func (m enumMap[P, D]) write(value D) P {
	var found P
	for p, d := range m {
		if d == value {
			found = max(found, p)
		}
	}
	return found
}

var (
	kinds = enumMap[cleavev1.DatasetKind, dataset.Kind]{
		cleavev1.DatasetKind_DATASET_KIND_UNSPECIFIED:   0,
		cleavev1.DatasetKind_DATASET_KIND_POINTS:        dataset.KindPoints,
		cleavev1.DatasetKind_DATASET_KIND_GRAPH:         dataset.KindGraph,
		cleavev1.DatasetKind_DATASET_KIND_KERNEL:        dataset.KindKernel,
		cleavev1.DatasetKind_DATASET_KIND_SPARSE_POINTS: dataset.KindSparsePoints,
	}
	starts = enumMap[cleavev1.Start, clustering.Start]{
		cleavev1.Start_START_UNSPECIFIED:             clustering.StartDefault,
		cleavev1.Start_START_FARTHEST_FIRST:          clustering.StartFarthestFirst,
		cleavev1.Start_START_RANDOM:                  clustering.StartRandom,
		cleavev1.Start_START_KMEANS_PLUS_PLUS:        clustering.StartKmeansPlusPlus,
		cleavev1.Start_START_LABELS:                  clustering.StartLabels,
		cleavev1.Start_START_SEEDS:                   clustering.StartSeeds,
		cleavev1.Start_START_NEIGHBORHOODS:           clustering.StartNeighborhoods,
		cleavev1.Start_START_WEIGHTED_FARTHEST_FIRST: clustering.StartWeightedFarthestFirst,
		cleavev1.Start_START_CENTROIDS:               clustering.StartCentroids,
		cleavev1.Start_START_SPECTRAL:                clustering.StartSpectral,
	}
	objectives = enumMap[cleavev1.Objective, kernelkmeans.Objective]{
		cleavev1.Objective_OBJECTIVE_UNSPECIFIED:       kernelkmeans.ObjectiveDefault,
		cleavev1.Objective_OBJECTIVE_KERNEL_KMEANS:     kernelkmeans.ObjectiveKernelKmeans,
		cleavev1.Objective_OBJECTIVE_RATIO_ASSOCIATION: kernelkmeans.ObjectiveRatioAssociation,
		cleavev1.Objective_OBJECTIVE_RATIO_CUT:         kernelkmeans.ObjectiveRatioCut,
		cleavev1.Objective_OBJECTIVE_NORMALIZED_CUT:    kernelkmeans.ObjectiveNormalizedCut,
	}
	// kernelFunctions go by their names, so that a new kernel needs no line here.
	kernelFunctions = func() enumMap[cleavev1.KernelFunction, kernel.Function] {
		m := enumMap[cleavev1.KernelFunction, kernel.Function]{cleavev1.KernelFunction_KERNEL_FUNCTION_UNSPECIFIED: 0}
		for f := kernel.Function(1); f.String() != ""; f++ {
			if number := enumNumber(cleavev1.KernelFunction(0).Descriptor(), f.String()); number != 0 {
				m[cleavev1.KernelFunction(number)] = f
			}
		}
		return m
	}()
	risePolicies = enumMap[cleavev1.RisePolicy, kernelkmeans.RisePolicy]{
		cleavev1.RisePolicy_RISE_POLICY_UNSPECIFIED: kernelkmeans.RiseShift,
		cleavev1.RisePolicy_RISE_POLICY_SHIFT:       kernelkmeans.RiseShift,
		cleavev1.RisePolicy_RISE_POLICY_STOP:        kernelkmeans.RiseStop,
		cleavev1.RisePolicy_RISE_POLICY_IGNORE:      kernelkmeans.RiseIgnore,
	}
	// geometries: rows of length 1 are the cosine distortion.
	geometries = enumMap[cleavev1.Geometry, metric.Distortion]{
		cleavev1.Geometry_GEOMETRY_UNSPECIFIED: 0,
		cleavev1.Geometry_GEOMETRY_EUCLIDEAN:   metric.SquaredEuclidean,
		cleavev1.Geometry_GEOMETRY_SPHERICAL:   metric.Cosine,
	}
	distortions = enumMap[cleavev1.Distortion, metric.Distortion]{
		cleavev1.Distortion_DISTORTION_UNSPECIFIED:  0,
		cleavev1.Distortion_DISTORTION_EUCLIDEAN:    metric.SquaredEuclidean,
		cleavev1.Distortion_DISTORTION_COSINE:       metric.Cosine,
		cleavev1.Distortion_DISTORTION_KL:           metric.KL,
		cleavev1.Distortion_DISTORTION_I_DIVERGENCE: metric.IDivergence,
	}
	metrics = enumMap[cleavev1.Metric, metric.Form]{
		cleavev1.Metric_METRIC_UNSPECIFIED: 0,
		cleavev1.Metric_METRIC_IDENTITY:    metric.Identity,
		cleavev1.Metric_METRIC_DIAGONAL:    metric.Diagonal,
		cleavev1.Metric_METRIC_FULL:        metric.Full,
	}
	penalties = enumMap[cleavev1.Penalty, metric.PenaltyKind]{
		cleavev1.Penalty_PENALTY_UNSPECIFIED: 0,
		cleavev1.Penalty_PENALTY_POTTS:       metric.Potts,
		cleavev1.Penalty_PENALTY_BASU2003:    metric.Basu2003,
		cleavev1.Penalty_PENALTY_BILENKO2004: metric.Bilenko2004,
	}
	inferences = enumMap[cleavev1.Inference, inference.Engine]{
		cleavev1.Inference_INFERENCE_UNSPECIFIED: 0,
		cleavev1.Inference_INFERENCE_ICM:         inference.ICM,
		cleavev1.Inference_INFERENCE_BP:          inference.BP,
		cleavev1.Inference_INFERENCE_LP:          inference.LP,
		cleavev1.Inference_INFERENCE_EXACT:       inference.Exact,
	}
	discretizations = enumMap[cleavev1.Discretization, cut.Discretization]{
		cleavev1.Discretization_DISCRETIZATION_UNSPECIFIED: cut.DiscretizePlain,
		cleavev1.Discretization_DISCRETIZATION_PLAIN:       cut.DiscretizePlain,
		cleavev1.Discretization_DISCRETIZATION_SIGN:        cut.DiscretizeSign,
		cleavev1.Discretization_DISCRETIZATION_WEIGHTED:    cut.DiscretizeWeighted,
	}
)

// What the domain asks as a question.
var (
	halfPrecision = enumMap[cleavev1.StorageMode, bool]{
		cleavev1.StorageMode_STORAGE_MODE_UNSPECIFIED: false,
		cleavev1.StorageMode_STORAGE_MODE_FLOAT32:     false,
		cleavev1.StorageMode_STORAGE_MODE_NONE:        false,
		cleavev1.StorageMode_STORAGE_MODE_FLOAT16:     true,
	}
	farthestMean = enumMap[cleavev1.FarthestRule, bool]{
		cleavev1.FarthestRule_FARTHEST_RULE_UNSPECIFIED: false,
		cleavev1.FarthestRule_FARTHEST_RULE_TOTAL:       false,
		cleavev1.FarthestRule_FARTHEST_RULE_MEAN:        true,
	}
	keepEmpty = enumMap[cleavev1.EmptyPolicy, bool]{
		cleavev1.EmptyPolicy_EMPTY_POLICY_UNSPECIFIED: false,
		cleavev1.EmptyPolicy_EMPTY_POLICY_FARTHEST:    false,
		cleavev1.EmptyPolicy_EMPTY_POLICY_KEEP:        true,
	}
	keepDiagonal = enumMap[cleavev1.AffinityDiagonal, bool]{
		cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_UNSPECIFIED: false,
		cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_ZERO:        false,
		cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_KEEP:        true,
	}
	joinComponents = enumMap[cleavev1.ComponentPolicy, bool]{
		cleavev1.ComponentPolicy_COMPONENT_POLICY_UNSPECIFIED: false,
		cleavev1.ComponentPolicy_COMPONENT_POLICY_KEEP:        false,
		cleavev1.ComponentPolicy_COMPONENT_POLICY_JOIN:        true,
	}
)

// Rules that take the place of a number. They have no default: where one is meant, nothing is set at all.
var (
	autoShift = enumMap[cleavev1.ShiftRule, bool]{cleavev1.ShiftRule_SHIFT_RULE_AUTO: true}
	betaRules = enumMap[cleavev1.BetaRule, cut.BetaRule]{
		cleavev1.BetaRule_BETA_RULE_AUTO:   cut.BetaAuto,
		cleavev1.BetaRule_BETA_RULE_STRICT: cut.BetaStrict,
	}
)
