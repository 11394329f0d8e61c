package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) workersCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "workers", Short: "List the workers of a coordinator", Args: shell.FlagsOnly}
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
			text.Bytes(w.GetMemoryBytes()), w.GetTiles(), text.Bytes(w.GetTileBytes()), strings.Join(w.GetJobIds(), " "), w.GetVersion())
	}
	return table.Flush()
}
