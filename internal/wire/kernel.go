package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/table"
)

// kernelKmeans reads the options of kernel k-means.
func kernelKmeans(r *specReader, p *cleavev1.KernelKmeans) *kernelkmeans.Options {
	const field = "spec.kernel_kmeans."
	k := p.GetKernel()
	if k == nil {
		k = &cleavev1.Kernel{}
	}
	o := &kernelkmeans.Options{
		Objective:    objectives.read(r, p.GetObjective(), field+"objective"),
		Function:     kernelFunctions.read(r, k.GetFunction(), field+"kernel.function"),
		Rho:          k.GetRho(),
		Gamma:        k.Gamma,
		Coef0:        k.Coef0,
		Degree:       int(k.GetDegree()),
		OnRise:       risePolicies.read(r, p.GetOnRise(), field+"on_rise"),
		KeepEmpty:    keepEmpty.read(r, p.GetOnEmpty(), field+"on_empty"),
		KeepDiagonal: keepDiagonal.read(r, p.GetAffinityDiagonal(), field+"affinity_diagonal"),
		Weights:      readTable(r, p.GetWeights(), fieldWeights, table.Weights),
	}
	switch kind := p.GetShift().GetKind().(type) {
	case *cleavev1.Shift_Sigma:
		o.Sigma = kind.Sigma
	default:
		o.SigmaAuto = p.GetShift() != nil && autoShift.read(r, p.GetShift().GetRule(), field+"shift.rule")
	}
	return o
}
