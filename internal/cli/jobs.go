package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// onJob does something to the one job that a command line names.
func (a *app) onJob(server string, args []string, do func(c *client, jobID string) error) error {
	jobID, err := oneArgument(args, "job")
	if err != nil {
		return err
	}
	return a.onServer(server, func(c *client) error { return do(c, jobID) })
}

// onServer connects to a coordinator, does something there, and explains why it failed.
func (a *app) onServer(server string, do func(c *client) error) error {
	c, err := a.remote(server)
	if err != nil {
		return err
	}
	defer c.close()
	return c.explain(do(c))
}

// jobCommand is a command about one job.
func (a *app) jobCommand(name, short string, do func(ctx context.Context, c *client, jobID string, asJSON bool) error) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: name + " JOB", Short: short, Args: cobra.ArbitraryArgs}
	server := addServerFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onJob(*server, args, func(c *client, jobID string) error { return do(cmd.Context(), c, jobID, asJSON) })
	}
	return cmd
}

func (a *app) getCommand() *cobra.Command {
	return a.jobCommand("get", "Show one job", func(ctx context.Context, c *client, jobID string, asJSON bool) error {
		response, err := c.jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
		if err != nil {
			return err
		}
		if asJSON {
			return printMessage(a.stdout, response)
		}
		return a.printJob(response.GetJob(), response.GetSpec())
	})
}

func (a *app) cancelCommand() *cobra.Command {
	return a.jobCommand("cancel", "Stop a job", func(ctx context.Context, c *client, jobID string, asJSON bool) error {
		response, err := c.jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: jobID})
		if err != nil {
			return err
		}
		if asJSON {
			return printMessage(a.stdout, response.GetJob())
		}
		if job := response.GetJob(); job.GetEndTime() != nil {
			_, err = fmt.Fprintf(a.stdout, "%s: has ended before: %s\n", jobID, word(job.GetState()))
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s: cancel requested\n", jobID)
		return err
	})
}

func (a *app) deleteCommand() *cobra.Command {
	return a.jobCommand("delete", "Forget a job that has ended", func(ctx context.Context, c *client, jobID string, asJSON bool) error {
		response, err := c.jobs.DeleteJob(ctx, &cleavev1.DeleteJobRequest{JobId: jobID})
		if err != nil {
			return err
		}
		if asJSON {
			return printMessage(a.stdout, response)
		}
		_, err = fmt.Fprintf(a.stdout, "%s: deleted\n", jobID)
		return err
	})
}

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	state := newChoice("", "pending", "running", "succeeded", "failed", "cancelled")
	cmd := &cobra.Command{Use: "list", Short: "List jobs, the newest first", Args: shell.Flags}
	server := addServerFlag(cmd.Flags())
	cmd.Flags().Var(state, "state", "only jobs in this state")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.onServer(*server, func(c *client) error {
			wanted := cleavev1.JobState(cleavev1.JobState_value["JOB_STATE_"+strings.ToUpper(state.value)])
			jobs, err := c.listJobs(cmd.Context(), wanted)
			if err != nil {
				return err
			}
			if asJSON {
				return printMessage(a.stdout, &cleavev1.ListJobsResponse{Jobs: jobs})
			}
			return a.printJobs(jobs)
		})
	}
	return cmd
}

// listJobs goes through all pages.
func (c *client) listJobs(ctx context.Context, state cleavev1.JobState) ([]*cleavev1.Job, error) {
	var jobs []*cleavev1.Job
	for token := ""; ; {
		page, err := c.jobs.ListJobs(ctx, &cleavev1.ListJobsRequest{State: state, PageToken: token})
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, page.GetJobs()...)
		if token = page.GetNextPageToken(); token == "" {
			return jobs, nil
		}
	}
}

func (a *app) printJobs(jobs []*cleavev1.Job) error {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "JOB\tNAME\tSTATE\tITERATIONS\tOBJECTIVE\tCREATED")
	for _, j := range jobs {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", j.GetJobId(), j.GetDisplayName(), word(j.GetState()),
			j.GetIterations(), brief(j.GetObjective()), clock(j.GetCreateTime()))
	}
	return table.Flush()
}

func (a *app) printJob(j *cleavev1.Job, spec *cleavev1.JobSpec) error {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(table, "%s\t%s\n", name, value)
		}
	}
	line("job", j.GetJobId())
	line("name", j.GetDisplayName())
	line("state", word(j.GetState()))
	if j.GetStopReason() != cleavev1.StopReason_STOP_REASON_UNSPECIFIED {
		line("stopped", word(j.GetStopReason()))
	}
	line("message", cmp.Or(j.GetError().GetMessage(), j.GetStatusMessage()))
	line("dataset", j.GetDatasetId())
	line("algorithm", algorithmWord(spec))
	line("clusters", fmt.Sprint(spec.GetK()))
	line("constraints", fmt.Sprint(len(spec.GetSupervision().GetConstraints())))
	line("iterations", fmt.Sprint(j.GetIterations()))
	if j.GetObjectiveName() != "" {
		line("objective", j.GetObjectiveName()+" "+exact(j.GetObjective()))
	}
	line("created", clock(j.GetCreateTime()))
	line("started", clock(j.GetStartTime()))
	line("ended", clock(j.GetEndTime()))
	return table.Flush()
}

// word is an enumeration's value as people write it: JOB_STATE_RUNNING is RUNNING.
func word(value fmt.Stringer) string {
	name := value.String()
	for _, prefix := range []string{"JOB_STATE_", "STOP_REASON_", "WORKER_STATE_", "DATASET_KIND_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

func clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Local().Format(time.DateTime)
}

// oneArgument is the one thing that a command is about.
func oneArgument(args []string, what string) (string, error) {
	switch {
	case len(args) == 0:
		return "", shell.Usage("which %s? Give its id after the command", what)
	case len(args) > 1:
		return "", shell.Usage("one %s at a time: what is %q?", what, args[1])
	}
	return args[0], nil
}
