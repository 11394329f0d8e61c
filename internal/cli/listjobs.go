package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) listCommand() *cobra.Command {
	state := jobflags.NewChoice("", "pending", "running", "succeeded", "failed", "cancelled")
	limit := jobflags.NewWhole(0, 0, 1_000_000)
	cmd := a.listingCommand("list", "List jobs, the newest first", func(ctx context.Context, c *client.Client, asJSON bool) error {
		wanted := cleavev1.JobState(cleavev1.JobState_value["JOB_STATE_"+strings.ToUpper(state.String())])
		jobs, err := c.ListJobs(ctx, wanted, limit.Whole())
		return printList(a, asJSON, &cleavev1.ListJobsResponse{Jobs: jobs}, jobs, err,
			"JOB\tNAME\tSTATE\tITERATIONS\tOBJECTIVE\tCREATED", func(j *cleavev1.Job) []any {
				return []any{j.GetJobId(), j.GetDisplayName(), report.ShortName(j.GetState()),
					j.GetIterations(), report.Brief(j.GetObjective()), report.FormatTime(j.GetCreateTime())}
			})
	})
	cmd.Flags().Var(state, "state", "only jobs in this state")
	cmd.Flags().Var(limit, "limit", "only the newest `N` jobs; 0 for all")
	return cmd
}

func (a *app) deleteCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "delete JOB...", Short: "Forget jobs that have ended", Args: cobra.ArbitraryArgs}
	server, asJSON := addServerFlag(cmd.Flags()), addJSONFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return shell.Usage("which job? Give its id, or several, after the command")
		}
		return a.onServer(*server, func(c *client.Client) error { return a.deleteJobs(cmd.Context(), c, args, *asJSON) })
	}
	return cmd
}

// deleteJobs deletes nothing if one of the jobs is not there, and all that it can if it is only that some have not ended.
func (a *app) deleteJobs(ctx context.Context, c *client.Client, given []string, asJSON bool) error {
	var ids []string
	for _, beginning := range given {
		id, err := jobID(ctx, c, beginning)
		if err != nil {
			return err
		}
		if _, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: id}); err != nil {
			return err // a mistyped id, which the service would take for one that is deleted already
		}
		ids = append(ids, id)
	}
	var failed []error
	for _, id := range ids {
		response, err := c.Jobs.DeleteJob(ctx, &cleavev1.DeleteJobRequest{JobId: id})
		switch {
		case err != nil:
			failed = append(failed, c.Explain(err))
		case asJSON:
			failed = append(failed, report.PrintMessage(a.stdout, response))
		default:
			fmt.Fprintf(a.stdout, "%s: deleted\n", id)
		}
	}
	return errors.Join(failed...)
}
