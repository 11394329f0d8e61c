package wire

import (
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// DefaultMaxIterations is what a job does at most when it does not say.
const DefaultMaxIterations = 100

// Spec reads a job's specification. It refuses what the domain's types cannot say: numbers of
// points beyond int32, unknown enum values, zeros where absent means a default. Whether the rest
// makes sense for the data is clustering's to judge.
func Spec(p *cleavev1.JobSpec) (clustering.Spec, error) {
	first := &firstFault{}
	supervision, start := p.GetSupervision(), p.GetInitialization()
	spec := clustering.Spec{
		K:             int(p.GetK()),
		Seed:          p.GetSeed(),
		Restarts:      int(p.GetRestarts()),
		MaxIterations: int(p.GetMaxIterations()),
		Tolerance:     p.GetTolerance(),
		Entail:        supervision.GetEntail(),
		HalfPrecision: halfPrecision.read(first, p.GetStorage(), "spec.storage"),
		Start:         starts.read(first, start.GetStart(), "spec.initialization.start"),
		FarthestMean:  farthestMean.read(first, start.GetFarthest(), "spec.initialization.farthest"),
		Constraints:   constraints(first, supervision.GetConstraints()),
		Seeds:         seeds(first, supervision.GetSeeds()),
		InitialLabels: labels(first, start.GetLabels()),
	}
	if p.MaxIterations == nil {
		spec.MaxIterations = DefaultMaxIterations
	}
	switch a := p.GetAlgorithm().(type) {
	case nil:
		first.note(fault.Invalid("ALGORITHM_MISSING",
			"the job names no algorithm; set the options of one, such as kernel_kmeans or kmeans (they may be empty)").
			OnField("spec.kernel_kmeans"))
	case *cleavev1.JobSpec_KernelKmeans:
		if len(start.GetCentroids()) > 0 {
			first.note(fault.Invalid("OPTION_DOES_NOT_APPLY", "kernel k-means has no centroids to start from; give labels or seeds").
				OnField("spec.initialization.centroids"))
		}
		spec.Algorithm = kernelKmeans(first, a.KernelKmeans)
	case *cleavev1.JobSpec_Spectral, *cleavev1.JobSpec_SpectralLearning, *cleavev1.JobSpec_ConstrainedSpectral:
		spec.MaxIterations = 0 // its limits are its own
		spec.Algorithm = spectralSpec(first, p)
	default:
		spec.Algorithm = vectorSpec(first, p)
	}
	return spec, first.err
}

func constraints(first *firstFault, list []*cleavev1.Constraint) []constraint.Constraint {
	if len(list) == 0 {
		return nil
	}
	converted := make([]constraint.Constraint, len(list))
	for at, p := range list {
		if p.GetI() > math.MaxInt32 || p.GetJ() > math.MaxInt32 {
			first.note(outOfRange("constraint", at, max(p.GetI(), p.GetJ())).OnField("spec.supervision.constraints"))
			return nil
		}
		// Unknown kinds stay unknown: the constraint package says which constraint it was.
		converted[at] = constraint.Constraint{
			I: int32(p.GetI()), J: int32(p.GetJ()),
			Weight: p.GetWeight(), Weighted: p.Weight != nil,
		}
		switch p.GetKind() {
		case cleavev1.ConstraintKind_CONSTRAINT_KIND_MUST_LINK:
			converted[at].Kind = constraint.MustLink
		case cleavev1.ConstraintKind_CONSTRAINT_KIND_CANNOT_LINK:
			converted[at].Kind = constraint.CannotLink
		}
	}
	return converted
}

// ConstraintsProto is the messages of constraints.
func ConstraintsProto(list []constraint.Constraint) []*cleavev1.Constraint {
	converted := make([]*cleavev1.Constraint, len(list))
	for at, c := range list {
		converted[at] = &cleavev1.Constraint{I: uint32(c.I), J: uint32(c.J), Kind: cleavev1.ConstraintKind(c.Kind)}
		if c.Weighted {
			converted[at].Weight = &list[at].Weight
		}
	}
	return converted
}

func seeds(first *firstFault, list []*cleavev1.Seed) []clustering.Seed {
	if len(list) == 0 {
		return nil
	}
	converted := make([]clustering.Seed, len(list))
	for at, p := range list {
		if p.GetIndex() > math.MaxInt32 || p.GetLabel() > math.MaxInt32 {
			first.note(outOfRange("seed", at, max(p.GetIndex(), p.GetLabel())).OnField("spec.supervision.seeds"))
			return nil
		}
		// In the domain a probability of zero means certain, so that one that was given must not pass for it.
		if p.Probability != nil && !(p.GetProbability() > 0 && p.GetProbability() <= math.MaxFloat64) {
			first.note(fault.Invalid("BAD_PROBABILITY", "seed %d gives point %d the label %d with probability %v; it must be positive and finite, or absent for certain",
				at, p.GetIndex(), p.GetLabel(), p.GetProbability()).OnField("spec.supervision.seeds"))
			return nil
		}
		converted[at] = clustering.Seed{Index: int32(p.GetIndex()), Label: int32(p.GetLabel()), Probability: p.GetProbability()}
	}
	return converted
}

func labels(first *firstFault, list []uint32) []int32 {
	if len(list) == 0 {
		return nil
	}
	converted := make([]int32, len(list))
	for at, label := range list {
		if label > math.MaxInt32 {
			first.note(outOfRange("initial label", at, label).OnField("spec.initialization.labels"))
			return nil
		}
		converted[at] = int32(label)
	}
	return converted
}

// LabelsProto is labels as they travel.
func LabelsProto(list []int32) []uint32 {
	converted := make([]uint32, len(list))
	for at, label := range list {
		converted[at] = uint32(label)
	}
	return converted
}

func outOfRange(what string, at int, value uint32) *fault.Error {
	return fault.Invalid("INDEX_OUT_OF_RANGE", "%s %d has the number %d; numbers go up to %d", what, at, value, math.MaxInt32)
}
