package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/imports"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/objects"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/worker"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type serveFlags struct {
	listen, dataDir string
	logs            shell.Logs
	watched         observe.Options
	workers         *jobflags.OptionFlag
	insecure        bool
	http            coordinator.HTTP
	imports         imports.Config
	private         bool
}

func (a *app) serveCommand() *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a coordinator and workers in one process, for trials",
		Args:  shell.FlagsOnly,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.listen, "listen", coordinator.DefaultConfig().Listen, "`HOST:PORT` to serve on; port 0 picks a free one")
	f.workers = jobflags.NewWhole(embeddedWorkers, 0, 1024).Declare(set, "workers", "number of workers in this process; others may join")
	set.StringVar(&f.dataDir, "data-dir", "", "store jobs and data in this `DIR` (default: in memory, lost at the end)")
	set.BoolVar(&f.insecure, "insecure", false, "serve other machines without encryption or access control; the program coordinator supports certificates")
	f.http.AddFlags(set)
	f.imports.AddFlags(set)
	set.BoolVar(&f.private, "private", false, "serve only the program that starts this one: print a token, refuse every call without it, and end when standard input closes")
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
	if f.private && f.insecure {
		return shell.Usage("--private sends a token with every call, and --insecure lets other machines read it on the way; give one of them")
	}
	cfg := coordinator.DefaultConfig()
	cfg.Listen, cfg.DataDir = f.listen, f.dataDir
	cfg.Security.Serve.Insecure = f.insecure
	cfg.HTTP, cfg.Imports = f.http, f.imports
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
		return shell.Usage("other machines can reach %s; use the program coordinator with certificates, or cleave serve --insecure without encryption", f.listen)
	}
	if err != nil {
		return err
	}
	observing.SetReady(cluster.Ready)
	cluster.Drained = func(name string, left int) {
		a.warn("%s", drained(name, left, cluster.Address))
	}
	cluster.AddWorkers(f.workers.Whole(), worker.Config{
		Coordinator: cluster.Address.String(),
		Dial:        dial,
		Version:     shell.Version(),
		Logger:      logger.Named("worker"),
		Observe:     observing.Worker(),
	})
	ctx, done := cluster.Context(ctx)
	defer done()
	if cluster.AwaitWorkers(ctx, f.workers.Whole()) == nil { // the first request needs them
		fmt.Fprintf(a.stdout, "listening on %s\n", cluster.Address)
	}
	<-ctx.Done()
	cluster.Stop()
	return cluster.Err()
}

// drained returns the message for a worker of this process that was drained; if it was the last, how to add another.
func drained(name string, left int, coordinator net.Addr) string {
	if left > 0 {
		return fmt.Sprintf("%s was drained and has left; workers in this process: %d", name, left)
	}
	return fmt.Sprintf("%s was drained and has left; it was the last worker in this process. Jobs wait until another joins: worker --coordinator %s", name, coordinator)
}

// serverVariable is the environment variable that names the coordinator if --server does not.
const serverVariable = "CLEAVE_SERVER"

func addServerFlag(set *pflag.FlagSet) *string {
	return set.String("server", "", "coordinator to use, `HOST:PORT`, or a comma-separated list of several (default $"+serverVariable+")")
}

func addJSONFlag(set *pflag.FlagSet) *bool { return set.Bool("json", false, "print JSON") }

// remote connects to the coordinator that --server, the environment or a login names. It fails if none does.
func (a *app) remote(server string) (*client.Client, error) {
	t, err := a.target(server)
	if err != nil {
		return nil, err
	}
	if t.server == "" {
		return nil, fault.Invalid("NO_COORDINATOR", "no coordinator; give --server HOST:PORT, set %s, or log in with: cleave login --server HOST:PORT", serverVariable)
	}
	return a.connectTo(t)
}

// remoteOrNil connects to the coordinator that --server, the environment or a login names. It returns nil if none does, or
// if --workers asks for an embedded cluster. If no flag names the coordinator, it prints which one is used.
func (a *app) remoteOrNil(server string, f *jobflags.Flags) (*client.Client, error) {
	switch {
	case server != "" && f.Given("workers"):
		return nil, shell.Usage("--workers is for runs on this machine; a coordinator has its own workers")
	case f.Given("workers"):
		return nil, nil
	}
	t, err := a.target(server)
	if err != nil || t.server == "" {
		return nil, err
	}
	if t.source != "" {
		a.warn("using the coordinator %s (%s); --workers N runs on this machine instead", t.server, t.source)
	}
	return a.connectTo(t)
}

