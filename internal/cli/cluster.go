package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/screen"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator/backup"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) limitsCommand() *cobra.Command {
	const short = "Show the limits of a coordinator and their current use"
	return a.remoteCommand("limits", short, func(ctx context.Context, c *client.Client, asJSON bool) error {
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
		"jobs_queued_per_owner": fmt.Sprint(usage.GetJobsQueuedOwn()), "calls": fmt.Sprint(usage.GetCalls()),
		"reads": fmt.Sprint(usage.GetReads()), "streams": fmt.Sprint(usage.GetStreams()),
	}
	if response.GetLimits().GetDiskQuotaBytes() > 0 {
		inUse["disk_quota_bytes"] = text.Bytes(usage.GetDiskBytes())
	}
	table := screen.Table{Header: []string{"LIMIT", "VALUE", "IN USE"}}
	limits := response.GetLimits().ProtoReflect()
	fields := limits.Descriptor().Fields()
	for at := range fields.Len() {
		field := fields.Get(at)
		name := string(field.Name())
		shown := strings.ReplaceAll(strings.Replace(name, "bytes_per_second", "rate", 1), "_", " ")
		table.Add(strings.TrimSuffix(shown, " bytes"), limitValue(limits, field), inUse[name])
	}
	return table.Write(a.stdout, 0) // at any width: no id in it could be shortened
}

// limitValue formats a limit.
func limitValue(limits protoreflect.Message, field protoreflect.FieldDescriptor) string {
	if !limits.Has(field) {
		return "none"
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
	const short = "Move a worker's tiles to other workers, then let it leave"
	return a.remoteIDCommand("drain WORKER", short, "worker", workerID, a.workerNames(),
		func(ctx context.Context, c *client.Client, id string, asJSON bool) error {
			response, err := c.Cluster.DrainWorker(ctx, &cleavev1.DrainWorkerRequest{WorkerId: id})
			if err != nil {
				return err
			}
			workers, err := client.All(c.ListWorkers(ctx))
			if err != nil {
				return err
			}
			drained := response.GetWorker()
			return a.print(asJSON, drained, "%s (%s): %s\n", text.OneLine(drained.GetName()), drained.GetWorkerId(),
				drainStatus(drained, workers))
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
		return fmt.Sprintf("draining; it moves its %s to other workers and then leaves",
			text.Plural(int(drained.GetTiles()), "tile"))
	}
	return "draining; no other worker is ready, so it leaves when its jobs end or another worker joins"
}

func (a *app) workersCommand() *cobra.Command {
	return a.remoteCommand("workers", "List the workers of a coordinator",
		func(ctx context.Context, c *client.Client, asJSON bool) error {
			workers, err := client.All(c.ListWorkers(ctx))
			return printList(a, asJSON, &cleavev1.ListWorkersResponse{Workers: workers}, workers, err,
				"WORKER\tNAME\tSTATE\tTHREADS\tMEMORY\tTILES\tTILE BYTES\tJOBS\tVERSION\tCLASS\tSTATUS",
				func(w *cleavev1.Worker) []any {
					return []any{w.GetWorkerId(), w.GetName(), report.ShortName(w.GetState()), w.GetThreads(),
						text.Bytes(w.GetMemoryBytes()),
						w.GetTiles(), text.Bytes(w.GetTileBytes()), strings.Join(w.GetJobIds(), " "), w.GetVersion(),
						w.GetNumericClass(), w.GetStatusMessage()}
				})
		})
}

// stored describes the command about one kind of data that a coordinator stores for jobs: data sets or tables.
type stored[T interface{ GetDisplayName() string }] struct {
	command, singular, plural string

	list    func(c *client.Client, ctx context.Context) iter.Seq2[T, error]
	message func(all []T) proto.Message
	header  string
	cells   func(T) []any

	id     func(T) string
	remove func(ctx context.Context, c *client.Client, id string) (proto.Message, error)
}

func (a *app) datasetsCommand() *cobra.Command {
	return storedCommand(a, stored[*cleavev1.Dataset]{
		command: "datasets", singular: "data set", plural: "data sets",
		list:    (*client.Client).ListDatasets,
		message: func(all []*cleavev1.Dataset) proto.Message { return &cleavev1.ListDatasetsResponse{Datasets: all} },
		header:  "DATASET\tNAME\tKIND\tROWS\tCOLUMNS\tNON-ZEROS\tSIZE\tCREATED",
		cells: func(d *cleavev1.Dataset) []any {
			return []any{d.GetDatasetId(), d.GetDisplayName(), report.ShortName(d.GetKind()), d.GetRows(),
				d.GetColumns(), d.GetNonZeros(), text.Bytes(d.GetBytes()), report.FormatTime(d.GetCreateTime())}
		},
		id: (*cleavev1.Dataset).GetDatasetId,
		remove: func(ctx context.Context, c *client.Client, id string) (proto.Message, error) {
			if _, err := c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id}); err != nil {
				return nil, err // the service would treat a mistyped id as deleted already
			}
			return c.Datasets.DeleteDataset(ctx, &cleavev1.DeleteDatasetRequest{DatasetId: id})
		},
	})
}

func (a *app) tablesCommand() *cobra.Command {
	return storedCommand(a, stored[*cleavev1.Table]{
		command: "tables", singular: "table", plural: "tables of constraints, seeds and other inputs",
		list:    (*client.Client).ListTables,
		message: func(all []*cleavev1.Table) proto.Message { return &cleavev1.ListTablesResponse{Tables: all} },
		header:  "TABLE\tNAME\tCOLUMNS\tROWS\tSIZE\tCREATED",
		cells: func(t *cleavev1.Table) []any {
			var names []string
			for _, column := range t.GetColumns() {
				names = append(names, column.GetName())
			}
			return []any{t.GetTableId(), t.GetDisplayName(), strings.Join(names, ","), t.GetRows(),
				text.Bytes(t.GetBytes()), report.FormatTime(t.GetCreateTime())}
		},
		id: (*cleavev1.Table).GetTableId,
		remove: func(ctx context.Context, c *client.Client, id string) (proto.Message, error) {
			if _, err := c.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: id}); err != nil {
				return nil, err
			}
			return c.Tables.DeleteTable(ctx, &cleavev1.DeleteTableRequest{TableId: id})
		},
	})
}

