package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/wire"

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
	set.StringVar(id, "request-id", "", "a `TEXT` that identifies this job on its coordinator: the same command again continues with the same job")
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
		Declare(cmd.Flags(), "on-term", "what SIGTERM does to a job with --request-id: detach leaves it running, cancel cancels it")
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
	d, err := a.runJob(ctx, f, f.output.summarizes())
	if d == nil {
		return err
	}
	return errors.Join(a.printResult(d, &f.output), err)
}

// runJob runs the job that the flags describe, on a coordinator or on an embedded one, and delivers its result.
// summarized says that a summary will list the suspects and the notices that were not printed during the run. An error
// that concerns only a part of the result comes together with it.
func (a *app) runJob(ctx context.Context, f *runFlags, summarized bool) (d *delivered, err error) {
	c, err := a.remoteOrNil(f.server, f.job)
	if err != nil {
		return nil, err
	}
	if c != nil {
		defer c.Close()
	} else if f.requestID != "" {
		return nil, shell.Usage("--request-id identifies a job on a coordinator; give --server HOST:PORT")
	}
	f.job.Stream = c != nil
	err = a.intoFolder(f.output.out, report.RunTables, f.job.NamedFiles(a.command.directory), func(out *report.OutputDir) error {
		d, err = (&runner{app: a, flags: f, out: out, client: c, summarized: summarized}).run(ctx)
		return err
	})
	return d, err
}

// runner is one run, from the flags to the files of the result. Its steps are prepare, complete, fetch and deliver.
// After fetch, the result must reach the user: what fails is kept in partial and does not stop the rest, except for
// writing the folder.
type runner struct {
	app        *app
	flags      *runFlags
	out        *report.OutputDir // nil for none
	client     *client.Client    // run starts an embedded one if it is nil
	summarized bool

	// Set by prepare.
	inputs   *inputs
	job      *jobflags.Job
	truth    *jobflags.Truth // fetch sets it again if the rows are known only then
	progress *report.Progress

	// Set by complete.
	spec    *cleavev1.JobSpec
	id      string // of the job; "" if it is not known
	ended   bool   // the job has ended with labels
	partial error  // why a part of the result is missing

	sent *streamed // set by fetch if the table was sent while it was read
}

// run takes all steps. The progress ends before anything else is printed.
func (r *runner) run(ctx context.Context) (d *delivered, err error) {
	defer func() { err = r.detached(ctx, err) }()
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if r.progress.End(); d == nil {
			r.progress.Failed()
		}
	}()
	if r.client == nil {
		if r.client, err = client.StartEmbedded(ctx, r.flags.workers.Whole(), r.app.stderr); err != nil {
			return nil, err
		}
		defer r.client.Close()
	}
	ctx, done := r.client.Context(ctx)
	defer done()
	defer func() { err = client.Cause(ctx, err) }()
	if err := r.complete(ctx); err != nil {
		return nil, err
	}
	if d, err = r.fetch(ctx); err != nil {
		return nil, err
	}
	if err := r.deliver(ctx, d); err != nil {
		return nil, errors.Join(err, r.partial)
	}
	return d, r.partial
}

// prepare reads the files, and reports mistakes in them before anything is uploaded.
func (r *runner) prepare(ctx context.Context) (err error) {
	a, flags := r.app, r.flags
	r.inputs = a.noteInputs(&flags.job.DataFlags)
	if r.job, err = a.prepare(ctx, flags.job, r.client, r.out != nil); err != nil {
		return err
	}
	if err := a.checkGraph(&flags.output, r.job.Spec, &flags.job.DataFlags); err != nil {
		return err
	}
	if r.truth, err = r.job.LoadTruth(flags.truth.file, flags.truth.scoreOn); err != nil {
		return err
	}
	a.printDropped(r.job.Filter)
	r.progress = report.NewProgress(a.stderr, flags.output.quiet).Localized(r.job.Localize, r.summarized)
	return nil
}

// complete submits the job and waits for its end.
func (r *runner) complete(ctx context.Context) error {
	spec, data, err := r.app.inputOf(ctx, r.client, r.job, r.progress)
	if err != nil {
		return err
	}
	r.spec = spec
	r.id, err = r.client.Complete(ctx, r.job.Request(spec, r.flags.requestID), data, r.progress, r.flags.onInterrupt())
	if err != nil && !fault.Is(err, fault.LabelsSoFar) {
		return explainReuse(r.job.Locate(err))
	}
	r.ended, r.partial = true, err
	return nil
}

