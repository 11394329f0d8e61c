// Command coordinator serves the API, keeps jobs and data, and places tiles on workers.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/memlimit"
)

func main() {
	cmd, _ := command()
	os.Exit(shell.Run(shell.Interruptible(), cmd, os.Args[1:], os.Stderr))
}

// command returns the program and its help.
func command() (*cobra.Command, *shell.Help) {
	o := defaultOptions()
	cmd := &cobra.Command{Use: "coordinator --data-dir DIR", Short: "Serve the Cleave API and place tiles on workers",
		Args: shell.FlagsOnly}
	help := o.declare(cmd.Flags())
	help.Install(cmd)
	shell.Configurable(cmd, "CLEAVE_COORDINATOR", os.Environ())
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		cfg, memory := o.cfg, int64(o.memory)
		if cfg.Logger, err = o.logs.Logger("coordinator", os.Stderr); err != nil {
			return err
		}
		cfg.SetMemory(memory, int64(o.uploads))
		cfg.Version = shell.Version()
		coordinator.LimitProcess(memory)
		if warning := memlimit.Warning(uint64(memory)); warning != "" {
			cfg.Logger.Warn("this coordinator " + warning)
		}
		return serve(cmd.Context(), cfg, o.watched)
	}
	return cmd, help
}
