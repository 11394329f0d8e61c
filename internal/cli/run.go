package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// runFlags are the flags of run, except for those that describe the job.
type runFlags struct {
	describedJob
	truth, scoreOn string
	workers        *jobflags.OptionFlag
	requestID      string
	onTerm         *jobflags.OptionFlag
	out, saveGraph string
	json, quiet    bool
	labelFlags

	flags     *pflag.FlagSet
	finished  func(*report.Report)                        // called instead of the summary
	unprinted func([]*cleavev1.Notice) []*cleavev1.Notice // returns the notices that were not printed yet; nil means all
}

// embeddedWorkers is the default number of workers of an embedded run. One worker with all cores computes each block
// of the symmetric matrix once; several would compute some blocks twice.
const embeddedWorkers = 1

// The values of --on-term.
const (
	detachOnTerm = "detach"
	cancelOnTerm = "cancel"
)

func addRequestIDFlag(set *pflag.FlagSet, id *string) {
	set.StringVar(id, "request-id", "", "a `TEXT` that identifies this job on its coordinator: the same command again continues with the same job")
}

func addWorkersFlag(set *pflag.FlagSet) *jobflags.OptionFlag {
	return jobflags.NewWhole(embeddedWorkers, 1, 1024).Declare(set, "workers", "number of workers on this machine")
}

func (a *app) runCommand() *cobra.Command {
	cmd, _ := a.newRunCommand()
	return cmd
}

// newRunCommand returns the command and its flags.
func (a *app) newRunCommand() (*cobra.Command, *runFlags) {
	f := &runFlags{}
	cmd := a.describingCommand("run", "Cluster a data set, here or on a coordinator, and write the result", &f.describedJob,
		func(ctx context.Context) error { return a.run(ctx, f) })
	f.workers = addWorkersFlag(cmd.Flags())
	addRequestIDFlag(cmd.Flags(), &f.requestID)
	f.onTerm = jobflags.NewChoice(detachOnTerm, detachOnTerm, cancelOnTerm).
		Declare(cmd.Flags(), "on-term", "what SIGTERM does to a job with --request-id: detach lets it go on, cancel cancels it")
	f.addOutputFlags(cmd.Flags(), "show no progress")
	f.flags = cmd.Flags()
	return cmd, f
}

// addOutputFlags declares the flags about the output, which result has as well.
func (f *runFlags) addOutputFlags(set *pflag.FlagSet, quiet string) {
	set.StringVar(&f.truth, "truth", "", "true labels in this `FILE` (index,label) to score the result against")
	set.StringVar(&f.scoreOn, "score-on", "", "score only the points listed in this `FILE` (index)")
	set.StringVar(&f.out, "out", "", "write labels.csv, report.html, result.json and the model into this `DIR`; - writes only labels, to standard output")
	f.labelFlags.add(set)
	set.StringVar(&f.saveGraph, "save-graph", "", "write the neighbor graph of --knn to this `FILE` (.csv or .mtx), for use as --graph")
	set.BoolVar(&f.json, "json", false, "print result.json on standard output")
	set.BoolVar(&f.quiet, "quiet", false, quiet)
}

func (a *app) run(ctx context.Context, f *runFlags) error {
	if err := f.checkOutput(); err != nil {
		return err
	}
	c, err := a.remoteOrNil(*f.server, f.job)
	if err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
	}
	f.job.TruthFile, f.job.Stream, f.job.Import, f.job.Stdin = f.truth, c != nil, true, a.stdin
	if err := f.labelFlags.check(f.out, f.json, f.job.Given("labels-format"), f.job.IsTable()); err != nil {
		return err
	}
	if err := f.checkRequestID(c != nil); err != nil {
		return err
	}
	return intoFolder(f.out, func(out *report.OutputDir) error { return a.runJob(ctx, f, c, out) })
}

// intoFolder calls do with the output folder that --out names, or with nil if it names none. It marks the folder as
// complete if do succeeds, and removes it if do fails before it has written anything.
func intoFolder(path string, do func(out *report.OutputDir) error) error {
	if path == "" || path == onStdout {
		return do(nil)
	}
	out, err := report.OpenOutput(path)
	if err != nil {
		return err
	}
	if err := do(out); err != nil {
		out.Abandon()
		return err
	}
	return out.Succeed()
}

