package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/format"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// checkOutput refuses flags about the output that make no sense, before anything runs.
func (f *runFlags) checkOutput() error {
	if f.scoreOn != "" && f.truth == "" {
		return shell.Usage("--score-on goes with --truth only")
	}
	if f.saveGraph != "" {
		_, err := format.GraphWriter(f.saveGraph)
		return err
	}
	return nil
}

// checkSaveGraph refuses to save the graph of a job that makes none.
func (f *runFlags) checkSaveGraph(spec *cleavev1.JobSpec) error {
	if f.saveGraph != "" && spec.GetNeighborGraph() == nil {
		return shell.Usage("--save-graph goes with --knn only, which makes the graph that is saved")
	}
	return nil
}

// saveNeighborGraph writes the graph of neighbors that a job clustered to a file, if one is named.
func (a *app) saveNeighborGraph(ctx context.Context, c *client.Client, jobID, path string) error {
	if path == "" {
		return nil
	}
	write, err := format.GraphWriter(path)
	if err != nil {
		return err
	}
	graph, err := c.FetchNeighborGraph(ctx, jobID)
	if err != nil {
		return err
	}
	if err := format.WriteFile(path, func(w io.Writer) error { return write(w, graph) }); err != nil {
		return err
	}
	hint := ""
	if last, _ := graph.Row(graph.N - 1); len(last) == 0 {
		hint = fmt.Sprintf("; the last rows have no neighbors: give --vertices %d with it", graph.N)
	}
	fmt.Fprintf(a.stderr, "cleave: the graph is in %s%s\n", path, hint)
	return nil
}
