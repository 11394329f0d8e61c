// Package shell is what the three programs share: how they end (exit codes, one sentence on standard error),
// how they log, and how they read and write sizes and counts. It imports neither the coordinator nor the
// worker, so that each program links only what it needs.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/redact"
)

// The exit codes of every program.
const (
	ExitDone     = 0
	ExitFailed   = 1
	ExitBadInput = 2 // bad input or usage: trying again does not help
	ExitLate     = 3 // a time limit ended the job; the labels so far can be used
	ExitCanceled = 130
)

// Run executes a command line and returns the exit code. An error becomes one sentence on stderr
// after the program's name; there is no usage dump, --help is there for that.
func Run(ctx context.Context, program *cobra.Command, args []string, stderr io.Writer) int {
	started := false
	program.SilenceErrors, program.SilenceUsage = true, true
	program.CompletionOptions.HiddenDefaultCmd = true
	program.Version = LongVersion(program.Name())
	program.SetVersionTemplate("{{.Version}}\n")
	if program.Flags().Lookup("version") == nil {
		program.Flags().Bool("version", false, "say which version this is, and of which commit")
	}
	program.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	program.SetErr(stderr)
	program.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	command, err := program.ExecuteContextC(ctx)
	if err == nil {
		return ExitDone
	}
	if !started {
		err = misuse(command, err) // what fails before a command starts is wrong usage
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled) {
		err = Canceled("cancelled")
	}
	fmt.Fprintf(stderr, "%s: %s\n", program.Name(), sentence(err))
	return ExitCode(err)
}

// FlagsOnly checks the arguments of commands that take only flags.
func FlagsOnly(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("what is %q? %s takes flags only", args[0], command.CommandPath())
	}
	return nil
}

// Stopped is the error of a server that ran until ctx ended, which is how servers are meant to end.
func Stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Usage is an error in how a program was called.
func Usage(format string, args ...any) error { return fault.Invalid("USAGE", format, args...) }

// Canceled is the error of what the user interrupted.
func Canceled(format string, args ...any) error {
	return fault.New(fault.Canceled, "CANCELLED", format, args...)
}

// LabelsSoFar is the reason of the error of a job that its time limit ended, and that has labels.
const LabelsSoFar = "LABELS_SO_FAR"

// ExitCode is the exit code for an error, by its fault or its gRPC status.
func ExitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	var f *fault.Error
	if errors.As(err, &f) {
		switch f.Kind {
		case fault.Canceled:
			return ExitCanceled
		case fault.DeadlineExceeded:
			if f.Reason == LabelsSoFar {
				return ExitLate
			}
			return ExitFailed
		case fault.Internal:
			return ExitFailed
		case fault.InvalidArgument, fault.FailedPrecondition, fault.NotFound, fault.AlreadyExists, fault.ResourceExhausted,
			fault.Unauthenticated, fault.PermissionDenied:
			return ExitBadInput
		}
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.NotFound, codes.AlreadyExists, codes.OutOfRange,
		codes.Unauthenticated, codes.PermissionDenied:
		return ExitBadInput
	case codes.Canceled:
		return ExitCanceled
	}
	if errors.Is(err, context.Canceled) {
		return ExitCanceled
	}
	return ExitFailed
}

// sentence is an error's message on one line, without the code of a gRPC status.
func sentence(err error) string {
	message := err.Error()
	var f *fault.Error
	switch s, ok := status.FromError(err); {
	case errors.As(err, &f):
		message = withFlag(message, f.Field)
	case ok:
		message = s.Message()
	}
	return redact.Text(strings.Join(strings.Fields(message), " "))
}

// withFlag makes a message about a field of the API one about its flag.
func withFlag(message, field string) string {
	o, known := catalog.OptionAt(field)
	flag := FlagName(o.Name)
	if !known || strings.Contains(message, flag) {
		return message
	}
	if rest, begins := strings.CutPrefix(message, field[strings.LastIndex(field, ".")+1:]+" "); begins {
		return flag + " " + rest
	}
	return flag + ": " + message
}

// FlagName is what an option of the catalog is called on the command line.
func FlagName(option string) string {
	if start, isTable := strings.CutPrefix(option, "initial-"); isTable {
		return "--init " + start + ":FILE"
	}
	return "--" + option
}
