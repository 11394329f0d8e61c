package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// runFlags are the flags of run beyond those that describe the job.
type runFlags struct {
	job            *jobFlags
	truth, scoreOn string
	workers        *whole
	server         *string
	out            string
	json, quiet    bool
}

// embeddedWorkers is how many workers an embedded run starts: one with all cores computes a block that
// two tiles share only once, several would each compute their own.
const embeddedWorkers = 1

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{workers: &whole{value: embeddedWorkers, least: 1, most: 1024}}
	cmd := &cobra.Command{
		Use:   "run (--data FILE | --graph FILE | --kernel-matrix FILE) --k N",
		Short: "Cluster a data set, here or on a coordinator, and write what was found",
		Args:  shell.Flags,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context(), f) },
	}
	set := cmd.Flags()
	f.job = addJobFlags(set)
	f.server = addServerFlag(set)
	set.StringVar(&f.truth, "truth", "", "true labels in this `FILE` (index,label) to score the result against")
	set.StringVar(&f.scoreOn, "score-on", "", "score only the points listed in this `FILE` (index)")
	set.Var(f.workers, "workers", "workers of an embedded run")
	set.StringVar(&f.out, "out", "", "write labels.csv, result.json, the model or embedding and pictures into this `DIR`")
	set.BoolVar(&f.json, "json", false, "print result.json on standard output")
	set.BoolVar(&f.quiet, "quiet", false, "show no progress")
	return cmd
}

func (a *app) run(ctx context.Context, f *runFlags) (err error) {
	if f.scoreOn != "" && f.truth == "" {
		return shell.Usage("--score-on goes with --truth only")
	}
	c, err := a.remoteOrNil(*f.server, f.job)
	if err != nil {
		return err
	}
	if c != nil {
		defer c.close()
	}
	j, err := f.job.prepare(ctx, c)
	if err != nil {
		return err
	}
	truth, err := loadTruth(f.truth, f.scoreOn, j.left.rows(j.rows))
	if err != nil {
		return err
	}
	if truth, err = j.left.truth(truth); err != nil {
		return err
	}
	a.tell(j.left)
	var out *outputDir
	if f.out != "" {
		if out, err = openOutput(f.out); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				out.abandon()
			}
		}()
	}
	p := a.newProgress(f.quiet)
	defer p.end()
	if c == nil {
		k, embedded, err := startEmbedded(ctx, int(f.workers.value), a.stderr)
		if err != nil {
			return err
		}
		defer k.stop()
		defer embedded.close()
		var done context.CancelFunc
		ctx, done = k.during(ctx)
		defer done()
		c = embedded
	}
	id, err := c.complete(ctx, j, p)
	if err != nil {
		return because(ctx, err)
	}
	o, err := c.fetch(ctx, id, j.spec, f.job.constraints != "", out != nil)
	if err != nil {
		return because(ctx, err)
	}
	o.leaveOut(j.left)
	if err := o.score(truth); err != nil {
		return err
	}
	p.end()
	return a.deliver(ctx, o, j.scene(truth), out, f)
}

// remoteOrNil connects to the coordinator that --server or the environment names; nil when neither
// does, or when --workers asks for an embedded cluster.
func (a *app) remoteOrNil(server string, f *jobFlags) (*client, error) {
	switch {
	case server != "" && f.given("workers"):
		return nil, shell.Usage("--workers is for an embedded run; with --server the coordinator has its own")
	case server == "" && !f.given("workers"):
		server = a.env(serverVariable)
	}
	if server == "" {
		return nil, nil
	}
	return connect(server)
}

// complete sees a job through from its upload to its success, and returns its id. When ctx ends on the
// way the job is cancelled.
func (c *client) complete(ctx context.Context, j *job, p *progress) (string, error) {
	created, err := c.submit(ctx, j, "", p)
	if err != nil {
		return "", err
	}
	id := created.GetJobId()
	ended, err := c.follow(ctx, id, 0, p)
	if ctx.Err() != nil {
		return "", c.abort(ctx, id)
	}
	if err != nil {
		return "", err
	}
	p.end()
	return id, failure(id, ended)
}

// abort cancels a job whose user has given up.
func (c *client) abort(ctx context.Context, jobID string) error {
	ctx, cancel := lingering(ctx)
	defer cancel()
	if _, err := c.jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: jobID}); err != nil {
		return shell.Cancelled("interrupted; the job %s could not be cancelled and may go on: %v", jobID, c.explain(err))
	}
	return shell.Cancelled("cancelled")
}

// because is why an operation failed: when a part of an embedded cluster broke down, everything
// else that fails does so for that.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// scene is what the job's picture shows.
func (j *job) scene(t *truth) scene {
	s := scene{data: j.data, header: j.header, truth: t, title: j.spec.GetDisplayName()}
	if spec, err := wire.Spec(j.spec); err == nil { // the coordinator has accepted it
		s.constraints = spec.Constraints
	}
	return s
}

// deliver writes the outcome where the user wants it.
func (a *app) deliver(ctx context.Context, o *outcome, s scene, out *outputDir, f *runFlags) error {
	complain := func(format string, args ...any) { fmt.Fprintf(a.stderr, "cleave: "+format+"\n", args...) }
	var written []string
	if out != nil {
		files := o.files(s, complain)
		if err := out.write(ctx, files); err != nil {
			return err
		}
		for _, file := range files {
			written = append(written, filepath.Join(out.path, file.name))
		}
	}
	if f.json {
		return printJSON(a.stdout, o.document)
	}
	if f.quiet && out != nil {
		return nil
	}
	return o.document.summarise(a.stdout, written)
}
