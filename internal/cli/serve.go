package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
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

// serverVariable names the coordinator when --server does not.
const serverVariable = "CLEAVE_SERVER"

// addServerFlag declares --server.
func addServerFlag(set *pflag.FlagSet) *string {
	return set.String("server", "", "coordinator to use, `HOST:PORT`, or several with commas between them (default $"+serverVariable+")")
}

// addJSONFlag declares --json.
func addJSONFlag(set *pflag.FlagSet) *bool { return set.Bool("json", false, "print JSON") }

// remote connects to the coordinator that --server, the environment or a login names.
func (a *app) remote(server string) (*client.Client, error) {
	c, err := a.connect(server)
	if c == nil && err == nil {
		err = fault.Invalid("NO_COORDINATOR", "which coordinator? Give --server HOST:PORT, set %s, or log in with: cleave login --server HOST:PORT", serverVariable)
	}
	return c, err
}

// remoteOrNil connects to the coordinator that --server, the environment or a login names. The client is nil when
// none does, or when --workers asks for an embedded cluster. If no flag names the coordinator, it says which one is used.
func (a *app) remoteOrNil(server string, f *jobflags.Flags) (*client.Client, error) {
	switch {
	case server != "" && f.Given("workers"):
		return nil, shell.Usage("--workers is for an embedded run; with --server the coordinator has its own")
	case f.Given("workers"):
		return nil, nil
	}
	t, err := a.target(server)
	if err != nil || t.server == "" {
		return nil, err
	}
	if t.source != "" {
		fmt.Fprintf(a.stderr, "cleave: using the coordinator %s (%s); --workers N runs on this machine instead\n", t.server, t.source)
	}
	return a.connectTo(t)
}

// describedJob are the flags that describe a job and name the coordinator that runs it.
type describedJob struct {
	job    *jobflags.Flags
	server *string
}

// describingCommand is a command on a job that its flags describe.
func (a *app) describingCommand(name, short string, f *describedJob, run func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name + " (--data FILE | --graph FILE | --kernel-matrix FILE) --k N",
		Short: short,
		Args:  shell.FlagsOnly,
		RunE:  func(cmd *cobra.Command, _ []string) error { return run(cmd.Context()) },
	}
	f.job, f.server = jobflags.Add(cmd.Flags()), addServerFlag(cmd.Flags())
	f.job.Stdin = a.stdin
	return cmd
}

// prepare makes a job of the flags, and says what was found out about its files, and why it has its algorithm if the
// flags only hint at it. c is nil when there is no coordinator yet.
func (a *app) prepare(ctx context.Context, f *jobflags.Flags, c *client.Client) (*jobflags.Job, error) {
	var describe func(ctx context.Context, datasetID string) (*cleavev1.Dataset, error)
	if c != nil {
		describe = c.DescribeDataset
	}
	j, err := f.Prepare(ctx, describe)
	if err != nil {
		return nil, err
	}
	for _, notice := range j.AllNotices(c != nil) {
		fmt.Fprintf(a.stderr, "cleave: %s\n", notice)
	}
	return j, nil
}

// listingCommand is a command that lists what a coordinator has.
func (a *app) listingCommand(name, short string, list func(ctx context.Context, c *client.Client, asJSON bool) error) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: shell.FlagsOnly}
	server, asJSON := addServerFlag(cmd.Flags()), addJSONFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.onServer(*server, func(c *client.Client) error { return list(cmd.Context(), c, *asJSON) })
	}
	return cmd
}

// printList prints a list, as the message of the API or as a table; err is why there is none.
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

// onJob calls do with the one job that the arguments name.
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

// onJobNoFolder is onJob of an argument that could also have been the folder of a run.
func (a *app) onJobNoFolder(ctx context.Context, server string, args []string, do func(c *client.Client, jobID string) error) error {
	err := a.onJob(ctx, server, args, do)
	if fault.Is(err, "NO_COORDINATOR") && len(args) == 1 {
		return shell.Usage("there is no folder %s; if it is a job of a coordinator, give --server HOST:PORT or set %s", args[0], serverVariable)
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

// oneArgument is the id after a command that takes exactly one.
func oneArgument(args []string, what string) (string, error) {
	switch {
	case len(args) == 0:
		return "", shell.Usage("which %s? Give its id after the command", what)
	case len(args) > 1:
		return "", shell.Usage("one %s at a time: what is %q?", what, args[1])
	}
	return args[0], nil
}
