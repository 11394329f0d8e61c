package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	api "github.com/cleave-project/cleave/client"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type sweepFlags struct {
	job               *jobflags.Flags // several values for some options
	server            string
	truth             truthFlags
	out               string       // a folder; "" for none
	workers, parallel *shell.Value // numbers: workers on this machine, jobs at a time
	json, quiet       bool
}

// defaultParallel is how many jobs of a sweep are submitted at a time. A coordinator has its own queue; more than a
// few jobs there only keep the next job ready.
const defaultParallel = 4

func (a *app) sweepCommand() (cmd *cobra.Command) {
	f := &sweepFlags{}
	cmd, f.job = a.jobCommand("sweep", "Run a job for every combination of option values, and compare the results", &f.server,
		func(ctx context.Context) error { return a.sweep(ctx, f) })
	set := cmd.Flags()
	f.job.TakeSeveral()
	set.Lookup("k").Usage = "numbers of clusters, such as 2,3,4 or 2..8: a job for each"
	f.workers = addWorkersFlag(set)
	f.parallel = shell.NewWhole(defaultParallel, 1, 64).Declare(set, "parallel", "number of jobs at a time")
	f.truth.add(set)
	set.StringVar(&f.out, "out", "", "write "+report.SweepTable+", "+report.SweepResults+" and "+report.SweepChart+" into this `DIR`; a second call continues from there")
	set.BoolVar(&f.json, "json", false, "print "+report.SweepResults+" instead of a table")
	set.BoolVar(&f.quiet, "quiet", false, "show no progress")
	return cmd
}

// sweep runs the jobs that have no result in the output folder yet. Results are written there every second and when
// the sweep ends, so that one that is interrupted goes on with the others.
func (a *app) sweep(ctx context.Context, f *sweepFlags) error {
	combinations, err := a.checkSweep(f)
	if err != nil {
		return err
	}
	return a.intoFolder(ctx, f.out, report.SweepTables, f.job.NamedFiles(a.command.directory), func(out *report.OutputDir) (err error) {
		s := &sweep{app: a, flags: f, out: out, results: &report.Sweep{}}
		if out != nil {
			if s.results, err = report.ReadSweep(filepath.Join(out.Path, report.SweepResults)); err != nil {
				return err
			}
		}
		s.client, err = a.remoteOrNil(f.server, f.job)
		if s.client == nil && err == nil {
			s.client, err = client.StartEmbedded(ctx, f.workers.Whole(), a.stderr)
		}
		if err != nil {
			return err
		}
		defer s.client.Close()
		ctx, done := s.client.Context(ctx)
		defer done()
		err = s.run(ctx, combinations)
		if err != nil && out != nil {
			err = errors.Join(err, out.Write(context.WithoutCancel(ctx), s.results.Files()))
		}
		if ctx.Err() != nil {
			next := "The same command continues with the others"
			if out == nil && !s.client.Remote() {
				next = "None was kept; --out DIR keeps results"
			}
			return client.Cause(ctx, shell.Canceled("canceled; %d of %s have results. %s", len(s.results.Rows), text.Plural(len(combinations), "job"), next))
		}
		if err != nil {
			return err
		}
		return s.finish(ctx)
	})
}

// checkSweep returns the combinations, after it has checked the options of each, so that nothing runs if one is wrong.
func (a *app) checkSweep(f *sweepFlags) ([]jobflags.Combination, error) {
	if err := f.truth.check(); err != nil {
		return nil, err
	}
	for _, file := range f.job.NamedFiles(a.command.directory) {
		if file.Path == jobflags.StandardInput {
			return nil, shell.Usage("sweep reads --%s once for each job, but standard input can be read only once; give a file", file.Flag)
		}
	}
	combinations, err := f.job.Combinations()
	if err != nil {
		return nil, err
	}
	for _, c := range combinations {
		if err := errors.Join(f.job.Choose(c), f.job.CheckOptions()); err != nil {
			return nil, c.Wrap(err)
		}
	}
	return combinations, nil
}

// sweep is a running sweep. Its jobs run concurrently; mu guards results, except for Known, and next. The options of a
// job have the values of one combination at a time, so that only the goroutine that uploads jobs reads them.
type sweep struct {
	app    *app
	flags  *sweepFlags
	client *client.Client
	out    *report.OutputDir // nil without --out

	mu      sync.Mutex
	results *report.Sweep
	next    time.Time // when results are written again
}

// run runs all jobs, a few at a time. Files are read by one goroutine, in order. The first error cancels the jobs that
// run.
func (s *sweep) run(ctx context.Context, combinations []jobflags.Combination) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	free := make(chan struct{}, s.flags.parallel.Whole())
	var jobs sync.WaitGroup
	defer jobs.Wait()
	for at, c := range combinations {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		row, request, score, err := s.upload(ctx, c, at == 0)
		if err != nil {
			err = c.Wrap(err)
			stop(err)
			return err
		}
		jobs.Go(func() {
			defer func() { <-free }()
			row, err := s.runJob(ctx, row, request, score)
			if err == nil {
				err = s.add(ctx, at, row, len(combinations))
			}
			if err != nil {
				stop(err)
			}
		})
	}
	jobs.Wait()
	return context.Cause(ctx)
}

