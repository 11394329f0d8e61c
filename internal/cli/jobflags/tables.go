package jobflags

import (
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// loadFiles reads the small files, constraints, seeds, weights and the like, into the spec of a job. They number or name the rows
// of the data file; where these are not known yet, the spec names them too.
func (f *Flags) loadFiles(j *Job) error {
	spec, rows := j.Spec, j.Filter.FileRows(j.Rows)
	if f.Given("constraints") {
		naming := j.naming()
		constraints, _, err := format.LoadNamedFrom(f.small("constraints"), table.Constraints, rows, naming)
		if err != nil {
			return err
		}
		supervision(spec).Constraints = wire.InlineTable(constraints.Named(naming.IDs))
	}
	if f.Given("seeds") {
		if err := f.loadSeeds(rows, j); err != nil {
			return err
		}
	}
	if f.Given("weights") {
		naming := j.naming()
		weights, _, err := format.LoadNamedFrom(f.small("weights"), table.Weights, rows, naming)
		if err != nil {
			return err
		}
		spec.GetKernelKmeans().Weights = wire.InlineTable(weights.Named(naming.IDs))
	}
	if o := spec.GetConstrainedSpectral(); o != nil {
		if err := f.loadBeliefs(o, rows, j.naming()); err != nil {
			return err
		}
	}
	var err error
	switch start := f.options["init"]; start.text {
	case "labels":
		spec.Initialization.Labels, err = LoadStartLabels(start.path, rows, spec.GetK(), j.Filter, j.naming())
	case "centroids":
		spec.Initialization.Centroids, err = loadCentroids(start.path, j)
	}
	return err
}

// loadTables is loadFiles of a job whose data are known, with what their classes become. The spec then numbers the rows that are
// clustered.
func (f *Flags) loadTables(j *Job) error {
	if err := f.loadFiles(j); err != nil {
		return err
	}
	if err := f.useLabels(j); err != nil {
		return err
	}
	j.rememberInputs()
	spec := j.Spec
	if err := j.Filter.Apply(spec); err != nil {
		return err
	}
	var err error
	if constraints := spec.GetSupervision().GetConstraints(); constraints.GetTableId() == "" { // not one that only the coordinator has
		if j.Constraints, err = wire.ReadTable(constraints, "constraints", j.Rows, wire.NoTables, table.Constraints); err != nil {
			return err
		}
	}
	f.forgetFarthest(j)
	return nil
}

// forgetFarthest drops --farthest where a file of constraints has none: the start is then kmeans++, to which it does not apply. So
// a series of runs with more and more constraints can begin with none by the same flags.
func (f *Flags) forgetFarthest(j *Job) {
	start := j.Spec.GetInitialization()
	if f.Given("constraints") && wire.InlineRows(j.Spec.GetSupervision().GetConstraints()) == 0 && start != nil && start.Start == cleavev1.Start_START_UNSPECIFIED {
		start.Farthest = cleavev1.FarthestRule_FARTHEST_RULE_UNSPECIFIED
	}
}

func supervision(spec *cleavev1.JobSpec) *cleavev1.Supervision {
	if spec.Supervision == nil {
		spec.Supervision = &cleavev1.Supervision{}
	}
	return spec.Supervision
}

// loadBeliefs reads the constraint matrix of a job, if a flag names one. Its entries are beliefs, the edges of a
// source graph, or the affinities of source data.
func (f *Flags) loadBeliefs(o *cleavev1.ConstrainedSpectral, rows int, naming table.Naming) error {
	var beliefs []constraint.Belief
	var err error
	switch {
	case f.Given("beliefs"):
		if beliefs, err = format.LoadBeliefs(f.path("beliefs"), rows, naming); err != nil {
			return err
		}
		if len(beliefs) == 0 {
			return fault.Invalid("NOTHING_TO_RESPECT", "%s: the file has no beliefs; constrained-spectral needs some", f.path("beliefs"))
		}
	case f.Given("source-graph"):
		graph, err := loadSourceGraph(f.path("source-graph"), rows, naming.IDs)
		if err != nil {
			return err
		}
		o.Transfer = true
		for i := range graph.N {
			neighbors, weights := graph.Row(i)
			for at, j := range neighbors {
				if int(j) >= i { // each edge once
					beliefs = append(beliefs, constraint.Belief{I: int32(i), J: j, Value: weights[at]})
				}
			}
		}
	case f.Given("source-data"):
		points, _, err := format.LoadPoints(f.path("source-data"))
		if err != nil {
			return err
		}
		if points.N != rows {
			return fault.Invalid("ROW_COUNT", "%s has %s, the data %d: both are about the same objects, row by row", f.path("source-data"), text.Plural(points.N, "row"), rows)
		}
		o.Transfer = true
		if beliefs, err = spectral.BeliefsFromPoints(points); err != nil {
			return err
		}
	default:
		return nil
	}
	o.Beliefs = wire.InlineTable(table.FromBeliefs(beliefs))
	return nil
}
