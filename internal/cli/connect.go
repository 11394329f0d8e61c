package cli

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/screen"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// serverVariable is the environment variable that names the coordinator if --server does not.
const serverVariable = "CLEAVE_SERVER"

func addServerFlag(set *pflag.FlagSet, server *string) {
	set.StringVar(server, "server", "",
		"coordinator to use, `HOST:PORT`, or a comma-separated list of several (default $"+serverVariable+")")
}

func addJSONFlag(set *pflag.FlagSet, json *bool) { set.BoolVar(json, "json", false, "print JSON") }

// tokenVariable is the environment variable with a token. There is no flag for a token, because all users of the
// machine can see flags.
const tokenVariable = "CLEAVE_TOKEN"

// accessFlags tell how a coordinator is reached and with which credentials.
type accessFlags struct {
	dial      credentials.Dial // without a token, which is not a flag
	tokenFile string
	context   string // the name of a login
}

// addAccessFlags declares the access flags for every command that has --server.
func (a *app) addAccessFlags(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		set := cmd.Flags()
		if set.Lookup("server") == nil {
			continue
		}
		shell.DialFlags(set, &a.access.dial)
		set.StringVar(&a.access.tokenFile, "token-file", "", "`FILE` with a token to send (default $"+tokenVariable+")")
		set.StringVar(&a.access.context, "context", "", "`NAME` of the login to use (default $"+contextVariable+
			", or the last one)")
	}
}

// target is the coordinator that a command calls.
type target struct {
	server string        // HOST:PORT, or a comma-separated list; "" if there is none
	source string        // where the address comes from; "" for --server
	login  *loginContext // credentials; may be nil
}

// target returns the coordinator that --server, the environment or a login names.
func (a *app) target(server string) (target, error) {
	known, err := a.loadContexts()
	var login *loginContext
	if err == nil {
		login, err = known.choose(a.access.context, a.env(contextVariable))
	}
	if err != nil && (server == "" || a.access.context != "") {
		return target{}, err
	}
	if err != nil { // --server does not need a login
		a.warn("your logins are not used: %v", err)
	}
	t := target{server: withPorts(server), login: login}
	if t.server == "" && a.access.context == "" {
		t.server = withPorts(a.env(serverVariable))
		t.source = "$" + serverVariable
	}
	if t.server == "" && login != nil {
		t.server, t.source = login.Server, "your login"
	}
	if t.server != "" && a.access.context != "" && t.server != login.Server {
		return target{}, shell.Usage("--context %s is for %s and not for %s; give one of the two flags",
			a.access.context, login.Server, t.server)
	}
	return t, nil
}

// withPorts adds the default port to addresses without one.
func withPorts(servers string) string {
	list := strings.Split(servers, ",")
	for at, server := range list {
		server = strings.TrimSpace(server)
		host := strings.Trim(server, "[]")
		if _, err := netip.ParseAddr(host); err == nil || server != "" && !strings.ContainsAny(server, ":/") {
			server = net.JoinHostPort(host, coordinator.DefaultPort)
		}
		list[at] = server
	}
	return strings.Join(list, ",")
}

// connectTo connects to a coordinator with its credentials.
func (a *app) connectTo(t target) (*client.Client, error) {
	dial, err := a.dialFor(t.server, t.login)
	if err != nil {
		return nil, err
	}
	c, err := client.Connect(t.server, dial)
	if err == nil {
		c.Warn = a.warn
	}
	return c, err
}

// dialFor returns how to reach a server: with the credentials of the flags, or else of the login, if it is for that
// server.
func (a *app) dialFor(server string, login *loginContext) (credentials.Dial, error) {
	dial := a.access.dial
	if login != nil && login.Server == server && dial == (credentials.Dial{}) {
		dial = credentials.Dial{Files: credentials.Files{CA: login.CA, Cert: login.Cert, Key: login.Key},
			ServerName: login.ServerName, Insecure: login.Insecure, Token: login.Token}
	}
	if token := a.env(tokenVariable); token != "" {
		dial.Token = strings.TrimSpace(token)
	}
	if a.access.tokenFile != "" {
		content, err := os.ReadFile(a.access.tokenFile)
		if err != nil {
			return dial, shell.Usage("the token cannot be read: %v", err)
		}
		dial.Token = strings.TrimSpace(string(content))
	}
	return dial, checkToken(dial.Token)
}

// checkToken refuses characters that a token cannot have. The error does not repeat the token.
func checkToken(token string) error {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return shell.Usage("the token has spaces or control characters; give the token and nothing else")
	}
	return nil
}

// remote connects to the coordinator that --server, the environment or a login names. It fails if none does.
func (a *app) remote(server string) (*client.Client, error) {
	t, err := a.target(server)
	if err != nil {
		return nil, err
	}
	if t.server == "" {
		return nil, fault.Invalid("NO_COORDINATOR",
			"no coordinator; give --server HOST:PORT, set %s, or log in with: cleave login --server HOST:PORT",
			serverVariable)
	}
	return a.connectTo(t)
}

