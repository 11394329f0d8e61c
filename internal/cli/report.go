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
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/text"

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
		return a.onJob(cmd.Context(), *f.server, args, func(c *client.Client, jobID string) error { return a.reportJob(cmd.Context(), c, jobID, f) })
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
	s, filter, err := f.scene(folder, result)
	if err != nil {
		return err
	}
	if s.Data == nil && len(result.GetOrigin().GetCommand()) > 0 {
		if s, filter, err = a.recordedScene(ctx, folder); err != nil {
			fmt.Fprintf(a.stderr, "cleave: %v\n", err)
			s, filter = report.Scene{Title: s.Title}, nil
		}
	}
	r, err := report.ReadFolder(folder, result, filter)
	if err != nil {
		return err
	}
	naming := table.Naming{}
	if rows := f.data.Rows; rows != nil {
		naming.IDs, s.IDs, s.Table = rows.IDs, rows.IDs.All(), rows.Data
	}
	if f.constraints != "" {
		if _, s.Constraints, err = format.LoadNamed(f.constraints, table.Constraints, filter.FileRows(len(r.Labels)), naming); err != nil {
			return err
		}
		s.Constraints = filter.Constraints(s.Constraints)
	}
	if f.truth != "" {
		if s.Truth, err = jobflags.LoadTruth(f.truth, f.scoreOn, filter.FileRows(len(r.Labels)), naming); err != nil {
			return err
		}
		if s.Truth, err = filter.Truth(s.Truth); err != nil {
			return err
		}
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
func (f *reportFlags) scene(folder string, result *cleavev1.Result) (s report.Scene, filter *jobflags.RowFilter, err error) {
	s.Title = cmp.Or(result.GetOrigin().GetSpec().GetDisplayName(), filepath.Base(folder))
	s.Data, s.Header, filter, err = f.data.LoadKept(result.GetDroppedRows() > 0)
	if err != nil || s.Data == nil {
		return s, nil, err
	}
	s.Title = f.data.Name()
	if rows := s.Data.Rows(); rows != int(result.GetRows()) {
		return s, nil, fault.Invalid("OTHER_DATASET", "the data have %s; %s was made of %d", text.Plural(rows, "row"), folder, result.GetRows())
	}
	return s, filter, nil
}

// recordedScene is what the run in a folder was made of, if its files are still what they were.
func (a *app) recordedScene(ctx context.Context, folder string) (s report.Scene, filter *jobflags.RowFilter, err error) {
	before, err := loadRecorded(folder)
	if err != nil {
		return s, nil, err
	}
	origin := before.result.GetOrigin()
	cmd, run := (&app{stdin: a.stdin, stdout: a.stdout, stderr: a.stderr, env: a.env}).newRunCommand()
	if origin.GetCommand()[0] != "run" || cmd.ParseFlags(origin.GetCommand()[1:]) != nil {
		return s, nil, nil
	}
	if err := before.checkInputs(jobflags.NamedFiles(cmd.Flags(), origin.GetDirectory())); err != nil {
		return s, nil, err
	}
	jobflags.ResolveFiles(cmd.Flags(), origin.GetDirectory())
	run.job.TruthFile = run.truth
	j, err := a.prepare(ctx, run.job, nil)
	if err != nil {
		return s, nil, err
	}
	truth, err := j.LoadTruth(run.truth, run.scoreOn)
	s = sceneOf(j, truth)
	s.Spec = nil // the one of the origin has names for its tables
	return s, j.Filter, err
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
