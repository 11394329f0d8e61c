package jobflags

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// The values of the API by the names that the flags have for them.
var (
	objectives = map[string]cleavev1.Objective{
		"kernel-kmeans":     cleavev1.Objective_OBJECTIVE_KERNEL_KMEANS,
		"ratio-association": cleavev1.Objective_OBJECTIVE_RATIO_ASSOCIATION,
		"ratio-cut":         cleavev1.Objective_OBJECTIVE_RATIO_CUT,
		"normalized-cut":    cleavev1.Objective_OBJECTIVE_NORMALIZED_CUT,
	}
	kernels = map[string]cleavev1.KernelFunction{
		"linear":     cleavev1.KernelFunction_KERNEL_FUNCTION_LINEAR,
		"gaussian":   cleavev1.KernelFunction_KERNEL_FUNCTION_GAUSSIAN,
		"laplacian":  cleavev1.KernelFunction_KERNEL_FUNCTION_LAPLACIAN,
		"polynomial": cleavev1.KernelFunction_KERNEL_FUNCTION_POLYNOMIAL,
		"sigmoid":    cleavev1.KernelFunction_KERNEL_FUNCTION_SIGMOID,
		"cosine":     cleavev1.KernelFunction_KERNEL_FUNCTION_COSINE,
	}
	starts = map[string]cleavev1.Start{
		"farthest-first": cleavev1.Start_START_FARTHEST_FIRST,
		"random":         cleavev1.Start_START_RANDOM,
		"kmeans++":       cleavev1.Start_START_KMEANS_PLUS_PLUS,
		"seeds":          cleavev1.Start_START_SEEDS,
		"labels":         cleavev1.Start_START_LABELS,
		"neighborhoods":  cleavev1.Start_START_NEIGHBORHOODS,
		"centroids":      cleavev1.Start_START_CENTROIDS,
		"spectral":       cleavev1.Start_START_SPECTRAL,

		"weighted-farthest-first": cleavev1.Start_START_WEIGHTED_FARTHEST_FIRST,
	}
	risePolicies = map[string]cleavev1.RisePolicy{
		"shift":  cleavev1.RisePolicy_RISE_POLICY_SHIFT,
		"stop":   cleavev1.RisePolicy_RISE_POLICY_STOP,
		"ignore": cleavev1.RisePolicy_RISE_POLICY_IGNORE,
	}
	emptyPolicies = map[string]cleavev1.EmptyPolicy{
		"farthest": cleavev1.EmptyPolicy_EMPTY_POLICY_FARTHEST,
		"keep":     cleavev1.EmptyPolicy_EMPTY_POLICY_KEEP,
	}
	farthestRules = map[string]cleavev1.FarthestRule{
		"total": cleavev1.FarthestRule_FARTHEST_RULE_TOTAL,
		"mean":  cleavev1.FarthestRule_FARTHEST_RULE_MEAN,
	}
	diagonals = map[string]cleavev1.AffinityDiagonal{
		"zero": cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_ZERO,
		"keep": cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_KEEP,
	}
	discretizations = map[string]cleavev1.Discretization{
		"plain":    cleavev1.Discretization_DISCRETIZATION_PLAIN,
		"sign":     cleavev1.Discretization_DISCRETIZATION_SIGN,
		"weighted": cleavev1.Discretization_DISCRETIZATION_WEIGHTED,
	}
	componentPolicies = map[string]cleavev1.ComponentPolicy{
		"keep": cleavev1.ComponentPolicy_COMPONENT_POLICY_KEEP,
		"join": cleavev1.ComponentPolicy_COMPONENT_POLICY_JOIN,
	}
	storageModes = map[string]cleavev1.StorageMode{
		"auto":    cleavev1.StorageMode_STORAGE_MODE_UNSPECIFIED,
		"float32": cleavev1.StorageMode_STORAGE_MODE_FLOAT32,
		"float16": cleavev1.StorageMode_STORAGE_MODE_FLOAT16,
		"none":    cleavev1.StorageMode_STORAGE_MODE_NONE,
	}
)

// apply sets the fields of a spec whose flags were given; it reads no files.
func (f *Flags) apply(spec *cleavev1.JobSpec) error {
	if f.Given("algorithm") || spec.Algorithm == nil {
		setAlgorithm(spec, f.algorithm.Value) // the options in the job file were for its own algorithm
	}
	if f.Given("k") {
		spec.K = uint32(f.k.Value)
	}
	if spec.K == 0 {
		return shell.Usage("how many clusters? Say it with --k, at least 1")
	}
	if f.Given("seed") {
		spec.Seed = f.seed.Value
	}
	if f.Given("storage") {
		spec.Storage = storageModes[f.storage.Value] // for the vector family always auto
	}
	if f.Given("name") || spec.DisplayName == "" {
		spec.DisplayName = f.displayName()
	}
	f.applyStart(spec)
	switch algorithmOf(spec).family {
	case kernelFamily:
		f.applyLimits(spec)
		f.applyKernelKmeans(spec.GetKernelKmeans())
	case vectorFamily:
		f.applyLimits(spec)
		f.applyVector(spec)
	case spectralFamily:
		f.applySpectral(spec)
	}
	return nil
}

// applyLimits lays the flags over the limits of runs; the spectral family has its own.
func (f *Flags) applyLimits(spec *cleavev1.JobSpec) {
	if f.Given("restarts") {
		spec.Restarts = uint32(f.restarts.Value)
	}
	if f.Given("max-iterations") {
		spec.MaxIterations = proto.Uint32(uint32(f.maxIterations.Value))
	}
	if f.Given("tolerance") {
		spec.Tolerance = proto.Float64(f.tolerance.Value)
	}
}