// storedCommand returns the command that lists and deletes stored data of a kind.
func storedCommand[T interface{ GetDisplayName() string }](a *app, s stored[T]) *cobra.Command {
	var server string
	var asJSON bool
	cmd, set := argsCommand(s.command+" [list | delete ID]", "List or delete the "+s.plural+" of a coordinator",
		func(ctx context.Context, args []string) error {
			what := "list"
			if len(args) > 0 {
				what, args = args[0], args[1:]
			}
			switch what {
			case "list":
				if len(args) > 0 {
					return shell.Usage("unexpected argument %q after %s list", args[0], s.command)
				}
				return a.onServer(server, func(c *client.Client) error {
					all, err := client.All(s.list(c, ctx))
					return printList(a, asJSON, s.message(all), all, err, s.header, s.cells)
				})
			case "delete":
				given, err := oneArgument(args, s.singular)
				if err != nil {
					return err
				}
				return a.onServer(server, func(c *client.Client) error {
					id, err := pickByID(s.singular, given, storedIDLength, func() (found []candidate, _ error) {
						all, err := client.All(s.list(c, ctx))
						for _, item := range all {
							found = append(found, candidate{id: s.id(item), about: text.OneLine(item.GetDisplayName())})
						}
						return found, err
					})
					if err != nil {
						return err
					}
					response, err := s.remove(ctx, c, id)
					if err != nil {
						return err
					}
					return a.print(asJSON, response, "%s: deleted\n", id)
				})
			}
			return shell.Usage("unknown command %q; use %s list or %s delete ID", what, s.command, s.command)
		})
	cmd.ValidArgsFunction = fixed("list", "delete")
	addServerFlag(set, &server)
	addJSONFlag(set, &asJSON)
	return cmd
}

