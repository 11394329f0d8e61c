package jobflags

import (
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// check refuses flags that do not apply to a spec and its kind of data. A flag with the value that is implied
// anyway is accepted and dropped.
func (f *Flags) check(spec *cleavev1.JobSpec, kind cleavev1.DatasetKind) error {
	a := algorithmOf(spec)
	if err := f.checkScope(a, spec); err != nil {
		return err
	}
	if f.Given("vertices") && kind != cleavev1.DatasetKind_DATASET_KIND_GRAPH {
		return shell.Usage("--vertices goes with --graph only")
	}
	switch a.family {
	case vectorFamily:
		if err := f.checkVector(a, spec, kind); err != nil {
			return err
		}
	case kernelFamily:
		if err := f.checkMatrix(a, spec, kind); err != nil {
			return err
		}
		if err := f.checkObjective(spec.GetKernelKmeans(), kind); err != nil {
			return err
		}
	case spectralFamily:
		if err := f.checkMatrix(a, spec, kind); err != nil {
			return err
		}
		if err := f.checkSpectral(spec, kind); err != nil {
			return err
		}
	}
	return f.checkStart(spec)
}

// checkMatrix refuses flags that do not apply to the matrix of a kind of data.
func (f *Flags) checkMatrix(a algorithm, spec *cleavev1.JobSpec, kind cleavev1.DatasetKind) error {
	if kind == cleavev1.DatasetKind_DATASET_KIND_SPARSE_POINTS {
		return shell.Usage("%s does not take sparse points: say --algorithm kmeans or another of its family, or give the points in a .csv or .npy file", a.name)
	}
	if f.Given("storage") && f.storage.Value == "float16" && kind == cleavev1.DatasetKind_DATASET_KIND_GRAPH {
		return shell.Usage("--storage float16 does not apply to --graph: its edges are all that is held")
	}
	if f.Given("storage") && f.storage.Value == "none" {
		switch kind {
		case cleavev1.DatasetKind_DATASET_KIND_GRAPH:
			return shell.Usage("--storage none does not apply to --graph: its edges are all that is held")
		case cleavev1.DatasetKind_DATASET_KIND_KERNEL:
			return shell.Usage("--storage none does not apply to --kernel-matrix: its entries cannot be computed again")
		}
	}
	return f.checkKernel(kernelOf(spec), kind)
}

func (f *Flags) checkKernel(kernel *cleavev1.Kernel, kind cleavev1.DatasetKind) error {
	for _, flag := range kernelFlags {
		if f.Given(flag) && kind == cleavev1.DatasetKind_DATASET_KIND_GRAPH {
			return shell.Usage("--%s does not apply to --graph: a graph is its own affinity", flag)
		}
		if f.Given(flag) && kind == cleavev1.DatasetKind_DATASET_KIND_KERNEL {
			return shell.Usage("--%s does not apply to --kernel-matrix: the matrix is the kernel", flag)
		}
	}
	name := kernelName(kernel)
	for _, c := range []struct{ flag, kernels string }{
		{"rho", "gaussian laplacian"}, {"gamma", "polynomial sigmoid"}, {"coef0", "polynomial sigmoid"}, {"degree", "polynomial"},
	} {
		if names := strings.Fields(c.kernels); f.Given(c.flag) && !strings.Contains(" "+c.kernels+" ", " "+name+" ") {
			return shell.Usage("--%s does not apply to the %s kernel, only to %s", c.flag, name, joinOr(names))
		}
	}
	return nil
}

func (f *Flags) checkObjective(spec *cleavev1.KernelKmeans, kind cleavev1.DatasetKind) error {
	graph := kind == cleavev1.DatasetKind_DATASET_KIND_GRAPH
	objective := spec.Objective
	if objective == cleavev1.Objective_OBJECTIVE_UNSPECIFIED {
		objective = cleavev1.Objective_OBJECTIVE_KERNEL_KMEANS
		if graph {
			objective = cleavev1.Objective_OBJECTIVE_NORMALIZED_CUT
		}
	}
	kmeans := objective == cleavev1.Objective_OBJECTIVE_KERNEL_KMEANS
	if f.Given("weights") && !kmeans {
		return shell.Usage("--weights goes with --objective kernel-kmeans only: the %s sets the weights itself", strings.ReplaceAll(objectiveName(objective), "-", " "))
	}
	if f.Given("affinity-diagonal") && (graph || kmeans) {
		if f.affinityDiagonal.Value != "keep" {
			return shell.Usage("--affinity-diagonal goes with a graph objective on points or a kernel matrix; here the diagonal is kept")
		}
		spec.AffinityDiagonal = cleavev1.AffinityDiagonal_AFFINITY_DIAGONAL_UNSPECIFIED
	}
	return nil
}

func (f *Flags) checkStart(spec *cleavev1.JobSpec) error {
	seeded := f.seeds != "" || spec.GetSupervision().GetSeeds() != nil
	constrained := f.constraints != "" || spec.GetSupervision().GetConstraints() != nil
	start := spec.GetInitialization().GetStart()
	if start == cleavev1.Start_START_SEEDS && !seeded {
		return shell.Usage("--init seeds needs --seeds FILE")
	}
	if f.seeds != "" && start != cleavev1.Start_START_SEEDS && start != cleavev1.Start_START_UNSPECIFIED {
		return shell.Usage("--seeds are where the run starts; they have no use with --init %s", f.init)
	}
	if f.entail && !constrained {
		return shell.Usage("--entail goes with --constraints only")
	}
	farthestFirst := start == cleavev1.Start_START_FARTHEST_FIRST ||
		start == cleavev1.Start_START_UNSPECIFIED && constrained && !seeded
	if f.Given("farthest") && !farthestFirst {
		return shell.Usage("--farthest goes with --init farthest-first only")
	}
	return nil
}

func kernelName(kernel *cleavev1.Kernel) string {
	for word, function := range kernels {
		if function == kernel.GetFunction() {
			return word
		}
	}
	return "gaussian" // the default
}

func objectiveName(objective cleavev1.Objective) string {
	for word, o := range objectives {
		if o == objective {
			return word
		}
	}
	return "objective"
}
