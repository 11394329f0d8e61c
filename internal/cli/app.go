// Package cli has the commands of cmd/cleave. The flags that describe jobs are in jobflags, the calls to the
// coordinator in client, and what is printed and written in report.
//
// There is one path. `cleave run` without a server starts a coordinator and workers in its own process, and
// then does the same as with a remote one: upload the data, create the job, watch it, fetch the result and
// the labels.
package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/observe"
)

// app is what a command may touch: its streams and the environment.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	access         accessFlags
	command        command // what result.json says is repeated
}

// Main runs one command line and returns the exit code: 0 done, 1 failed, 2 bad input or usage, 3 ended by its time limit
// with labels, 130 canceled. When ctx ends, the job of `cleave run` is canceled.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	a := &app{stdin: format.Peekable(stdin), stdout: stdout, stderr: stderr, env: env, command: thisCommand(args)}
	ctx, end := a.traced(ctx, args)
	program := a.program()
	if isUnknownCommand(program, args) {
		args = args[:1] // its flags are unknown too, but the command is what has to be corrected
	}
	code := shell.Run(ctx, program, args, stderr)
	end(code != shell.ExitDone)
	return code
}

// isUnknownCommand reports whether the arguments begin with a name that is no command. Names that begin with "__" are cobra's own.
func isUnknownCommand(program *cobra.Command, args []string) bool {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "__") {
		return false
	}
	found, _, err := program.Find(args)
	return err != nil || found == program
}

// program is the program with all its commands.
func (a *app) program() *cobra.Command {
	root := &cobra.Command{
		Use:   "cleave",
		Short: "Cluster data under supervision: must-links and cannot-links",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return shell.NoCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.AddCommand(
		a.runCommand(), a.planCommand(), a.explainCommand(), a.submitCommand(), a.watchCommand(), a.getCommand(), a.listCommand(), a.cancelCommand(),
		a.resultCommand(), a.reportCommand(), a.rerunCommand(), a.predictCommand(), a.deleteCommand(), a.evaluateCommand(), a.workersCommand(), a.drainCommand(), a.limitsCommand(), a.datasetsCommand(), a.tablesCommand(),
		a.generateCommand(), a.overlayCommand(), a.serveCommand(), a.versionCommand(), a.completionCommand(),
		a.loginCommand(), a.logoutCommand(), a.contextsCommand(), a.certsCommand(), a.tokenCommand(),
	)
	a.addAccessFlags(root)
	a.completeArguments(root)
	a.help().Install(root)
	return root
}

// traced makes commands that create a job part of a trace, if the environment asks for it.
func (a *app) traced(ctx context.Context, args []string) (context.Context, func(failed bool)) {
	log, err := (&shell.Logs{Level: "warn"}).Logger("cleave", a.stderr)
	if err != nil || len(args) == 0 || args[0] != "run" && args[0] != "submit" {
		return ctx, func(bool) {}
	}
	return observe.StartClient(ctx, "cleave "+args[0], shell.Version(), a.env, log)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say which version this is, and of which commit",
		Args:  shell.FlagsOnly,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, shell.LongVersion("cleave"))
			return err
		},
	}
}
