package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/table"
)

// spectralSpec reads the options of the spectral family.
func spectralSpec(r *specReader, p *cleavev1.JobSpec) *cut.Options {
	var o *cut.Options
	switch a := p.GetAlgorithm().(type) {
	case *cleavev1.JobSpec_Spectral:
		const field = "spec.spectral."
		o = &cut.Options{
			Algorithm: cut.Spectral,
			Objective: objectives.read(r, a.Spectral.GetObjective(), field+"objective"),
		}
		affinity(r, o, a.Spectral, field)
	case *cleavev1.JobSpec_SpectralLearning:
		o = &cut.Options{Algorithm: cut.Learning}
		affinity(r, o, a.SpectralLearning, "spec.spectral_learning.")
	case *cleavev1.JobSpec_ConstrainedSpectral:
		o = constrainedSpectral(r, a.ConstrainedSpectral)
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
func affinity(r *specReader, o *cut.Options, p affinityOptions, field string) {
	if k := p.GetKernel(); k != nil {
		o.Function = kernelFunctions.read(r, k.GetFunction(), field+"kernel.function")
		o.Rho, o.Degree, o.Gamma, o.Coef0 = k.GetRho(), int(k.GetDegree()), k.Gamma, k.Coef0
	}
	o.KeepDiagonal = keepDiagonal.read(r, p.GetAffinityDiagonal(), field+"affinity_diagonal")
	e := p.GetEigenvectors()
	o.Eigenvectors = cut.Eigenvectors{
		Tolerance: e.GetTolerance(), KmeansRestarts: int(e.GetKmeansRestarts()), KmeansMaxIterations: int(e.GetKmeansMaxIterations()),
	}
}

func constrainedSpectral(r *specReader, p *cleavev1.ConstrainedSpectral) *cut.Options {
	const field = "spec.constrained_spectral."
	o := &cut.Options{
		Algorithm:      cut.Constrained,
		Discretization: discretizations.read(r, p.GetDiscretization(), field+"discretization"),
		Transfer:       p.GetTransfer(),
		JoinComponents: joinComponents.read(r, p.GetComponents(), field+"components"),
	}
	affinity(r, o, p, field)
	switch kind := p.GetBeta().GetKind().(type) {
	case *cleavev1.Beta_Value:
		o.BetaRule, o.Beta = cut.BetaGiven, kind.Value
	default:
		if p.GetBeta() != nil {
			o.BetaRule = betaRules.read(r, p.GetBeta().GetRule(), field+"beta.rule")
		}
	}
	o.Beliefs = readTable(r, p.GetBeliefs(), fieldBeliefs, table.Beliefs)
	return o
}
