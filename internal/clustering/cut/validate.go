package cut

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// leastEigenTolerance is about what rounding leaves of a residual.
const leastEigenTolerance = 1e-14

// Name implements clustering.Algorithm.
func (o *Options) Name() string { return o.Algorithm.String() }

// Validate implements clustering.Algorithm. It checks what needs no values; the kernel's options are checked with its matrix.
func (o *Options) Validate(kind dataset.Kind, _ int, spec clustering.Spec) error {
	const does = "OPTION_DOES_NOT_APPLY"
	if o.Algorithm < Spectral || o.Algorithm > Constrained {
		return fault.Invalid("BAD_ALGORITHM", "algorithm %d is unknown", o.Algorithm).OnField("spec.algorithm")
	}
	field := clustering.Field(o, "")
	constrained := o.Algorithm == Constrained
	switch {
	case kind == dataset.KindSparsePoints:
		return fault.Invalid(does, "%v needs dense points, a graph or a kernel matrix; sparse points are for kmeans and its relatives", o.Algorithm).OnField("spec.algorithm")
	case spec.HalfPrecision:
		return fault.Invalid(does, "float16 storage is for kernel k-means: eigenvectors would be those of another matrix").OnField("spec.storage")
	case spec.Start != clustering.StartDefault || len(spec.InitialLabels) > 0:
		return fault.Invalid(does, "%v has no start: its labels come from eigenvectors", o.Algorithm).OnField("spec.initialization.start")
	case spec.FarthestMean:
		return fault.Invalid(does, "the farthest rule applies to the farthest-first start only").OnField("spec.initialization.farthest")
	case len(spec.Seeds) > 0 && !constrained:
		return fault.Invalid(does, "%v knows no seeds; give constraints, or take constrained-spectral", o.Algorithm).OnField("spec.supervision.seeds")
	case spec.Restarts != 0 || spec.MaxIterations != 0 || spec.Tolerance != 0:
		return fault.Invalid(does, "restarts, iterations and the tolerance of %v are those of its eigenvectors", o.Algorithm).OnField(field + "eigenvectors")
	case o.Eigenvectors.Tolerance != 0 && !(o.Eigenvectors.Tolerance >= leastEigenTolerance && o.Eigenvectors.Tolerance < 1):
		return fault.Invalid("BAD_TOLERANCE", "tolerance is %g; it is of the residuals of eigenvectors, relative to the largest eigenvalue, and must be %g or more and below 1",
			o.Eigenvectors.Tolerance, leastEigenTolerance).OnField(field + "eigenvectors.tolerance")
	case o.Eigenvectors.KmeansRestarts < 0 || o.Eigenvectors.KmeansRestarts > clustering.MaxRestarts:
		return fault.Invalid("BAD_RESTARTS", "restarts is %d; it must be 1 to %d", o.Eigenvectors.KmeansRestarts, clustering.MaxRestarts).OnField(field + "eigenvectors.kmeans_restarts")
	case o.Eigenvectors.KmeansMaxIterations < 0:
		return fault.Invalid("BAD_MAX_ITERATIONS", "max iterations is %d; it must be at least 1", o.Eigenvectors.KmeansMaxIterations).OnField(field + "eigenvectors.kmeans_max_iterations")
	case o.Objective != kernelkmeans.ObjectiveDefault && (o.Algorithm != Spectral || o.Objective != kernelkmeans.ObjectiveNormalizedCut && o.Objective != kernelkmeans.ObjectiveRatioAssociation):
		return fault.Invalid(does, "the objective of spectral is normalized-cut or ratio-association, and the others have none to choose").OnField(field + "objective")
	case spec.K < 2:
		return fault.Invalid("BAD_K", "k is %d; %v cuts into at least 2 clusters", spec.K, o.Algorithm).OnField("spec.k")
	case !constrained && (o.BetaRule != BetaAuto || o.Beta != 0 || o.Discretization != DiscretizePlain || len(o.Beliefs) > 0 || o.Transfer || o.JoinComponents):
		return fault.Invalid(does, "beta, discretization, beliefs and components are for constrained-spectral").OnField("spec.algorithm")
	case constrained && len(o.Beliefs) > 0 && len(spec.Constraints)+len(spec.Seeds) > 0:
		return fault.Invalid(does, "there are beliefs, and constraints or seeds as well; beliefs are the whole matrix Q: give one of them").OnField(field + "beliefs")
	case constrained && len(o.Beliefs)+len(spec.Constraints)+len(spec.Seeds) == 0:
		return fault.Invalid("NO_BELIEFS", "constrained-spectral needs constraints, seeds or beliefs; take spectral where there are none").OnField("spec.supervision.constraints")
	case constrained && len(spec.Constraints) == 0 && len(o.Beliefs) == 0 && onePoint(spec.Seeds):
		return fault.Invalid("NO_BELIEFS", "all seeds are of point %d: constrained-spectral needs those of at least two points", spec.Seeds[0].Index).OnField("spec.supervision.seeds")
	case o.BetaRule > BetaGiven || o.BetaRule != BetaGiven && o.Beta != 0 || math.IsNaN(o.Beta) || math.IsInf(o.Beta, 0):
		return fault.Invalid("BAD_BETA", "beta is %v; it must be a finite number, auto or strict", o.Beta).OnField(field + "beta")
	case o.Discretization > DiscretizeWeighted:
		return fault.Invalid("BAD_DISCRETIZATION", "discretization %d is unknown", o.Discretization).OnField(field + "discretization")
	case o.JoinComponents && kind != dataset.KindGraph:
		return fault.Invalid(does, "components are joined in graphs; an affinity of points is connected").OnField(field + "components")
	}
	return nil
}

func onePoint(seeds []clustering.Seed) bool {
	return !slices.ContainsFunc(seeds, func(s clustering.Seed) bool { return s.Index != seeds[0].Index })
}
