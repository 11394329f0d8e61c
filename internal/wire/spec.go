package wire

import (
	"math"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
)

// DefaultMaxIterations is what a job does at most when it does not say.
const DefaultMaxIterations = 100

// Spec reads a job's specification. It refuses what the domain's types cannot say: numbers of
// points beyond int32, unknown enum values, zeros where absent means a default. Whether the rest
// makes sense for the data is clustering's to judge.
func Spec(p *cleavev1.JobSpec) (clustering.Spec, error) {
	spec := clustering.Spec{
		K:             int(p.GetK()),
		Seed:          p.GetSeed(),
		Restarts:      int(p.GetRestarts()),
		Tolerance:     p.GetTolerance(),
		Entail:        p.GetSupervision().GetEntail(),
		HalfPrecision: p.GetStorage() == cleavev1.StorageMode_STORAGE_MODE_FLOAT16,
		FarthestMean:  p.GetInitialization().GetFarthest() == cleavev1.FarthestRule_FARTHEST_RULE_MEAN,
	}
	var err error
	if spec.MaxIterations, err = maxIterations(p); err != nil {
		return spec, err
	}
	if err = checkEnums(p); err != nil {
		return spec, err
	}
	if spec.Constraints, err = constraints(p.GetSupervision().GetConstraints()); err != nil {
		return spec, err
	}
	if spec.Seeds, err = seeds(p.GetSupervision().GetSeeds()); err != nil {
		return spec, err
	}
	if spec.InitialLabels, err = labels(p.GetInitialization().GetLabels()); err != nil {
		return spec, err
	}
	spec.Start = clustering.Start(p.GetInitialization().GetStart())
	switch a := p.GetAlgorithm().(type) {
	case nil:
		return spec, fault.Invalid("ALGORITHM_MISSING",
			"the job names no algorithm; set the options of one, such as kernel_kmeans or kmeans (they may be empty)").
			OnField("spec.kernel_kmeans")
	case *cleavev1.JobSpec_KernelKmeans:
		if len(p.GetInitialization().GetCentroids()) > 0 {
			return spec, fault.Invalid("OPTION_DOES_NOT_APPLY", "kernel k-means has no centroids to start from; give labels or seeds").
				OnField("spec.initialization.centroids")
		}
		spec.KernelKmeans, err = kernelKmeans(a.KernelKmeans)
	case *cleavev1.JobSpec_Spectral, *cleavev1.JobSpec_SpectralLearning, *cleavev1.JobSpec_ConstrainedSpectral:
		spec.Spectral, err = spectralSpec(p)
	default:
		spec.Vector, err = vectorSpec(p)
	}
	return spec, err
}

// maxIterations is the limit that is given, or the default. In the spectral family, whose limits are its
// own, none is a default, so that a zero that was given must not pass for none.
func maxIterations(p *cleavev1.JobSpec) (int, error) {
	switch {
	case isSpectral(p):
		return spectralLimits(p)
	case p.MaxIterations != nil:
		return int(p.GetMaxIterations()), nil
	}
	return DefaultMaxIterations, nil
}

// SpecProto is the message that Spec reads as spec; the data set and the name are the caller's.
func SpecProto(spec clustering.Spec) *cleavev1.JobSpec {
	p := &cleavev1.JobSpec{
		K:        uint32(spec.K),
		Seed:     spec.Seed,
		Restarts: uint32(spec.Restarts),
		Supervision: &cleavev1.Supervision{
			Constraints: ConstraintsProto(spec.Constraints),
			Seeds:       SeedsProto(spec.Seeds),
			Entail:      spec.Entail,
		},
		Initialization: &cleavev1.Initialization{
			Start:  cleavev1.Start(spec.Start),
			Labels: LabelsProto(spec.InitialLabels),
		},
	}
	if spec.MaxIterations != 0 || spec.Spectral == nil {
		p.MaxIterations = proto.Uint32(uint32(spec.MaxIterations))
	}
	if spec.Tolerance != 0 {
		p.Tolerance = proto.Float64(spec.Tolerance)
	}
	if spec.HalfPrecision {
		p.Storage = cleavev1.StorageMode_STORAGE_MODE_FLOAT16
	}
	if spec.FarthestMean {
		p.Initialization.Farthest = cleavev1.FarthestRule_FARTHEST_RULE_MEAN
	}
	switch {
	case spec.KernelKmeans != nil:
		p.Algorithm = &cleavev1.JobSpec_KernelKmeans{KernelKmeans: kernelKmeansProto(spec.KernelKmeans)}
	case spec.Vector != nil:
		setVector(p, spec.Vector)
	case spec.Spectral != nil:
		setSpectral(p, spec.Spectral)
	}
	return p
}

// enum is a generated enum.
type enum interface {
	~int32
	String() string
}

// checkEnums refuses values that this version does not know.
func checkEnums(p *cleavev1.JobSpec) error {
	k := p.GetKernelKmeans()
	return firstError(
		known(p.GetStorage(), cleavev1.StorageMode_name, "spec.storage"),
		known(p.GetInitialization().GetStart(), cleavev1.Start_name, "spec.initialization.start"),
		known(p.GetInitialization().GetFarthest(), cleavev1.FarthestRule_name, "spec.initialization.farthest"),
		known(k.GetObjective(), cleavev1.Objective_name, "spec.kernel_kmeans.objective"),
		known(k.GetOnRise(), cleavev1.RisePolicy_name, "spec.kernel_kmeans.on_rise"),
		known(k.GetOnEmpty(), cleavev1.EmptyPolicy_name, "spec.kernel_kmeans.on_empty"),
		known(k.GetAffinityDiagonal(), cleavev1.AffinityDiagonal_name, "spec.kernel_kmeans.affinity_diagonal"),
	)
}

