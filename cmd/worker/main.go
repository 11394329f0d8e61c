// Command worker computes for a coordinator: it builds and holds tiles of matrices and vectors.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/worker"
)

func main() {
	cmd, _ := command()
	os.Exit(shell.Run(shell.Interruptible(), cmd, os.Args[1:], os.Stderr))
}

// command returns the program and its help.
func command() (*cobra.Command, *shell.Help) {
	o := defaultOptions()
	cmd := &cobra.Command{
		Use:   "worker --coordinator HOST:PORT",
		Short: "Compute for a Cleave coordinator",
		Args:  shell.FlagsOnly,
	}
	help := o.declare(cmd.Flags())
	help.Install(cmd)
	shell.Configurable(cmd, "CLEAVE_WORKER", os.Environ())
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		cfg := o.cfg
		if cfg.Coordinator == "" {
			return shell.Usage("no coordinator; give --coordinator HOST:PORT")
		}
		if cfg.Logger, err = o.logs.Logger("worker", os.Stderr); err != nil {
			return err
		}
		cfg.MemoryBytes = uint64(o.memory)
		cfg.Warning = memlimit.Warning(cfg.MemoryBytes)
		worker.LimitProcess(cfg.MemoryBytes)
		return work(cmd.Context(), cfg, o.watched)
	}
	return cmd, help
}
