package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) workersCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "workers", Short: "List the workers of a coordinator", Args: shell.Flags}
	server := addServerFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.onServer(*server, func(c *client.Client) error {
			workers, err := c.ListWorkers(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return report.PrintMessage(a.stdout, &cleavev1.ListWorkersResponse{Workers: workers})
			}
			return a.printWorkers(workers)
		})
	}
	return cmd
}

func (a *app) printWorkers(workers []*cleavev1.Worker) error {
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "WORKER\tNAME\tSTATE\tTHREADS\tMEMORY\tTILES\tTILE BYTES\tJOBS\tVERSION")
	for _, w := range workers {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%d\t%s\t%s\t%s\n", w.GetWorkerId(), w.GetName(), report.ShortName(w.GetState()), w.GetThreads(),
			shell.FormatBytes(w.GetMemoryBytes()), w.GetTiles(), shell.FormatBytes(w.GetTileBytes()), strings.Join(w.GetJobIds(), " "), w.GetVersion())
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
			return a.onServer(*server, func(c *client.Client) error { return a.listDatasets(cmd.Context(), c, asJSON) })
		case "delete":
			id, err := oneArgument(args, "data set")
			if err != nil {
				return err
			}
			return a.onServer(*server, func(c *client.Client) error { return a.deleteDataset(cmd.Context(), c, id, asJSON) })
		}
		return shell.Usage("what is %q? Use datasets list or datasets delete ID", what)
	}
	return cmd
}

func (a *app) listDatasets(ctx context.Context, c *client.Client, asJSON bool) error {
	all, err := c.ListDatasets(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return report.PrintMessage(a.stdout, &cleavev1.ListDatasetsResponse{Datasets: all})
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DATASET\tNAME\tKIND\tROWS\tCOLUMNS\tNON-ZEROS\tSIZE\tCREATED")
	for _, d := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", d.GetDatasetId(), d.GetDisplayName(), report.ShortName(d.GetKind()), d.GetRows(),
			d.GetColumns(), d.GetNonZeros(), shell.FormatBytes(d.GetBytes()), report.FormatTime(d.GetCreateTime()))
	}
	return table.Flush()
}

func (a *app) deleteDataset(ctx context.Context, c *client.Client, id string, asJSON bool) error {
	response, err := c.Datasets.DeleteDataset(ctx, &cleavev1.DeleteDatasetRequest{DatasetId: id})
	if err != nil {
		return err
	}
	if asJSON {
		return report.PrintMessage(a.stdout, response)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: deleted\n", id)
	return err
}
