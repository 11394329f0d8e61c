package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// resultFlags are the flags of result. The data is needed only to draw the clusters.
type resultFlags struct {
	server string
	data   *jobflags.DataFlags
	truth  truthFlags
	output outputFlags
}

// resultCommand returns the command, and its flags that name data.
func (a *app) resultCommand() (*cobra.Command, *jobflags.DataFlags) {
	f := &resultFlags{}
	const short = "Fetch the result of a job: a summary, JSON, or the files that run writes"
	cmd, set := argsCommand("result JOB", short, func(ctx context.Context, args []string) error {
		return a.onJob(ctx, f.server, args, func(c *client.Client, jobID string) error { return a.result(ctx, c, jobID, f) })
	})
	f.data = jobflags.AddDataFlags(set)
	f.data.Stdin = a.stdin
	addServerFlag(set, &f.server)
	f.truth.add(set)
	f.output.add(set, "print nothing when --out is given")
	return cmd, f.data
}

// result fetches the result of a job and delivers it as run does, except that it has no progress to show.
func (a *app) result(ctx context.Context, c *client.Client, jobID string, f *resultFlags) error {
	if err := cmp.Or(f.truth.check(), f.data.CheckStandardInput()); err != nil {
		return err
	}
	if err := f.output.check(f.data); err != nil {
		return err
	}
	in := a.noteInputs(f.data)
	r, s, err := a.fetchReport(ctx, c, jobID, f.data, f.truth, extentFor(f.output.out))
	if err != nil {
		return err
	}
	silent := f.output.quiet && f.output.out != ""
	if silent || !f.output.summarizes() { // a summary includes them; whoever created the job was told how its table is read
		answer, _ := wire.SplitNotices(r.Result.GetWarnings())
		for _, warning := range answer {
			fmt.Fprintf(a.stderr, "warning: %s\n", warning.GetMessage())
		}
	}
	r.Run.Origin = a.origin(in, s.Title, s.Spec)
	d := &delivered{report: r, notices: r.Result.GetWarnings()}
	err = a.intoFolder(f.output.out, report.RunTables, f.data.NamedFiles(a.command.directory), func(out *report.OutputDir) error {
		if err := a.checkGraph(&f.output, s.Spec, f.data); err != nil {
			return err
		}
		return errors.Join(a.deliver(ctx, d, s, out, &f.output, f.output.labels(s.Table)), a.saveNeighborGraph(ctx, c, jobID, f.output.saveGraph))
	})
	if err != nil || silent && !f.output.json {
		return err
	}
	return a.printResult(d, &f.output)
}

// fetchReport fetches the result of a job and reads the files that the flags name.
func (a *app) fetchReport(
	ctx context.Context, c *client.Client, jobID string, source *jobflags.DataFlags, scored truthFlags, extent client.Extent,
) (*report.Report, report.Scene, error) {
	var none report.Scene
	data, err := &jobflags.Loaded{}, error(nil)
	if !source.IsTable() { // how a table is read depends on the job
		if data, err = source.Load(); err != nil {
			return nil, none, err
		}
	}
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return nil, none, err
	}
	spec := response.GetSpec()
	outcome, err := c.Fetch(ctx, jobID, extent)
	if err != nil {
		return nil, none, err
	}
	if source.IsTable() {
		if data, err = source.LoadAgain(wire.Recipe(outcome.Result.GetRecipe()), false, wire.ComparesDirections(spec)); err != nil {
			return nil, none, err
		}
	}
	job := &jobflags.Job{Spec: spec, Name: response.GetJob().GetDisplayName(), Loaded: *data}
	if err := checkSameData(job, outcome); err != nil {
		return nil, none, err
	}
	made, ids := reportOf(job, outcome)
	filter := made.Filter
	if extent == client.Everything {
		job.Constraints, err = wire.ReadTable(job.Spec.GetSupervision().GetConstraints(), "constraints", rowsOf(outcome), c.FetchTables(ctx), table.Constraints)
		if err != nil && !fault.Is(err, wire.TableNotFound) { // deleted constraints are not drawn
			return nil, none, err
		}
		seeds, err := fetchSeeds(ctx, c, job.Spec, outcome)
		if err != nil {
			return nil, none, err
		}
		if t := job.SourceTable(); t != nil && job.Table.Recipe != nil && job.Table.Recipe.Label != "" {
			if at, err := recipe.Find(t, job.Table.Recipe.Label); err == nil {
				job.NameSeeds(seeds, filter, t.Columns[at].CellText)
			}
		}
	}
	truth, err := a.loadTruth(scored, filter, len(outcome.Labels), table.Naming{IDs: ids})
	if err != nil {
		return nil, none, err
	}
	made.Classes, made.ClassesFor = job.ClusterClasses(outcome.Labels), job.ClusterClasses
	return made, sceneOf(job, truth), made.Score(truth)
}

