package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
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

func (a *app) listCommand() *cobra.Command {
	state := jobflags.NewChoice("", "pending", "running", "succeeded", "failed", "cancelled")
	limit := jobflags.NewWhole(0, 0, 1_000_000)
	request := &cleavev1.ListJobsRequest{}
	var since shell.Duration
	oldest := false
	cmd := a.listingCommand("list", "List jobs, the newest first", func(ctx context.Context, c *client.Client, asJSON bool) error {
		if state.String() != "" {
			request.States = []cleavev1.JobState{cleavev1.JobState(cleavev1.JobState_value["JOB_STATE_"+strings.ToUpper(state.String())])}
		}
		if since > 0 {
			request.CreatedFrom = timestamppb.New(time.Now().Add(-time.Duration(since)))
		}
		if oldest {
			request.Order = cleavev1.JobOrder_JOB_ORDER_OLDEST_FIRST
		}
		jobs, err := c.ListJobs(ctx, request, limit.Whole())
		return printList(a, asJSON, &cleavev1.ListJobsResponse{Jobs: jobs}, jobs, err,
			"JOB\tNAME\tSTATE\tITERATIONS\tOBJECTIVE\tCREATED", func(j *cleavev1.Job) []any {
				return []any{j.GetJobId(), j.GetDisplayName(), report.ShortName(j.GetState()),
					j.GetIterations(), report.Brief(j.GetObjective()), report.FormatTime(j.GetCreateTime())}
			})
	})
	cmd.Flags().Var(state, "state", "only jobs in this state")
	cmd.Flags().Var(limit, "limit", "only the first `N` jobs; 0 for all")
	cmd.Flags().StringVar(&request.Owner, "owner", "", "only jobs of this owner; administrators see those of all")
	cmd.Flags().StringVar(&request.NameContains, "name", "", "only jobs whose names contain this text")
	cmd.Flags().StringVar(&request.DatasetId, "dataset", "", "only jobs on the data set with this id")
	cmd.Flags().Var(&since, "since", "only jobs created within this time, such as 24h")
	cmd.Flags().BoolVar(&oldest, "oldest", false, "list the oldest first")
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
	if err := c.JobError(ctx, jobID, ended); err != nil {
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
	created, err := c.Submit(ctx, j.Request(spec, f.requestID), data, p)
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
	return c.JobError(ctx, created.GetJobId(), ended)
}
