package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// PrintPlan writes how a job would run.
func PrintPlan(w io.Writer, j *jobflags.Job, p *cleavev1.Plan) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	what, columns := "matrix", j.Rows
	if family := wire.Algorithm(j.Spec).Family; family == catalog.CentroidFamily || family == catalog.AutoFamily && j.Columns > 0 && j.Spec.GetNeighborGraph() == nil || p.GetStorage() == cleavev1.PlanStorage_PLAN_STORAGE_VECTORS {
		what, columns = "points", j.Columns
	}
	if p.GetTiles() == 0 {
		return printCoordinatorPlan(w, j, p)
	}
	line(what, "%d x %d in %s of %s", j.Rows, columns, text.Plural(int(p.GetTiles()), "tile"), text.Plural(int(p.GetTileRows()), "row"))
	line("storage", "%s: %d stored (%s), %d computed when needed", wire.PlanStorageName(p.GetStorage()), p.GetStoredTiles(), text.Bytes(p.GetTileBytes()), p.GetComputedTiles())
	line("memory", "%s on %s", text.Bytes(p.GetBytes()), text.Plural(int(p.GetWorkers()), "worker"))
	if p.GetCoordinatorBytes() > 0 {
		line("coordinator", "%s for %s, beside the data", text.Bytes(p.GetCoordinatorBytes()), strings.Join(coordinatorHolds(j, p), " and "))
	}
	if p.GetSnapshotBytes() > 0 {
		line("snapshots", "%s of the coordinator's memory, so that the job survives its restart", text.Bytes(p.GetSnapshotBytes()))
	}
	if p.GetProducts() > 0 {
		line("products", "about %d of the matrix with a vector, assumed", p.GetProducts())
	}
	line("passes", "about %.3g over the %s", p.GetPasses(), what)
	line("time", "about %s", text.Roughly(p.GetPredictedTime().AsDuration().Seconds()))
	line("why", "%s", p.GetExplanation())
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(table, "\nWORKER\tTHREADS\tMEMORY\tUSES\tSTORED\tCOMPUTED")
	for _, s := range p.GetShares() {
		memory := "unlimited"
		if s.GetMemoryBytes() > 0 {
			memory = text.Bytes(s.GetMemoryBytes())
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%d\t%d\n", s.GetName(), s.GetThreads(), memory, text.Bytes(s.GetBytes()), s.GetStoredTiles(), s.GetComputedTiles())
	}
	return table.Flush()
}

// printCoordinatorPlan writes the plan of a job that workers have no part in.
func printCoordinatorPlan(w io.Writer, j *jobflags.Job, p *cleavev1.Plan) error {
	_, err := fmt.Fprintf(w, "graph        %d vertices\ncoordinator  %s, beside the data\ntime         about %s\nwhy          %s\n",
		j.Rows, text.Bytes(p.GetCoordinatorBytes()), text.Roughly(p.GetPredictedTime().AsDuration().Seconds()), p.GetExplanation())
	return err
}

// coordinatorHolds says what the coordinator has memory for.
func coordinatorHolds(j *jobflags.Job, p *cleavev1.Plan) (what []string) {
	if j.Spec.GetNeighborGraph() != nil {
		what = append(what, "the graph of neighbors")
	}
	if p.GetProducts() > 0 {
		what = append(what, "eigenvectors")
	}
	if j.Spec.GetKernelKmeans().GetLandmarks() > 0 {
		what = append(what, "landmarks")
	}
	if j.Spec.GetKRange() != nil {
		what = append(what, "the results of every k")
	}
	if len(what) == 0 {
		what = append(what, "graphs of merged vertices")
	}
	return what
}