// remoteOrNil connects to the coordinator that --server, the environment or a login names. It returns nil if none
// does, or if workers is set: --workers asks for an embedded cluster. If no flag names the coordinator, it prints which
// one is used.
func (a *app) remoteOrNil(server string, workers bool) (*client.Client, error) {
	switch {
	case server != "" && workers:
		return nil, shell.Usage("--workers is for runs on this machine; a coordinator has its own workers")
	case workers:
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

// jobCommand returns a command with the flags that describe a job, and with --server.
func (a *app) jobCommand(name, short string, server *string,
	run func(context.Context) error) (*cobra.Command, *jobflags.Flags) {
	cmd, set := flagsCommand(name+" (--data FILE | --graph FILE | --kernel-matrix FILE) --k N", short, run)
	cmd.Args = noDataArgument
	job := jobflags.Add(set, a.stdin)
	addServerFlag(set, server)
	return cmd, job
}

// noDataArgument is shell.FlagsOnly, except that it says which flag takes a file.
func noDataArgument(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		if _, err := os.Stat(args[0]); err == nil {
			return fmt.Errorf("unexpected argument %q: give the data with --data %s, or with --graph or "+
				"--kernel-matrix", args[0], args[0])
		}
	}
	return shell.FlagsOnly(cmd, args)
}

// readJob makes a job of the flags and prints its notices. c is nil if an embedded coordinator will be started. If a
// report will list the notices, a terminal shows only the first, so that the output of a run fits on a screen.
func (a *app) readJob(ctx context.Context, f *jobflags.Flags, c *client.Client, reported bool) (*jobflags.Job, error) {
	var describe func(ctx context.Context, datasetID string) (*cleavev1.Dataset, error)
	remote := c != nil && c.Remote()
	if remote {
		describe = c.DescribeDataset
	}
	j, err := f.Prepare(ctx, describe)
	if err != nil {
		return nil, err
	}
	a.notify(j.AllNotices(remote, reported && screen.Terminal(a.stderr) > 0)...)
	return j, nil
}

// remoteCommand returns a command without arguments, with --server and --json, that calls a coordinator.
func (a *app) remoteCommand(
	use, short string, run func(ctx context.Context, c *client.Client, asJSON bool) error,
) *cobra.Command {
	var server string
	var asJSON bool
	cmd, set := flagsCommand(use, short, func(ctx context.Context) error {
		return a.onServer(server, func(c *client.Client) error { return run(ctx, c, asJSON) })
	})
	addServerFlag(set, &server)
	addJSONFlag(set, &asJSON)
	return cmd
}

// remoteIDCommand is like remoteCommand, for a command whose only argument identifies something: what names it, such as
// "job", find returns its id, and complete proposes some.
func (a *app) remoteIDCommand(
	use, short, what string, find finder, complete proposals,
	run func(ctx context.Context, c *client.Client, id string, asJSON bool) error,
) *cobra.Command {
	var server string
	var asJSON bool
	cmd, set := argsCommand(use, short, func(ctx context.Context, args []string) error {
		return a.onID(ctx, server, args, what, find, func(c *client.Client, id string) error {
			return run(ctx, c, id, asJSON)
		})
	})
	cmd.ValidArgsFunction = firstOnly(complete)
	addServerFlag(set, &server)
	addJSONFlag(set, &asJSON)
	return cmd
}

// printList prints a list as a message of the API or as a table with a tab-separated header, unless err is set.
func printList[T any](a *app, asJSON bool, message proto.Message, list []T, err error, header string,
	cells func(T) []any) error {
	if err != nil {
		return err
	}
	if asJSON {
		return report.PrintMessage(a.stdout, message)
	}
	table := screen.Table{Header: strings.Split(header, "\t")}
	for _, item := range list {
		table.Add(cells(item)...)
	}
	return table.Write(a.stdout, screen.Width(a.stdout, a.env))
}

// onJob connects to a coordinator and calls do with the job that the only argument names.
func (a *app) onJob(ctx context.Context, server string, args []string,
	do func(c *client.Client, jobID string) error) error {
	return a.onID(ctx, server, args, "job", jobID, do)
}

// finder returns the id of what an id, a name, or the beginning of one of them stands for.
type finder func(ctx context.Context, c *client.Client, given string) (id string, err error)

// onID connects to a coordinator and calls do with the id that find returns for the only argument, which what names.
func (a *app) onID(
	ctx context.Context, server string, args []string, what string, find finder,
	do func(c *client.Client, id string) error,
) error {
	given, err := oneArgument(args, what)
	if err != nil {
		return err
	}
	return a.onServer(server, func(c *client.Client) error {
		id, err := find(ctx, c, given)
		if err != nil {
			return err
		}
		return do(c, id)
	})
}

// onFolderOrJob calls folder if the only argument is a folder, and otherwise job with the job that it names. It refuses
// a file of constraints for a job.
func (a *app) onFolderOrJob(ctx context.Context, server, constraints string, args []string,
	folder func(path string) error, job func(c *client.Client, jobID string) error) error {
	what, err := oneArgument(args, "job or folder")
	if err != nil {
		return err
	}
	if info, err := os.Stat(what); err == nil && info.IsDir() {
		return folder(what)
	}
	if constraints != "" {
		return shell.Usage("--constraints requires a folder; the coordinator has those of its jobs")
	}
	err = a.onJob(ctx, server, args, job)
	if fault.Is(err, "NO_COORDINATOR") {
		return shell.Usage("there is no folder %s; for a job of a coordinator, give --server HOST:PORT or set %s", what,
			serverVariable)
	}
	return err
}

// onServer connects to a coordinator and calls do.
func (a *app) onServer(server string, do func(c *client.Client) error) error {
	c, err := a.remote(server)
	if err != nil {
		return err
	}
	defer c.Close()
	return do(c)
}

// oneArgument returns the only argument of a command, which what names.
func oneArgument(args []string, what string) (string, error) {
	switch {
	case len(args) == 0:
		return "", shell.Usage("the %s is missing; give it after the command", what)
	case len(args) > 1:
		return "", shell.Usage("unexpected argument %q: give one %s", args[1], what)
	}
	return args[0], nil
}

// candidate is something that a shortened id may stand for. about is printed: what other users chose is escaped in it,
// by text.OneLine.
type candidate struct {
	id, about string
	names     []string // other names for it
}

// The lengths of ids: those of jobs are UUIDs, those of stored data SHA-256 hashes.
const (
	jobIDLength    = 36
	storedIDLength = 64
)

// maxCandidates is the number of candidates that an error lists.
const maxCandidates = 8

// minPrefix is the number of characters that identify something if they are not its whole id or name.
const minPrefix = 4

// pick returns the id that the user means: given is an id, a name, or a unique prefix of one. If nothing matches, it
// returns given, so that the coordinator reports the error. It is not called with an empty text.
func pick(what, given string, all []candidate) (string, error) {
	var matches []candidate
	for _, candidate := range all {
		for _, name := range append([]string{candidate.id}, candidate.names...) {
			if name == given {
				return candidate.id, nil
			}
			if strings.HasPrefix(name, given) {
				matches = append(matches, candidate)
				break
			}
		}
	}
	switch {
	case len(matches) == 0:
		return given, nil
	case len(given) < minPrefix:
		return "", errShortPrefix(what, given)
	case len(matches) == 1:
		return matches[0].id, nil
	}
	count := fmt.Sprint(len(matches))
	if len(matches) > maxCandidates {
		count = fmt.Sprintf("more than %d", maxCandidates)
		matches = matches[:maxCandidates]
	}
	var lines []string
	for _, candidate := range matches {
		lines = append(lines, fmt.Sprintf("%s (%s)", candidate.id, candidate.about))
	}
	return "", shell.Usage("%q matches %s %ss: %s", given, count, what, strings.Join(lines, ", "))
}

func errShortPrefix(what, given string) error {
	return shell.Usage("%q is too short; give the whole id or name of the %s, or at least its first %d characters",
		given, what, minPrefix)
}

// pickListed is pick among the candidates that list returns. It refuses an empty text, such as that of a variable that
// is not set, because it is a prefix of everything. Users who may not list can give whole ids and names.
func pickListed(what, given string, list func() ([]candidate, error)) (string, error) {
	if given == "" {
		return "", shell.Usage("the %s is empty; give an id, a name or the beginning of one", what)
	}
	all, err := list()
	switch {
	case status.Code(err) == codes.PermissionDenied:
		return given, nil
	case err != nil:
		return "", err
	}
	return pick(what, given, all)
}

// pickByID is pickListed for things that have ids of a known length and no names. It does not list anything if given is
// a complete id, or too short for a prefix.
func pickByID(what, given string, length int, list func() ([]candidate, error)) (string, error) {
	switch {
	case len(given) >= length:
		return given, nil
	case given != "" && len(given) < minPrefix:
		return "", errShortPrefix(what, given)
	}
	return pickListed(what, given, list)
}

// jobID returns the id of the job that an id or a prefix of one stands for.
func jobID(ctx context.Context, c *client.Client, given string) (string, error) {
	return pickByID("job", given, jobIDLength, func() ([]candidate, error) {
		jobs, err := c.AllJobs(ctx, &cleavev1.ListJobsRequest{IdPrefix: given}, maxCandidates+1)
		return jobCandidates(jobs), err
	})
}

func jobCandidates(jobs []*cleavev1.Job) (all []candidate) {
	for _, j := range jobs {
		about := strings.ToLower(report.ShortName(j.GetState()))
		if j.GetDisplayName() != "" {
			about = text.OneLine(j.GetDisplayName()) + ", " + about
		}
		all = append(all, candidate{id: j.GetJobId(), about: about})
	}
	return all
}

// workerID returns the id of the worker that an id, a name, or a prefix of one of them stands for.
func workerID(ctx context.Context, c *client.Client, given string) (string, error) {
	return pickListed("worker", given, func() (all []candidate, err error) {
		workers, err := client.All(c.ListWorkers(ctx))
		for _, w := range workers {
			id := w.GetWorkerId()
			if w.GetName() == given {
				id = given // the coordinator reports if several workers have the name
			}
			all = append(all, candidate{id, text.OneLine(w.GetName()), []string{w.GetName()}})
		}
		return all, err
	})
}
