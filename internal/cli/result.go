package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/resultpage"
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
		return a.onJob(ctx, f.server, args, func(c *client.Client, jobID string) error {
			return a.result(ctx, c, jobID, f)
		})
	})
	cmd.ValidArgsFunction = firstOnly(a.jobIDs())
	f.data = jobflags.AddDataFlags(set, a.stdin)
	addServerFlag(set, &f.server)
	f.truth.add(set)
	f.output.add(set, "print nothing when --out is given")
	return cmd, f.data
}

// result fetches the result of a job and delivers it as run does, except that it has no progress to show.
func (a *app) result(ctx context.Context, c *client.Client, jobID string, f *resultFlags) error {
	if err := f.truth.check(); err != nil {
		return err
	}
	if err := f.data.CheckStandardInput(); err != nil {
		return err
	}
	if err := f.output.check(f.data); err != nil {
		return err
	}
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return err
	}
	silent := f.output.quiet && f.output.out != ""
	in := a.noteInputs(ctx, f.data, &f.output)
	p, err := a.deliver(ctx, &f.output, f.data, func() (*delivery, error) {
		if err := a.checkGraph(&f.output, response.GetSpec(), f.data); err != nil {
			return nil, err
		}
		r, s, err := a.fetchReport(ctx, c, response, f.data, f.truth, extentFor(f.output.out))
		if err != nil {
			return nil, err
		}
		// a summary includes them; whoever created the job was told how its table is read
		if silent || !f.output.summarizes() {
			answer, _ := wire.SplitNotices(r.Result.GetWarnings())
			for _, warning := range answer {
				fmt.Fprintf(a.stderr, "warning: %s\n", text.OneLine(warning.GetMessage()))
			}
		}
		r.Run.Origin = a.origin(in, s.Title, s.Spec)
		return &delivery{printout{report: r, notices: r.Result.GetWarnings()}, s, rowsOfTable(s.Table)},
			a.saveNeighborGraph(ctx, c, jobID, f.output.saveGraph)
	})
	if p == nil || silent && !f.output.json {
		return err
	}
	return errors.Join(a.printResult(p, &f.output), err)
}

// fetchReport fetches the result of a job and reads the files that the flags name.
func (a *app) fetchReport(
	ctx context.Context, c *client.Client, described *cleavev1.GetJobResponse, source *jobflags.DataFlags,
	scored truthFlags, extent client.Extent,
) (*report.Report, report.Scene, error) {
	var none report.Scene
	spec := described.GetSpec()
	outcome, err := c.Fetch(ctx, described.GetJob().GetJobId(), extent)
	if err != nil {
		return nil, none, err
	}
	how := jobflags.Reading{Recipe: wire.Recipe(outcome.Result.GetRecipe()), Directions: wire.ComparesDirections(spec)}
	data, err := source.Load(ctx, how)
	if err != nil {
		return nil, none, err
	}
	if err := checkSameData(spec, data, outcome); err != nil {
		return nil, none, err
	}
	made := reportOf(data, outcome)
	filter := made.Filter
	var constraints []constraint.Constraint
	if extent == client.Everything {
		constraints, err = wire.ReadTable(spec.GetSupervision().GetConstraints(), "constraints", rowsOf(outcome),
			c.FetchTables(ctx), table.Constraints)
		if err != nil && !fault.Is(err, wire.TableNotFound) { // deleted constraints are not drawn
			return nil, none, err
		}
		seeds, err := fetchSeeds(ctx, c, spec, outcome)
		if err != nil {
			return nil, none, err
		}
		if t := data.SourceTable(); t != nil && data.Table.Recipe != nil && data.Table.Recipe.Label != "" {
			if at, err := recipe.Find(t, data.Table.Recipe.Label); err == nil {
				made.NameClusters(jobflags.NameSeeds(spec.GetK(), seeds, filter, t.Columns[at].CellText))
			}
		}
	}
	truth, err := a.loadTruth(scored, filter, len(outcome.Labels), made.Naming())
	if err != nil {
		return nil, none, err
	}
	scene := sceneOf(data, described.GetJob().GetDisplayName(), truth)
	scene.Constraints, scene.Spec = constraints, spec
	return made, scene, made.Score(truth)
}

