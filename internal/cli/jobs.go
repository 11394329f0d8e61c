package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/screen"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) getCommand() *cobra.Command {
	cmd := a.remoteIDCommand("get JOB", "Show one job", "job", jobID, a.jobIDs(),
		func(ctx context.Context, c *client.Client, jobID string, asJSON bool) error {
			request := &cleavev1.GetJobRequest{JobId: jobID}
			response, err := c.Jobs.GetJob(ctx, request)
			if wire.Reason(err) == "BLOBS_UNAVAILABLE" { // only the spec is there
				request.WithoutSpec = true
				response, err = c.Jobs.GetJob(ctx, request)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return report.PrintMessage(a.stdout, response)
			}
			return a.printJob(ctx, c, response.GetJob(), response.GetSpec())
		})
	cmd.SuggestFor = []string{"job", "status", "show"}
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	var server, requestID string
	var asJSON bool
	cancel := func(ctx context.Context, c *client.Client, jobID string) error {
		response, err := c.Jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: jobID})
		if err != nil {
			return err
		}
		status := "cancel requested"
		if job := response.GetJob(); job.GetEndTime() != nil {
			status = "has already ended: " + report.ShortName(job.GetState())
		}
		return a.print(asJSON, response.GetJob(), "%s: %s\n", jobID, status)
	}
	cmd, set := argsCommand("cancel JOB", "Stop a job", func(ctx context.Context, args []string) error {
		switch {
		case requestID == "":
			return a.onJob(ctx, server, args, func(c *client.Client, jobID string) error {
				return cancel(ctx, c, jobID)
			})
		case len(args) > 0:
			return shell.Usage("unexpected argument %q: give a job or --request-id", args[0])
		}
		return a.onServer(server, func(c *client.Client) error {
			id, err := jobOfRequest(ctx, c, requestID)
			if err != nil {
				return err
			}
			return cancel(ctx, c, id)
		})
	})
	cmd.ValidArgsFunction = firstOnly(a.jobIDs())
	addServerFlag(set, &server)
	addJSONFlag(set, &asJSON)
	set.StringVar(&requestID, "request-id", "", "stop the job that was created with this `TEXT`, instead of JOB")
	return cmd
}

// jobOfRequest returns the id of the job that a request created.
func jobOfRequest(ctx context.Context, c *client.Client, requestID string) (string, error) {
	jobs, err := c.AllJobs(ctx, &cleavev1.ListJobsRequest{RequestId: requestID}, 2)
	switch {
	case err != nil:
		return "", err
	case len(jobs) == 2:
		return "", fault.Invalid("AMBIGUOUS_REQUEST_ID",
			"%s of %s and %s of %s have the request id %q; give the id of one of them",
			jobs[0].GetJobId(), jobs[0].GetOwner(), jobs[1].GetJobId(), jobs[1].GetOwner(), requestID)
	case len(jobs) == 1:
		return jobs[0].GetJobId(), nil
	}
	return "", fault.New(fault.NotFound, "JOB_NOT_FOUND", "there is no job with the request id %q", requestID)
}

// tableText returns the number of rows of a table and its id, or the id alone if the coordinator does not say more.
func tableText(ctx context.Context, c *client.Client, input *cleavev1.TableInput) string {
	if rows := input.GetInline(); rows != nil {
		return fmt.Sprint(wire.RowsIn(rows))
	}
	response, err := c.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: input.GetTableId()})
	if err != nil {
		return input.GetTableId()
	}
	return fmt.Sprintf("%d (%s)", response.GetTable().GetRows(), input.GetTableId())
}

