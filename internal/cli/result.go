package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// resultFlags are the flags of result. The data are not needed but to draw their clusters.
type resultFlags struct {
	runFlags
	data *jobflags.DataFlags
}

func (a *app) resultCommand() *cobra.Command {
	f := &resultFlags{}
	cmd := &cobra.Command{
		Use:   "result JOB",
		Short: "Fetch what a job found: a summary, JSON, or the files that run writes",
		Args:  cobra.ArbitraryArgs,
	}
	set := cmd.Flags()
	f.data = jobflags.AddDataFlags(set)
	f.data.Stdin = a.stdin
	f.server = addServerFlag(set)
	f.addOutputFlags(set, "print nothing when --out is given")
	f.flags = set
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onJob(cmd.Context(), *f.server, args, func(c *client.Client, jobID string) error { return a.result(cmd.Context(), c, jobID, f) })
	}
	return cmd
}

func (a *app) result(ctx context.Context, c *client.Client, jobID string, f *resultFlags) (err error) {
	if err := f.checkOutput(); err != nil {
		return err
	}
	if err := f.labelFlags.check(f.out, f.json, f.data.Given("labels-format"), f.data.IsTable()); err != nil {
		return err
	}
	r, s, err := a.fetchReport(ctx, c, jobID, f, extentFor(f.out))
	if err != nil {
		return err
	}
	if !f.summarizes() { // without a summary nothing else tells of them
		for _, warning := range r.Result.GetWarnings() {
			fmt.Fprintf(a.stderr, "warning: %s\n", warning.GetMessage())
		}
	}
	r.Result.Origin = a.beginOrigin(f.flags)(s.Title, s.Spec)
	if err := a.saveNeighborGraph(ctx, c, jobID, f.saveGraph); err != nil {
		return err
	}
	var out *report.OutputDir
	if f.out != "" && f.out != onStdout {
		if out, err = report.OpenOutput(f.out); err != nil {
			return err
		}
	}
	return a.deliver(ctx, r, s, out, &f.runFlags, f.labels(f.data.Rows))
}

// fetchReport fetches what a job found, and what the flags say about it.
func (a *app) fetchReport(ctx context.Context, c *client.Client, jobID string, f *resultFlags, extent client.Extent) (*report.Report, report.Scene, error) {
	var none report.Scene
	var data dataset.Dataset
	var header []string
	var err error
	if !f.data.IsTable() { // what a table is depends on the job
		if data, header, err = f.data.Load(); err != nil {
			return nil, none, err
		}
	}
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return nil, none, err
	}
	j := &jobflags.Job{Spec: response.GetSpec(), Name: response.GetJob().GetDisplayName(), Data: data, Header: header, Table: f.data.Rows}
	if err := f.checkSaveGraph(j.Spec); err != nil {
		return nil, none, err
	}
	o, err := c.Fetch(ctx, jobID, extent)
	if err != nil {
		return nil, none, err
	}
	if f.data.IsTable() {
		if err := f.loadTable(j, o); err != nil {
			return nil, none, err
		}
	}
	if err := checkSameData(j, o); err != nil {
		return nil, none, err
	}
	var seeds [][2]int32
	if extent == client.Everything {
		j.Constraints, err = wire.ReadTableOfRows(j.Spec.GetSupervision().GetConstraints(), "constraints", rowsOf(o), c.FetchTables(ctx), table.Constraints)
		if err != nil && !fault.Is(err, "TABLE_NOT_FOUND") { // a picture does without those that were deleted
			return nil, none, err
		}
		known, err := wire.ReadTableOfRows(j.Spec.GetSupervision().GetSeeds(), "seeds", rowsOf(o), c.FetchTables(ctx), table.Seeds)
		if err != nil && !fault.Is(err, "TABLE_NOT_FOUND") {
			return nil, none, err
		}
		for _, s := range known {
			seeds = append(seeds, [2]int32{s.Index, s.Label})
		}
	}
	filter, ids := fileRows(j, o)
	j.NameSeeds(seeds, filter)
	sayByNames(o, ids, filter, j.Header)
	truth, err := jobflags.LoadTruth(f.truth, f.scoreOn, filter.FileRows(len(o.Labels)), table.Naming{IDs: ids})
	if err == nil {
		truth, err = filter.Truth(truth)
	}
	if err != nil {
		return nil, none, err
	}
	r := report.New(o, filter)
	r.SetNames(ids.All(), j.ClusterClasses(o.Labels))
	r.SetClasses(j.ClusterClasses)
	return r, sceneOf(j, truth), r.Score(truth)
}

// sayByNames has the notices of a job speak of rows by their ids, and of columns by the names of a header, or of the recipe.
func sayByNames(o *client.Outcome, ids *table.IDs, filter *jobflags.RowFilter, header []string) {
	if steps := wire.Recipe(o.Result.GetRecipe()); header == nil && steps != nil {
		header = steps.Names()
	}
	j := &jobflags.Job{Header: header, Filter: filter, Table: &jobflags.Rows{IDs: ids}}
	j.LocalizeResult(o.Result)
}

// loadTable reads the table that a job clustered, to draw it.
func (f *resultFlags) loadTable(j *jobflags.Job, o *client.Outcome) (err error) {
	if steps := wire.Recipe(o.Result.GetRecipe()); steps != nil {
		made, err := f.data.Made(steps, wire.ComparesDirections(j.Spec))
		if err == nil {
			f.data.Rows = made.Rows(steps)
			j.Data, j.Header, j.Table = made.Points, made.Header, f.data.Rows
		}
		return err
	}
	j.Data, j.Header, err = f.data.Load()
	j.Table = f.data.Rows
	return err
}