// fetchSeeds fetches the seeds of a job, about rows of its table. It returns none if they were deleted.
func fetchSeeds(ctx context.Context, c *client.Client, spec *cleavev1.JobSpec, o *client.Outcome) ([]constraint.Seed, error) {
	seeds, err := wire.ReadTable(spec.GetSupervision().GetSeeds(), "seeds", rowsOf(o), c.FetchTables(ctx), table.Seeds)
	if fault.Is(err, wire.TableNotFound) {
		return nil, nil
	}
	if o.Kept != nil { // ReadTable numbers the points
		for at := range seeds {
			seeds[at].Index = o.Kept[seeds[at].Index]
		}
	}
	return seeds, err
}

// reportOf returns the report of a job in terms of the data file, and the ids of its rows.
func reportOf(j *jobflags.Job, o *client.Outcome) (*report.Report, *table.IDs) {
	filter, ids := fileRows(j, o)
	localizeOutcome(o, j.Header, filter, ids)
	r := report.New(o, filter)
	r.RowIDs = ids.All()
	return r, ids
}

// localizeOutcome makes notices name rows by their ids or their numbers in the file, and columns by the header or, if
// it is nil, by the recipe.
func localizeOutcome(o *client.Outcome, header []string, filter *jobflags.RowFilter, ids *table.IDs) {
	if steps := wire.Recipe(o.Result.GetRecipe()); header == nil && steps != nil {
		header = steps.Names()
	}
	local := &jobflags.Job{Loaded: jobflags.Loaded{Header: header, Filter: filter, Table: &jobflags.TableInfo{IDs: ids}}}
	local.LocalizeResult(o.Result)
}

// fileRows returns which rows of the data file have labels, nil for all, and the ids of the rows. Without the file the
// ids of dropped rows are unknown, so these rows are left out.
func fileRows(j *jobflags.Job, o *client.Outcome) (*jobflags.RowFilter, *table.IDs) {
	if o.Kept == nil {
		return nil, cmp.Or(table.NewIDs(o.IDs), j.IDs())
	}
	if o.IDs != nil && j.SourceTable() == nil {
		return nil, table.NewIDs(o.IDs)
	}
	return jobflags.FilterOf(o.Kept, o.TableRows()), j.IDs()
}

// rowsOf returns the rows of the points of a job, as its tables name them.
func rowsOf(o *client.Outcome) *recipe.Rows {
	if o.Kept == nil {
		return recipe.NewRows(len(o.Labels), nil, o.IDs)
	}
	rows := o.TableRows()
	var ids []string
	if o.IDs != nil {
		ids = make([]string, rows) // those of dropped rows are unknown
		for at, row := range o.Kept {
			ids[row] = o.IDs[at]
		}
	}
	return recipe.NewRows(rows, o.Kept, ids)
}

// checkRows refuses data that cannot be what an earlier run clustered, because it has another number of rows.
func checkRows(what string, rows int, earlier string, had int) error {
	if rows == had {
		return nil
	}
	return fault.Invalid("OTHER_DATASET", "%s has %s; %s had %d", what, text.Plural(rows, "row"), earlier, had)
}

// checkSameData refuses data that is not that of the job.
func checkSameData(j *jobflags.Job, o *client.Outcome) error {
	if j.Data == nil {
		return nil
	}
	if j.Spec.GetTable() != nil {
		if t := j.SourceTable(); t != nil {
			if err := checkRows("this is not the job's data: the file", t.Rows(), "that of the job", o.TableRows()); err != nil {
				return err
			}
		}
		return checkRows("this is not the job's data: the file, without the rows that are dropped,", j.Data.Rows(), "that of the job", len(o.Labels))
	}
	id, err := dataset.ID(j.Data)
	if err == nil && id != j.Spec.GetDatasetId() {
		return fault.Invalid("OTHER_DATASET", "this is not the job's data: the file is data set %s, the job clustered %s", id, j.Spec.GetDatasetId())
	}
	return err
}