// printJob prints what is known about a job, a line each. spec is nil if the coordinator cannot read it now.
func (a *app) printJob(ctx context.Context, c *client.Client, j *cleavev1.Job, spec *cleavev1.JobSpec) error {
	table := a.aligned()
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
	if spec != nil {
		line("algorithm", wire.Algorithm(spec).Name)
		line("clusters", report.ClustersText(spec))
	}
	for _, used := range wire.UsedTables(spec) {
		line(used.Name(), tableText(ctx, c, used.Input))
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

// listedJobs is how many jobs cleave list prints without --limit, unless it prints JSON: programs get all.
const listedJobs = 50

func (a *app) listCommand() (cmd *cobra.Command) {
	state := shell.NewChoice("", "pending", "running", "succeeded", "failed", "cancelled")
	limit := shell.NewWhole(0, 0, 1_000_000)
	request := &cleavev1.ListJobsRequest{}
	var since shell.Duration
	oldest := false
	cmd = a.remoteCommand("list", "List jobs, newest first",
		func(ctx context.Context, c *client.Client, asJSON bool) error {
			if state.String() != "" {
				request.States = []cleavev1.JobState{
					cleavev1.JobState(cleavev1.JobState_value["JOB_STATE_"+strings.ToUpper(state.String())])}
			}
			if since > 0 {
				request.CreatedFrom = timestamppb.New(time.Now().Add(-time.Duration(since)))
			}
			if oldest {
				request.Order = cleavev1.JobOrder_JOB_ORDER_OLDEST_FIRST
			}
			most := limit.Whole()
			abridges := !asJSON && !cmd.Flags().Changed("limit")
			if abridges {
				most = listedJobs + 1 // one more than is printed tells whether there are more
			}
			jobs, err := c.AllJobs(ctx, request, most)
			if abridges && len(jobs) > listedJobs {
				jobs = jobs[:listedJobs]
				defer a.warn("there are more jobs than these %d; --limit 0 lists all", listedJobs) // after the table
			}
			return printList(a, asJSON, &cleavev1.ListJobsResponse{Jobs: jobs}, jobs, err,
				"JOB\tNAME\tSTATE\tITERATIONS\tOBJECTIVE\tCREATED", func(j *cleavev1.Job) []any {
					objective := ""
					if j.GetObjectiveName() != "" {
						objective = text.Brief(j.GetObjective())
					}
					return []any{j.GetJobId(), j.GetDisplayName(), report.ShortName(j.GetState()),
						j.GetIterations(), objective, report.FormatTime(j.GetCreateTime())}
				})
		})
	cmd.SuggestFor = []string{"jobs", "ls", "ps"}
	cmd.Flags().Var(state, "state", "only jobs in this state")
	cmd.Flags().Var(limit, "limit", fmt.Sprintf("at most `N` jobs; 0 for all (default %d, with --json all)",
		listedJobs))
	cmd.Flags().StringVar(&request.Owner, "owner", "", "only jobs of this owner; administrators see all jobs")
	cmd.Flags().StringVar(&request.NameContains, "name", "", "only jobs whose names contain this text")
	cmd.Flags().StringVar(&request.DatasetId, "dataset", "", "only jobs on the data set with this id")
	cmd.Flags().Var(&since, "since", "only jobs created within this time, such as 24h")
	cmd.Flags().BoolVar(&oldest, "oldest", false, "list the oldest first")
	return cmd
}

func (a *app) deleteCommand() *cobra.Command {
	var server string
	var asJSON bool
	cmd, set := argsCommand("delete JOB...", "Delete jobs that have ended",
		func(ctx context.Context, args []string) error {
			if len(args) == 0 {
				return shell.Usage("the job is missing; give the id of one or several after the command")
			}
			return a.onServer(server, func(c *client.Client) error { return a.deleteJobs(ctx, c, args, asJSON) })
		})
	cmd.ValidArgsFunction = a.jobIDs()
	addServerFlag(set, &server)
	addJSONFlag(set, &asJSON)
	return cmd
}

// deleteJobs deletes jobs. It deletes none if one of them does not exist, but all others if some have not ended.
func (a *app) deleteJobs(ctx context.Context, c *client.Client, given []string, asJSON bool) error {
	var ids []string
	for _, beginning := range given {
		id, err := jobID(ctx, c, beginning)
		if err != nil {
			return err
		}
		if _, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: id, WithoutSpec: true}); err != nil {
			return err // the service would treat a mistyped id as deleted already
		}
		ids = append(ids, id)
	}
	var failed []error
	for _, id := range ids {
		response, err := c.Jobs.DeleteJob(ctx, &cleavev1.DeleteJobRequest{JobId: id})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		failed = append(failed, a.print(asJSON, response, "%s: deleted\n", id))
	}
	return errors.Join(failed...)
}

func (a *app) watchCommand() *cobra.Command {
	var after uint32
	const short = "Print the events of a job until it ends; the exit code tells how"
	cmd := a.remoteIDCommand("watch JOB", short, "job", jobID, a.jobIDs(),
		func(ctx context.Context, c *client.Client, jobID string, asJSON bool) error {
			return a.watch(ctx, c, jobID, after, asJSON)
		})
	cmd.Flags().Uint32Var(&after, "after", 0, "print only events with sequence numbers above `N`")
	cmd.Flags().Lookup("json").Usage = "print every event as one line of JSON"
	return cmd
}