// runJob runs the job that the flags describe, on a coordinator or, if c is nil, on an embedded one, and delivers its
// result.
func (a *app) runJob(ctx context.Context, f *runFlags, c *client.Client, out *report.OutputDir) (err error) {
	id := ""
	defer func() { err = f.detached(ctx, id, err) }()
	if _, err := os.Stat(filepath.Dir(f.saveGraph)); err != nil {
		return shell.Usage("--save-graph %s cannot be written: %v", f.saveGraph, err)
	}
	j, err := a.prepare(ctx, f.job, c)
	if err != nil {
		return err
	}
	if err := f.checkSaveGraph(j.Spec); err != nil {
		return err
	}
	truth, err := j.LoadTruth(f.truth, f.scoreOn)
	if err != nil {
		return err
	}
	a.printDropped(j.Filter)
	origin := a.beginOrigin(f.flags)
	p := report.NewProgress(a.stderr, f.quiet)
	p.Localize, p.SummaryListsSuspects, f.unprinted = j.Localize, f.summarizes(), p.UnprintedNotices
	defer p.End()
	if c == nil {
		if c, err = client.StartEmbedded(ctx, f.workers.Whole(), a.stderr); err != nil {
			return err
		}
		defer c.Close()
	}
	ctx, done := c.Context(ctx)
	defer done()
	defer func() { err = client.Cause(ctx, err) }()
	spec, data, err := a.inputOf(ctx, c, j, p)
	if err != nil {
		return err
	}
	var late error // reported after the result is written, which must not be lost
	id, late = c.Complete(ctx, j.Request(spec, f.requestID), data, p, f.onInterrupt())
	if late != nil && !fault.Is(late, fault.LabelsSoFar) {
		return explainReuse(j.Locate(late))
	}
	o, err := c.Fetch(ctx, id, extentFor(f.out))
	if err != nil {
		return err
	}
	sent, err := finishStream(ctx, c, j, spec.GetTable().GetTableId(), o)
	if err != nil {
		return err
	}
	j.LocalizeResult(o.Result)
	r := report.New(o, j.Filter)
	r.RowIDs, r.Classes, r.ClassesFor = j.IDs().All(), j.ClusterClasses(o.Labels), j.ClusterClasses
	r.AddRecipe(j.Table)
	if sent != nil {
		a.printDropped(j.Filter)
		if truth, err = j.LoadTruth(f.truth, f.scoreOn); err != nil {
			late = errors.Join(late, err)
		}
	}
	late = errors.Join(late, r.Score(truth))
	r.Run.Origin = origin(j.Name, spec)
	p.End()
	late = errors.Join(late, a.saveNeighborGraph(ctx, c, id, f.saveGraph))
	scene, labels := sceneOf(j, truth), f.labels(j.Read())
	scene.Spec = spec
	if sent != nil && f.join {
		labels.Join = sent.join(ctx)
	}
	if sent != nil && out != nil {
		if err := sent.draw(ctx, &scene); err != nil {
			a.warn("the picture of the clusters is missing: %v", err)
		}
	}
	return errors.Join(a.deliver(ctx, r, scene, out, f, labels), late)
}

// checkRequestID rejects --request-id without a coordinator or value, and --on-term without --request-id.
func (f *runFlags) checkRequestID(remote bool) error {
	switch {
	case f.requestID == "" && f.job.Given("request-id"):
		return errEmptyRequestID()
	case f.requestID != "" && !remote:
		return shell.Usage("--request-id identifies a job on a coordinator; give --server HOST:PORT")
	case f.job.Given("on-term") && f.requestID == "":
		return shell.Usage("--on-term requires --request-id; without it, the job of a run that ends is canceled, because nothing would find it again")
	}
	return nil
}

// errEmptyRequestID returns the error for an empty request id, such as that of a variable that is not set: each
// attempt would create another job.
func errEmptyRequestID() error {
	return shell.Usage("--request-id is empty; give a text that is the same for all attempts")
}

// onInterrupt returns what becomes of the job when the run is interrupted. Only a job with a request id can be found
// again.
func (f *runFlags) onInterrupt() client.OnInterrupt {
	if f.requestID != "" && f.onTerm.String() == detachOnTerm {
		return client.DetachOnTerm
	}
	return client.CancelJob
}

// detached replaces the error of a run that SIGTERM ended while its job goes on. jobID is "" if it is not known.
func (f *runFlags) detached(ctx context.Context, jobID string, err error) error {
	if err == nil || !f.onInterrupt().Detaches(ctx) {
		return err
	}
	job := "its job, if it was created,"
	if jobID != "" {
		job = "job " + jobID
	}
	return fault.New(fault.Unavailable, "DETACHED", "terminated; %s continues. Run the same command again to wait for it", job)
}