// fetch fetches the result of the job and scores it.
func (r *runner) fetch(ctx context.Context) (*delivered, error) {
	a, job := r.app, r.job
	outcome, err := r.client.Fetch(ctx, r.id, extentFor(r.flags.output.out))
	if err != nil {
		return nil, err
	}
	if r.sent, err = finishStream(ctx, r.client, job, r.spec.GetTable().GetTableId(), outcome); err != nil {
		return nil, err
	}
	unprinted := r.progress.UnprintedNotices(outcome.Result.GetWarnings())
	job.LocalizeResult(outcome.Result)
	if !r.summarized {
		for _, n := range unprinted {
			r.progress.Warn("warning: %s", n.GetMessage())
		}
	}
	result := report.New(outcome, job.Filter)
	result.RowIDs, result.Classes, result.ClassesFor = job.IDs().All(), job.ClusterClasses(outcome.Labels), job.ClusterClasses
	result.AddRecipe(job.Table)
	if r.sent != nil { // the ids of the rows are known only now
		a.printDropped(job.Filter)
		if r.truth, err = job.LoadTruth(r.flags.truth.file, r.flags.truth.scoreOn); err != nil {
			r.partial = errors.Join(r.partial, err)
		}
	}
	r.partial = errors.Join(r.partial, result.Score(r.truth))
	r.progress.End()
	result.Run.Origin = a.origin(r.inputs, job.Name, r.spec)
	return &delivered{report: result, notices: unprinted}, nil
}

// deliver writes the files of the result.
func (r *runner) deliver(ctx context.Context, d *delivered) error {
	a, output := r.app, &r.flags.output
	r.partial = errors.Join(r.partial, a.saveNeighborGraph(ctx, r.client, r.id, output.saveGraph))
	scene, labels := sceneOf(r.job, r.truth), output.labels(r.job.SourceTable())
	scene.Spec = r.spec
	if r.sent != nil && output.join {
		labels.Join = r.sent.join(ctx)
	}
	if r.sent != nil && r.out != nil {
		if err := r.sent.draw(ctx, &scene); err != nil {
			a.warn("the picture of the clusters is missing: %v", err)
		}
	}
	return a.deliver(ctx, d, scene, r.out, output, labels)
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
		return fault.New(fault.Unavailable, "DETACHED", "terminated; job %s has ended. Run the same command again to get its result", r.id)
	}
	job := "its job, if it was created,"
	if r.id != "" {
		job = "job " + r.id
	}
	return fault.New(fault.Unavailable, "DETACHED", "terminated; %s continues. Run the same command again to wait for it", job)
}

