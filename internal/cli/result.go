package cli

import (
	"context"

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
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onJob(*f.server, args, func(c *client.Client, jobID string) error { return a.result(cmd.Context(), c, jobID, f) })
	}
	return cmd
}

func (a *app) result(ctx context.Context, c *client.Client, jobID string, f *resultFlags) (err error) {
	if err := f.checkOutput(); err != nil {
		return err
	}
	data, header, err := f.data.Load()
	if err != nil {
		return err
	}
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return err
	}
	j := &jobflags.Job{Spec: response.GetSpec(), Data: data, Header: header, Table: f.data.Rows}
	if err := checkSameData(j); err != nil {
		return err
	}
	if err := f.checkSaveGraph(j.Spec); err != nil {
		return err
	}
	o, err := c.Fetch(ctx, jobID, f.out != "")
	if err != nil {
		return err
	}
	if data != nil {
		j.Constraints, err = wire.ReadTable(j.Spec.GetSupervision().GetConstraints(), "constraints", len(o.Labels), c.FetchTables(ctx), table.Constraints)
		if err != nil && !fault.Is(err, "TABLE_NOT_FOUND") { // a picture does without those that were deleted
			return err
		}
	}
	truth, err := jobflags.LoadTruth(f.truth, f.scoreOn, len(o.Labels), table.Naming{IDs: j.IDs()})
	if err != nil {
		return err
	}
	r := report.New(o, nil)
	r.Call(j.IDs().All(), nil)
	if err := r.Score(truth); err != nil {
		return err
	}
	if err := a.saveNeighborGraph(ctx, c, jobID, f.saveGraph); err != nil {
		return err
	}
	var out *report.OutputDir
	if f.out != "" {
		if out, err = report.OpenOutput(f.out); err != nil {
			return err
		}
	}
	return a.deliver(ctx, r, sceneOf(j, truth), out, &f.runFlags)
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
