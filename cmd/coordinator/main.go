// Command coordinator serves the API, keeps jobs and data, and places tiles on workers.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/observe"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(shell.Run(ctx, command(), os.Args[1:], os.Stderr))
}

func command() *cobra.Command {
	cfg, logs, watched := coordinator.DefaultConfig(), shell.Logs{}, observe.Options{}
	memory, uploads := shell.Bytes(shell.DefaultMemory()), shell.Bytes(shell.DefaultMemory()/4)
	cmd := &cobra.Command{
		Use:   "coordinator --data-dir DIR",
		Short: "Serve the Cleave API and place tiles on workers",
		Args:  shell.FlagsOnly,
	}
	set := cmd.Flags()
	set.StringVar(&cfg.Listen, "listen", cfg.Listen, "`HOST:PORT` to serve on; port 0 picks a free one")
	set.StringVar(&cfg.DataDir, "data-dir", "", "`DIR` for the embedded store and the blobs")
	set.StringVar(&cfg.Store, "store", cfg.Store, "where jobs are kept: embedded, memory or etcd://A:2379,B:2379")
	set.StringVar(&cfg.Blobs, "blobs", "", "where data and results are kept: a directory or a `URL` (default DIR/blobs)")
	set.DurationVar(&cfg.BlobsStall, "blobs-stall", cfg.BlobsStall, "how long the place of the blobs may move no byte before what waits for it is refused or tries again")
	addElectionFlags(set, &cfg.Election)
	set.Var(&memory, "memory", "memory for jobs in this process, such as 4GiB: data sets, eigenvectors, graphs; the process takes up to 64 MiB more (default: 80% of the machine's)")
	set.Var(&uploads, "upload-memory", "memory for all uploads that are under way at a time, such as 2GiB (default: 20% of the machine's)")
	addWorkerFlags(set, &cfg)
	addSnapshotFlags(set, &cfg.Snapshots)
	addDistrustFlags(set, &cfg.Distrust)
	addLimitFlags(set, &cfg)
	addSecurityFlags(set, &cfg.Security)
	logs.AddFlags(set, "info")
	watched.AddFlags(set, os.Getenv)
	help().Install(cmd)
	shell.Configurable(cmd, "CLEAVE_COORDINATOR", os.Environ())
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if cfg.Logger, err = logs.Logger("coordinator", os.Stderr); err != nil {
			return err
		}
		cfg.MemoryBytes, cfg.UploadBytes, cfg.Version = int64(memory), int64(uploads), shell.Version()
		coordinator.LimitProcess(cfg.MemoryBytes)
		return serve(cmd.Context(), cfg, watched)
	}
	return cmd
}