// fileRows says which rows of the data file a job has labels for, nil for all, and what the rows are called. Without the file,
// the ids of rows that were dropped are not known: then these rows are left out.
func fileRows(j *jobflags.Job, o *client.Outcome) (*jobflags.RowFilter, *table.IDs) {
	if o.Kept == nil {
		return nil, cmp.Or(table.NewIDs(o.IDs), j.IDs())
	}
	if o.IDs != nil && j.Read() == nil {
		return nil, table.NewIDs(o.IDs)
	}
	return jobflags.FilterOf(o.Kept, len(o.Labels)+int(o.Result.GetDroppedRows())), j.IDs()
}

// rowsOf are the rows that the points of a job are, by which its tables call them.
func rowsOf(o *client.Outcome) *recipe.Rows {
	if o.Kept == nil {
		return recipe.NewRows(len(o.Labels), nil, o.IDs)
	}
	rows := len(o.Labels) + int(o.Result.GetDroppedRows())
	var ids []string
	if o.IDs != nil {
		ids = make([]string, rows) // of those that were dropped none is known
		for at, row := range o.Kept {
			ids[row] = o.IDs[at]
		}
	}
	return recipe.NewRows(rows, o.Kept, ids)
}

// checkSameData refuses to draw one data set with the clusters of another.
func checkSameData(j *jobflags.Job, o *client.Outcome) error {
	if j.Data == nil {
		return nil
	}
	if j.Spec.GetTable() != nil {
		if rows := j.Data.Rows(); rows != len(o.Labels) {
			return fault.Invalid("OTHER_DATASET", "this file is not what the job clustered: it becomes %s, and the job had %d", text.Plural(rows, "point"), len(o.Labels))
		}
		if t, rows := j.Read(), len(o.Labels)+int(o.Result.GetDroppedRows()); t != nil && t.Rows() != rows {
			return fault.Invalid("OTHER_DATASET", "this file is not what the job clustered: it has %s, and the job's had %d", text.Plural(t.Rows(), "row"), rows)
		}
		return nil
	}
	id, err := dataset.ID(j.Data)
	if err == nil && id != j.Spec.GetDatasetId() {
		return fault.Invalid("OTHER_DATASET", "this file is not what the job clustered: it is data set %s, the job's is %s", id, j.Spec.GetDatasetId())
	}
	return err
}

// onStdout as --out writes labels to standard output, and everything else to standard error.
const onStdout = "-"

// extentFor is what is fetched of a job's outcome for --out.
func extentFor(out string) client.Extent {
	switch out {
	case "":
		return client.Labels
	case onStdout:
		return client.Scores
	}
	return client.Everything
}

// labelFlags say in which form labels are written.
type labelFlags struct {
	format *jobflags.OptionFlag
	join   bool
}

func (f *labelFlags) add(set *pflag.FlagSet) {
	f.format = jobflags.NewChoice("csv", format.TableFormats...)
	set.Var(f.format, "labels-format", "the form of labels in --out; others than csv are written besides it")
	set.BoolVar(&f.join, "join", false, "write the rows of the table of --data with their labels: to joined.csv in --out, or to standard output by --out -")
}

// check refuses what makes no sense, before anything runs.
func (f *labelFlags) check(out string, json, given, isTable bool) error {
	switch {
	case out == onStdout && json:
		return shell.Usage("--json and --out - both write to standard output; give one of them")
	case out == "" && (f.join || given):
		return shell.Usage("--join and --labels-format are about what --out writes; give --out DIR, or --out - for standard output")
	case f.join && !isTable:
		return shell.Usage("--join goes with a table as --data only, such as a .csv or .parquet file")
	}
	return nil
}

// labels are how labels are written.
func (f *labelFlags) labels(rows *jobflags.Rows) report.Labels {
	l := report.Labels{Format: f.format.String()}
	if f.join && rows != nil && rows.Data != nil {
		l.Join = func(yield func(*table.Table) error) error { return yield(rows.Data) }
	}
	return l
}

// summaryTo is where people read what was found.
func (a *app) summaryTo(out string) io.Writer {
	if out == onStdout {
		return a.stderr
	}
	return a.folded()
}

// checkOutput refuses flags about the output that make no sense, before anything runs.
func (f *runFlags) checkOutput() error {
	if f.scoreOn != "" && f.truth == "" {
		return shell.Usage("--score-on goes with --truth only")
	}
	if f.saveGraph != "" {
		_, err := format.GraphWriter(f.saveGraph)
		return err
	}
	return nil
}

// checkSaveGraph refuses to save the graph of a job that makes none.
func (f *runFlags) checkSaveGraph(spec *cleavev1.JobSpec) error {
	if f.saveGraph != "" && spec.GetNeighborGraph() == nil {
		return shell.Usage("--save-graph goes with --knn only, which makes the graph that is saved")
	}
	return nil
}

// saveNeighborGraph writes the graph of neighbors that a job clustered to a file, if one is named.
func (a *app) saveNeighborGraph(ctx context.Context, c *client.Client, jobID, path string) error {
	if path == "" {
		return nil
	}
	write, err := format.GraphWriter(path)
	if err != nil {
		return err
	}
	graph, err := c.FetchNeighborGraph(ctx, jobID)
	if err != nil {
		return err
	}
	if err := format.WriteFile(path, func(w io.Writer) error { return write(w, graph) }); err != nil {
		return err
	}
	hint := ""
	if last, _ := graph.Row(graph.N - 1); len(last) == 0 {
		hint = fmt.Sprintf("; the last rows have no neighbors: give --vertices %d with it", graph.N)
	}
	fmt.Fprintf(a.stderr, "cleave: the graph is in %s%s\n", path, hint)
	return nil
}
