package wire

import (
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
)

// spectralSpec reads the options of the spectral family.
func spectralSpec(p *cleavev1.JobSpec) (*clustering.Spectral, error) {
	if len(p.GetInitialization().GetCentroids()) > 0 {
		return nil, fault.Invalid("OPTION_DOES_NOT_APPLY", "spectral clustering starts from no centroids: it finds its own coordinates first").
			OnField("spec.initialization.centroids")
	}
	switch a := p.GetAlgorithm().(type) {
	case *cleavev1.JobSpec_Spectral:
		o := &clustering.Spectral{Algorithm: clustering.SpectralClustering, Objective: clustering.Objective(a.Spectral.GetObjective())}
		return o, firstError(
			known(a.Spectral.GetObjective(), cleavev1.Objective_name, "spec.spectral.objective"),
			affinity(o, a.Spectral.GetKernel(), a.Spectral.GetAffinityDiagonal(), "spec.spectral."))
	case *cleavev1.JobSpec_SpectralLearning:
		o := &clustering.Spectral{Algorithm: clustering.SpectralLearning}
		return o, affinity(o, a.SpectralLearning.GetKernel(), a.SpectralLearning.GetAffinityDiagonal(), "spec.spectral_learning.")
	}
	return constrainedSpectral(p.GetConstrainedSpectral())
}

func isSpectral(p *cleavev1.JobSpec) bool {
	switch p.GetAlgorithm().(type) {
	case *cleavev1.JobSpec_Spectral, *cleavev1.JobSpec_SpectralLearning, *cleavev1.JobSpec_ConstrainedSpectral:
		return true
	}
	return false
}

// spectralLimits is the iterations of k-means on eigenvectors, 0 for the default, and sees that neither
// they nor the tolerance are a zero that was given: no k-means begins without a step, and no eigensolver
// ends without a residual.
func spectralLimits(p *cleavev1.JobSpec) (maxIterations int, err error) {
	switch {
	case p.MaxIterations != nil && p.GetMaxIterations() == 0:
		return 0, fault.Invalid("BAD_MAX_ITERATIONS", "max_iterations is 0; k-means on the eigenvectors needs at least 1, and has %d where it is absent",
			clustering.EmbeddingIterations).OnField("spec.max_iterations")
	case p.Tolerance != nil && p.GetTolerance() == 0:
		return 0, fault.Invalid("BAD_TOLERANCE", "tolerance is 0, which no residual of an eigenvector reaches; it must be above 0, or absent for %g",
			clustering.EigenTolerance).OnField("spec.tolerance")
	}
	return int(p.GetMaxIterations()), nil
}

// affinity reads the kernel that makes affinities of points.
func affinity(o *clustering.Spectral, k *cleavev1.Kernel, diagonal cleavev1.AffinityDiagonal, field string) error {
	o.KeepDiag = diagonal == cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_KEEP
	if k != nil {
		o.Function, o.Rho, o.Degree = kernel.Function(k.GetFunction()), k.GetRho(), int(k.GetDegree())
		o.Gamma, o.Coef0 = k.Gamma, k.Coef0
	}
	return firstError(
		checkKernel(k, field+"kernel."),
		known(diagonal, cleavev1.AffinityDiagonal_name, field+"affinity_diagonal"))
}

