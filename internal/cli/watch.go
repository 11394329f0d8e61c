package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
)

func (a *app) watchCommand() *cobra.Command {
	var after uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "watch JOB",
		Short: "Show a job's events as they come, until it ends; the exit code tells how",
		Args:  cobra.ArbitraryArgs,
	}
	server := addServerFlag(cmd.Flags())
	cmd.Flags().Uint64Var(&after, "after", 0, "show only events with numbers larger than `N`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every event as one line of JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onJob(cmd.Context(), *server, args, func(c *client.Client, jobID string) error {
			return a.watch(cmd.Context(), c, jobID, after, asJSON)
		})
	}
	return cmd
}

func (a *app) watch(ctx context.Context, c *client.Client, jobID string, after uint64, asJSON bool) error {
	var w client.Watcher = report.NewFullProgress(a.stdout)
	if asJSON {
		w = &report.EventLines{Events: a.stdout, Warnings: a.stderr}
	}
	ended, err := c.Follow(ctx, jobID, after, w)
	if ctx.Err() != nil {
		return goesOn("the watch ended", jobID)
	}
	if err != nil {
		return err
	}
	if err := client.JobError(jobID, ended); err != nil {
		return err
	}
	if !asJSON {
		fmt.Fprintf(a.stdout, "%s: %s\n", report.ShortName(ended.GetState()), report.ShortName(ended.GetStopReason()))
	}
	return nil
}

// goesOn is the error of who looks away from a job that goes on: how to get back to it.
func goesOn(what, jobID string) error {
	return shell.Canceled("%s; job %s goes on. Watch it: cleave watch %s. Fetch what it finds: cleave result %s. Stop it: cleave cancel %s", what, jobID, jobID, jobID, jobID)
}
