package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// reportFlags are the flags of report. What they name is shown; nothing is needed.
type reportFlags struct {
	resultFlags
	constraints string
}

func (a *app) reportCommand() *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report JOB|DIR",
		Short: "Write report.html, the page about a result, from a coordinator or from the folder of a run",
		Args:  cobra.ArbitraryArgs,
	}
	set := cmd.Flags()
	f.data = jobflags.AddDataFlags(set)
	f.data.Stdin = a.stdin
	f.server = addServerFlag(set)
	set.StringVar(&f.constraints, "constraints", "", "the constraints of the run in this `FILE`, of a folder")
	set.StringVar(&f.truth, "truth", "", "true labels in this `FILE` (index,label) to compare the result with")
	set.StringVar(&f.scoreOn, "score-on", "", "compare only the points listed in this `FILE` (index)")
	set.StringVar(&f.out, "out", "", "write the page to this `FILE`; default: report.html in DIR, or here")
	f.flags = set
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		what, err := oneArgument(args, "job or folder")
		if err != nil {
			return err
		}
		if info, err := os.Stat(what); err == nil && info.IsDir() {
			return a.reportFolder(cmd.Context(), what, f)
		}
		return a.onJobNoFolder(cmd.Context(), *f.server, args, func(c *client.Client, jobID string) error { return a.reportJob(cmd.Context(), c, jobID, f) })
	}
	return cmd
}

// reportFolder makes the page of a run again from the folder that it wrote, with the files that flags name, or those that
// the run has recorded.
func (a *app) reportFolder(ctx context.Context, folder string, f *reportFlags) error {
	result, err := report.ReadResult(folder)
	if err != nil {
		return err
	}
	r, err := report.ReadFolder(folder, result)
	if err != nil {
		return err
	}
	s, err := f.scene(folder, r)
	if err != nil {
		return err
	}
	if s.Data == nil && len(result.GetOrigin().GetCommand()) > 0 {
		recorded, err := a.recordedScene(ctx, folder, r)
		if err != nil {
			fmt.Fprintf(a.stderr, "cleave: %v\n", err)
		} else if recorded.Data != nil {
			s = recorded
		}
	}
	if err := f.addTables(&s, r); err != nil {
		return err
	}
	if err := r.Score(s.Truth); err != nil {
		return err
	}
	if f.out == "" {
		f.out = filepath.Join(folder, report.PageFile)
	}
	return a.writePage(r, s, f.out)
}

// scene is what the flags name.
func (f *reportFlags) scene(folder string, r *report.Report) (s report.Scene, err error) {
	result := r.Result
	s.Title = cmp.Or(result.GetOrigin().GetDisplayName(), filepath.Base(folder))
	filter, err := f.loadData(&s, result)
	if err != nil || s.Data == nil {
		return s, err
	}
	s.Title = f.data.Name()
	if rows := s.Data.Rows(); rows != int(result.GetRows()) {
		return s, fault.Invalid("OTHER_DATASET", "the data have %s; %s was made of %d", text.Plural(rows, "row"), folder, result.GetRows())
	}
	var ids []string
	if rows := f.data.Rows; rows != nil {
		ids, s.Table = rows.IDs.All(), rows.Data
		if rows.Recipe != nil {
			s.LabelColumn = rows.Recipe.Label
		}
	}
	r.SetRows(filter, ids)
	return s, nil
}

// loadData reads the data that flags name as the run did: a table by its recipe, without rows that were left out.
func (f *reportFlags) loadData(s *report.Scene, result *cleavev1.Result) (filter *jobflags.RowFilter, err error) {
	steps, spec := wire.Recipe(result.GetRecipe()), result.GetOrigin().GetSpec()
	directions := spec != nil && wire.ComparesDirections(spec)
	if !f.data.IsTable() || steps == nil {
		s.Data, s.Header, filter, err = f.data.LoadKept(result.GetDroppedRows() > 0, directions)
		return filter, err
	}
	made, err := f.data.Made(steps, directions)
	if err != nil {
		return nil, err
	}
	f.data.Rows = made.Rows(steps)
	s.Data, s.Header = made.Points, made.Header
	return made.Filter, nil
}

// addTables reads the constraints and the truth that flags name.
func (f *reportFlags) addTables(s *report.Scene, r *report.Report) (err error) {
	filter, naming := r.Filter(), r.Naming()
	rows := filter.FileRows(len(r.Labels))
	if f.constraints != "" {
		if _, s.Constraints, err = format.LoadNamed(f.constraints, table.Constraints, rows, naming); err != nil {
			return err
		}
		s.Constraints = filter.Constraints(s.Constraints)
	}
	if f.truth != "" {
		if s.Truth, err = jobflags.LoadTruth(f.truth, f.scoreOn, rows, naming); err == nil {
			s.Truth, err = filter.Truth(s.Truth)
		}
	}
	return err
}

// recordedScene is what the run in a folder was made of, if its files are still what they were.
func (a *app) recordedScene(ctx context.Context, folder string, r *report.Report) (s report.Scene, err error) {
	before, err := loadRecorded(folder)
	if err != nil {
		return s, err
	}
	origin := before.result.GetOrigin()
	cmd, run := (&app{stdin: a.stdin, stdout: a.stdout, stderr: a.stderr, env: a.env}).newRunCommand()
	if origin.GetCommand()[0] != "run" || cmd.ParseFlags(origin.GetCommand()[1:]) != nil {
		return s, nil
	}
	if err := before.checkInputs(jobflags.NamedFiles(cmd.Flags(), origin.GetDirectory())); err != nil {
		return s, err
	}
	jobflags.ResolveFiles(cmd.Flags(), origin.GetDirectory())
	run.job.TruthFile = run.truth
	j, err := run.job.Prepare(ctx, nil) // what there is to say about the files has been said by the run
	if err != nil {
		return s, err
	}
	if rows := j.Data.Rows(); rows != int(before.result.GetRows()) {
		return s, fault.Invalid("OTHER_DATASET", "the data have %s; %s was made of %d", text.Plural(rows, "row"), folder, before.result.GetRows())
	}
	truth, err := j.LoadTruth(run.truth, run.scoreOn)
	if err != nil {
		return s, err
	}
	r.SetRows(j.Filter, j.IDs().All())
	s = sceneOf(j, truth)
	s.Spec = nil // the one of the origin has names for its tables
	return s, nil
}

// reportJob makes the page of a job that a coordinator has.
func (a *app) reportJob(ctx context.Context, c *client.Client, jobID string, f *reportFlags) error {
	if f.constraints != "" {
		return shell.Usage("--constraints goes with a folder only; a coordinator has those of its jobs")
	}
	r, s, err := a.fetchReport(ctx, c, jobID, &f.resultFlags, client.Everything)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = report.PageFile
	}
	return a.writePage(r, s, f.out)
}

// writePage writes the page and says where it is.
func (a *app) writePage(r *report.Report, s report.Scene, path string) error {
	if s.Data == nil {
		fmt.Fprintln(a.stderr, "cleave: without the data (--data, --graph or --kernel-matrix) the page has neither a picture of the clusters nor what sets them apart")
	}
	if err := format.WriteFile(path, func(w io.Writer) error { return r.WritePage(w, s) }); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.stdout, path)
	return err
}
