package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/text"
)

func (a *app) limitsCommand() *cobra.Command {
	return a.listingCommand("limits", "Show how much a coordinator takes, and how much of it is in use", func(ctx context.Context, c *client.Client, asJSON bool) error {
		response, err := c.Cluster.GetLimits(ctx, &cleavev1.GetLimitsRequest{})
		if err != nil {
			return err
		}
		if asJSON {
			return report.PrintMessage(a.stdout, response)
		}
		return a.printLimits(response)
	})
}

// printLimits prints a line for each field of the limits, with what is in use of it.
func (a *app) printLimits(response *cleavev1.GetLimitsResponse) error {
	usage := response.GetUsage()
	inUse := map[string]string{
		"jobs_running": fmt.Sprint(usage.GetJobsRunning()), "jobs_queued": fmt.Sprint(usage.GetJobsQueued()),
		"jobs_queued_per_owner": fmt.Sprint(usage.GetJobsQueuedOwn()), "calls": fmt.Sprint(usage.GetCalls()), "streams": fmt.Sprint(usage.GetStreams()),
	}
	if response.GetLimits().GetDiskQuotaBytes() > 0 {
		inUse["disk_quota_bytes"] = text.Bytes(usage.GetDiskBytes())
	}
	table := tabwriter.NewWriter(a.folded(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "LIMIT\tVALUE\tIN USE")
	limits := response.GetLimits().ProtoReflect()
	fields := limits.Descriptor().Fields()
	for at := range fields.Len() {
		field := fields.Get(at)
		name := string(field.Name())
		shown := strings.ReplaceAll(strings.Replace(name, "bytes_per_second", "rate", 1), "_", " ")
		fmt.Fprintf(table, "%s\t%s\t%s\n", strings.TrimSuffix(shown, " bytes"), limitValue(limits, field), inUse[name])
	}
	return table.Flush()
}

// limitValue shows a limit.
func limitValue(limits protoreflect.Message, field protoreflect.FieldDescriptor) string {
	const none = "none"
	if !limits.Has(field) {
		return none
	}
	value := limits.Get(field)
	if field.Kind() == protoreflect.MessageKind {
		time := shell.Duration(value.Message().Interface().(*durationpb.Duration).AsDuration())
		return time.String()
	}
	switch name := string(field.Name()); {
	case strings.Contains(name, "bytes_per_second"):
		return text.Bytes(value.Uint()) + "/s"
	case strings.Contains(name, "bytes"):
		return text.Bytes(value.Uint())
	}
	return fmt.Sprint(value.Uint())
}

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
			workers, err := c.ListWorkers(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "%s (%s): %s\n", drained.GetName(), drained.GetWorkerId(), leaving(drained, workers))
			return err
		})
	}
	return cmd
}

// leaving says what happens to a worker that is drained, of these: jobs that have nowhere to go end on it first.
func leaving(drained *cleavev1.Worker, workers []*cleavev1.Worker) string {
	ready := func(w *cleavev1.Worker) bool {
		return w.GetState() == cleavev1.WorkerState_WORKER_STATE_READY && w.GetWorkerId() != drained.GetWorkerId()
	}
	switch {
	case drained.GetTiles() == 0:
		return "draining; it has no tiles and leaves"
	case slices.ContainsFunc(workers, ready):
		return fmt.Sprintf("draining; it gives its %s to other workers, then it leaves", text.Plural(int(drained.GetTiles()), "tile"))
	}
	return "draining; no other worker is ready, so it leaves once its jobs are done or another worker joins"
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