func constrainedSpectral(p *cleavev1.ConstrainedSpectral) (*clustering.Spectral, error) {
	const field = "spec.constrained_spectral."
	o := &clustering.Spectral{
		Algorithm:      clustering.ConstrainedSpectral,
		Transfer:       p.GetTransfer(),
		JoinComponents: p.GetComponents() == cleavev1.ComponentPolicy_COMPONENT_POLICY_JOIN,
	}
	switch rule := p.GetBeta().GetRule().(type) {
	case *cleavev1.Beta_Strict:
		if rule.Strict {
			o.BetaRule = clustering.BetaStrict
		}
	case *cleavev1.Beta_Value:
		o.BetaRule, o.Beta = clustering.BetaGiven, rule.Value
	}
	switch p.GetDiscretization() {
	case cleavev1.Discretization_DISCRETIZATION_SIGN:
		o.Discretization = clustering.DiscretizeSign
	case cleavev1.Discretization_DISCRETIZATION_WEIGHTED:
		o.Discretization = clustering.DiscretizeWeighted
	}
	for at, b := range p.GetBeliefs() {
		if b.GetI() > math.MaxInt32 || b.GetJ() > math.MaxInt32 {
			return nil, outOfRange("belief", at, max(b.GetI(), b.GetJ())).OnField(field + "beliefs")
		}
		o.Beliefs = append(o.Beliefs, clustering.Belief{I: int32(b.GetI()), J: int32(b.GetJ()), Value: b.GetValue()})
	}
	return o, firstError(
		affinity(o, p.GetKernel(), p.GetAffinityDiagonal(), field),
		known(p.GetDiscretization(), cleavev1.Discretization_name, field+"discretization"),
		known(p.GetComponents(), cleavev1.ComponentPolicy_name, field+"components"))
}

// setSpectral writes the options of the spectral family.
func setSpectral(p *cleavev1.JobSpec, o *clustering.Spectral) {
	k, diagonal := kernelProto(o.Function, o.Rho, o.Gamma, o.Coef0, o.Degree), cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_UNSPECIFIED
	if o.KeepDiag {
		diagonal = cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_KEEP
	}
	switch o.Algorithm {
	case clustering.SpectralClustering:
		p.Algorithm = &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{
			Objective: cleavev1.Objective(o.Objective), Kernel: k, AffinityDiagonal: diagonal}}
	case clustering.SpectralLearning:
		p.Algorithm = &cleavev1.JobSpec_SpectralLearning{SpectralLearning: &cleavev1.SpectralLearning{Kernel: k, AffinityDiagonal: diagonal}}
	case clustering.ConstrainedSpectral:
		p.Algorithm = &cleavev1.JobSpec_ConstrainedSpectral{ConstrainedSpectral: &cleavev1.ConstrainedSpectral{
			Kernel: k, AffinityDiagonal: diagonal, Beta: betaProto(o), Discretization: discretizationProto(o.Discretization),
			Beliefs: BeliefsProto(o.Beliefs), Transfer: o.Transfer, Components: componentsProto(o.JoinComponents)}}
	}
}

func betaProto(o *clustering.Spectral) *cleavev1.Beta {
	switch o.BetaRule {
	case clustering.BetaStrict:
		return &cleavev1.Beta{Rule: &cleavev1.Beta_Strict{Strict: true}}
	case clustering.BetaGiven:
		return &cleavev1.Beta{Rule: &cleavev1.Beta_Value{Value: o.Beta}}
	}
	return nil
}

func discretizationProto(d clustering.Discretization) cleavev1.Discretization {
	switch d {
	case clustering.DiscretizeSign:
		return cleavev1.Discretization_DISCRETIZATION_SIGN
	case clustering.DiscretizeWeighted:
		return cleavev1.Discretization_DISCRETIZATION_WEIGHTED
	}
	return cleavev1.Discretization_DISCRETIZATION_PLAIN
}

func componentsProto(join bool) cleavev1.ComponentPolicy {
	if join {
		return cleavev1.ComponentPolicy_COMPONENT_POLICY_JOIN
	}
	return cleavev1.ComponentPolicy_COMPONENT_POLICY_KEEP
}

// BeliefsProto is the messages of beliefs.
func BeliefsProto(list []clustering.Belief) []*cleavev1.Belief {
	converted := make([]*cleavev1.Belief, len(list))
	for at, b := range list {
		converted[at] = &cleavev1.Belief{I: uint32(b.I), J: uint32(b.J), Value: b.Value}
	}
	return converted
}
