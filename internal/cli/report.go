package cli

import (
	"cmp"
	"context"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/resultpage"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"
)

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
		if err := cmp.Or(f.truth.check(), f.data.CheckStandardInput(), jobflags.RefuseInput("--out", f.out, "", f.data.NamedFiles(""), f.constraints)); err != nil {
			return err
		}
		return a.onFolderOrJob(ctx, f.server, args, func(folder string) error {
			return a.reportFolder(ctx, folder, f)
		}, func(c *client.Client, jobID string) error { return a.reportJob(ctx, c, jobID, f) })
	})
	f.data = jobflags.AddDataFlags(set)
	f.data.Stdin = a.stdin
	addServerFlag(set, &f.server)
	set.StringVar(&f.constraints, "constraints", "", "the constraints of the run in this `FILE`, for a folder")
	f.truth.add(set)
	set.StringVar(&f.out, "out", "", "write the page to this `FILE`, - for standard output; default: report.html in DIR, or here")
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
		if err := jobflags.RefuseInput("--out", f.out, "", nil, jobflags.ResolvePath(run.GetOrigin().GetDirectory(), input.GetPath())); err != nil {
			return err
		}
	}
	r, err := report.ReadFolder(folder, result, run)
	if err != nil {
		return err
	}
	scene, err := f.scene(folder, r)
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
func (f *reportFlags) scene(folder string, r *report.Report) (s report.Scene, err error) {
	result := r.Result
	s.Title = cmp.Or(r.Run.GetOrigin().GetDisplayName(), filepath.Base(folder))
	spec := r.Run.GetOrigin().GetSpec()
	data, err := f.data.LoadAgain(wire.Recipe(result.GetRecipe()), result.GetDroppedRows() > 0, spec != nil && wire.ComparesDirections(spec))
	if err != nil || data.Data == nil {
		return s, err
	}
	s.Data, s.Header, s.Title, s.Table = data.Data, data.Header, f.data.Name(), data.SourceTable()
	if err := checkRows("the data", s.Data.Rows(), "the run in "+folder, int(result.GetRows())); err != nil {
		return s, err
	}
	if data.Table != nil && data.Table.Recipe != nil {
		s.LabelColumn = data.Table.Recipe.Label
	}
	r.Filter, r.RowIDs = data.Filter, data.IDs().All()
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
	if err := then.checkInputs(folder, r.Run.GetOrigin()); err != nil {
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
	truth, err := j.LoadTruth(run.truth.file, run.truth.scoreOn)
	if err != nil {
		return s, err
	}
	r.Filter, r.RowIDs = j.Filter, j.IDs().All()
	s = sceneOf(j, truth)
	s.Spec = nil // the spec of the origin has names for its tables
	return s, nil
}

// reportJob writes the page about a job of a coordinator.
func (a *app) reportJob(ctx context.Context, c *client.Client, jobID string, f *reportFlags) error {
	if f.constraints != "" {
		return shell.Usage("--constraints requires a folder; the coordinator has those of its jobs")
	}
	r, s, err := a.fetchReport(ctx, c, jobID, f.data, f.truth, client.Everything)
	if err != nil {
		return err
	}
	return a.writePage(r, s, cmp.Or(f.out, resultpage.PageFile))
}

// writePage writes the page to a file and prints its path, or to standard output.
func (a *app) writePage(r *report.Report, s report.Scene, path string) error {
	if s.Data == nil {
		a.warn("without the data (--data, --graph or --kernel-matrix) the page has no picture of the clusters and does not describe how they differ")
	}
	if path == onStdout {
		return resultpage.Write(a.stdout, r, s)
	}
	if err := format.WriteFile(path, func(w io.Writer) error { return resultpage.Write(w, r, s) }); err != nil {
		return err
	}
	return a.printf("%s\n", path)
}
