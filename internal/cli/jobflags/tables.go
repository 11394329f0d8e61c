package jobflags

import (
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// loadFiles reads the small files (constraints, seeds, weights and the like) into the spec of a job. They number or
// name the rows of the data file; if the rows are not known yet, the tables in the spec name them, too.
func (f *Flags) loadFiles(j *Job) error {
	spec, rows := j.Spec, j.Filter.FileRows(j.Points)
	if f.Given("constraints") {
		naming := j.naming()
		constraints, _, err := format.LoadNamed(f.small("constraints"), table.Constraints, rows, naming)
		if err != nil {
			return err
		}
		j.noteGuess(f.small("constraints"), constraints)
		supervisionOf(spec).Constraints = wire.InlineTable(constraints.Named(naming.IDs))
	}
	if f.Given("seeds") {
		if err := f.loadSeeds(rows, j); err != nil {
			return err
		}
	}
	if f.Given("weights") {
		naming := j.naming()
		weights, _, err := format.LoadNamed(f.small("weights"), table.Weights, rows, naming)
		if err != nil {
			return err
		}
		j.noteGuess(f.small("weights"), weights)
		spec.GetKernelKmeans().Weights = wire.InlineTable(weights.Named(naming.IDs))
	}
	if o := spec.GetConstrainedSpectral(); o != nil {
		if err := f.loadBeliefs(o, rows, j.naming()); err != nil {
			return err
		}
	}
	var err error
	switch start := f.options["init"]; start.Text {
	case "labels":
		spec.Initialization.Labels, err = LoadStartLabels(start.path, rows, spec.GetK(), j.Filter, j.naming())
	case "centroids":
		spec.Initialization.Centroids, err = loadCentroids(start.path, j)
	}
	return err
}

// noteGuess adds a notice if columns of a file were recognized by their order instead of their names.
func (j *Job) noteGuess(in format.Input, t *table.Table) {
	if guess := t.Guessed(); guess != "" {
		j.Notices = append(j.Notices, in.Name()+": "+guess)
	}
}

// loadTables calls loadFiles for a job whose rows are known, uses the classes of the label column, and renumbers the
// tables of the spec to the rows that are clustered.
func (f *Flags) loadTables(j *Job) error {
	if err := f.loadFiles(j); err != nil {
		return err
	}
	if err := f.useLabels(j); err != nil {
		return err
	}
	j.rememberInputs()
	if err := j.Filter.Apply(j.Spec); err != nil {
		return err
	}
	f.forgetFarthest(j)
	constraints := j.Spec.GetSupervision().GetConstraints()
	if constraints.GetTableId() != "" { // only the coordinator has them
		return nil
	}
	var err error
	j.Constraints, err = wire.ReadTable(constraints, "constraints", &recipe.Rows{Count: j.Points}, wire.NoTables,
		table.Constraints)
	return err
}

// forgetFarthest clears --farthest if the file of constraints is empty: without constraints the default is kmeans++,
// but the option would select farthest-first. So a series of runs with a growing number of constraints can use the
// same flags.
func (f *Flags) forgetFarthest(j *Job) {
	start := j.Spec.GetInitialization()
	constraints := j.Spec.GetSupervision().GetConstraints()
	if start != nil && start.Start == cleavev1.Start_START_UNSPECIFIED && f.Given("constraints") &&
		wire.RowsIn(constraints.GetInline()) == 0 {
		start.Farthest = cleavev1.FarthestRule_FARTHEST_RULE_UNSPECIFIED
	}
}

// supervisionOf returns the supervision of a spec, which it adds if there is none.
func supervisionOf(spec *cleavev1.JobSpec) *cleavev1.Supervision {
	if spec.Supervision == nil {
		spec.Supervision = &cleavev1.Supervision{}
	}
	return spec.Supervision
}

// loadBeliefs reads the constraint matrix of a job, if a flag names one: beliefs, the edges of a source graph, or the
// affinities of source data.
func (f *Flags) loadBeliefs(o *cleavev1.ConstrainedSpectral, rows int, naming table.Naming) error {
	var beliefs []constraint.Belief
	var err error
	switch {
	case f.Given("beliefs"):
		if beliefs, err = format.LoadBeliefs(f.path("beliefs"), rows, naming); err != nil {
			return err
		}
		if len(beliefs) == 0 {
			return fault.Invalid("NOTHING_TO_RESPECT", "%s: the file has no beliefs; constrained-spectral needs some",
				f.path("beliefs"))
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
			return fault.Invalid("ROW_COUNT",
				"%s has %s, but the data has %d; both must have the same objects in the same order",
				f.path("source-data"), text.Plural(points.N, "row"), rows)
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

// loadSeeds reads the file of seeds. Their labels are numbers of clusters, or classes, each of which becomes a
// cluster.
func (f *Flags) loadSeeds(rows int, j *Job) error {
	in := f.small("seeds")
	naming := j.naming()
	naming.Clusters = int(max(firstK(j.Spec), j.Spec.GetKRange().GetMax()))
	path := in.Name()
	t, seeds, err := format.LoadNamed(in, table.Seeds, rows, naming)
	if err == nil {
		err = within(path, j.checkClasses())
	}
	if err != nil {
		return err
	}
	j.noteGuess(in, t)
	clusters := 0
	for _, seed := range seeds {
		clusters = max(clusters, int(seed.Label)+1)
	}
	j.beginRange(clusters)
	spec := j.Spec
	k := firstK(spec)
	for _, seed := range seeds {
		if int64(seed.Label) >= int64(k) {
			most := max(k, spec.GetKRange().GetMax())
			return fault.Invalid("LABEL_OUT_OF_RANGE",
				"%s: point %s has label %d; seeds name clusters, 0..%d for k = %d",
				path, naming.IDs.Of(int(seed.Index)), seed.Label, int64(most)-1, most)
		}
		if seed.Probability != 0 && spec.GetKernelKmeans() != nil {
			return fault.Invalid("OPTION_DOES_NOT_APPLY",
				"%s: point %s has a label with a probability; seeds with probabilities apply to auto, seeded-kmeans "+
					"and constrained-kmeans",
				path, naming.IDs.Of(int(seed.Index)))
		}
	}
	t = t.WithoutIgnored(table.Seeds.Columns)
	if j.Stream != nil {
		j.Stream.seeds = t.Named(naming.IDs)
	}
	return j.useSeeds(t, naming.IDs)
}

// LoadStartLabels reads the labels to start from. They must be numbers of clusters, except for dropped rows.
func LoadStartLabels(path string, rows int, k uint32, filter *RowFilter,
	naming table.Naming) (*cleavev1.TableInput, error) {
	t, labels, err := format.LoadNamed(format.Input{Path: path}, table.Labels, rows, naming)
	if err != nil {
		return nil, err
	}
	for i, label := range labels {
		if filter.keeps(i) && (label < 0 || label >= int64(k)) {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE",
				"%s: point %s has label %d; initial labels are cluster numbers from 0 to %d (k = %d)",
				path, naming.IDs.Of(i), label, int64(k)-1, k)
		}
	}
	return wire.InlineTable(t.WithoutIgnored(table.Labels.Columns).Named(naming.IDs)), nil
}

// loadCentroids reads the centroids to start from: one row for each cluster, with the columns of the data.
func loadCentroids(path string, j *Job) ([]float64, error) {
	points, header, err := format.Input{Path: path, Names: j.Header}.LoadPoints()
	if err != nil {
		return nil, err
	}
	k := int(j.Spec.GetK())
	switch {
	case points.N != k:
		return nil, fault.Invalid("SIZE_MISMATCH", "%s: the file has %s for %s; each cluster needs one", path,
			text.Plural(points.N, "centroid"), text.Plural(k, "cluster"))
	case j.Columns == 0: // only the coordinator knows the columns
		return points.Values, nil
	case points.D != j.Columns:
		return nil, fault.Invalid("SIZE_MISMATCH",
			"%s: the centroids have %s, but the data has %d; they must be the same", path,
			text.Plural(points.D, "column"), j.Columns)
	}
	return points.Values, CheckHeader(path, header, "data", j.Header)
}

// CheckHeader refuses a file whose columns differ from want, and names the first that does. other says what has the
// columns want: the model or the data. A header that is nil is unknown and is not checked.
func CheckHeader(path string, header []string, other string, want []string) error {
	if header == nil || want == nil || slices.Equal(header, want) {
		return nil
	}
	differ := fmt.Sprintf("the file has %s, but the %s has %d", text.Plural(len(header), "column"), other, len(want))
	for at := range min(len(header), len(want)) {
		if header[at] != want[at] {
			differ = fmt.Sprintf("column %d is %.60q, but the %s has %.60q there", at+1, header[at], other, want[at])
			break
		}
	}
	return fault.Invalid("OTHER_COLUMNS", "%s: %s; the columns must be the same in the same order", path, differ)
}

// loadSourceGraph reads a graph on the vertices of the job's data.
func loadSourceGraph(path string, rows int, ids *table.IDs) (*dataset.Graph, error) {
	if ids == nil {
		return format.LoadGraph(path, rows)
	}
	g, err := format.Input{Path: path}.LoadNamedGraph(format.GraphOptions{List: ids.All()})
	if err != nil {
		return nil, err
	}
	return g.Graph, nil
}
