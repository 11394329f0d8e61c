package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type planFlags struct {
	job     *jobflags.Flags
	server  string
	workers *shell.Value
	json    bool
}

func (a *app) planCommand() (cmd *cobra.Command) {
	f := &planFlags{}
	cmd, f.job = a.jobCommand("plan", "Show how a job would run, here or on a coordinator, without running it",
		&f.server,
		func(ctx context.Context) error { return a.plan(ctx, f) })
	f.workers = addWorkersFlag(cmd.Flags())
	cmd.Flags().BoolVar(&f.json, "json", false, "print the plan as JSON")
	return cmd
}

// plan asks the coordinator that would run the job, which is embedded if there is no remote one.
func (a *app) plan(ctx context.Context, f *planFlags) error {
	c, err := a.remoteOrNil(f.server, f.job.Given("workers"))
	if err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
	}
	j, err := a.readJob(ctx, f.job, c, false)
	if err != nil {
		return err
	}
	a.printDropped(j.Filter)
	if c == nil {
		if c, err = client.StartEmbedded(ctx, f.workers.Whole(), a.stderr); err != nil {
			return err
		}
		defer c.Close()
	}
	s, err := a.submissionOf(ctx, c, j, client.Silent{})
	if err != nil {
		return err
	}
	if err := c.UploadInputs(ctx, j.Name, s.spec, s.data, client.Silent{}); err != nil {
		return err
	}
	response, err := c.Jobs.PlanJob(ctx, &cleavev1.PlanJobRequest{Spec: s.spec})
	if err != nil {
		return err
	}
	for _, notice := range response.GetNotices() {
		a.notify(notice.GetMessage())
	}
	if f.json {
		return report.PrintMessage(a.stdout, response.GetPlan())
	}
	return report.PrintPlan(a.folded(), s.job, response.GetPlan())
}