// checkRequestID rejects --request-id without a value, and --on-term without --request-id.
func (f *runFlags) checkRequestID() error {
	switch {
	case f.requestID == "" && f.job.Given("request-id"):
		return errEmptyRequestID()
	case f.job.Given("on-term") && f.requestID == "":
		return shell.Usage("--on-term requires --request-id; without it, the job is canceled when the run ends, because there would be no way to find it again")
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
	explained.Message = fmt.Sprintf("this --request-id belongs to job %[1]s, which has other data or options; give a new --request-id for a new job, or fetch that one: cleave result %[1]s", reused.Metadata["job_id"])
	return &explained
}

// sceneOf returns what the picture of a job's clusters shows.
func sceneOf(j *jobflags.Job, t *jobflags.Truth) report.Scene {
	s := report.Scene{Data: j.Data, Header: j.Header, Truth: t, Title: j.Name, Constraints: j.Constraints, Spec: j.Spec, Table: j.SourceTable()}
	if j.Table != nil && j.Table.Recipe != nil {
		s.LabelColumn = j.Table.Recipe.Label
	}
	return s
}

// printDropped prints how many rows were dropped.
func (a *app) printDropped(filter *jobflags.RowFilter) {
	if filter != nil {
		a.warn("%s", filter)
	}
}

type planFlags struct {
	job     *jobflags.Flags
	server  string
	workers *shell.Value
	json    bool
}

func (a *app) planCommand() (cmd *cobra.Command) {
	f := &planFlags{}
	cmd, f.job = a.jobCommand("plan", "Show how a job would run, here or on a coordinator, without running it", &f.server,
		func(ctx context.Context) error { return a.plan(ctx, f) })
	f.workers = addWorkersFlag(cmd.Flags())
	cmd.Flags().BoolVar(&f.json, "json", false, "print the plan as JSON")
	return cmd
}

// plan asks the coordinator that would run the job, which is embedded if there is no remote one.
func (a *app) plan(ctx context.Context, f *planFlags) error {
	c, err := a.remoteOrNil(f.server, f.job)
	if err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
	}
	j, err := a.prepare(ctx, f.job, c, false)
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
	spec, data, err := a.inputOf(ctx, c, j, client.Silent{})
	if err != nil {
		return err
	}
	if err := c.UploadInputs(ctx, j.Name, spec, data, client.Silent{}); err != nil {
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

// inputOf returns the spec of a job for a coordinator, and the data to upload. A remote coordinator gets a table as it
// is and makes the points itself, so that its result has the recipe. An embedded one gets the points, which are the
// same to the last bit.
func (a *app) inputOf(ctx context.Context, c *client.Client, j *jobflags.Job, w client.Watcher) (*cleavev1.JobSpec, dataset.Dataset, error) {
	if j.Stream() == nil && (!c.Remote() || j.SourceTable() == nil) {
		if !c.Remote() && j.Data != nil {
			shell.LimitGarbage(dataset.EncodedSize(j.Data))
		}
		return j.Spec, j.Data, nil
	}
	id, err := a.sendTable(ctx, c, j, w)
	if err != nil {
		return nil, nil, err
	}
	spec := j.RemoteSpec() // which the number of rows may have completed
	spec.GetTable().TableId = id
	return spec, nil, nil
}

// sendTable sends a table, or has workers read it, and returns its id. If it was not read before, it completes the spec
// of the job.
func (a *app) sendTable(ctx context.Context, c *client.Client, j *jobflags.Job, w client.Watcher) (string, error) {
	s := j.Stream()
	if s == nil {
		return c.SendTable(ctx, j.Name, j.SourceTable(), w)
	}
	defer s.Close()
	var stored *cleavev1.Table
	var notices []string
	var err error
	if s.Import() != nil {
		stored, notices, err = importTable(ctx, c, j.Name, s, w)
	} else {
		stored, err = c.StreamTable(ctx, j.Name, func(send func(next func() (*table.Table, error)) error) (err error) {
			notices, err = s.Read(send)
			return err
		})
		shell.LimitGarbage(int64(stored.GetBytes())) // its labels will be large as well
	}
	if err == nil {
		var more []string
		more, err = j.Sent(int(stored.GetRows()))
		notices = append(notices, more...)
	}
	a.notify(notices...)
	return stored.GetTableId(), err
}

// importTable has workers read the objects of a table.
func importTable(ctx context.Context, c *client.Client, name string, s *jobflags.Stream, w client.Watcher) (*cleavev1.Table, []string, error) {
	request := s.Import()
	request.DisplayName = name
	imported, err := c.ImportTable(ctx, request, w.Importing)
	if err != nil {
		return nil, nil, err
	}
	stored := imported.GetTable()
	err = s.Imported(imported, func(column string, add func(*table.Table) error) error {
		return c.EachTableRows(ctx, stored.GetTableId(), add, column)
	})
	return stored, imported.GetNotices(), err
}

// The limits of the sample of a streamed table that is fetched to draw it.
const (
	drawnRows   = 20_000
	drawnValues = 4_000_000
)

// streamed is a table that was sent while it was read, after its job has ended.
type streamed struct {
	client *client.Client
	id     string // the id of the table
	rows   *recipe.Rows
	recipe *recipe.Recipe
}

// finishStream finds the ids of the rows of a table that was sent while it was read, and which of them were clustered.
// It returns nil for other jobs.
func finishStream(ctx context.Context, c *client.Client, j *jobflags.Job, tableID string, o *client.Outcome) (*streamed, error) {
	if j.Stream() == nil {
		return nil, nil
	}
	s := &streamed{client: c, id: tableID, rows: rowsOf(o), recipe: wire.Recipe(o.Result.GetRecipe())}
	if s.rows.Kept != nil && s.rows.IDs != nil {
		if err := s.nameDropped(ctx); err != nil {
			return nil, err
		}
	}
	return s, j.Clustered(s.rows, s.recipe)
}

// nameDropped finds the ids of rows that were not clustered.
func (s *streamed) nameDropped(ctx context.Context) error {
	ids, at, kept := slices.Clone(s.rows.IDs), 0, s.rows.Kept
	err := s.client.EachTableRows(ctx, s.id, func(t *table.Table) error {
		for row := range t.Rows() {
			if len(kept) > 0 && int(kept[0]) == at {
				kept = kept[1:]
			} else if at < len(ids) {
				ids[at] = cmp.Or(t.Columns[0].CellText(row), "total") // only a row of totals has no id
			}
			at++
		}
		return nil
	}, s.recipe.ID)
	s.rows = recipe.NewRows(s.rows.Count, s.rows.Kept, ids)
	return err
}

// join returns a function that fetches the rows of the table and passes them to yield.
func (s *streamed) join(ctx context.Context) func(yield func(*table.Table) error) error {
	return func(yield func(*table.Table) error) error { return s.client.EachTableRows(ctx, s.id, yield) }
}

// draw fetches a sample of the rows and adds it to a scene.
func (s *streamed) draw(ctx context.Context, into *report.Scene) error {
	count := min(s.rows.Count, drawnRows, max(1, drawnValues/len(s.recipe.Names())))
	all, err := s.client.SampleTable(ctx, s.id, count)
	if err != nil {
		return err
	}
	var points []int32
	var taken []int // indexes of clustered rows in the sample
	for at, row := range choose.Even[int](s.rows.Count, count) {
		point, clustered := int32(row), true
		if s.rows.Kept != nil {
			var place int
			place, clustered = slices.BinarySearch(s.rows.Kept, int32(row))
			point = int32(place)
		}
		if clustered {
			points, taken = append(points, point), append(taken, at)
		}
	}
	if len(points) == 0 {
		return nil
	}
	rows := all.Take(taken)
	applied, err := s.recipe.Apply(ctx, rows)
	if err != nil {
		return err
	}
	into.Data, into.Table, into.LabelColumn, into.Sample = applied.Points, rows, s.recipe.Label, points
	return nil
}
