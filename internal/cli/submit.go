package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type submitFlags struct {
	job               *jobFlags
	server            *string
	requestID         string
	wait, json, quiet bool
}

func (a *app) submitCommand() *cobra.Command {
	f := &submitFlags{}
	cmd := &cobra.Command{
		Use:   "submit (--data FILE | --graph FILE | --kernel-matrix FILE) --k N",
		Short: "Hand a job to a coordinator and print its id",
		Args:  shell.Flags,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.submit(cmd.Context(), f) },
	}
	set := cmd.Flags()
	f.job = addJobFlags(set)
	f.server = addServerFlag(set)
	set.StringVar(&f.requestID, "request-id", "", "a `UUID` that makes submitting twice the same as once")
	set.BoolVar(&f.wait, "wait", false, "wait until the job has ended; the exit code tells how")
	set.BoolVar(&f.json, "json", false, "print the job as JSON")
	set.BoolVar(&f.quiet, "quiet", false, "show no progress")
	return cmd
}

func (a *app) submit(ctx context.Context, f *submitFlags) error {
	if f.job.missing.value == "drop" {
		return shell.Usage("submit knows no --missing drop: nobody would know the rows of the file when the result is fetched; cleave run --server does it")
	}
	c, err := a.remote(*f.server)
	if err != nil {
		return err
	}
	defer c.close()
	j, err := f.job.prepare(ctx, c)
	if err != nil {
		return err
	}
	p := a.newProgress(f.quiet)
	defer p.end()
	created, err := c.submit(ctx, j, f.requestID, p)
	if err != nil {
		return err
	}
	p.end()
	if !f.json {
		fmt.Fprintln(a.stdout, created.GetJobId())
	}
	if !f.wait {
		if f.json {
			return printMessage(a.stdout, created)
		}
		return nil
	}
	ended, err := c.follow(ctx, created.GetJobId(), 0, p)
	if ctx.Err() != nil {
		return shell.Cancelled("interrupted; job %s goes on, stop it with: cleave cancel %s", created.GetJobId(), created.GetJobId())
	}
	if err != nil {
		return err
	}
	if f.json {
		response, err := c.jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: created.GetJobId()})
		if err != nil {
			return c.explain(err)
		}
		if err := printMessage(a.stdout, response.GetJob()); err != nil {
			return err
		}
	}
	return failure(created.GetJobId(), ended)
}