func known[E enum](value E, names map[int32]string, field string) error {
	if _, is := names[int32(value)]; is {
		return nil
	}
	return fault.Invalid("UNKNOWN_ENUM_VALUE", "%s has the value %d, which this version does not know", field, int32(value)).
		OnField(field)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func kernelKmeans(p *cleavev1.KernelKmeans) (*clustering.KernelKmeans, error) {
	k := p.GetKernel()
	if k == nil {
		k = &cleavev1.Kernel{}
	}
	o := &clustering.KernelKmeans{
		Objective: clustering.Objective(p.GetObjective()),
		Function:  kernel.Function(k.GetFunction()),
		Rho:       k.GetRho(),
		Gamma:     k.Gamma,
		Coef0:     k.Coef0,
		Degree:    int(k.GetDegree()),
		Sigma:     p.GetShift().GetSigma(),
		SigmaAuto: p.GetShift().GetAuto(),
		KeepEmpty: p.GetOnEmpty() == cleavev1.EmptyPolicy_EMPTY_POLICY_KEEP,
		KeepDiag:  p.GetAffinityDiagonal() == cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_KEEP,
		Weights:   p.GetWeights(),
	}
	switch p.GetOnRise() {
	case cleavev1.RisePolicy_RISE_POLICY_STOP:
		o.OnRise = clustering.RiseStop
	case cleavev1.RisePolicy_RISE_POLICY_IGNORE:
		o.OnRise = clustering.RiseIgnore
	}
	if o.SigmaAuto && o.Sigma != 0 {
		return nil, fault.Invalid("BAD_SHIFT", "the shift is both auto and %v; give one of them", o.Sigma).OnField("spec.kernel_kmeans.shift")
	}
	return o, checkKernel(p.GetKernel(), "spec.kernel_kmeans.kernel.")
}

func kernelKmeansProto(o *clustering.KernelKmeans) *cleavev1.KernelKmeans {
	p := &cleavev1.KernelKmeans{
		Objective: cleavev1.Objective(o.Objective),
		Kernel:    kernelProto(o.Function, o.Rho, o.Gamma, o.Coef0, o.Degree),
		Shift:     &cleavev1.Shift{Auto: o.SigmaAuto, Sigma: o.Sigma},
		Weights:   o.Weights,
	}
	switch o.OnRise {
	case clustering.RiseStop:
		p.OnRise = cleavev1.RisePolicy_RISE_POLICY_STOP
	case clustering.RiseIgnore:
		p.OnRise = cleavev1.RisePolicy_RISE_POLICY_IGNORE
	}
	if o.KeepEmpty {
		p.OnEmpty = cleavev1.EmptyPolicy_EMPTY_POLICY_KEEP
	}
	if o.KeepDiag {
		p.AffinityDiagonal = cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_KEEP
	}
	return p
}

func constraints(list []*cleavev1.Constraint) ([]constraint.Constraint, error) {
	if len(list) == 0 {
		return nil, nil
	}
	converted := make([]constraint.Constraint, len(list))
	for at, p := range list {
		if p.GetI() > math.MaxInt32 || p.GetJ() > math.MaxInt32 {
			return nil, outOfRange("constraint", at, max(p.GetI(), p.GetJ())).OnField("spec.supervision.constraints")
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
	return converted, nil
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

func seeds(list []*cleavev1.Seed) ([]clustering.Seed, error) {
	if len(list) == 0 {
		return nil, nil
	}
	converted := make([]clustering.Seed, len(list))
	for at, p := range list {
		if p.GetIndex() > math.MaxInt32 || p.GetLabel() > math.MaxInt32 {
			return nil, outOfRange("seed", at, max(p.GetIndex(), p.GetLabel())).OnField("spec.supervision.seeds")
		}
		// In the domain a probability of zero means certain, so that one that was given must not pass for it.
		if p.Probability != nil && !(p.GetProbability() > 0 && p.GetProbability() <= math.MaxFloat64) {
			return nil, fault.Invalid("BAD_PROBABILITY", "seed %d gives point %d the label %d with probability %v; it must be positive and finite, or absent for certain",
				at, p.GetIndex(), p.GetLabel(), p.GetProbability()).OnField("spec.supervision.seeds")
		}
		converted[at] = clustering.Seed{Index: int32(p.GetIndex()), Label: int32(p.GetLabel()), Probability: p.GetProbability()}
	}
	return converted, nil
}

// SeedsProto is the messages of seeds.
func SeedsProto(list []clustering.Seed) []*cleavev1.Seed {
	converted := make([]*cleavev1.Seed, len(list))
	for at, s := range list {
		converted[at] = &cleavev1.Seed{Index: uint32(s.Index), Label: uint32(s.Label)}
		if s.Probability != 0 {
			converted[at].Probability = &list[at].Probability
		}
	}
	return converted
}

func labels(list []uint32) ([]int32, error) {
	if len(list) == 0 {
		return nil, nil
	}
	converted := make([]int32, len(list))
	for at, label := range list {
		if label > math.MaxInt32 {
			return nil, outOfRange("initial label", at, label).OnField("spec.initialization.labels")
		}
		converted[at] = int32(label)
	}
	return converted, nil
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
