package kernelkmeans

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Validate implements clustering.Algorithm.
func (o *Options) Validate(kind dataset.Kind, rows int, spec clustering.Spec) error {
	if err := validateStart(spec); err != nil {
		return err
	}
	return validateOptions(kind, rows, *o)
}

// validateKernelStart checks what only the kernel family knows, and refuses what it does not.
func validateStart(spec clustering.Spec) error {
	if spec.Start > clustering.StartSeeds && spec.Start != clustering.StartSpectral {
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "this start is for the vector family: kernel k-means has no centroids").OnField("spec.initialization.start")
	}
	if spec.FarthestMean && spec.Start != clustering.StartFarthestFirst && (spec.Start != clustering.StartDefault || len(spec.Constraints) == 0 || len(spec.Seeds) > 0) {
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "the farthest rule applies to the farthest-first start only").OnField("spec.initialization.farthest")
	}
	for at, s := range spec.Seeds {
		if s.Probability != 0 {
			return fault.Invalid("OPTION_DOES_NOT_APPLY", "seed %d has a probability, which only seeded-kmeans and constrained-kmeans understand", at).OnField("spec.supervision.seeds")
		}
	}
	if len(spec.Seeds) > 0 && spec.Start != clustering.StartSeeds && spec.Start != clustering.StartDefault {
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "seeds are where kernel k-means starts from; with another start they have no use").OnField("spec.supervision.seeds")
	}
	return nil
}

func validateOptions(kind dataset.Kind, rows int, o Options) error {
	if kind == dataset.KindSparsePoints {
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "kernel k-means needs dense points, a graph or a kernel matrix; sparse points are for kmeans and its relatives, with the spherical geometry for text").OnField("spec.algorithm")
	}
	graphObjective := o.Objective != ObjectiveKernelKmeans && (o.Objective != ObjectiveDefault || kind == dataset.KindGraph)
	function := o.Function
	if function == 0 && kind == dataset.KindPoints {
		function = kernel.Gaussian
	}
	hasWidth := function == kernel.Gaussian || function == kernel.Laplacian
	hasProduct := function == kernel.Polynomial || function == kernel.Sigmoid
	field := o.field("")
	switch {
	case o.Objective > ObjectiveNormalizedCut:
		return fault.Invalid("BAD_OBJECTIVE", "objective %d is unknown", o.Objective).OnField(field + "objective")
	case o.Function != 0 && kind != dataset.KindPoints:
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "a kernel function applies to points; this data set is a %v", kind).OnField(field + "kernel")
	case o.Function > kernel.Cosine:
		return fault.Invalid("BAD_KERNEL", "kernel function %d is unknown", o.Function).OnField(field + "kernel")
	case o.Rho != 0 && !hasWidth:
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "rho applies to the gaussian and laplacian kernels only").OnField(field + "kernel.rho")
	case !(o.Rho >= 0) || (o.Rho != 0 && (o.Rho < 1e-100 || o.Rho > 1e100)):
		return fault.Invalid("BAD_RHO", "rho is %v; it must be a positive number (1e-100..1e100), or auto", o.Rho).OnField(field + "kernel.rho")
	case (o.Gamma != nil || o.Coef0 != nil) && !hasProduct:
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "gamma and coef0 apply to the polynomial and sigmoid kernels only").OnField(field + "kernel")
	case o.Degree != 0 && function != kernel.Polynomial:
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "degree applies to the polynomial kernel only").OnField(field + "kernel.degree")
	case o.Degree < 0 || o.Degree > 1000:
		return fault.Invalid("BAD_DEGREE", "degree is %d; it must be 1 to 1000", o.Degree).OnField(field + "kernel.degree")
	case !finite(o.Gamma) || !finite(o.Coef0):
		return fault.Invalid("BAD_KERNEL", "gamma and coef0 must be finite numbers").OnField(field + "kernel")
	case !(math.Abs(o.Sigma) <= clustering.MaxWeight):
		return fault.Invalid("BAD_SIGMA", "sigma is %v; it must be a finite number or auto", o.Sigma).OnField(field + "shift")
	case o.SigmaAuto && o.Sigma != 0:
		return fault.Invalid("BAD_SIGMA", "sigma is both auto and %g; give one", o.Sigma).OnField(field + "shift")
	case o.KeepDiag && (kind == dataset.KindGraph || !graphObjective):
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "the affinity diagonal applies to graph objectives on points or a kernel matrix only").OnField(field + "affinity_diagonal")
	case len(o.Weights) > 0 && graphObjective:
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "point weights apply to the kernel-kmeans objective only").OnField(field + "weights")
	case len(o.Weights) > 0 && len(o.Weights) != rows:
		return fault.Invalid("BAD_WEIGHT", "there are %d point weights for %d rows", len(o.Weights), rows).OnField(field + "weights")
	}
	for i, a := range o.Weights {
		if !(a > 0) || math.IsInf(a, 0) {
			return fault.Invalid("BAD_WEIGHT", "point %d has weight %v; weights must be positive and finite", i, a).OnField(field + "weights")
		}
	}
	return nil
}

func finite(v *float64) bool { return v == nil || (!math.IsNaN(*v) && !math.IsInf(*v, 0)) }
