package cli

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/worker"
)

type serveFlags struct {
	listen, dataDir string
	logs            shell.Logs
	watched         observe.Options
	workers         *jobflags.OptionFlag
	insecure        bool
}

func (a *app) serveCommand() *cobra.Command {
	f := &serveFlags{workers: jobflags.NewWhole(embeddedWorkers, 0, 1024)}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a coordinator and workers in one process, to try things out",
		Args:  shell.FlagsOnly,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.listen, "listen", coordinator.DefaultConfig().Listen, "`HOST:PORT` to serve on; port 0 picks a free one")
	set.Var(f.workers, "workers", "workers in this process; others may join")
	set.StringVar(&f.dataDir, "data-dir", "", "keep jobs and data in this `DIR` (default: in memory, until the end)")
	set.BoolVar(&f.insecure, "insecure", false, "serve other machines without encryption, and let everyone do everything; the program coordinator has certificates")
	f.logs.AddFlags(set, "warn")
	f.watched.AddFlags(set, a.env)
	shell.Configurable(cmd, "CLEAVE_SERVE", os.Environ())
	return cmd
}

func (a *app) serve(ctx context.Context, f *serveFlags) error {
	logger, err := f.logs.Logger("cleave", a.stderr)
	if err != nil {
		return err
	}
	cfg := coordinator.DefaultConfig()
	cfg.Listen, cfg.DataDir = f.listen, f.dataDir
	cfg.Security.Serve.Insecure = f.insecure
	cfg.MemoryBytes = int64(shell.DefaultMemory())
	if f.dataDir == "" {
		cfg.Store = "memory"
	}
	cfg.Logger, cfg.Version = logger.Named("coordinator"), shell.Version()
	observing, err := observe.Start(ctx, f.watched, "serve", shell.Version(), logger)
	if err != nil {
		return err
	}
	defer observing.Close()
	if address := observing.AdminAddr(); address != "" {
		fmt.Fprintf(a.stdout, "admin on %s\n", address)
	}
	cfg.Observe = observing.Coordinator()
	cluster, err := client.StartCluster(ctx, cfg)
	if fault.Is(err, credentials.NotSecure) {
		return shell.Usage("%s is reached by other machines; the program coordinator serves them with certificates, cleave serve only with --insecure, without encryption", f.listen)
	}
	if err != nil {
		return err
	}
	observing.SetReady(cluster.Ready)
	cluster.Drained = func(name string, left int) {
		fmt.Fprintf(a.stderr, "cleave: %s\n", drained(name, left, cluster.Address))
	}
	cluster.AddWorkers(f.workers.Whole(), worker.Config{
		Coordinator: cluster.Address.String(),
		Dial:        credentials.Dial{Insecure: f.insecure},
		Version:     shell.Version(),
		Logger:      logger.Named("worker"),
		Observe:     observing.Worker(),
	})
	ctx, done := cluster.Context(ctx)
	defer done()
	if cluster.AwaitWorkers(ctx, f.workers.Whole()) == nil { // so that the first request finds them
		fmt.Fprintf(a.stdout, "listening on %s\n", cluster.Address)
	}
	<-ctx.Done()
	cluster.Stop()
	return cluster.Err()
}

// drained says that a worker of this process has left it, and when it was the last, how to get another.
func drained(name string, left int, coordinator net.Addr) string {
	if left > 0 {
		return fmt.Sprintf("%s is drained and has left; workers that remain in this process: %d", name, left)
	}
	return fmt.Sprintf("%s is drained and has left, the last worker of this process. Jobs wait until another joins: worker --coordinator %s", name, coordinator)
}
