package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type submitFlags struct {
	describedJob
	requestID         string
	wait, json, quiet bool
}

func (a *app) submitCommand() *cobra.Command {
	f := &submitFlags{}
	cmd := a.describingCommand("submit", "Hand a job to a coordinator and print its id", &f.describedJob,
		func(ctx context.Context) error { return a.submit(ctx, f) })
	set := cmd.Flags()
	set.StringVar(&f.requestID, "request-id", "", "a `TEXT`, such as a UUID, that makes submitting twice the same as once")
	set.BoolVar(&f.wait, "wait", false, "wait until the job has ended; the exit code tells how")
	set.BoolVar(&f.json, "json", false, "print the job as JSON")
	set.BoolVar(&f.quiet, "quiet", false, "show no progress")
	return cmd
}

func (a *app) submit(ctx context.Context, f *submitFlags) error {
	f.job.Stdin = a.stdin
	if f.job.DropsRows() && !f.job.IsTable() {
		return shell.Usage("submit knows no --missing drop: nobody would know the rows of the file when the result is fetched; cleave run --server does it")
	}
	c, err := a.remote(*f.server)
	if err != nil {
		return err
	}
	defer c.Close()
	f.job.Stream = true
	j, err := a.prepare(ctx, f.job, c)
	if err != nil {
		return err
	}
	p := report.NewProgress(a.stderr, f.quiet)
	defer p.End()
	spec, data, err := a.inputOf(ctx, c, j, p)
	if err != nil {
		return err
	}
	created, err := c.Submit(ctx, spec, data, f.requestID, p)
	if err != nil {
		return j.Locate(err)
	}
	p.End()
	if !f.json {
		fmt.Fprintln(a.stdout, created.GetJobId())
	}
	if !f.wait {
		if f.json {
			return report.PrintMessage(a.stdout, created)
		}
		return nil
	}
	ended, err := c.Follow(ctx, created.GetJobId(), 0, p)
	if ctx.Err() != nil {
		return goesOn("interrupted", created.GetJobId())
	}
	if err != nil {
		return err
	}
	if f.json {
		response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: created.GetJobId()})
		if err != nil {
			return c.Explain(err)
		}
		if err := report.PrintMessage(a.stdout, response.GetJob()); err != nil {
			return err
		}
	}
	return client.JobError(created.GetJobId(), ended)
}
