package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/imports"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/objects"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/worker"
)

type serveFlags struct {
	listen, dataDir string
	logs            shell.Logs
	watched         observe.Options
	workers         *shell.Value
	insecure        bool
	http            coordinator.HTTP
	imports         imports.Config
	private         bool
}

func (a *app) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd, set := flagsCommand("serve", "Run a coordinator and workers in one process, for trials",
		func(ctx context.Context) error { return a.serve(ctx, f) })
	set.StringVar(&f.listen, "listen", coordinator.DefaultConfig().Listen,
		"`HOST:PORT` to serve on; port 0 picks a free one")
	f.workers = shell.NewWhole(embeddedWorkers, 0, 1024).Declare(set, "workers",
		"number of workers in this process; others may join")
	set.StringVar(&f.dataDir, "data-dir", "", "store jobs and data in this `DIR` (default: in memory, lost at the end)")
	set.BoolVar(&f.insecure, "insecure", false,
		"serve other machines without encryption or access control; the program coordinator supports certificates")
	shell.HTTPFlags(set, &f.http.Origins, &f.http.Hosts)
	shell.ImportFlag(set, &f.imports.Allow)
	set.BoolVar(&f.private, "private", false,
		"serve only the program that starts this one: print a token, refuse every call without it, and end when "+
			"standard input closes")
	f.logs.AddFlags(set, "warn")
	shell.ObserveFlags(set, &f.watched, a.env)
	shell.Configurable(cmd, "CLEAVE_SERVE", os.Environ())
	return cmd
}

// serve runs a coordinator and workers until ctx ends or one of them fails. It prints its address, and with --private
// a token, in lines that programs parse: clients/python does.
func (a *app) serve(ctx context.Context, f *serveFlags) error {
	logger, err := f.logs.Logger("cleave", a.stderr)
	if err != nil {
		return err
	}
	if f.private && f.insecure {
		return shell.Usage("--private sends a token with every call, and --insecure lets other machines read it on " +
			"the way; give one of them")
	}
	cfg := coordinator.DefaultConfig()
	cfg.Listen, cfg.DataDir = f.listen, f.dataDir
	cfg.Security.Serve.Insecure = f.insecure
	cfg.HTTP, cfg.Imports = f.http, f.imports
	cfg.SetMemory(int64(memlimit.Default()), 0)
	if f.dataDir == "" {
		cfg.Store = "memory"
	}
	cfg.Logger = logger.Named("coordinator")
	cfg.Version = shell.Version()
	observing, err := observe.Start(ctx, f.watched, "serve", shell.Version(), logger)
	if err != nil {
		return err
	}
	defer observing.Close()
	if address := observing.AdminAddr(); address != "" {
		fmt.Fprintf(a.stdout, "admin on %s\n", address)
	}
	cfg.Observe = observing.Coordinator()
	dial := credentials.Dial{Insecure: f.insecure}
	if f.private {
		cfg.Imports.Rules = objects.Everything(a.env) // the program that started this one has the same credentials
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		defer end()
		dial.Token = access.NewToken()
		token := access.NewToken()
		cfg.Security.Access.Tokens = map[string]identity.Caller{
			token:      {Name: "parent", Role: identity.Admin},
			dial.Token: {Name: "worker", Role: identity.Worker},
		}
		fmt.Fprintf(a.stdout, "token %s\n", token)
		go func() { // until the process ends: nothing interrupts a read from standard input
			_, _ = io.Copy(io.Discard, a.stdin)
			end()
		}()
	}
	cluster, err := client.StartCluster(ctx, cfg)
	if fault.Is(err, credentials.NotSecure) {
		return shell.Usage("other machines can reach %s; use the program coordinator with certificates, or cleave "+
			"serve --insecure without encryption", f.listen)
	}
	if err != nil {
		return err
	}
	observing.SetReady(cluster.Ready)
	cluster.Drained = func(name string, left int) {
		if left > 0 {
			a.warn("%s was drained and has left; workers in this process: %d", name, left)
			return
		}
		a.warn("%s was drained and has left; it was the last worker in this process. Jobs wait until another joins: "+
			"worker --coordinator %s", name, cluster.Addr())
	}
	cluster.AddWorkers(f.workers.Whole(), worker.Config{
		Coordinator: cluster.Addr().String(),
		Dial:        dial,
		Version:     shell.Version(),
		Logger:      logger.Named("worker"),
		Observe:     observing.Worker(),
	})
	ctx, done := cluster.Context(ctx)
	defer done()
	if cluster.AwaitWorkers(ctx, f.workers.Whole()) == nil { // the first request needs them
		fmt.Fprintf(a.stdout, "listening on %s\n", cluster.Addr())
	}
	<-ctx.Done()
	cluster.Stop()
	return cluster.Err()
}