// upload reads the files of a job and uploads what the coordinator lacks. It returns the job's row, which has no
// result yet, and score, which adds the result and its scores against the truth.
func (s *sweep) upload(ctx context.Context, c jobflags.Combination, first bool) (row report.SweepRow, request *cleavev1.CreateJobRequest, score func(*client.Outcome, *report.SweepRow) error, err error) {
	f := s.flags
	if err := f.job.Choose(c); err != nil {
		return row, nil, nil, err
	}
	var describe func(context.Context, string) (*cleavev1.Dataset, error)
	if s.client.Remote() {
		describe = s.client.DescribeDataset
	}
	j, err := f.job.Prepare(ctx, describe)
	if err != nil {
		return row, nil, nil, err
	}
	if first { // the others would say the same
		s.app.notify(j.AllNotices(s.client.Remote(), false)...)
	}
	truth, err := j.LoadTruth(f.truth.file, f.truth.scoreOn)
	if err != nil {
		return row, nil, nil, err
	}
	submission, err := s.app.submissionOf(ctx, s.client, j, client.Silent{})
	if err != nil {
		return row, nil, nil, err
	}
	spec := submission.spec
	if err := s.client.UploadInputs(ctx, j.Name, spec, submission.data, client.Silent{}); err != nil {
		return row, nil, nil, err
	}
	hashed := proto.MarshalOptions{Deterministic: true}
	content, err := hashed.Marshal(spec)
	if err == nil { // with another time limit, the job may get further
		content, err = hashed.MarshalAppend(content, j.Scheduling.GetTimeLimit())
	}
	if err != nil {
		return row, nil, nil, err
	}
	row.Options, row.RequestID = c, fmt.Sprintf("sweep-%x", sha256.Sum256(content))
	if truth != nil {
		row.Truth = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, truth.Labels, truth.ScoreOn)))
	}
	filter := j.Filter // and not the data, which may be large
	score = func(o *client.Outcome, row *report.SweepRow) error {
		r := report.New(o, filter)
		if err := r.Score(truth); err != nil {
			return err
		}
		row.SetResult(o.Result, r.Run.GetEvaluation())
		return nil
	}
	return row, j.Request(spec, row.RequestID), score, nil
}

// runJob returns the result of a job: that of an earlier call, or that of the job on the coordinator with the same
// request id, or of a new job. A job that failed is a result, too.
func (s *sweep) runJob(ctx context.Context, row report.SweepRow, request *cleavev1.CreateJobRequest, score func(*client.Outcome, *report.SweepRow) error) (report.SweepRow, error) {
	if known, ok := s.results.Known(row.RequestID, row.Truth); ok {
		known.Options = row.Options
		return known, nil
	}
	id, err := s.client.Complete(ctx, request, nil, client.Silent{}, client.CancelJob)
	if ctx.Err() == nil && fault.Is(err, api.JobCanceled) { // an earlier call was interrupted
		if _, err := s.client.Jobs.DeleteJob(ctx, &cleavev1.DeleteJobRequest{JobId: id}); err != nil {
			return row, s.client.Explain(err)
		}
		id, err = s.client.Complete(ctx, request, nil, client.Silent{}, client.CancelJob)
	}
	if row.JobID = id; err != nil && !fault.Is(err, fault.LabelsSoFar) {
		if code := shell.ExitCode(err); ctx.Err() != nil || code == shell.ExitRetry || code == shell.ExitCanceled {
			return row, err // not a result of the job
		}
		row.Error = err.Error()
		return row, nil
	}
	o, err := s.client.Fetch(ctx, id, client.LabelsOnly)
	if err != nil {
		return row, err
	}
	return row, score(o, &row)
}

// add adds a result, and writes all that there are unless it has just done so: the files grow with every job.
func (s *sweep) add(ctx context.Context, at int, row report.SweepRow, total int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results.Add(at, row)
	if !s.flags.quiet {
		fmt.Fprintf(s.app.stderr, "%d of %d: %s\n", len(s.results.Rows), total, row.Line())
	}
	if s.out == nil || time.Now().Before(s.next) {
		return nil
	}
	defer func() { s.next = time.Now().Add(time.Second) }()
	return s.out.Write(ctx, s.results.Files())
}

// finish writes and prints the results of a complete sweep.
func (s *sweep) finish(ctx context.Context) error {
	a := s.app
	s.results.Complete()
	if s.out != nil {
		files := s.results.Files()
		if chart, err := s.results.Chart(); err == nil {
			files = append(files, chart)
		} else {
			a.warn("%s was not drawn: %v", report.SweepChart, err)
		}
		if err := s.out.Write(ctx, files); err != nil {
			return err
		}
	}
	var err error
	if s.flags.json {
		err = s.results.WriteJSON(a.stdout)
	} else {
		err = s.results.Print(a.stdout, s.out != nil)
	}
	if err != nil {
		return err
	}
	if failed := s.results.Failed(); failed > 0 {
		where := ""
		if s.out != nil {
			where = "; " + filepath.Join(s.out.Path, report.SweepTable) + " says why"
		}
		return fmt.Errorf("%d of %s failed%s", failed, text.Plural(len(s.results.Rows), "job"), where)
	}
	return nil
}
