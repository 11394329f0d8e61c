package clustering

import (
	"fmt"
	"math"
	"strings"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
)

// MaxRestarts bounds the runs of one job.
const MaxRestarts = 10_000

// Validate checks everything about a spec that needs no values: only the kind and number of rows.
func Validate(kind dataset.Kind, rows int, spec Spec) error {
	switch {
	case spec.K < 1:
		return fault.Invalid("BAD_K", "k is %d; at least one cluster is needed", spec.K).OnField("spec.k")
	case spec.K > rows:
		return fault.Invalid("BAD_K", "k is %d but there are only %d rows; k must be at most the number of rows", spec.K, rows).OnField("spec.k")
	case spec.MaxIterations < 0:
		return fault.Invalid("BAD_MAX_ITERATIONS", "max iterations is %d; it must be at least 0", spec.MaxIterations).OnField("spec.max_iterations")
	case spec.Restarts < 0 || spec.Restarts > MaxRestarts:
		return fault.Invalid("BAD_RESTARTS", "restarts is %d; it must be 1 to %d", spec.Restarts, MaxRestarts).OnField("spec.restarts")
	case !(spec.Tolerance >= 0) || math.IsInf(spec.Tolerance, 0):
		return fault.Invalid("BAD_TOLERANCE", "tolerance is %v; it must be a finite number of at least 0", spec.Tolerance).OnField("spec.tolerance")
	case spec.HalfPrecision && kind == dataset.KindGraph:
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "float16 storage applies to dense matrices; a graph is never made dense").OnField("spec.storage")
	case families(spec) != 1:
		return fault.Invalid("NO_ALGORITHM", "no algorithm is given, or two; set the options of one").OnField("spec.algorithm")
	}
	if err := validateStart(rows, spec); err != nil {
		return err
	}
	if spec.Vector != nil {
		return validateVector(kind, spec)
	}
	if spec.Spectral != nil {
		return validateSpectral(kind, spec)
	}
	if err := validateKernelStart(spec); err != nil {
		return err
	}
	return validateKernelFamily(kind, rows, *spec.KernelKmeans)
}

// families is how many algorithms are given.
func families(spec Spec) int {
	count := 0
	for _, given := range []bool{spec.KernelKmeans != nil, spec.Vector != nil, spec.Spectral != nil} {
		if given {
			count++
		}
	}
	return count
}

func validateStart(rows int, spec Spec) error {
	if err := validateSeeds(rows, spec); err != nil {
		return err
	}
	if (spec.Start == StartLabels) != (len(spec.InitialLabels) > 0) {
		return fault.Invalid("BAD_START", "initial labels and the start from labels go together: give both or neither").OnField("spec.initialization.labels")
	}
	if spec.Start == StartLabels && len(spec.InitialLabels) != rows {
		return fault.Invalid("BAD_START", "there are %d initial labels for %d rows", len(spec.InitialLabels), rows).OnField("spec.initialization.labels")
	}
	for i, c := range spec.InitialLabels {
		if c < 0 || int(c) >= spec.K {
			return fault.Invalid("BAD_START", "row %d has initial label %d; labels are 0..%d", i, c, spec.K-1).OnField("spec.initialization.labels")
		}
	}
	return nil
}

// validateKernelStart checks what only the kernel family knows, and refuses what it does not.
func validateKernelStart(spec Spec) error {
	if spec.Start > StartSeeds && spec.Start != StartSpectral {
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "this start is for the vector family: kernel k-means has no centroids").OnField("spec.initialization.start")
	}
	if spec.FarthestMean && spec.Start != StartFarthestFirst && (spec.Start != StartDefault || len(spec.Constraints) == 0 || len(spec.Seeds) > 0) {
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "the farthest rule applies to the farthest-first start only").OnField("spec.initialization.farthest")
	}
	for at, s := range spec.Seeds {
		if s.Probability != 0 {
			return fault.Invalid("OPTION_DOES_NOT_APPLY", "seed %d has a probability, which only seeded-kmeans and constrained-kmeans understand", at).OnField("spec.supervision.seeds")
		}
	}
	if len(spec.Seeds) > 0 && spec.Start != StartSeeds && spec.Start != StartDefault {
		return fault.Invalid("OPTION_DOES_NOT_APPLY", "seeds are where kernel k-means starts from; with another start they have no use").OnField("spec.supervision.seeds")
	}
	return nil
}

func validateSeeds(rows int, spec Spec) error {
	certain := map[int32]int32{} // the label of points that are certain of it, -1 of those that are not
	for at, s := range spec.Seeds {
		if s.Index < 0 || int(s.Index) >= rows {
			return fault.Invalid("INDEX_OUT_OF_RANGE", "seed %d names point %d, outside 0..%d", at, s.Index, rows-1).OnField("spec.supervision.seeds")
		}
		if s.Label < 0 || int(s.Label) >= spec.K {
			return fault.Invalid("BAD_SEED_LABEL", "seed %d gives point %d the label %d; labels are 0..%d", at, s.Index, s.Label, spec.K-1).OnField("spec.supervision.seeds")
		}
		if !(s.Probability >= 0 && s.Probability <= 1) {
			return fault.Invalid("BAD_PROBABILITY", "seed %d gives point %d the label %d with probability %v; it must be above 0 and at most 1", at, s.Index, s.Label, s.Probability).OnField("spec.supervision.seeds")
		}
		label := s.Label
		if s.Probability != 0 {
			label = -1
		}
		if other, seen := certain[s.Index]; seen && other != label {
			if min(other, label) < 0 {
				return fault.Invalid("CONTRADICTORY_SEEDS", "point %d is seeded with a certain label and with a probability; give all its seeds a probability, or it one label", s.Index).OnField("spec.supervision.seeds")
			}
			return fault.Invalid("CONTRADICTORY_SEEDS", "point %d is seeded with label %d and with label %d", s.Index, other, s.Label).OnField("spec.supervision.seeds")
		}
		certain[s.Index] = label
	}
	if spec.Start == StartSeeds && len(spec.Seeds) == 0 {
		return fault.Invalid("BAD_START", "the start from seeds needs seeds").OnField("spec.supervision.seeds")
	}
	return nil
}

func validateKernelFamily(kind dataset.Kind, rows int, o KernelKmeans) error {
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
	const field = "spec.kernel_kmeans."
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
	case !(math.Abs(o.Sigma) <= largestWeight):
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

func plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

// listFirst writes the first few numbers of a list and how many more there are.
func listFirst(numbers []int, limit int) string {
	var b strings.Builder
	for at, v := range numbers {
		if at == limit {
			fmt.Fprintf(&b, " and %d more", len(numbers)-limit)
			break
		}
		if at > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}
