// Package cli implements the commands of cmd/cleave. The flags that describe jobs are in jobflags, the calls of the
// coordinator in client, and what is printed and written in report. Without a server, cleave run starts a coordinator
// and workers in its own process; otherwise it does the same as with a remote one: upload the data, create the job,
// watch it, and fetch the result.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/screen"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/text"
)

// app holds the I/O streams and the environment of one command. The method xCommand declares command x and its flags,
// and method x runs it. Results go to stdout; notices, warnings and progress go to stderr.
type app struct {
	stdin          io.Reader // format.Peekable, because files are recognized by their first bytes
	stdout, stderr io.Writer
	env            func(string) string // os.Getenv, except in tests
	access         accessFlags
	command        command // the command line that result.json records
}

// Main runs one command line and returns the exit code, see package shell. When ctx ends, the job of cleave run is
// canceled.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	directory, _ := os.Getwd()
	a := &app{stdin: format.Peekable(stdin), stdout: stdout, stderr: stderr, env: env,
		command: command{args, directory}}
	program := a.program()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		a.completeFlags(program) // only then: cobra keeps completions, and with them the program, for good
	}
	if unknown := unknownCommand(program, args); unknown != "" {
		args = []string{unknown} // report the unknown command rather than its flags
	}
	return shell.Run(ctx, program, args, stderr)
}

// unknownCommand returns the name of an unknown command that the arguments begin with, after "help" or not, or "".
// Names that begin with "__" belong to cobra.
func unknownCommand(program *cobra.Command, args []string) string {
	if len(args) > 0 && args[0] == "help" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "__") || args[0] == "help" {
		return ""
	}
	if found, _, err := program.Find(args); err == nil && found != program {
		return ""
	}
	return args[0]
}

// commandGroup is a heading in the help of the program, and the commands under it.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// commandGroups returns all commands.
func (a *app) commandGroups() []commandGroup {
	run, _ := a.runCommand()
	result, _ := a.resultCommand()
	return []commandGroup{
		{"Cluster", []*cobra.Command{run, a.planCommand(), a.rerunCommand(), a.predictCommand(), a.evaluateCommand()}},
		{"Inspect results", []*cobra.Command{a.explainCommand(), a.reportCommand()}},
		{"Jobs on a coordinator", []*cobra.Command{a.submitCommand(), a.watchCommand(), a.listCommand(), a.getCommand(),
			result, a.cancelCommand(), a.deleteCommand()}},
		{"Coordinator and workers", []*cobra.Command{a.upCommand(), a.serveCommand(), a.workersCommand(),
			a.drainCommand(), a.limitsCommand(), a.backupCommand(), a.datasetsCommand(), a.tablesCommand()}},
		{"Logins and certificates", []*cobra.Command{a.loginCommand(), a.logoutCommand(), a.contextsCommand(),
			a.certsCommand(), a.tokenCommand()}},
		{"Synthetic data", []*cobra.Command{a.generateCommand()}},
		{"This program", []*cobra.Command{a.versionCommand(), a.completionCommand()}},
	}
}

// program returns the program with all its commands.
func (a *app) program() *cobra.Command {
	groups := a.commandGroups()
	root := groupCommand("cleave", "Cluster data with must-link and cannot-link constraints")
	for _, group := range groups {
		root.AddCommand(group.commands...)
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	a.addAccessFlags(root)
	a.help(groups).Install(root)
	return root
}

// warn prints a message to standard error, after the name of the program, on one line: coordinators and other users
// choose parts of it. On a terminal it replaces a line of progress.
func (a *app) warn(format string, args ...any) {
	message := text.OneLine(fmt.Sprintf("cleave: "+format, args...))
	width := screen.Terminal(a.stderr)
	if width > 0 {
		message = "\r\x1b[K" + screen.Hanging(message, width)
	}
	fmt.Fprintln(a.stderr, message)
}

// notify prints notices to standard error.
func (a *app) notify(notices ...string) {
	for _, notice := range notices {
		a.warn("%s", notice)
	}
}

// printf prints to standard output.
func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format, args...)
	return err
}

// print prints a message of the API as JSON, or else formatted text.
func (a *app) print(asJSON bool, message proto.Message, format string, args ...any) error {
	if asJSON {
		return report.PrintMessage(a.stdout, message)
	}
	return a.printf(format, args...)
}

// flagsCommand returns a command that takes only flags, and its flags.
func flagsCommand(use, short string, run func(ctx context.Context) error) (*cobra.Command, *pflag.FlagSet) {
	cmd, set := argsCommand(use, short, func(ctx context.Context, _ []string) error { return run(ctx) })
	cmd.Args = shell.FlagsOnly
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd, set
}

// argsCommand returns a command whose arguments run checks, and its flags. Its arguments are completed to files.
func argsCommand(use, short string,
	run func(ctx context.Context, args []string) error) (*cobra.Command, *pflag.FlagSet) {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) }
	return cmd, cmd.Flags()
}

// groupCommand returns a command that only has subcommands.
func groupCommand(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return shell.NoCommand(cmd, args[0])
			}
			return cmd.Help()
		}}
	cmd.AddCommand(subcommands...)
	return cmd
}

// traced returns run of a command that creates a job, with a trace if the environment asks for one.
func (a *app) traced(command string, run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		log, err := (&shell.Logs{Level: "warn"}).Logger("cleave", a.stderr)
		if err != nil {
			return err
		}
		ctx, end := observe.StartClient(ctx, "cleave "+command, shell.Version(), a.env, log)
		err = run(ctx)
		end(err != nil)
		return err
	}
}

func (a *app) versionCommand() *cobra.Command {
	cmd, _ := flagsCommand("version", "Print the version and the commit", func(context.Context) error {
		return a.printf("%s\n", shell.LongVersion("cleave"))
	})
	return cmd
}
