package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// resultFlags are the flags of result. The data are not needed but to draw their clusters.
type resultFlags struct {
	runFlags
	data *jobflags.DataFlags
}

func (a *app) resultCommand() *cobra.Command {
	f := &resultFlags{}
	cmd := &cobra.Command{
		Use:   "result JOB",
		Short: "Fetch what a job found: a summary, JSON, or the files that run writes",
		Args:  cobra.ArbitraryArgs,
	}
	set := cmd.Flags()
	f.data = jobflags.AddDataFlags(set)
	f.server = addServerFlag(set)
	f.addOutputFlags(set, "print nothing when --out is given")
	f.flags = set
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onJob(cmd.Context(), *f.server, args, func(c *client.Client, jobID string) error { return a.result(cmd.Context(), c, jobID, f) })
	}
	return cmd
}

func (a *app) result(ctx context.Context, c *client.Client, jobID string, f *resultFlags) (err error) {
	if err := f.checkOutput(); err != nil {
		return err
	}
	r, s, err := a.fetchReport(ctx, c, jobID, f, f.out != "")
	if err != nil {
		return err
	}
	if f.json || f.quiet && f.out != "" { // without a summary nothing else tells of them
		for _, warning := range r.Result.GetWarnings() {
			fmt.Fprintf(a.stderr, "warning: %s\n", warning.GetMessage())
		}
	}
	r.Result.Origin = a.beginOrigin(f.flags)(s.Spec)
	if err := a.saveNeighborGraph(ctx, c, jobID, f.saveGraph); err != nil {
		return err
	}
	var out *report.OutputDir
	if f.out != "" {
		if out, err = report.OpenOutput(f.out); err != nil {
			return err
		}
	}
	return a.deliver(ctx, r, s, out, &f.runFlags)
}

// fetchReport fetches what a job found, and what the flags say about it.
func (a *app) fetchReport(ctx context.Context, c *client.Client, jobID string, f *resultFlags, withModel bool) (*report.Report, report.Scene, error) {
	var none report.Scene
	data, header, err := f.data.Load()
	if err != nil {
		return nil, none, err
	}
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return nil, none, err
	}
	j := &jobflags.Job{Spec: response.GetSpec(), Data: data, Header: header}
	if err := checkSameData(j); err != nil {
		return nil, none, err
	}
	if err := f.checkSaveGraph(j.Spec); err != nil {
		return nil, none, err
	}
	o, err := c.Fetch(ctx, jobID, withModel)
	if err != nil {
		return nil, none, err
	}
	if withModel {
		j.Constraints, err = wire.ReadTable(j.Spec.GetSupervision().GetConstraints(), "constraints", len(o.Labels), c.FetchTables(ctx), table.Constraints)
		if err != nil && !fault.Is(err, "TABLE_NOT_FOUND") { // a picture does without those that were deleted
			return nil, none, err
		}
	}
	truth, err := jobflags.LoadTruth(f.truth, f.scoreOn, len(o.Labels))
	if err != nil {
		return nil, none, err
	}
	r := report.New(o, nil)
	return r, sceneOf(j, truth), r.Score(truth)
}

// checkSameData refuses to draw one data set with the clusters of another.
func checkSameData(j *jobflags.Job) error {
	if j.Data == nil {
		return nil
	}
	id, err := dataset.ID(j.Data)
	if err == nil && id != j.Spec.GetDatasetId() {
		return fault.Invalid("OTHER_DATASET", "this file is not what the job clustered: it is data set %s, the job's is %s", id, j.Spec.GetDatasetId())
	}
	return err
}
