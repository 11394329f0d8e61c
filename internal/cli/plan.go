package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type planFlags struct {
	job     *jobFlags
	server  *string
	workers *whole
	json    bool
}

func (a *app) planCommand() *cobra.Command {
	f := &planFlags{workers: &whole{value: embeddedWorkers, least: 1, most: 1024}}
	cmd := &cobra.Command{
		Use:   "plan (--data FILE | --graph FILE | --kernel-matrix FILE) --k N",
		Short: "Say how a job would run, here or on a coordinator, without running it",
		Args:  shell.Flags,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.plan(cmd.Context(), f) },
	}
	set := cmd.Flags()
	f.job = addJobFlags(set)
	f.server = addServerFlag(set)
	set.Var(f.workers, "workers", "workers of an embedded run")
	set.BoolVar(&f.json, "json", false, "print the plan as JSON")
	return cmd
}

// plan asks the coordinator, a remote one or one that is started for the purpose: whoever would run
// the job plans it.
func (a *app) plan(ctx context.Context, f *planFlags) error {
	c, err := a.remoteOrNil(*f.server, f.job)
	if err != nil {
		return err
	}
	if c != nil {
		defer c.close()
	}
	j, err := f.job.prepare(ctx, c)
	if err != nil {
		return err
	}
	a.tell(j.left)
	if c == nil {
		k, embedded, err := startEmbedded(ctx, int(f.workers.value), a.stderr)
		if err != nil {
			return err
		}
		defer k.stop()
		defer embedded.close()
		c = embedded
	}
	if j.data != nil {
		if j.spec.DatasetId, err = c.upload(ctx, j.data, j.spec.GetDisplayName(), a.newProgress(true)); err != nil {
			return err
		}
	}
	response, err := c.jobs.PlanJob(ctx, &cleavev1.PlanJobRequest{Spec: j.spec})
	if err != nil {
		return c.explain(err)
	}
	if f.json {
		return printMessage(a.stdout, response.GetPlan())
	}
	return printPlan(a.stdout, j, response.GetPlan())
}

func printPlan(w io.Writer, j *job, p *cleavev1.Plan) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	what, columns := "matrix", j.rows
	if algorithmOf(j.spec).family == vectorFamily {
		what, columns = "points", j.columns
	}
	line(what, "%d x %d in %s of %d rows", j.rows, columns, plural(int(p.GetTiles()), "tile"), p.GetTileRows())
	line("storage", "%s: %d stored (%s), %d computed when needed", wire.PlanStorageName(p.GetStorage()), p.GetStoredTiles(), size(p.GetTileBytes()), p.GetComputedTiles())
	line("memory", "%s on %s", size(p.GetBytes()), plural(int(p.GetWorkers()), "worker"))
	if p.GetCoordinatorBytes() > 0 {
		line("coordinator", "%s for eigenvectors, beside the data", size(p.GetCoordinatorBytes()))
		line("products", "about %d of the matrix with a vector, assumed", p.GetProducts())
	}
	line("passes", "about %.3g over the %s", p.GetPasses(), what)
	line("time", "about %s", roughly(p.GetPredictedTime().AsDuration()))
	line("because", "%s", p.GetExplanation())
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(table, "\nWORKER\tTHREADS\tMEMORY\tUSES\tSTORED\tCOMPUTED")
	for _, s := range p.GetShares() {
		memory := "unlimited"
		if s.GetMemoryBytes() > 0 {
			memory = size(s.GetMemoryBytes())
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%d\t%d\n", s.GetName(), s.GetThreads(), memory, size(s.GetBytes()), s.GetStoredTiles(), s.GetComputedTiles())
	}
	return table.Flush()
}

// roughly writes a time as exactly as a prediction deserves.
func roughly(d time.Duration) string {
	switch {
	case d < time.Second:
		return "a second or less"
	case d < 10*time.Second:
		return d.Round(time.Second).String()
	case d < 10*time.Minute:
		return d.Round(10 * time.Second).String()
	case d < 10*time.Hour:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return fmt.Sprintf("%.0f hours", d.Hours())
}
