// Command coordinator serves the API, keeps jobs and data, and places tiles on workers.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(shell.Run(ctx, command(), os.Args[1:], os.Stderr))
}

func command() *cobra.Command {
	cfg, level := coordinator.DefaultConfig(), "info"
	memory, uploads := shell.Bytes(shell.DefaultMemory()), shell.Bytes(shell.DefaultMemory()/4)
	cfg.Version = shell.Version()
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
	addElectionFlags(set, &cfg.Election)
	set.Var(&memory, "memory", "memory for jobs in this process, such as 4GiB: data sets, eigenvectors, graphs; the process takes up to 64 MiB more (default: 80% of the machine's)")
	set.DurationVar(&cfg.WorkerWait, "worker-wait", cfg.WorkerWait, "how long a job that was running waits when workers are lost and the others have too little memory for it")
	set.Var(&uploads, "upload-memory", "memory for all uploads that are under way at a time, such as 2GiB (default: 20% of the machine's)")
	set.DurationVar(&cfg.UploadStall, "upload-stall", cfg.UploadStall, "how long an upload may be silent before it is given up")
	set.DurationVar(&cfg.HeartbeatInterval, "heartbeat", cfg.HeartbeatInterval, "how often workers send a heartbeat")
	set.DurationVar(&cfg.LostAfter, "lost-after", cfg.LostAfter, "how long a worker may be silent until its tiles go to others")
	set.DurationVar(&cfg.ReconnectWithin, "reconnect-within", cfg.ReconnectWithin, "how long a worker whose connection was closed keeps its tiles")
	set.DurationVar(&cfg.StalledAfter, "stalled-after", cfg.StalledAfter, "how long a worker may make no progress until its tiles go to others; 30 times what is planned for a piece of work if that is longer")
	set.StringVar(&level, "log-level", level, "trace, debug, info, warn, error or off")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if cfg.Logger, err = shell.Logger("coordinator", level, os.Stderr); err != nil {
			return err
		}
		cfg.MemoryBytes, cfg.UploadBytes = int64(memory), int64(uploads)
		coordinator.LimitProcess(cfg.MemoryBytes)
		err = coordinator.Run(cmd.Context(), cfg, func(a net.Addr) { fmt.Printf("listening on %s\n", a) })
		return shell.Stopped(cmd.Context(), err)
	}
	return cmd
}