// explainReuse says what to do about a request id that belongs to another job.
func explainReuse(err error) error {
	reused, ok := errors.AsType[*fault.Error](err)
	if !ok || reused.Reason != "REQUEST_ID_REUSED" {
		return err
	}
	explained := *reused
	explained.Field = ""
	explained.Message = fmt.Sprintf("this --request-id belongs to job %[1]s, which has other data or options; give a new --request-id for a new job, or fetch that one: cleave result %[1]s", reused.Metadata["job_id"])
	return &explained
}

// sceneOf returns what the picture of a job's clusters shows.
func sceneOf(j *jobflags.Job, t *jobflags.Truth) report.Scene {
	s := report.Scene{Data: j.Data, Header: j.Header, Truth: t, Title: j.Name, Constraints: j.Constraints, Spec: j.Spec, Table: j.Read()}
	if j.Table != nil && j.Table.Recipe != nil {
		s.LabelColumn = j.Table.Recipe.Label
	}
	return s
}

// summarizes reports whether a summary is printed at the end.
func (f *runFlags) summarizes() bool {
	return !f.json && f.finished == nil && !(f.quiet && f.out == onStdout)
}

// deliver writes the report to the output folder and to standard output, as the flags say.
func (a *app) deliver(ctx context.Context, r *report.Report, s report.Scene, out *report.OutputDir, f *runFlags, l report.Labels) error {
	var written []string
	if out != nil {
		files := append(r.LabelFiles(l), r.Files(s, a.warn)...)
		if err := out.Write(ctx, files); err != nil {
			return err
		}
		for _, file := range files {
			written = append(written, filepath.Join(out.Path, file.Name))
		}
	}
	if f.out == onStdout {
		if err := r.WriteLabels(a.stdout, l); err != nil {
			return err
		}
	}
	if f.json {
		return report.WriteResult(a.stdout, r.Result, r.Run)
	}
	if f.finished != nil {
		f.finished(r)
		return nil
	}
	if !f.summarizes() {
		return nil
	}
	warnings := r.Result.GetWarnings()
	if f.unprinted != nil {
		warnings = f.unprinted(warnings)
	}
	if err := r.Summarize(a.summaryTo(f.out), warnings, written); err != nil {
		return err
	}
	if f.out == "" && !f.quiet {
		a.notify("nothing was written; --out DIR writes the label of each row, a report, and a model for cleave predict")
	}
	return nil
}

// printDropped prints how many rows were dropped.
func (a *app) printDropped(filter *jobflags.RowFilter) {
	if filter != nil {
		a.warn("%s", filter)
	}
}

type planFlags struct {
	describedJob
	workers *jobflags.OptionFlag
	json    bool
}

func (a *app) planCommand() *cobra.Command {
	f := &planFlags{}
	cmd := a.describingCommand("plan", "Show how a job would run, here or on a coordinator, without running it", &f.describedJob,
		func(ctx context.Context) error { return a.plan(ctx, f) })
	f.workers = addWorkersFlag(cmd.Flags())
	cmd.Flags().BoolVar(&f.json, "json", false, "print the plan as JSON")
	return cmd
}

// plan asks the coordinator that would run the job, which is embedded if there is no remote one.
func (a *app) plan(ctx context.Context, f *planFlags) error {
	c, err := a.remoteOrNil(*f.server, f.job)
	if err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
	}
	f.job.Import = true
	j, err := a.prepare(ctx, f.job, c)
	if err != nil {
		return err
	}
	a.printDropped(j.Filter)
	if c == nil {
		if c, err = client.StartEmbedded(ctx, f.workers.Whole(), a.stderr); err != nil {
			return err
		}
		defer c.Close()
	}
	silent := report.NewProgress(io.Discard, true)
	spec, data, err := a.inputOf(ctx, c, j, silent)
	if err != nil {
		return err
	}
	if err := c.UploadInputs(ctx, j.Name, spec, data, silent); err != nil {
		return err
	}
	response, err := c.Jobs.PlanJob(ctx, &cleavev1.PlanJobRequest{Spec: spec})
	if err != nil {
		return c.Explain(err)
	}
	for _, notice := range response.GetNotices() {
		a.notify(notice.GetMessage())
	}
	if f.json {
		return report.PrintMessage(a.stdout, response.GetPlan())
	}
	return report.PrintPlan(a.folded(), j, response.GetPlan())
}