// fetchSeeds fetches the seeds of a job, about rows of its table. It returns none if they were deleted.
func fetchSeeds(ctx context.Context, c *client.Client, spec *cleavev1.JobSpec,
	o *client.Outcome) ([]constraint.Seed, error) {
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

// reportOf returns the report of a job in terms of the data file, which may not be at hand. Notices name rows by their
// ids or their numbers in the file, and columns by the header or, if it is nil, by the recipe.
func reportOf(l *jobflags.Loaded, o *client.Outcome) *report.Report {
	rows := fileRows(l, o)
	if steps := wire.Recipe(o.Result.GetRecipe()); rows.Header == nil && steps != nil {
		rows.Header = steps.Names()
	}
	return report.New(o, rows)
}

// fileRows returns which rows of the data file have labels, and what they are called. Without the file the ids of
// dropped rows are unknown, so these rows are left out.
func fileRows(l *jobflags.Loaded, o *client.Outcome) jobflags.Rows {
	rows := jobflags.Rows{Header: l.Header, IDs: l.IDs}
	switch {
	case o.Kept == nil:
		rows.IDs = cmp.Or(table.NewIDs(o.IDs), l.IDs)
	case o.IDs != nil && l.SourceTable() == nil:
		rows.IDs = table.NewIDs(o.IDs)
	default:
		rows.Filter = jobflags.FilterOf(o.Kept, o.TableRows())
	}
	return rows
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

// checkSameData refuses data that is not that of the job with a spec. There may be none.
func checkSameData(spec *cleavev1.JobSpec, l *jobflags.Loaded, o *client.Outcome) error {
	if l.Data == nil {
		return nil
	}
	if spec.GetTable() != nil {
		if t := l.SourceTable(); t != nil {
			if err := checkRows("this is not the job's data: the file", t.Rows(), "that of the job",
				o.TableRows()); err != nil {
				return err
			}
		}
		return checkRows("this is not the job's data: the file, without the rows that are dropped,", l.Data.Rows(),
			"that of the job", len(o.Labels))
	}
	id, err := dataset.ID(l.Data)
	if err == nil && id != spec.GetDatasetId() {
		return fault.Invalid("OTHER_DATASET",
			"this is not the job's data: the file is data set %s, the job clustered %s", id, spec.GetDatasetId())
	}
	return err
}

// reportFlags are the flags of report. The page shows the files that they name; none is required.
type reportFlags struct {
	data                     *jobflags.DataFlags
	truth                    truthFlags
	server, constraints, out string
}

func (a *app) reportCommand() *cobra.Command {
	f := &reportFlags{}
	const short = "Write report.html, a page about a result, from a coordinator or from the folder of a run"
	cmd, set := argsCommand("report JOB|DIR", short, func(ctx context.Context, args []string) error {
		if err := f.truth.check(); err != nil {
			return err
		}
		if err := f.data.CheckStandardInput(); err != nil {
			return err
		}
		if err := jobflags.RefuseInput("--out", f.out, "", f.data.NamedFiles(""), f.constraints); err != nil {
			return err
		}
		return a.onFolderOrJob(ctx, f.server, f.constraints, args, func(folder string) error {
			return a.reportFolder(ctx, folder, f)
		}, func(c *client.Client, jobID string) error { return a.reportJob(ctx, c, jobID, f) })
	})
	cmd.ValidArgsFunction = firstOnly(orFiles(a.jobIDs()))
	f.data = jobflags.AddDataFlags(set, a.stdin)
	addServerFlag(set, &f.server)
	set.StringVar(&f.constraints, "constraints", "", "the constraints of the run in this `FILE`, for a folder")
	f.truth.add(set)
	set.StringVar(&f.out, "out", "", "write the page to this `FILE`, - for standard output; default: report.html "+
		"in DIR, or here")
	return cmd
}

// reportFolder writes the page about a run in a folder, with the files that flags name, or those that the run
// recorded.
func (a *app) reportFolder(ctx context.Context, folder string, f *reportFlags) error {
	result, run, err := report.ReadResult(folder)
	if err != nil {
		return err
	}
	for _, input := range run.GetOrigin().GetInputs() {
		if err := jobflags.RefuseInput("--out", f.out, "", nil, jobflags.ResolvePath(run.GetOrigin().GetDirectory(),
			input.GetPath())); err != nil {
			return err
		}
	}
	r, err := report.ReadFolder(folder, result, run)
	if err != nil {
		return err
	}
	scene, err := f.scene(ctx, folder, r)
	if err != nil {
		return err
	}
	if scene.Data == nil && len(run.GetOrigin().GetCommand()) > 0 {
		switch recorded, err := a.recordedScene(ctx, folder, r); {
		case err != nil:
			a.warn("%v", err)
		case recorded.Data != nil:
			scene = recorded
		}
	}
	if err := a.addTables(f, &scene, r); err != nil {
		return err
	}
	if err := r.Score(scene.Truth); err != nil {
		return err
	}
	return a.writePage(r, scene, cmp.Or(f.out, filepath.Join(folder, resultpage.PageFile)))
}

// scene returns the scene of the data that flags name.
func (f *reportFlags) scene(ctx context.Context, folder string, r *report.Report) (s report.Scene, err error) {
	result := r.Result
	s.Title = cmp.Or(r.Run.GetOrigin().GetDisplayName(), filepath.Base(folder))
	spec := r.Run.GetOrigin().GetSpec()
	data, err := f.data.Load(ctx, jobflags.Reading{
		Recipe: wire.Recipe(result.GetRecipe()), Drop: result.GetDroppedRows() > 0,
		Directions: spec != nil && wire.ComparesDirections(spec),
	})
	if err != nil || data.Data == nil {
		return s, err
	}
	s = sceneOf(data, f.data.Name(), nil)
	if err := checkRows("the data", s.Data.Rows(), "the run in "+folder, int(result.GetRows())); err != nil {
		return s, err
	}
	r.Filter, r.RowIDs = data.Filter, data.IDs.All()
	return s, nil
}

// addTables reads the constraints and the truth that flags name.
func (a *app) addTables(f *reportFlags, s *report.Scene, r *report.Report) (err error) {
	if f.constraints != "" {
		if s.Constraints, err = constraintsOf(r, f.constraints); err != nil {
			return err
		}
	}
	if f.truth.file != "" {
		s.Truth, err = a.loadTruth(f.truth, r.Filter, len(r.Labels), r.Naming())
	}
	return err
}

// recordedScene returns the scene of the run in a folder from the files that it recorded, if they have not changed. The
// scene has no data if the folder is that of cleave result.
func (a *app) recordedScene(ctx context.Context, folder string, r *report.Report) (s report.Scene, err error) {
	then, err := a.recordedCommand(folder, r.Run.GetOrigin())
	if err != nil || then.run == nil {
		return s, err
	}
	if err := then.checkInputs(ctx, folder, r.Run.GetOrigin()); err != nil {
		return s, err
	}
	run := then.run
	j, err := run.job.Prepare(ctx, nil) // the run has printed the notices
	if err != nil {
		return s, err
	}
	if err := checkRows("the data", j.Data.Rows(), "the run in "+folder, int(r.Result.GetRows())); err != nil {
		return s, err
	}
	truth, err := j.LoadTruth(run.truth.input(a.stdin), run.truth.scoreOn)
	if err != nil {
		return s, err
	}
	r.Filter, r.RowIDs = j.Filter, j.IDs.All()
	s = sceneOf(&j.Loaded, j.Name, truth)
	s.Constraints = j.Constraints
	return s, nil
}

// reportJob writes the page about a job of a coordinator.
func (a *app) reportJob(ctx context.Context, c *client.Client, jobID string, f *reportFlags) error {
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return err
	}
	r, s, err := a.fetchReport(ctx, c, response, f.data, f.truth, client.Everything)
	if err != nil {
		return err
	}
	return a.writePage(r, s, cmp.Or(f.out, resultpage.PageFile))
}

// writePage writes the page to a file and prints its path, or to standard output.
func (a *app) writePage(r *report.Report, s report.Scene, path string) error {
	if s.Data == nil {
		a.warn("without the data (--data, --graph or --kernel-matrix) the page has no picture of the clusters and " +
			"does not describe how they differ")
	}
	if path == onStdout {
		return resultpage.Write(a.stdout, r, s)
	}
	if err := format.WriteFile(path, func(w io.Writer) error { return resultpage.Write(w, r, s) }); err != nil {
		return err
	}
	return a.printf("%s\n", path)
}
