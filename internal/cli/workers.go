package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) workersCommand() *cobra.Command {
	return a.listingCommand("workers", "List the workers of a coordinator", func(ctx context.Context, c *client.Client, asJSON bool) error {
		workers, err := c.ListWorkers(ctx)
		return printList(a.stdout, asJSON, &cleavev1.ListWorkersResponse{Workers: workers}, workers, err,
			"WORKER\tNAME\tSTATE\tTHREADS\tMEMORY\tTILES\tTILE BYTES\tJOBS\tVERSION", func(w *cleavev1.Worker) []any {
				return []any{w.GetWorkerId(), w.GetName(), report.ShortName(w.GetState()), w.GetThreads(), text.Bytes(w.GetMemoryBytes()),
					w.GetTiles(), text.Bytes(w.GetTileBytes()), strings.Join(w.GetJobIds(), " "), w.GetVersion()}
			})
	})
}
