package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// drainCommand gives the tiles of a worker to others, after which it leaves.
func (a *app) drainCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "drain WORKER", Short: "Give the tiles of a worker, by id or name, to others; then it leaves", Args: cobra.ArbitraryArgs}
	server, asJSON := addServerFlag(cmd.Flags()), addJSONFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		worker, err := oneArgument(args, "worker")
		if err != nil {
			return err
		}
		return a.onServer(*server, func(c *client.Client) error {
			id, err := workerID(cmd.Context(), c, worker)
			if err != nil {
				return err
			}
			response, err := c.Cluster.DrainWorker(cmd.Context(), &cleavev1.DrainWorkerRequest{WorkerId: id})
			if err != nil {
				return err
			}
			if *asJSON {
				return report.PrintMessage(a.stdout, response.GetWorker())
			}
			drained := response.GetWorker()
			_, err = fmt.Fprintf(a.stdout, "%s (%s): draining; %s to other workers, then it leaves\n", drained.GetName(), drained.GetWorkerId(), movingTiles(drained.GetTiles()))
			return err
		})
	}
	return cmd
}

// movingTiles says how many tiles go.
func movingTiles(tiles uint32) string {
	switch tiles {
	case 0:
		return "it has no tiles to give"
	case 1:
		return "its tile goes"
	}
	return fmt.Sprintf("its %d tiles go", tiles)
}

func (a *app) workersCommand() *cobra.Command {
	return a.listingCommand("workers", "List the workers of a coordinator", func(ctx context.Context, c *client.Client, asJSON bool) error {
		workers, err := c.ListWorkers(ctx)
		return printList(a, asJSON, &cleavev1.ListWorkersResponse{Workers: workers}, workers, err,
			"WORKER\tNAME\tSTATE\tTHREADS\tMEMORY\tTILES\tTILE BYTES\tJOBS\tVERSION\tSTATUS", func(w *cleavev1.Worker) []any {
				return []any{w.GetWorkerId(), w.GetName(), report.ShortName(w.GetState()), w.GetThreads(), text.Bytes(w.GetMemoryBytes()),
					w.GetTiles(), text.Bytes(w.GetTileBytes()), strings.Join(w.GetJobIds(), " "), w.GetVersion(), w.GetStatusMessage()}
			})
	})
}
