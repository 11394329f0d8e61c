package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/fault"
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
	refuseCommonLimits(r, p)
	return o
}

// refuseCommonLimits: the spectral family has limits of its own, in its Eigenvectors.
func refuseCommonLimits(r *specReader, p *cleavev1.JobSpec) {
	refuse := func(field, instead string) {
		r.note(fault.Invalid("OPTION_DOES_NOT_APPLY", "%s does not apply to the spectral family, which runs k-means on eigenvectors; set eigenvectors.%s of its options",
			field, instead).OnField("spec." + field))
	}
	switch {
	case p.GetRestarts() != 0:
		refuse("restarts", "kmeans_restarts")
	case p.MaxIterations != nil:
		refuse("max_iterations", "kmeans_max_iterations")
	case p.Tolerance != nil:
		refuse("tolerance", "tolerance")
	case len(p.GetInitialization().GetCentroids()) > 0:
		r.note(fault.Invalid("OPTION_DOES_NOT_APPLY", "spectral clustering starts from no centroids: it finds its own coordinates first").
			OnField("spec.initialization.centroids"))
	}
}

// affinityOptions are what the messages of the family have in common.
type affinityOptions interface {
	GetKernel() *cleavev1.Kernel
	GetAffinityDiagonal() cleavev1.AffinityDiagonal
	GetEigenvectors() *cleavev1.Eigenvectors
}

// affinity reads the kernel that makes affinities of points, and how their eigenvectors are found.
func affinity(r *specReader, o *cut.Options, p affinityOptions, field string) {
	checkKernel(r, p.GetKernel(), field+"kernel.")
	if k := p.GetKernel(); k != nil {
		o.Function = kernelFunctions.read(r, k.GetFunction(), field+"kernel.function")
		o.Rho, o.Degree, o.Gamma, o.Coef0 = k.GetRho(), int(k.GetDegree()), k.Gamma, k.Coef0
	}
	o.KeepDiag = keepDiagonal.read(r, p.GetAffinityDiagonal(), field+"affinity_diagonal")
	o.Eigenvectors = eigenvectors(r, p.GetEigenvectors(), field+"eigenvectors.")
}

// eigenvectors: in the domain zeros are defaults, so that one that was given must not pass for it. No
// k-means begins without a start and a step, and no eigensolver ends without a residual.
func eigenvectors(r *specReader, p *cleavev1.Eigenvectors, field string) cut.Eigenvectors {
	switch {
	case p == nil:
	case p.Tolerance != nil && p.GetTolerance() == 0:
		r.note(fault.Invalid("BAD_TOLERANCE", "the tolerance is 0, which no residual of an eigenvector reaches; it must be above 0, or absent for %g",
			embedding.DefaultTolerance).OnField(field + "tolerance"))
	case p.KmeansRestarts != nil && p.GetKmeansRestarts() == 0:
		r.note(fault.Invalid("BAD_RESTARTS", "kmeans_restarts is 0; it must be at least 1, or absent for %d",
			embedding.DefaultRestarts).OnField(field + "kmeans_restarts"))
	case p.KmeansMaxIterations != nil && p.GetKmeansMaxIterations() == 0:
		r.note(fault.Invalid("BAD_MAX_ITERATIONS", "kmeans_max_iterations is 0; k-means on the eigenvectors needs at least 1, and has %d where it is absent",
			embedding.DefaultIterations).OnField(field + "kmeans_max_iterations"))
	}
	return cut.Eigenvectors{
		Tolerance: p.GetTolerance(), KmeansRestarts: int(p.GetKmeansRestarts()), KmeansMaxIterations: int(p.GetKmeansMaxIterations()),
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
