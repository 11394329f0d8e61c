package cli

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// jobCommand is a command about one job.
func (a *app) jobCommand(name, short string, do func(ctx context.Context, c *client.Client, jobID string, asJSON bool) error) *cobra.Command {
	cmd := &cobra.Command{Use: name + " JOB", Short: short, Args: cobra.ArbitraryArgs}
	server, asJSON := addServerFlag(cmd.Flags()), addJSONFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onJob(cmd.Context(), *server, args, func(c *client.Client, jobID string) error { return do(cmd.Context(), c, jobID, *asJSON) })
	}
	return cmd
}

func (a *app) getCommand() *cobra.Command {
	return a.jobCommand("get", "Show one job", func(ctx context.Context, c *client.Client, jobID string, asJSON bool) error {
		response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
		if err != nil {
			return err
		}
		if asJSON {
			return report.PrintMessage(a.stdout, response)
		}
		return a.printJob(ctx, c, response.GetJob(), response.GetSpec())
	})
}

func (a *app) cancelCommand() *cobra.Command {
	return a.jobCommand("cancel", "Stop a job", func(ctx context.Context, c *client.Client, jobID string, asJSON bool) error {
		response, err := c.Jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: jobID})
		if err != nil {
			return err
		}
		if asJSON {
			return report.PrintMessage(a.stdout, response.GetJob())
		}
		if job := response.GetJob(); job.GetEndTime() != nil {
			_, err = fmt.Fprintf(a.stdout, "%s: has ended before: %s\n", jobID, report.ShortName(job.GetState()))
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s: cancel requested\n", jobID)
		return err
	})
}

func (a *app) printJob(ctx context.Context, c *client.Client, j *cleavev1.Job, spec *cleavev1.JobSpec) error {
	table := tabwriter.NewWriter(a.folded(), 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, text.OneLine(value))
		}
	}
	line("job", j.GetJobId())
	line("name", j.GetDisplayName())
	line("state", report.ShortName(j.GetState()))
	if j.GetStopReason() != cleavev1.StopReason_STOP_REASON_UNSPECIFIED {
		line("stopped", report.ShortName(j.GetStopReason()))
	}
	line("message", cmp.Or(j.GetError().GetMessage(), j.GetStatusMessage()))
	line("dataset", j.GetDatasetId())
	line("algorithm", wire.Algorithm(spec).Name)
	line("clusters", report.ClustersText(spec))
	for _, used := range wire.UsedTables(spec) {
		line(used.Name(), c.DescribeTable(ctx, used.Input))
	}
	line("iterations", fmt.Sprint(j.GetIterations()))
	if j.GetObjectiveName() != "" {
		line("objective", j.GetObjectiveName()+" "+report.Exact(j.GetObjective()))
	}
	if j.GetPriority() != cleavev1.Priority_PRIORITY_UNSPECIFIED {
		line("priority", report.ShortName(j.GetPriority()))
	}
	if j.GetTimeLimit() != nil {
		line("time limit", j.GetTimeLimit().AsDuration().String())
	}
	line("created", report.FormatTime(j.GetCreateTime()))
	line("started", report.FormatTime(j.GetStartTime()))
	line("ended", report.FormatTime(j.GetEndTime()))
	return table.Flush()
}