// eventText prints the events of a job, and apart from them what the user is told about the connection.
type eventText struct {
	*report.Progress
	warn func(format string, args ...any)
}

// Warn implements client.Watcher.
func (t eventText) Warn(format string, args ...any) {
	t.End() // the line that is redrawn may be on the same terminal
	t.warn(format, args...)
}

// watch prints the events of a job after a sequence number until the job ends, or until its output cannot be written.
func (a *app) watch(ctx context.Context, c *client.Client, jobID string, after uint32, asJSON bool) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	out := &screen.Guarded{W: a.stdout, Failed: stop}
	var w client.Watcher = eventText{Progress: report.NewFullProgress(out), warn: a.warn}
	if asJSON {
		w = &report.EventLines{Events: out, Warnings: a.stderr}
	}
	ended, err := c.Watch(watching, jobID, after, w)
	if out.Err != nil {
		return out.Err
	}
	if ctx.Err() != nil {
		return stillRunning("the watch ended", jobID)
	}
	if err != nil {
		return err
	}
	if err := c.JobError(ctx, jobID, ended); err != nil {
		return err
	}
	if asJSON {
		return nil
	}
	return a.printf("%s: %s\n", report.ShortName(ended.GetState()), report.ShortName(ended.GetStopReason()))
}

// stillRunning returns the error for a user who stops watching a job: the job continues, and how to get back to it.
func stillRunning(what, jobID string) error {
	return shell.Canceled("%s; job %s continues. Watch it: cleave watch %s. Fetch its result: cleave result %s. Stop "+
		"it: cleave cancel %s", what, jobID, jobID, jobID, jobID)
}

type submitFlags struct {
	job               *jobflags.Flags
	server, requestID string
	wait, json, quiet bool
}

func (a *app) submitCommand() (cmd *cobra.Command) {
	f := &submitFlags{}
	cmd, f.job = a.jobCommand("submit", "Submit a job to a coordinator and print its id", &f.server,
		a.traced("submit", func(ctx context.Context) error { return a.submit(ctx, f) }))
	set := cmd.Flags()
	addRequestIDFlag(set, &f.requestID)
	set.BoolVar(&f.wait, "wait", false, "wait until the job ends; the exit code tells how")
	set.BoolVar(&f.json, "json", false, "print the job as JSON")
	set.BoolVar(&f.quiet, "quiet", false, "show no progress")
	return cmd
}

// submit creates a job and prints its id at once, so that a script has it even if --wait is interrupted. With --json
// it prints the job instead, at the end. With --wait, how the job ended is the error.
func (a *app) submit(ctx context.Context, flags *submitFlags) error {
	if flags.job.DropsRows() && !flags.job.IsTable() {
		return shell.Usage("submit does not support --missing drop for this format, because the dropped rows would " +
			"not be known when the result is fetched; use cleave run --server")
	}
	if flags.requestID == "" && flags.job.Given("request-id") {
		return errEmptyRequestID()
	}
	c, err := a.remote(flags.server)
	if err != nil {
		return err
	}
	defer c.Close()
	flags.job.MayStream = true
	prepared, err := a.readJob(ctx, flags.job, c, false)
	if err != nil {
		return err
	}
	progress := report.NewProgress(a.stderr, flags.quiet).Localized(prepared.LocalizeLive, false)
	defer progress.End()
	defer progress.Failed()
	s, err := a.submissionOf(ctx, c, prepared, progress)
	if err != nil {
		return err
	}
	job, err := c.Submit(ctx, prepared.Proto(s.spec, flags.requestID), s.data, progress)
	if err != nil {
		return explainReuse(prepared.Locate(err))
	}
	progress.End()
	id := job.GetJobId()
	if !flags.json {
		if err := a.printf("%s\n", id); err != nil {
			return fmt.Errorf("job %s was submitted, but its id cannot be printed: %w", id, err)
		}
	}
	var ended *cleavev1.JobEnded
	if flags.wait {
		ended, err = c.Watch(ctx, id, 0, progress)
		if ctx.Err() != nil {
			return stillRunning("interrupted", id)
		}
		if err != nil {
			return err
		}
	}
	if flags.wait && flags.json {
		response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: id, WithoutSpec: true})
		if err != nil {
			return err
		}
		job = response.GetJob()
	}
	if flags.json {
		if err := report.PrintMessage(a.stdout, job); err != nil {
			return err
		}
	}
	if ended == nil {
		return nil
	}
	return c.JobError(ctx, id, ended)
}
