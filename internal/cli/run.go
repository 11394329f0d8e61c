package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type runFlags struct {
	job       *jobflags.Flags
	server    string
	workers   *shell.Value
	requestID string
	onTerm    *shell.Value
	truth     truthFlags
	output    outputFlags
}

// embeddedWorkers is the default number of workers of an embedded run. One worker with all cores computes each block
// of the symmetric matrix once; several would compute some blocks twice.
const embeddedWorkers = 1

// The values of --on-term.
const (
	detachOnTerm = "detach"
	cancelOnTerm = "cancel"
)

// addRequestIDFlag declares --request-id. Given but empty, it is refused by errEmptyRequestID.
func addRequestIDFlag(set *pflag.FlagSet, id *string) {
	set.StringVar(id, "request-id", "",
		"a `TEXT` that identifies this job on its coordinator: the same command again continues with the same job")
}

// addWorkersFlag declares --workers, which asks for an embedded cluster even where a login names a coordinator.
func addWorkersFlag(set *pflag.FlagSet) *shell.Value {
	return shell.NewWhole(embeddedWorkers, 1, 1024).Declare(set, "workers", "number of workers on this machine")
}

// runCommand returns the command and its flags.
func (a *app) runCommand() (cmd *cobra.Command, f *runFlags) {
	f = &runFlags{}
	cmd, f.job = a.jobCommand("run", "Cluster a data set, here or on a coordinator, and write the result", &f.server,
		a.traced("run", func(ctx context.Context) error { return a.run(ctx, f) }))
	cmd.SuggestFor = []string{"cluster", "fit", "train", "start"}
	f.workers = addWorkersFlag(cmd.Flags())
	addRequestIDFlag(cmd.Flags(), &f.requestID)
	f.onTerm = shell.NewChoice(detachOnTerm, detachOnTerm, cancelOnTerm).
		Declare(cmd.Flags(), "on-term",
			"what SIGTERM does to a job with --request-id: detach leaves it running, cancel cancels it")
	f.truth.add(cmd.Flags())
	f.output.add(cmd.Flags(), "show no progress")
	return cmd, f
}

// run runs a job and prints its result. An error that concerns a part of the result, such as a time limit or a truth
// of another length, is returned after the rest was written and printed.
func (a *app) run(ctx context.Context, f *runFlags) error {
	if err := f.truth.check(); err != nil {
		return err
	}
	if err := f.job.CheckStandardInput(); err != nil {
		return err
	}
	if err := f.checkRequestID(); err != nil {
		return err
	}
	if err := f.output.check(&f.job.DataFlags); err != nil { // it may read the beginning of standard input
		return err
	}
	p, err := a.runJob(ctx, f, f.job.Given("workers"), f.output.summarizes())
	if p == nil {
		return err
	}
	return errors.Join(a.printResult(p, &f.output), err)
}

// runJob runs the job that the flags describe, on a coordinator or on an embedded one, see remoteOrNil, and delivers
// its result. summarized says that a summary will list the suspects and the notices that were not printed during the
// run. An error that concerns only a part of the result comes together with it.
func (a *app) runJob(ctx context.Context, f *runFlags, workers, summarized bool) (*printout, error) {
	c, err := a.remoteOrNil(f.server, workers)
	if err != nil {
		return nil, err
	}
	if c != nil {
		defer c.Close()
	} else if f.requestID != "" {
		return nil, shell.Usage("--request-id identifies a job on a coordinator; give --server HOST:PORT")
	}
	f.job.MayStream = c != nil
	r := &runner{app: a, flags: f, summarized: summarized}
	defer r.stopEmbedded()
	p, err := a.deliver(ctx, &f.output, &f.job.DataFlags, func() (*delivery, error) { return r.run(ctx, c) })
	return p, r.detached(ctx, err)
}

// runner makes one run. It knows how far the run has come, for the error that ends it.
type runner struct {
	app        *app
	flags      *runFlags
	summarized bool // see runJob

	jobID string // "" if it is not known
	ended bool   // the job has ended with labels: its result must reach the user

	// embedded is the coordinator that run has started, or nil. The rows of a table that workers imported are read from
	// it while the files are written, so it outlives run.
	embedded *client.Client
}

// stopEmbedded stops the coordinator that run has started, if any.
func (r *runner) stopEmbedded() {
	if r.embedded != nil {
		r.embedded.Close()
	}
}

// run reads the files, which reports mistakes in them before anything is uploaded, has a coordinator run the job, and
// returns the result. It starts a coordinator if c is nil.
func (r *runner) run(ctx context.Context, c *client.Client) (*delivery, error) {
	a, flags := r.app, r.flags
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends the hashing of inputs
	inputs := a.noteInputs(ctx, &flags.job.DataFlags, &flags.output)
	job, err := a.readJob(ctx, flags.job, c, flags.output.folder() != "")
	if err != nil {
		return nil, err
	}
	if err := a.checkGraph(&flags.output, job.Spec, &flags.job.DataFlags); err != nil {
		return nil, err
	}
	truth, err := job.LoadTruth(flags.truth.input(a.stdin), flags.truth.scoreOn)
	if err != nil {
		return nil, err
	}
	a.printDropped(job.Filter)
	if c == nil {
		if c, err = client.StartEmbedded(ctx, flags.workers.Whole(), a.stderr); err != nil {
			return nil, err
		}
		r.embedded = c
	}
	ctx, release := c.Context(ctx)
	defer release()
	progress := report.NewProgress(a.stderr, flags.output.quiet).Localized(job.LocalizeLive, r.summarized)
	done, late := r.finish(ctx, c, job, progress)
	if done == nil {
		progress.Failed()
		return nil, client.Cause(ctx, late)
	}
	d, err := r.present(ctx, c, done, truth, progress)
	d.report.Run.Origin = a.origin(inputs, job.Name, done.spec)
	return d, client.Cause(ctx, errors.Join(late, err))
}