// describedJob has the flags that describe a job and name the coordinator that runs it.
type describedJob struct {
	job    *jobflags.Flags
	server *string
}

// describingCommand returns a command about a job that its flags describe.
func (a *app) describingCommand(name, short string, f *describedJob, run func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " (--data FILE | --graph FILE | --kernel-matrix FILE) --k N",
		Short: short,
		Args:  noDataArgument,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) },
	}
	f.job, f.server = jobflags.Add(cmd.Flags()), addServerFlag(cmd.Flags())
	f.job.Stdin = a.stdin
	return cmd
}

// noDataArgument is shell.FlagsOnly, except that it says which flag takes a file.
func noDataArgument(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if _, err := os.Stat(args[0]); err == nil {
			return fmt.Errorf("unexpected argument %q: give the data by --data %s, or by --graph or --kernel-matrix", args[0], args[0])
		}
	}
	return shell.FlagsOnly(cmd, args)
}

// prepare makes a job of the flags and prints its notices. c is nil if there is no coordinator yet.
func (a *app) prepare(ctx context.Context, f *jobflags.Flags, c *client.Client) (*jobflags.Job, error) {
	var describe func(ctx context.Context, datasetID string) (*cleavev1.Dataset, error)
	if c != nil {
		describe = c.DescribeDataset
	}
	j, err := f.Prepare(ctx, describe)
	if err != nil {
		return nil, err
	}
	a.notify(j.AllNotices(c != nil)...)
	return j, nil
}

// remoteCommand returns a command with --server and --json that calls a coordinator. what names its only argument, such as "job";
// if it is "", the command takes none. The id of a job may be shortened.
func (a *app) remoteCommand(use, short, what string, run func(ctx context.Context, c *client.Client, argument string, asJSON bool) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	server, asJSON := addServerFlag(cmd.Flags()), addJSONFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		do := func(c *client.Client, argument string) error { return run(cmd.Context(), c, argument, *asJSON) }
		if what == "job" {
			return a.onJob(cmd.Context(), *server, args, do)
		}
		argument, err := oneArgument(args, what)
		if err != nil {
			return err
		}
		return a.onServer(*server, func(c *client.Client) error { return do(c, argument) })
	}
	if what == "" {
		cmd.Args = shell.FlagsOnly
	}
	return cmd
}

// printList prints a list as a message of the API or as a table with a tab-separated header, unless err is set.
func printList[T any](a *app, asJSON bool, message proto.Message, list []T, err error, header string, cells func(T) []any) error {
	if err != nil {
		return err
	}
	if asJSON {
		return report.PrintMessage(a.stdout, message)
	}
	table := shell.Table{Header: strings.Split(header, "\t")}
	for _, item := range list {
		table.Add(cells(item)...)
	}
	return table.Write(a.stdout, shell.Width(a.stdout, a.env))
}

// onJob connects to a coordinator and calls do with the job that the only argument names.
func (a *app) onJob(ctx context.Context, server string, args []string, do func(c *client.Client, jobID string) error) error {
	given, err := oneArgument(args, "job")
	if err != nil {
		return err
	}
	return a.onServer(server, func(c *client.Client) error {
		id, err := jobID(ctx, c, given)
		if err != nil {
			return err
		}
		return do(c, id)
	})
}

// onFolderOrJob calls folder if the only argument is a folder, and otherwise job with the job that it names.
func (a *app) onFolderOrJob(ctx context.Context, server string, args []string, folder func(path string) error, job func(c *client.Client, jobID string) error) error {
	what, err := oneArgument(args, "job or folder")
	if err != nil {
		return err
	}
	if info, err := os.Stat(what); err == nil && info.IsDir() {
		return folder(what)
	}
	err = a.onJob(ctx, server, args, job)
	if fault.Is(err, "NO_COORDINATOR") {
		return shell.Usage("there is no folder %s; for a job of a coordinator, give --server HOST:PORT or set %s", what, serverVariable)
	}
	return err
}

// onServer connects to a coordinator, calls do, and explains its errors.
func (a *app) onServer(server string, do func(c *client.Client) error) error {
	c, err := a.remote(server)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Explain(do(c))
}

// oneArgument returns the only argument of a command, which what names, or "" if what is "".
func oneArgument(args []string, what string) (string, error) {
	switch {
	case what == "":
		return "", nil
	case len(args) == 0:
		return "", shell.Usage("the %s is missing; give it after the command", what)
	case len(args) > 1:
		return "", shell.Usage("unexpected argument %q: give one %s", args[1], what)
	}
	return args[0], nil
}
