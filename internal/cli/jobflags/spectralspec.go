package jobflags

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// kernelOf is the kernel of an algorithm that has one, nil when it has none or none is set.
func kernelOf(spec *cleavev1.JobSpec) *cleavev1.Kernel {
	options := optionsOf(spec)
	field := options.Descriptor().Fields().ByName("kernel")
	if field == nil || !options.Has(field) {
		return nil
	}
	return options.Get(field).Message().Interface().(*cleavev1.Kernel)
}

// applySpectral sets the options of the algorithm. An option without a field has a fixed value, and checkScope
// accepts no other.
func (f *Flags) applySpectral(spec *cleavev1.JobSpec) {
	options := optionsOf(spec)
	fields := options.Descriptor().Fields()
	if f.Given("affinity-diagonal") {
		options.Set(fields.ByName("affinity_diagonal"), protoreflect.ValueOfEnum(diagonals[f.affinityDiagonal.Value].Number()))
	}
	if slices.ContainsFunc(kernelFlags, f.Given) {
		f.applyKernel(options.Mutable(fields.ByName("kernel")).Message().Interface().(*cleavev1.Kernel))
	}
	if slices.ContainsFunc(eigenvectorFlags, f.Given) {
		f.applyEigenvectors(options.Mutable(fields.ByName("eigenvectors")).Message().Interface().(*cleavev1.Eigenvectors))
	}
	if o := spec.GetSpectral(); o != nil && f.Given("objective") {
		o.Objective = objectives[f.objective.Value]
	}
	o := spec.GetConstrainedSpectral()
	if o == nil {
		return
	}
	if f.Given("beta") {
		o.Beta = f.betaRule()
	}
	if f.Given("discretize") {
		o.Discretization = discretizations[f.discretize.Value]
	}
	if f.Given("components") {
		o.Components = componentPolicies[f.components.Value]
	}
}

var eigenvectorFlags = []string{"restarts", "max-iterations", "tolerance"}

// applyEigenvectors lays the flags that limit runs over what the spectral family has instead.
func (f *Flags) applyEigenvectors(e *cleavev1.Eigenvectors) {
	if f.Given("restarts") {
		e.KmeansRestarts = proto.Uint32(uint32(f.restarts.Value))
	}
	if f.Given("max-iterations") {
		e.KmeansMaxIterations = proto.Uint32(uint32(f.maxIterations.Value))
	}
	if f.Given("tolerance") {
		e.Tolerance = proto.Float64(f.tolerance.Value)
	}
}

// betaRule is what --beta says; auto is what it is anyway.
func (f *Flags) betaRule() *cleavev1.Beta {
	switch f.beta.Keyword {
	case "auto":
		return nil
	case "strict":
		return &cleavev1.Beta{Kind: &cleavev1.Beta_Rule{Rule: cleavev1.BetaRule_BETA_RULE_STRICT}}
	}
	return &cleavev1.Beta{Kind: &cleavev1.Beta_Value{Value: f.beta.Value}}
}

// checkSpectral refuses combinations that the spectral family does not have.
func (f *Flags) checkSpectral(spec *cleavev1.JobSpec, kind cleavev1.DatasetKind) error {
	switch spec.GetSpectral().GetObjective() {
	case cleavev1.Objective_OBJECTIVE_KERNEL_KMEANS, cleavev1.Objective_OBJECTIVE_RATIO_CUT:
		return shell.Usage("--objective %s does not apply to spectral, only normalized-cut or ratio-association", objectiveName(spec.GetSpectral().GetObjective()))
	}
	if f.Given("affinity-diagonal") && kind == cleavev1.DatasetKind_DATASET_KIND_GRAPH {
		if f.affinityDiagonal.Value != "keep" {
			return shell.Usage("--affinity-diagonal goes with points or a kernel matrix; the diagonal of a graph is kept")
		}
		options := optionsOf(spec)
		options.Clear(options.Descriptor().Fields().ByName("affinity_diagonal"))
	}
	if o := spec.GetConstrainedSpectral(); o != nil {
		given := spec.GetSupervision()
		return f.checkBeliefs(o, f.constraints != "" || f.seeds != "" || given.GetConstraints() != nil || given.GetSeeds() != nil)
	}
	return nil
}

// checkBeliefs refuses jobs without a constraint matrix Q or with several.
func (f *Flags) checkBeliefs(o *cleavev1.ConstrainedSpectral, supervised bool) error {
	var sources []string
	for name, file := range map[string]string{"--beliefs": f.beliefs, "--source-graph": f.sourceGraph, "--source-data": f.sourceData} {
		if file != "" {
			sources = append(sources, name)
		}
	}
	slices.Sort(sources)
	believed := len(sources) > 0 || o.GetBeliefs() != nil
	switch {
	case len(sources) > 1:
		return shell.Usage("%s were given; each is a whole constraint matrix: give one of them", strings.Join(sources, " and "))
	case believed && supervised:
		return shell.Usage("constraints and seeds go with neither --beliefs nor --source-graph nor --source-data: these are a whole constraint matrix, in which the constraints have to stand")
	case !believed && !supervised:
		return shell.Usage("constrained-spectral needs something to respect: give --constraints, --seeds, --beliefs, --source-graph or --source-data")
	}
	return nil
}

// loadBeliefs reads the constraint matrix of a job, if a flag names one. Its entries are beliefs, the edges of a
// source graph, or the affinities of source data.
func (f *Flags) loadBeliefs(o *cleavev1.ConstrainedSpectral, rows int) error {
	var beliefs []cut.Belief
	switch {
	case f.beliefs != "":
		read, err := format.LoadBeliefs(f.beliefs, rows)
		if err != nil {
			return err
		}
		for _, b := range read {
			beliefs = append(beliefs, cut.Belief(b))
		}
		if len(beliefs) == 0 {
			return fault.Invalid("NOTHING_TO_RESPECT", "%s: the file has no beliefs; constrained-spectral needs some", f.beliefs)
		}
	case f.sourceGraph != "":
		graph, err := format.LoadGraph(f.sourceGraph, rows)
		if err != nil {
			return err
		}
		o.Transfer = true
		for i := range graph.N {
			neighbors, weights := graph.Row(i)
			for at, j := range neighbors {
				if int(j) >= i { // each edge once
					beliefs = append(beliefs, cut.Belief{I: int32(i), J: j, Value: weights[at]})
				}
			}
		}
	case f.sourceData != "":
		points, _, err := format.LoadPoints(f.sourceData)
		if err != nil {
			return err
		}
		if points.N != rows {
			return fault.Invalid("ROW_COUNT", "%s has %s, the data %d: both are about the same objects, row by row", f.sourceData, shell.Plural(points.N, "row"), rows)
		}
		o.Transfer = true
		if beliefs, err = cut.AffinityBeliefs(points); err != nil {
			return err
		}
	default:
		return nil
	}
	o.Beliefs = wire.InlineTable(table.FromBeliefs(beliefs))
	return nil
}