func (a *app) backupCommand() *cobra.Command {
	var server, out string
	cmd, set := flagsCommand("backup --out FILE",
		"Copy everything that a coordinator stores into one file, while it is running",
		func(ctx context.Context) error {
			if out == "" {
				return shell.Usage("the file is missing; give --out")
			}
			return a.onServer(server, func(c *client.Client) error { return a.backup(ctx, c, out) })
		})
	addServerFlag(set, &server)
	set.StringVar(&out, "out", "", "`FILE` to write, which must not exist; - for standard output. coordinator "+
		"--restore FILE restores it")
	return cmd
}

// backup writes a backup to a file, under another name until it is complete and known to be intact.
func (a *app) backup(ctx context.Context, c *client.Client, path string) error {
	if path == "-" {
		_, err := a.receiveBackup(ctx, c, a.stdout, func(uint64) error { return nil })
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return wouldOverwrite(path)
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // with mode 0600
	if err != nil {
		return shell.Usage("--out %s cannot be written: %v", path, err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	head, err := a.receiveBackup(ctx, c, file, func(total uint64) error {
		free, known := store.FreeBytes(filepath.Dir(path))
		if known && uint64(free) < total {
			return fault.New(fault.ResourceExhausted, store.DiskFull,
				"the backup needs %s, but only %s are free in %s; choose another --out",
				text.Bytes(total), text.Bytes(free), filepath.Dir(path))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := publish(file.Name(), path); err != nil {
		return err
	}
	return a.printf("%s has the state of revision %d and %s, %s in all; restore it into an empty directory with: "+
		"coordinator --restore %s --data-dir DIR\n",
		path, head.Revision, text.Plural(head.Blobs, "blob"), text.Bytes(head.Bytes), path)
}

// wouldOverwrite returns the error for a backup whose file exists: it may be the only other copy of the state.
func wouldOverwrite(path string) error {
	return fault.Invalid("WOULD_OVERWRITE", "%s already exists and is not overwritten; choose another --out", path)
}

// publish gives a temporary file its name, unless a file of this name exists. It takes the name with an empty file
// first, because Rename would replace a file that appeared meanwhile, and some file systems have no links.
func publish(temporary, path string) error {
	taken, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return wouldOverwrite(path)
	}
	if err != nil {
		return err
	}
	taken.Close()
	if err := os.Rename(temporary, path); err != nil {
		os.Remove(path)
		return err
	}
	return nil
}

// receiveBackup copies a backup to w and checks it on the way. It calls room with the length before it writes
// anything, and warns of values that were damaged in the state of the coordinator.
func (a *app) receiveBackup(ctx context.Context, c *client.Client, w io.Writer,
	room func(total uint64) error) (backup.Head, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.Cluster.Backup(ctx, &cleavev1.BackupRequest{})
	if err != nil {
		return backup.Head{}, err
	}
	first, err := stream.Recv()
	if err != nil {
		return backup.Head{}, err
	}
	if err := room(first.GetTotalBytes()); err != nil {
		return backup.Head{}, err
	}
	received := &wire.PartReader{Next: func() ([]byte, error) {
		part, err := stream.Recv()
		return part.GetContent(), err
	}}
	all := io.TeeReader(received, w)
	head, err := backup.Check(all)
	if err == nil {
		_, err = io.Copy(io.Discard, all) // the padding of the last block
	}
	if received.Err != nil {
		return head, received.Err
	}
	if err == nil && head.Damaged > 0 {
		a.warn("the backup lacks %s, damaged in the coordinator's state; keep older backups. Lost: %s",
			text.Plural(head.Damaged, "value"), text.First(head.DamagedKeys, 50))
	}
	return head, err
}
