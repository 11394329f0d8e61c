package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// resultFlags: the data files are those of run, so that the picture can be drawn here.
type resultFlags struct {
	runFlags
	data *jobFlags
}

func (a *app) resultCommand() *cobra.Command {
	f := &resultFlags{data: &jobFlags{vertices: &whole{most: dataset.MaxRows}}}
	cmd := &cobra.Command{
		Use:   "result JOB",
		Short: "Fetch what a job found: a summary, JSON, or the files that run writes",
		Args:  cobra.ArbitraryArgs,
	}
	set := cmd.Flags()
	f.data.set = set
	f.server = addServerFlag(set)
	set.StringVar(&f.out, "out", "", "write labels.csv, result.json, the model or embedding and pictures into this `DIR`")
	set.BoolVar(&f.json, "json", false, "print result.json on standard output")
	set.BoolVar(&f.quiet, "quiet", false, "print nothing when --out is given")
	set.StringVar(&f.truth, "truth", "", "true labels in this `FILE` (index,label) to score the result against")
	set.StringVar(&f.scoreOn, "score-on", "", "score only the points listed in this `FILE` (index)")
	set.StringVar(&f.data.data, "data", "", "the job's points in this `FILE`, to draw clusters.svg")
	set.StringVar(&f.data.graph, "graph", "", "the job's graph in this `FILE`, to draw clusters.svg")
	set.Var(f.data.vertices, "vertices", "vertices of the graph, when some of the last have no edge")
	set.StringVar(&f.data.kernelMatrix, "kernel-matrix", "", "the job's kernel matrix in this `FILE`, to draw clusters.svg")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.onJob(*f.server, args, func(c *client, jobID string) error { return a.result(cmd.Context(), c, jobID, f) })
	}
	return cmd
}

func (a *app) result(ctx context.Context, c *client, jobID string, f *resultFlags) (err error) {
	if f.scoreOn != "" && f.truth == "" {
		return shell.Usage("--score-on goes with --truth only")
	}
	if f.data.given("vertices") && f.data.graph == "" {
		return shell.Usage("--vertices goes with --graph only")
	}
	response, err := c.jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return err
	}
	j := &job{spec: response.GetSpec()}
	if j.data, j.header, err = f.data.loadData(); err != nil {
		return err
	}
	if err := sameData(j); err != nil {
		return err
	}
	o, err := c.fetch(ctx, jobID, j.spec, false, f.out != "")
	if err != nil {
		return err
	}
	truth, err := loadTruth(f.truth, f.scoreOn, len(o.labels))
	if err != nil {
		return err
	}
	if err := o.score(truth); err != nil {
		return err
	}
	var out *outputDir
	if f.out != "" {
		if out, err = openOutput(f.out); err != nil {
			return err
		}
	}
	return a.deliver(ctx, o, j.scene(truth), out, &f.runFlags)
}

// sameData refuses to draw one data set with the clusters of another.
func sameData(j *job) error {
	if j.data == nil {
		return nil
	}
	id, err := identify(j.data)
	if err == nil && id != j.spec.GetDatasetId() {
		return fault.Invalid("OTHER_DATASET", "this file is not what the job clustered: it is data set %s, the job's is %s", id, j.spec.GetDatasetId())
	}
	return err
}
