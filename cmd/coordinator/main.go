// Command coordinator serves the API, keeps jobs and data, and places tiles on workers.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/observe"
)

func main() {
	os.Exit(shell.Run(shell.Interruptible(), command(), os.Args[1:], os.Stderr))
}

func command() *cobra.Command {
	cfg := coordinator.DefaultConfig()
	logs := shell.Logs{}
	watched := observe.Options{}
	memory := shell.Size(memlimit.Default())
	uploads := shell.Size(0)
	cmd := &cobra.Command{Use: "coordinator --data-dir DIR", Short: "Serve the Cleave API and place tiles on workers",
		Args: shell.FlagsOnly}
	set := cmd.Flags()
	set.StringVar(&cfg.Listen, "listen", cfg.Listen, "`HOST:PORT` to serve on; port 0 picks a free one")
	addStoreFlags(set, &cfg)
	set.Var(&memory, "memory",
		"memory of this process, such as 4GiB, for jobs (data sets, eigenvectors, graphs), uploads and caches; "+
			"it takes up to 64 MiB more (default: 80% of the machine's memory)")
	set.Var(&uploads, "upload-memory", "memory for all concurrent uploads, such as 2GiB, at most half of --memory; a "+
		"larger upload takes memory that jobs leave (default: a quarter of --memory)")
	addClusterFlags(set, &cfg)
	addLimitFlags(set, &cfg)
	addSecurityFlags(set, &cfg.Security)
	cfg.HTTP.AddFlags(set)
	cfg.Webhooks.AddFlags(set)
	cfg.Imports.AddFlags(set)
	logs.AddFlags(set, "info")
	watched.AddFlags(set, os.Getenv)
	help().Install(cmd)
	shell.Configurable(cmd, "CLEAVE_COORDINATOR", os.Environ())
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if cfg.Logger, err = logs.Logger("coordinator", os.Stderr); err != nil {
			return err
		}
		cfg.SetMemory(int64(memory), int64(uploads))
		cfg.Version = shell.Version()
		coordinator.LimitProcess(int64(memory))
		if warning := memlimit.Warning(uint64(memory)); warning != "" {
			cfg.Logger.Warn("this coordinator " + warning)
		}
		return serve(cmd.Context(), cfg, watched)
	}
	return cmd
}
