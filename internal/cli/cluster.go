package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) workersCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "workers", Short: "List the workers of a coordinator", Args: shell.Flags}
	server := addServerFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.onServer(*server, func(c *client) error {
			workers, err := c.workers(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return printMessage(a.stdout, &cleavev1.ListWorkersResponse{Workers: workers})
			}
			return a.printWorkers(workers)
		})
	}
	return cmd
}

func (c *client) workers(ctx context.Context) ([]*cleavev1.Worker, error) {
	var all []*cleavev1.Worker
	for token := ""; ; {
		page, err := c.cluster.ListWorkers(ctx, &cleavev1.ListWorkersRequest{PageToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetWorkers()...)
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

func (a *app) printWorkers(workers []*cleavev1.Worker) error {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKER\tNAME\tSTATE\tTHREADS\tMEMORY\tTILES\tTILE BYTES\tJOBS\tVERSION")
	for _, w := range workers {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\t%s\n", w.GetWorkerId(), w.GetName(), word(w.GetState()), w.GetThreads(),
			size(w.GetMemoryBytes()), w.GetTiles(), size(w.GetTileBytes()), strings.Join(w.GetJobIds(), " "), w.GetVersion())
	}
	return table.Flush()
}

func (a *app) datasetsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "datasets [list | delete ID]", Short: "List or delete the data sets of a coordinator", Args: cobra.ArbitraryArgs}
	server := addServerFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		what := "list"
		if len(args) > 0 {
			what, args = args[0], args[1:]
		}
		switch what {
		case "list":
			if len(args) > 0 {
				return shell.Usage("what is %q? After datasets list comes nothing more", args[0])
			}
			return a.onServer(*server, func(c *client) error { return a.listDatasets(cmd.Context(), c, asJSON) })
		case "delete":
			id, err := oneArgument(args, "data set")
			if err != nil {
				return err
			}
			return a.onServer(*server, func(c *client) error { return a.deleteDataset(cmd.Context(), c, id, asJSON) })
		}
		return shell.Usage("what is %q? Use datasets list or datasets delete ID", what)
	}
	return cmd
}

func (a *app) listDatasets(ctx context.Context, c *client, asJSON bool) error {
	var all []*cleavev1.Dataset
	for token := ""; ; {
		page, err := c.datasets.ListDatasets(ctx, &cleavev1.ListDatasetsRequest{PageToken: token})
		if err != nil {
			return err
		}
		all = append(all, page.GetDatasets()...)
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	if asJSON {
		return printMessage(a.stdout, &cleavev1.ListDatasetsResponse{Datasets: all})
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DATASET\tNAME\tKIND\tROWS\tCOLUMNS\tNON-ZEROS\tSIZE\tCREATED")
	for _, d := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", d.GetDatasetId(), d.GetDisplayName(), word(d.GetKind()), d.GetRows(),
			d.GetColumns(), d.GetNonZeros(), size(d.GetBytes()), clock(d.GetCreateTime()))
	}
	return table.Flush()
}

func (a *app) deleteDataset(ctx context.Context, c *client, id string, asJSON bool) error {
	response, err := c.datasets.DeleteDataset(ctx, &cleavev1.DeleteDatasetRequest{DatasetId: id})
	if err != nil {
		return err
	}
	if asJSON {
		return printMessage(a.stdout, response)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: deleted\n", id)
	return err
}
