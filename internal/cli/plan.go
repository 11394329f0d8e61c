package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type planFlags struct {
	describedJob
	workers *jobflags.OptionFlag
	json    bool
}

func (a *app) planCommand() *cobra.Command {
	f := &planFlags{}
	cmd := a.describingCommand("plan", "Say how a job would run, here or on a coordinator, without running it", &f.describedJob,
		func(ctx context.Context) error { return a.plan(ctx, f) })
	f.workers = addWorkersFlag(cmd.Flags())
	cmd.Flags().BoolVar(&f.json, "json", false, "print the plan as JSON")
	return cmd
}

// plan asks the coordinator that would run the job: a remote one, or one embedded for the purpose.
func (a *app) plan(ctx context.Context, f *planFlags) error {
	c, err := a.remoteOrNil(*f.server, f.job)
	if err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
	}
	j, err := a.prepare(ctx, f.job, c)
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
	silent := report.NewProgress(io.Discard, true)
	spec, data, err := a.inputOf(ctx, c, j, silent)
	if err != nil {
		return err
	}
	if err := c.UploadInputs(ctx, j.Name, spec, data, silent); err != nil {
		return err
	}
	response, err := c.Jobs.PlanJob(ctx, &cleavev1.PlanJobRequest{Spec: spec})
	if err != nil {
		return c.Explain(err)
	}
	for _, notice := range response.GetNotices() {
		fmt.Fprintf(a.stderr, "cleave: %s\n", notice.GetMessage())
	}
	if f.json {
		return report.PrintMessage(a.stdout, response.GetPlan())
	}
	return report.PrintPlan(a.folded(), j, response.GetPlan())
}