// finished is a job that has ended with labels.
type finished struct {
	id      string
	spec    *cleavev1.JobSpec // with a table by its id
	outcome *client.Outcome
	rows    *jobRows
}

// finish submits the job, waits for its end, and fetches its result and what its rows are called. An error that comes
// with a job says that the job reached its time limit. Nothing is redrawn on the terminal after finish.
func (r *runner) finish(ctx context.Context, c *client.Client, job *jobflags.Job,
	progress *report.Progress) (*finished, error) {
	defer progress.End()
	s, err := r.app.submissionOf(ctx, c, job, progress)
	if err != nil {
		return nil, err
	}
	var late error
	r.jobID, late = c.Complete(ctx, job.Proto(s.spec, r.flags.requestID), s.data, progress, r.flags.onInterrupt())
	if late != nil && !fault.Is(late, fault.LabelsSoFar) {
		return nil, explainReuse(job.Locate(late))
	}
	r.ended = true
	outcome, err := c.Fetch(ctx, r.jobID, extentFor(r.flags.output.out))
	if err != nil {
		return nil, err
	}
	rows, err := s.rows(ctx, outcome)
	if err != nil {
		return nil, err
	}
	return &finished{r.jobID, s.spec, outcome, rows}, late
}

// present prints the notices of a finished job that no summary will list, and returns its report and its pictures'
// scene. It also writes the neighbor graph. truth is nil if there is none, or if it names rows of a table that was
// streamed, and is then read. An error that comes with the delivery concerns a part of it.
func (r *runner) present(ctx context.Context, c *client.Client, f *finished, truth *jobflags.Truth,
	progress *report.Progress) (*delivery, error) {
	flags, known := r.flags, f.rows.job
	notices := known.LocalizeNotices(progress.UnprintedNotices(f.outcome.Result.GetWarnings()))
	if !r.summarized {
		for _, n := range notices {
			progress.Warn("warning: %s", n.GetMessage())
		}
	}
	result := report.New(f.outcome, known.Rows)
	result.NameClusters(known.SeedClasses())
	result.AddRecipe(known.Table)
	var unread error
	if truth == nil {
		truth, unread = known.LoadTruth(flags.truth.input(r.app.stdin), flags.truth.scoreOn)
	}
	unscored := result.Score(truth)
	unsaved := r.app.saveNeighborGraph(ctx, c, f.id, flags.output.saveGraph)
	d := &delivery{printout{report: result, notices: notices}, sceneOf(&known.Loaded, known.Name, truth), f.rows.join}
	d.scene.Constraints, d.scene.Spec = known.Constraints, f.spec
	if flags.output.folder() != "" {
		if err := f.rows.draw(ctx, &d.scene); err != nil {
			r.app.warn("the picture of the clusters is missing: %v", err)
		}
	}
	return d, errors.Join(unread, unscored, unsaved)
}

// detached replaces the error of a run that SIGTERM ended while its job goes on, or while the result of its job could
// still be fetched. Other errors after the job has ended, such as a full disk, stay.
func (r *runner) detached(ctx context.Context, err error) error {
	switch {
	case err == nil || !r.flags.onInterrupt().Detaches(ctx):
		return err
	case r.ended && !errors.Is(err, context.Canceled) && status.Code(err) != codes.Canceled:
		return err
	case r.ended:
		return fault.New(fault.Unavailable, "DETACHED",
			"terminated; job %s has ended. Run the same command again to get its result", r.jobID)
	}
	job := "its job, if it was created,"
	if r.jobID != "" {
		job = "job " + r.jobID
	}
	return fault.New(fault.Unavailable, "DETACHED",
		"terminated; %s continues. Run the same command again to wait for it", job)
}

// checkRequestID rejects --request-id without a value, and --on-term without --request-id.
func (f *runFlags) checkRequestID() error {
	switch {
	case f.requestID == "" && f.job.Given("request-id"):
		return errEmptyRequestID()
	case f.job.Given("on-term") && f.requestID == "":
		return shell.Usage("--on-term requires --request-id; without it, the job is canceled when the run ends, " +
			"because there would be no way to find it again")
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

// explainReuse says what to do about a request id that belongs to another job.
func explainReuse(err error) error {
	reused, ok := errors.AsType[*fault.Error](err)
	if !ok || reused.Reason != "REQUEST_ID_REUSED" {
		return err
	}
	explained := *reused
	explained.Field = ""
	explained.Message = fmt.Sprintf("this --request-id belongs to job %[1]s, which has other data or options; give a "+
		"new --request-id for a new job, or fetch that one: cleave result %[1]s", reused.Metadata["job_id"])
	return &explained
}

// printDropped prints how many rows were dropped.
func (a *app) printDropped(filter *jobflags.RowFilter) {
	if filter != nil {
		a.warn("%s", filter)
	}
}
