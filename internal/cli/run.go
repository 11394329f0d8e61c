package cli

import (
	"cmp"
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
		func(ctx context.Context) error { return a.run(ctx, f) })
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
	if err := cmp.Or(f.truth.check(), f.job.CheckStandardInput(), f.checkRequestID()); err != nil {
		return err
	}
	if err := f.output.check(&f.job.DataFlags); err != nil { // it may read the beginning of standard input
		return err
	}
	p, err := a.runJob(ctx, f, f.output.summarizes())
	if p == nil {
		return err
	}
	return errors.Join(a.printResult(p, &f.output), err)
}

// runJob runs the job that the flags describe, on a coordinator or on an embedded one, and delivers its result.
// summarized says that a summary will list the suspects and the notices that were not printed during the run. An error
// that concerns only a part of the result comes together with it.
func (a *app) runJob(ctx context.Context, f *runFlags, summarized bool) (p *printout, err error) {
	c, err := a.remoteOrNil(f.server, f.job)
	if err != nil {
		return nil, err
	}
	if c != nil {
		defer c.Close()
	} else if f.requestID != "" {
		return nil, shell.Usage("--request-id identifies a job on a coordinator; give --server HOST:PORT")
	}
	f.job.MayStream = c != nil
	err = a.intoFolder(ctx, f.output.out, f.job.NamedFiles(a.command.directory), func(out *report.OutputDir) error {
		p, err = (&runner{app: a, flags: f, out: out, client: c, summarized: summarized}).run(ctx)
		return err
	})
	return p, err
}

// runner makes one run, from the flags to the files of the result. Each step takes what the one before returned.
type runner struct {
	app        *app
	flags      *runFlags
	out        *report.OutputDir // nil for none
	client     *client.Client    // nil for an embedded one, which the run starts
	summarized bool
}

// runInput is what a run reads before it sends anything.
type runInput struct {
	inputs   *inputs // nil if nothing records them
	job      *jobflags.Job
	truth    *jobflags.Truth // nil if there is none, or if it names rows of a table that is not read yet
	progress *report.Progress
}

// endedJob is a job that has ended with labels. Its result must reach the user: what fails from then on is kept in
// partial and does not stop the rest, except for writing the folder.
type endedJob struct {
	id         string
	submission *submission
	partial    error // why a part of the result is missing
}

// jobResult is the result of a job, and what its pictures show.
type jobResult struct {
	printout *printout
	rows     *jobRows
	truth    *jobflags.Truth
}

// run takes all steps. The progress ends before anything else is printed.
func (r *runner) run(ctx context.Context) (*printout, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends the hashing of inputs
	in, err := r.read(ctx)
	if err != nil {
		return nil, r.detached(ctx, reached{}, err)
	}
	var at reached
	p, err := r.connected(ctx, in, &at)
	in.progress.End()
	if p == nil {
		in.progress.Failed()
	}
	return p, r.detached(ctx, at, err)
}

// reached is how far a run has come, for the error that ends it.
type reached struct {
	id    string // of the job; "" if it is not known
	ended bool   // the job has ended with labels
}

// connected takes the steps that need a coordinator. It starts one if there is none.
func (r *runner) connected(ctx context.Context, in *runInput, at *reached) (*printout, error) {
	if r.client == nil {
		embedded, err := client.StartEmbedded(ctx, r.flags.workers.Whole(), r.app.stderr)
		if err != nil {
			return nil, err
		}
		defer embedded.Close()
		r.client = embedded
	}
	ctx, done := r.client.Context(ctx)
	defer done()
	p, err := r.submitAndFetch(ctx, in, at)
	return p, client.Cause(ctx, err)
}

// submitAndFetch runs the job and delivers its result. An error that concerns a part of the result comes with it.
func (r *runner) submitAndFetch(ctx context.Context, in *runInput, at *reached) (*printout, error) {
	ended, err := r.complete(ctx, in, at)
	if err != nil {
		return nil, err
	}
	result, err := r.fetch(ctx, in, ended)
	if err != nil {
		return nil, err
	}
	if err := r.write(ctx, ended, result); err != nil {
		return nil, errors.Join(err, ended.partial)
	}
	return result.printout, ended.partial
}