func (f *Flags) applyStart(spec *cleavev1.JobSpec) {
	if f.Given("entail") {
		supervision(spec).Entail = f.entail
	}
	if f.Given("init") || f.Given("farthest") {
		if spec.Initialization == nil {
			spec.Initialization = &cleavev1.Initialization{}
		}
	}
	if f.Given("init") {
		spec.Initialization.Start = starts[f.init.Value]
		spec.Initialization.Labels, spec.Initialization.Centroids = nil, nil
	}
	if f.Given("farthest") {
		spec.Initialization.Farthest = farthestRules[f.farthest.Value]
	}
}

func (f *Flags) applyKernelKmeans(spec *cleavev1.KernelKmeans) {
	if f.Given("objective") {
		spec.Objective = objectives[f.objective.Value]
	}
	if f.Given("sigma") {
		spec.Shift = &cleavev1.Shift{Kind: &cleavev1.Shift_Sigma{Sigma: f.sigma.Value}}
		if f.sigma.Keyword == "auto" {
			spec.Shift.Kind = &cleavev1.Shift_Rule{Rule: cleavev1.ShiftRule_SHIFT_RULE_AUTO}
		}
	}
	if f.Given("on-rise") {
		spec.OnRise = risePolicies[f.onRise.Value]
	}
	if f.Given("empty") {
		spec.OnEmpty = emptyPolicies[f.empty.Value]
	}
	if f.Given("affinity-diagonal") {
		spec.AffinityDiagonal = diagonals[f.affinityDiagonal.Value]
	}
	if slices.ContainsFunc(kernelFlags, f.Given) {
		if spec.Kernel == nil {
			spec.Kernel = &cleavev1.Kernel{}
		}
		f.applyKernel(spec.Kernel)
	}
}

func (f *Flags) applyKernel(kernel *cleavev1.Kernel) {
	if f.Given("kernel") {
		if kernelName(kernel) != f.kernel.Value {
			proto.Reset(kernel) // the parameters in the job file were for its own function
		}
		kernel.Function = kernels[f.kernel.Value]
	}
	if f.Given("rho") {
		kernel.Rho = nil
		if f.rho.Keyword == "" {
			kernel.Rho = proto.Float64(f.rho.Value)
		}
	}
	if f.Given("gamma") {
		kernel.Gamma = proto.Float64(f.gamma.Value)
	}
	if f.Given("coef0") {
		kernel.Coef0 = proto.Float64(f.coef0.Value)
	}
	if f.Given("degree") {
		kernel.Degree = proto.Uint32(uint32(f.degree.Value))
	}
}

var kernelFlags = []string{"kernel", "rho", "gamma", "coef0", "degree"}

// loadTables reads the small files, constraints, seeds, weights and the like, into the spec of a job whose
// data are known. The files number the rows of the data file; the spec then numbers those that are clustered.
func (f *Flags) loadTables(j *Job) error {
	spec, rows := j.Spec, j.Filter.FileRows(j.Rows)
	if f.constraints != "" {
		constraints, err := format.LoadConstraints(f.constraints, rows)
		if err != nil {
			return err
		}
		supervision(spec).Constraints = wire.InlineTable(table.FromConstraints(constraints))
	}
	if f.seeds != "" {
		seeds, err := loadSeeds(f.seeds, rows, spec)
		if err != nil {
			return err
		}
		supervision(spec).Seeds = wire.InlineTable(table.FromSeeds(seeds))
	}
	if f.weights != "" {
		weights, err := format.LoadWeights(f.weights, rows)
		if err != nil {
			return err
		}
		spec.GetKernelKmeans().Weights = wire.InlineTable(table.FromWeights(weights))
	}
	if o := spec.GetConstrainedSpectral(); o != nil {
		if err := f.loadBeliefs(o, rows); err != nil {
			return err
		}
	}
	var err error
	switch f.init.Value {
	case "labels":
		spec.Initialization.Labels, err = LoadStartLabels(f.init.path, rows, spec.K, j.Filter)
	case "centroids":
		spec.Initialization.Centroids, err = loadCentroids(f.init.path, j)
	}
	if err != nil {
		return err
	}
	if err := j.Filter.Apply(spec); err != nil {
		return err
	}
	if j.Constraints, err = wire.ReadTable(spec.GetSupervision().GetConstraints(), "constraints", j.Rows, emptyTable, table.Constraints); err != nil {
		return err
	}
	start := spec.GetInitialization()
	if f.constraints != "" && len(j.Constraints) == 0 && start != nil && start.Start == cleavev1.Start_START_UNSPECIFIED {
		// Without constraints the start is kmeans++, to which --farthest does not apply. Drop it, so that a
		// series of runs with more and more constraints can begin with none by the same flags.
		start.Farthest = cleavev1.FarthestRule_FARTHEST_RULE_UNSPECIFIED
	}
	return nil
}

// emptyTable stands for a table that only the coordinator knows.
func emptyTable(string) (*table.Table, error) { return table.FromConstraints(nil), nil }

func supervision(spec *cleavev1.JobSpec) *cleavev1.Supervision {
	if spec.Supervision == nil {
		spec.Supervision = &cleavev1.Supervision{}
	}
	return spec.Supervision
}
