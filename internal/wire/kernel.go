package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
)

// kernelKmeans reads the options of kernel k-means.
func kernelKmeans(first *firstFault, p *cleavev1.KernelKmeans) *kernelkmeans.Options {
	const field = "spec.kernel_kmeans."
	k := p.GetKernel()
	if k == nil {
		k = &cleavev1.Kernel{}
	}
	o := &kernelkmeans.Options{
		Objective: objectives.read(first, p.GetObjective(), field+"objective"),
		Function:  kernelFunctions.read(first, k.GetFunction(), field+"kernel.function"),
		Rho:       k.GetRho(),
		Gamma:     k.Gamma,
		Coef0:     k.Coef0,
		Degree:    int(k.GetDegree()),
		OnRise:    risePolicies.read(first, p.GetOnRise(), field+"on_rise"),
		KeepEmpty: keepEmpty.read(first, p.GetOnEmpty(), field+"on_empty"),
		KeepDiag:  keepDiagonal.read(first, p.GetAffinityDiagonal(), field+"affinity_diagonal"),
		Weights:   p.GetWeights(),
	}
	switch kind := p.GetShift().GetKind().(type) {
	case *cleavev1.Shift_Sigma:
		o.Sigma = kind.Sigma
	default:
		o.SigmaAuto = p.GetShift() != nil && autoShift.read(first, p.GetShift().GetRule(), field+"shift.rule")
	}
	return o
}
