package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) limitsCommand() *cobra.Command {
	return a.remoteCommand("limits", "Show the limits of a coordinator and their current use", "", func(ctx context.Context, c *client.Client, _ string, asJSON bool) error {
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

// printLimits prints a line for each field of the limits, with its current use.
func (a *app) printLimits(response *cleavev1.GetLimitsResponse) error {
	usage := response.GetUsage()
	inUse := map[string]string{
		"jobs_running": fmt.Sprint(usage.GetJobsRunning()), "jobs_queued": fmt.Sprint(usage.GetJobsQueued()),
		"jobs_queued_per_owner": fmt.Sprint(usage.GetJobsQueuedOwn()), "calls": fmt.Sprint(usage.GetCalls()), "streams": fmt.Sprint(usage.GetStreams()),
	}
	if response.GetLimits().GetDiskQuotaBytes() > 0 {
		inUse["disk_quota_bytes"] = text.Bytes(usage.GetDiskBytes())
	}
	table := a.aligned()
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

// limitValue formats a limit.
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

func (a *app) drainCommand() *cobra.Command {
	const short = "Move the tiles of a worker, given by id or name, to others, after which it leaves"
	return a.remoteCommand("drain WORKER", short, "worker", func(ctx context.Context, c *client.Client, worker string, asJSON bool) error {
		id, err := workerID(ctx, c, worker)
		if err != nil {
			return err
		}
		response, err := c.Cluster.DrainWorker(ctx, &cleavev1.DrainWorkerRequest{WorkerId: id})
		if err != nil {
			return err
		}
		workers, err := c.ListWorkers(ctx)
		if err != nil {
			return err
		}
		drained := response.GetWorker()
		return a.print(asJSON, drained, "%s (%s): %s\n", drained.GetName(), drained.GetWorkerId(), drainStatus(drained, workers))
	})
}

// drainStatus says what happens to a drained worker. Jobs that no other worker can take finish on it first.
func drainStatus(drained *cleavev1.Worker, workers []*cleavev1.Worker) string {
	ready := func(w *cleavev1.Worker) bool {
		return w.GetState() == cleavev1.WorkerState_WORKER_STATE_READY && w.GetWorkerId() != drained.GetWorkerId()
	}
	switch {
	case drained.GetTiles() == 0:
		return "draining; it has no tiles and leaves now"
	case slices.ContainsFunc(workers, ready):
		return fmt.Sprintf("draining; it moves its %s to other workers and then leaves", text.Plural(int(drained.GetTiles()), "tile"))
	}
	return "draining; no other worker is ready, so it leaves when its jobs end or another worker joins"
}

func (a *app) workersCommand() *cobra.Command {
	return a.remoteCommand("workers", "List the workers of a coordinator", "", func(ctx context.Context, c *client.Client, _ string, asJSON bool) error {
		workers, err := c.ListWorkers(ctx)
		return printList(a, asJSON, &cleavev1.ListWorkersResponse{Workers: workers}, workers, err,
			"WORKER\tNAME\tSTATE\tTHREADS\tMEMORY\tTILES\tTILE BYTES\tJOBS\tVERSION\tSTATUS", func(w *cleavev1.Worker) []any {
				return []any{w.GetWorkerId(), w.GetName(), report.ShortName(w.GetState()), w.GetThreads(), text.Bytes(w.GetMemoryBytes()),
					w.GetTiles(), text.Bytes(w.GetTileBytes()), strings.Join(w.GetJobIds(), " "), w.GetVersion(), w.GetStatusMessage()}
			})
	})
}

// stored describes the command about one kind of data that a coordinator stores for jobs: data sets or tables.
type stored struct {
	command, singular, plural string
	list                      func(ctx context.Context, c *client.Client, asJSON bool) error
	candidates                func(ctx context.Context, c *client.Client) ([]candidate, error)
	remove                    func(ctx context.Context, c *client.Client, id string) (proto.Message, error)
}

func (a *app) datasetsCommand() *cobra.Command {
	return a.storedCommand(stored{"datasets", "data set", "data sets", a.listDatasets, datasetCandidates,
		func(ctx context.Context, c *client.Client, id string) (proto.Message, error) {
			if _, err := c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id}); err != nil {
				return nil, err // the service would treat a mistyped id as deleted already
			}
			return c.Datasets.DeleteDataset(ctx, &cleavev1.DeleteDatasetRequest{DatasetId: id})
		}})
}

func (a *app) tablesCommand() *cobra.Command {
	return a.storedCommand(stored{"tables", "table", "tables of constraints, seeds and other inputs", a.listTables, tableCandidates,
		func(ctx context.Context, c *client.Client, id string) (proto.Message, error) {
			if _, err := c.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: id}); err != nil {
				return nil, err
			}
			return c.Tables.DeleteTable(ctx, &cleavev1.DeleteTableRequest{TableId: id})
		}})
}

// storedCommand returns the command that lists and deletes stored data of a kind.
func (a *app) storedCommand(s stored) *cobra.Command {
	cmd := &cobra.Command{Use: s.command + " [list | delete ID]", Short: "List or delete the " + s.plural + " of a coordinator", Args: cobra.ArbitraryArgs}
	server, asJSON := addServerFlag(cmd.Flags()), addJSONFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		what := "list"
		if len(args) > 0 {
			what, args = args[0], args[1:]
		}
		switch what {
		case "list":
			if len(args) > 0 {
				return shell.Usage("unexpected argument %q after %s list", args[0], s.command)
			}
			return a.onServer(*server, func(c *client.Client) error { return s.list(cmd.Context(), c, *asJSON) })
		case "delete":
			id, err := oneArgument(args, s.singular)
			if err != nil {
				return err
			}
			return a.onServer(*server, func(c *client.Client) error {
				id, err := pickListed(s.singular, id, storedIDLength, func() ([]candidate, error) { return s.candidates(cmd.Context(), c) })
				if err != nil {
					return err
				}
				response, err := s.remove(cmd.Context(), c, id)
				if err != nil {
					return err
				}
				return a.print(*asJSON, response, "%s: deleted\n", id)
			})
		}
		return shell.Usage("unknown command %q; use %s list or %s delete ID", what, s.command, s.command)
	}
	return cmd
}

