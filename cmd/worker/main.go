// Command worker computes for a coordinator: it builds and holds tiles of matrices and vectors.
package main

import (
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/worker"
)

func main() {
	os.Exit(shell.Run(shell.Interruptible(), command(), os.Args[1:], os.Stderr))
}

func command() *cobra.Command {
	cfg := worker.Config{Version: shell.Version(), Threads: runtime.GOMAXPROCS(0)}
	logs := shell.Logs{}
	watched := observe.Options{}
	memory := shell.Size(memlimit.Default())
	cfg.Name, _ = os.Hostname()
	cmd := &cobra.Command{
		Use:   "worker --coordinator HOST:PORT",
		Short: "Compute for a Cleave coordinator",
		Args:  shell.FlagsOnly,
	}
	set := cmd.Flags()
	set.StringVar(&cfg.Coordinator, "coordinator", "",
		"`HOST:PORT` of the coordinator, or a comma-separated list of several; the worker finds the one that leads")
	set.StringVar(&cfg.Name, "name", cfg.Name, "a `NAME` to show in lists")
	set.IntVar(&cfg.Threads, "threads", cfg.Threads, "threads to compute with")
	set.Var(&memory, "memory", "memory for tiles and data, such as 4GiB; the process takes up to 64 MiB more "+
		"(default: 80% of the machine's memory)")
	set.DurationVar(&cfg.KeepFor, "keep-for", worker.DefaultKeepFor,
		"how long to keep tiles for another coordinator after the one they were built for is gone")
	addDataFlags(set, &cfg)
	cfg.Dial.AddFlags(set)
	logs.AddFlags(set, "info")
	watched.AddFlags(set, os.Getenv)
	help().Install(cmd)
	shell.Configurable(cmd, "CLEAVE_WORKER", os.Environ())
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if cfg.Coordinator == "" {
			return shell.Usage("no coordinator; give --coordinator HOST:PORT")
		}
		if cfg.Logger, err = logs.Logger("worker", os.Stderr); err != nil {
			return err
		}
		cfg.MemoryBytes, cfg.Warning = uint64(memory), memlimit.Warning(uint64(memory))
		worker.LimitProcess(cfg.MemoryBytes)
		return work(cmd.Context(), cfg, watched)
	}
	return cmd
}