// read reads the files, and reports mistakes in them before anything is uploaded.
func (r *runner) read(ctx context.Context) (*runInput, error) {
	a, flags := r.app, r.flags
	inputs := a.noteInputs(ctx, &flags.job.DataFlags, &flags.output)
	job, err := a.readJob(ctx, flags.job, r.client, r.out != nil)
	if err != nil {
		return nil, err
	}
	if err := a.checkGraph(&flags.output, job.Spec, &flags.job.DataFlags); err != nil {
		return nil, err
	}
	truth, err := job.LoadTruth(flags.truth.file, flags.truth.scoreOn)
	if err != nil {
		return nil, err
	}
	a.printDropped(job.Filter)
	progress := report.NewProgress(a.stderr, flags.output.quiet).Localized(job.Localize, r.summarized)
	return &runInput{inputs: inputs, job: job, truth: truth, progress: progress}, nil
}

// complete submits the job and waits for its end.
func (r *runner) complete(ctx context.Context, in *runInput, at *reached) (*endedJob, error) {
	s, err := r.app.submissionOf(ctx, r.client, in.job, in.progress)
	if err != nil {
		return nil, err
	}
	request := in.job.Request(s.spec, r.flags.requestID)
	at.id, err = r.client.Complete(ctx, request, s.data, in.progress, r.flags.onInterrupt())
	if err != nil && !fault.Is(err, fault.LabelsSoFar) {
		return nil, explainReuse(in.job.Locate(err))
	}
	at.ended = true
	return &endedJob{id: at.id, submission: s, partial: err}, nil
}

// fetch fetches the result of the job and scores it.
func (r *runner) fetch(ctx context.Context, in *runInput, ended *endedJob) (*jobResult, error) {
	outcome, err := r.client.Fetch(ctx, ended.id, extentFor(r.flags.output.out))
	if err != nil {
		return nil, err
	}
	rows, err := ended.submission.rows(ctx, outcome)
	if err != nil {
		return nil, err
	}
	job := rows.job
	unprinted := in.progress.UnprintedNotices(outcome.Result.GetWarnings())
	job.LocalizeResult(outcome.Result)
	if !r.summarized {
		for _, n := range unprinted {
			in.progress.Warn("warning: %s", n.GetMessage())
		}
	}
	result := report.New(outcome, job.Filter)
	result.RowIDs = job.IDs().All()
	result.Classes = job.ClusterClasses(outcome.Labels)
	result.ClassesFor = job.ClusterClasses
	result.AddRecipe(job.Table)
	truth := in.truth
	if truth == nil {
		truth, err = job.LoadTruth(r.flags.truth.file, r.flags.truth.scoreOn)
	}
	ended.partial = errors.Join(ended.partial, err, result.Score(truth))
	in.progress.End()
	result.Run.Origin = r.app.origin(in.inputs, job.Name, ended.submission.spec)
	return &jobResult{printout: &printout{report: result, notices: unprinted}, rows: rows, truth: truth}, nil
}

// write writes the files of the result.
func (r *runner) write(ctx context.Context, ended *endedJob, result *jobResult) error {
	a, output := r.app, &r.flags.output
	ended.partial = errors.Join(ended.partial, a.saveNeighborGraph(ctx, r.client, ended.id, output.saveGraph))
	scene := sceneOf(result.rows.job, result.truth)
	scene.Spec = ended.submission.spec
	if r.out != nil {
		if err := result.rows.draw(ctx, &scene); err != nil {
			a.warn("the picture of the clusters is missing: %v", err)
		}
	}
	return a.writeFiles(ctx, result.printout, scene, r.out, output, output.labelOutput(result.rows.join))
}

// detached replaces the error of a run that SIGTERM ended while its job goes on, or while the result of its job could
// still be fetched. Other errors after the job has ended, such as a full disk, stay.
func (r *runner) detached(ctx context.Context, at reached, err error) error {
	switch {
	case err == nil || !r.flags.onInterrupt().Detaches(ctx):
		return err
	case at.ended && !errors.Is(err, context.Canceled) && status.Code(err) != codes.Canceled:
		return err
	case at.ended:
		return fault.New(fault.Unavailable, "DETACHED",
			"terminated; job %s has ended. Run the same command again to get its result", at.id)
	}
	job := "its job, if it was created,"
	if at.id != "" {
		job = "job " + at.id
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
