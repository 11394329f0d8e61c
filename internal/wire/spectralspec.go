package wire

import (
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/cut"
)

// spectralSpec reads the options of the spectral family.
func spectralSpec(first *firstFault, p *cleavev1.JobSpec) *cut.Options {
	var o *cut.Options
	switch a := p.GetAlgorithm().(type) {
	case *cleavev1.JobSpec_Spectral:
		const field = "spec.spectral."
		o = &cut.Options{
			Algorithm: cut.Spectral,
			Objective: objectives.read(first, a.Spectral.GetObjective(), field+"objective"),
		}
		affinity(first, o, a.Spectral, field)
	case *cleavev1.JobSpec_SpectralLearning:
		o = &cut.Options{Algorithm: cut.Learning}
		affinity(first, o, a.SpectralLearning, "spec.spectral_learning.")
	case *cleavev1.JobSpec_ConstrainedSpectral:
		o = constrainedSpectral(first, a.ConstrainedSpectral)
	}
	return o
}

// affinityOptions are what the messages of the family have in common.
type affinityOptions interface {
	GetKernel() *cleavev1.Kernel
	GetAffinityDiagonal() cleavev1.AffinityDiagonal
	GetEigenvectors() *cleavev1.Eigenvectors
}

// affinity reads the kernel that makes affinities of points, and how their eigenvectors are found.
func affinity(first *firstFault, o *cut.Options, p affinityOptions, field string) {
	if k := p.GetKernel(); k != nil {
		o.Function = kernelFunctions.read(first, k.GetFunction(), field+"kernel.function")
		o.Rho, o.Degree, o.Gamma, o.Coef0 = k.GetRho(), int(k.GetDegree()), k.Gamma, k.Coef0
	}
	o.KeepDiag = keepDiagonal.read(first, p.GetAffinityDiagonal(), field+"affinity_diagonal")
	e := p.GetEigenvectors()
	o.Eigenvectors = cut.Eigenvectors{
		Tolerance: e.GetTolerance(), KmeansRestarts: int(e.GetKmeansRestarts()), KmeansMaxIterations: int(e.GetKmeansMaxIterations()),
	}
}

func constrainedSpectral(first *firstFault, p *cleavev1.ConstrainedSpectral) *cut.Options {
	const field = "spec.constrained_spectral."
	o := &cut.Options{
		Algorithm:      cut.Constrained,
		Discretization: discretizations.read(first, p.GetDiscretization(), field+"discretization"),
		Transfer:       p.GetTransfer(),
		JoinComponents: joinComponents.read(first, p.GetComponents(), field+"components"),
	}
	affinity(first, o, p, field)
	switch kind := p.GetBeta().GetKind().(type) {
	case *cleavev1.Beta_Value:
		o.BetaRule, o.Beta = cut.BetaGiven, kind.Value
	default:
		if p.GetBeta() != nil {
			o.BetaRule = betaRules.read(first, p.GetBeta().GetRule(), field+"beta.rule")
		}
	}
	for at, b := range p.GetBeliefs() {
		if b.GetI() > math.MaxInt32 || b.GetJ() > math.MaxInt32 {
			first.note(outOfRange("belief", at, max(b.GetI(), b.GetJ())).OnField(field + "beliefs"))
			break
		}
		o.Beliefs = append(o.Beliefs, cut.Belief{I: int32(b.GetI()), J: int32(b.GetJ()), Value: b.GetValue()})
	}
	return o
}

// BeliefsProto is the messages of beliefs.
func BeliefsProto(list []cut.Belief) []*cleavev1.Belief {
	converted := make([]*cleavev1.Belief, len(list))
	for at, b := range list {
		converted[at] = &cleavev1.Belief{I: uint32(b.I), J: uint32(b.J), Value: b.Value}
	}
	return converted
}