func datasetCandidates(ctx context.Context, c *client.Client) (all []candidate, err error) {
	listed, err := c.ListDatasets(ctx)
	for _, d := range listed {
		all = append(all, candidate{id: d.GetDatasetId(), about: text.OneLine(d.GetDisplayName())})
	}
	return all, err
}

func tableCandidates(ctx context.Context, c *client.Client) (all []candidate, err error) {
	listed, err := c.ListTables(ctx)
	for _, t := range listed {
		all = append(all, candidate{id: t.GetTableId(), about: text.OneLine(t.GetDisplayName())})
	}
	return all, err
}

func (a *app) listDatasets(ctx context.Context, c *client.Client, asJSON bool) error {
	all, err := c.ListDatasets(ctx)
	return printList(a, asJSON, &cleavev1.ListDatasetsResponse{Datasets: all}, all, err,
		"DATASET\tNAME\tKIND\tROWS\tCOLUMNS\tNON-ZEROS\tSIZE\tCREATED", func(d *cleavev1.Dataset) []any {
			return []any{d.GetDatasetId(), d.GetDisplayName(), report.ShortName(d.GetKind()), d.GetRows(),
				d.GetColumns(), d.GetNonZeros(), text.Bytes(d.GetBytes()), report.FormatTime(d.GetCreateTime())}
		})
}

func (a *app) listTables(ctx context.Context, c *client.Client, asJSON bool) error {
	all, err := c.ListTables(ctx)
	return printList(a, asJSON, &cleavev1.ListTablesResponse{Tables: all}, all, err,
		"TABLE\tNAME\tCOLUMNS\tROWS\tSIZE\tCREATED", func(t *cleavev1.Table) []any {
			var names []string
			for _, column := range t.GetColumns() {
				names = append(names, column.GetName())
			}
			return []any{t.GetTableId(), t.GetDisplayName(), strings.Join(names, ","), t.GetRows(), text.Bytes(t.GetBytes()), report.FormatTime(t.GetCreateTime())}
		})
}

// candidate is something that a shortened id may stand for.
type candidate struct {
	id, about string
	names     []string // other names for it
}

// The lengths of ids: those of jobs are UUIDs, those of stored data SHA-256 hashes.
const (
	jobIDLength    = 36
	storedIDLength = 64
)

// maxCandidates is the number of candidates that an error lists.
const maxCandidates = 8

// pick returns the id that the user means: given is an id, a name, or a prefix that only one of them has. If nothing
// matches, it returns given, so that the coordinator reports the error.
func pick(what, given string, all []candidate) (string, error) {
	var begun []candidate
	for _, c := range all {
		for _, name := range append([]string{c.id}, c.names...) {
			if name == given {
				return c.id, nil
			}
			if strings.HasPrefix(name, given) {
				begun = append(begun, c)
				break
			}
		}
	}
	switch len(begun) {
	case 0:
		return given, nil
	case 1:
		return begun[0].id, nil
	}
	var lines []string
	for _, c := range begun[:min(len(begun), maxCandidates)] {
		lines = append(lines, fmt.Sprintf("%s (%s)", c.id, c.about))
	}
	if more := len(begun) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return "", shell.Usage("%q matches %d %ss: %s", given, len(begun), what, strings.Join(lines, ", "))
}

// pickListed is pick for ids of a known length. It lists candidates only if given is shorter, so that users who may not list
// can give whole ids.
func pickListed(what, given string, length int, list func() ([]candidate, error)) (string, error) {
	if len(given) >= length {
		return given, nil
	}
	all, err := list()
	if err != nil {
		return given, nil
	}
	return pick(what, given, all)
}

// jobID returns the id of the job that an id or a prefix of one stands for.
func jobID(ctx context.Context, c *client.Client, given string) (string, error) {
	return pickListed("job", given, jobIDLength, func() ([]candidate, error) {
		jobs, err := c.ListJobs(ctx, &cleavev1.ListJobsRequest{}, 0)
		return jobCandidates(jobs), err
	})
}

func jobCandidates(jobs []*cleavev1.Job) (all []candidate) {
	for _, j := range jobs {
		about := strings.ToLower(report.ShortName(j.GetState()))
		if j.GetDisplayName() != "" {
			about = text.OneLine(j.GetDisplayName()) + ", " + about
		}
		all = append(all, candidate{id: j.GetJobId(), about: about})
	}
	return all
}

// workerID returns the id of the worker that an id, a name, or a prefix of one of them stands for.
func workerID(ctx context.Context, c *client.Client, given string) (string, error) {
	workers, err := c.ListWorkers(ctx)
	if err != nil {
		return given, nil
	}
	var all []candidate
	for _, w := range workers {
		if w.GetName() == given {
			return given, nil // the coordinator reports if several workers have the name
		}
		all = append(all, candidate{w.GetWorkerId(), w.GetName(), []string{w.GetName()}})
	}
	return pick("worker", given, all)
}
