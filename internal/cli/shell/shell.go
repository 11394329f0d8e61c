// Package shell holds what the three programs share: how they run and end, error messages, help, logs, and flags for
// numbers, words, sizes and times. It imports neither the coordinator nor the worker, so that neither is linked into
// the other's program.
package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/internal/security/redact"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// The exit codes of every program. docs/guide/pipelines.md has the table for users.
const (
	ExitDone     = 0
	ExitFailed   = 1
	ExitBadInput = 2  // bad input or usage: trying again does not help
	ExitLate     = 3  // a time limit ended the job, which has usable labels
	ExitRetry    = 75 // trying the same again may help; EX_TEMPFAIL of sysexits.h
	ExitCanceled = 130
)

// Terminated is the cause of a context that SIGTERM ended.
var Terminated error = interruption("terminated")

// interruption is the cause of a context that a signal ended.
type interruption string

func (i interruption) Error() string { return string(i) }

// Is makes an interruption a kind of context.Canceled.
func (i interruption) Is(target error) bool { return target == context.Canceled }

// Interruptible returns a context that ends at the first SIGINT or SIGTERM. Its cause is Terminated for SIGTERM. A
// second signal kills the program.
func Interruptible() context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		received := <-signals
		signal.Stop(signals)
		if received == syscall.SIGTERM {
			end(Terminated)
			return
		}
		end(interruption("interrupted"))
	}()
	return ctx
}

// Run executes a command line and returns the exit code. It prints an error as one sentence after the program's name,
// without a usage text. Errors that were joined have a line each.
func Run(ctx context.Context, program *cobra.Command, args []string, stderr io.Writer) int {
	started := false
	program.SilenceErrors, program.SilenceUsage = true, true
	program.CompletionOptions.HiddenDefaultCmd = true
	program.Version = LongVersion(program.Name())
	program.SetVersionTemplate("{{.Version}}\n")
	if program.Flags().Lookup("version") == nil {
		program.Flags().Bool("version", false, "print the version and the commit")
	}
	program.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	program.SetErr(stderr)
	program.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	command, err := program.ExecuteContextC(ctx)
	if err == nil {
		return ExitDone
	}
	if !started {
		err = misuse(command, err) // errors before a command starts are usage errors
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled) {
		err = Canceled("canceled")
	}
	fmt.Fprintf(stderr, "%s: %s\n", program.Name(), strings.Join(sentences(err), "\n  "))
	return ExitCode(err)
}

// FlagsOnly is a cobra.PositionalArgs for commands that take only flags.
func FlagsOnly(command *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: %s takes flags only", args[0], command.CommandPath())
	}
	return nil
}

// Stopped returns nil instead of the error of a server that ended because ctx ended, which is how servers are stopped.
func Stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Usage returns an error in how a program was called.
func Usage(format string, args ...any) error { return fault.Invalid("USAGE", format, args...) }

// Canceled returns the error of an operation that the user interrupted.
func Canceled(format string, args ...any) error {
	return fault.New(fault.Canceled, "CANCELLED", format, args...)
}

// WithoutPath returns the cause of a failed file operation, for messages that name the path themselves.
func WithoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// ExitCode returns the exit code for an error, by its fault or its gRPC status.
func ExitCode(err error) int {
	err = refusal.Of(err)
	code := status.Code(err)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		switch {
		case f.Reason == fault.LabelsSoFar:
			return ExitLate
		case f.Reason == fault.HandshakeFailed:
			return ExitFailed
		case f.Kind == fault.ResourceExhausted && f.Retry > 0:
			return ExitRetry
		case f.Kind == fault.ResourceExhausted:
			return ExitBadInput
		}
		code = wire.CodeOf(f.Kind)
	}
	switch code {
	case codes.OK:
		return ExitDone
	case codes.Unavailable:
		return ExitRetry
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

// sentences returns the messages of errors that were joined, or the message of one error. Others that wrap several
// errors have a message of their own.
func sentences(err error) (all []string) {
	several, is := err.(interface{ Unwrap() []error })
	if !is || len(several.Unwrap()) == 0 || err.Error() != errors.Join(several.Unwrap()...).Error() {
		return []string{sentence(err)}
	}
	for _, err := range several.Unwrap() {
		all = append(all, sentences(err)...)
	}
	return all
}

// sentence returns the message of an error on one line, without the code of a gRPC status, without secrets, and without
// anything that is not printable: others chose parts of it.
func sentence(err error) string {
	err = refusal.Of(err)
	message := err.Error()
	if f, ok := errors.AsType[*fault.Error](err); ok {
		message = withFlag(message, f.Field)
	} else if s, ok := status.FromError(err); ok {
		message = s.Message()
	}
	return redact.Text(text.OneLine(strings.Join(strings.Fields(message), " ")))
}

// withFlag turns a message about a field of the API into one about its flag.
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

// FlagName returns the flag of an option of the catalog.
func FlagName(option string) string {
	if start, isTable := strings.CutPrefix(option, "initial-"); isTable {
		return "--init " + start + ":FILE"
	}
	return "--" + option
}

// Chosen is implemented by flag values that are one of a few words.
type Chosen interface{ Words() []string }

// Suggest returns "; did you mean NAME?" for the name that a mistyped one resembles, or "" if it resembles none.
func Suggest(mistyped string, names []string) string {
	if name := text.Similar(mistyped, names); name != "" && name != mistyped {
		return fmt.Sprintf("; did you mean %s?", name)
	}
	return ""
}

// misuse returns a usage error that says what was probably meant, or which help to read.
func misuse(command *cobra.Command, err error) error {
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		suggestion := ""
		if chosen, is := value.GetFlag().Value.(Chosen); is {
			suggestion = Suggest(value.GetValue(), chosen.Words())
		}
		return Usage("--%s is %q; %s%s", value.GetFlag().Name, value.GetValue(), sentence(errors.Unwrap(value)),
			suggestion)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if name := unknown.GetSpecifiedShortnames(); command.Flags().Lookup(name) != nil {
			return Usage("unknown flag: -%s; did you mean --%s?", name, name)
		}
		var names []string
		command.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		if suggestion := Suggest("--"+unknown.GetSpecifiedName(), names); suggestion != "" {
			return Usage("%s%s", sentence(err), suggestion)
		}
	}
	return Usage("%s; see %s --help", sentence(err), command.CommandPath())
}

// NoCommand returns the error for a command that a program does not have.
func NoCommand(program *cobra.Command, name string) error {
	var names []string
	for _, command := range program.Commands() {
		if slices.Contains(command.SuggestFor, name) {
			return Usage("there is no command %q; did you mean %s?", name, command.Name())
		}
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	if _, err := os.Stat(name); err == nil {
		return Usage("there is no command %q; to cluster a file, use %s run --data %s --k N", name,
			program.CommandPath(), name)
	}
	if suggestion := Suggest(name, names); suggestion != "" {
		return Usage("there is no command %q%s", name, suggestion)
	}
	return Usage("there is no command %q; see %s --help", name, program.CommandPath())
}

// The linker sets version and commit: -X github.com/cleave-project/cleave/internal/cli/shell.version=v1.2.3
var version, commit string

// Version returns the version that the linker set, or the one that Go recorded from the repository, or "devel".
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// LongVersion returns the program's name, version and commit, and the version of Go and platform it was built for.
func LongVersion(program string) string {
	return fmt.Sprintf("%s %s (commit %s, %s, %s/%s)", program, Version(), cmp.Or(commit, recordedCommit(), "unknown"),
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// recordedCommit returns the commit that Go recorded, or "".
func recordedCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}

// Logs configures the log of a program. The zero Format is text.
type Logs struct{ Level, Format string }

// AddFlags declares --log-level and --log-format. level is the default level.
func (l *Logs) AddFlags(set *pflag.FlagSet, level string) {
	set.StringVar(&l.Level, "log-level", level, "`LEVEL` of the messages: trace, debug, info, warn, error or off")
	set.StringVar(&l.Format, "log-format", "text", "`FORMAT` of the messages: text, or json for one object a line")
}

// Logger returns a logger that writes to w and redacts secrets.
func (l *Logs) Logger(name string, w io.Writer) (hclog.Logger, error) {
	level := hclog.LevelFromString(l.Level)
	if level == hclog.NoLevel {
		return nil, Usage("the log level %q is unknown; use trace, debug, info, warn, error or off", l.Level)
	}
	if l.Format != "text" && l.Format != "json" && l.Format != "" {
		return nil, Usage("the log format %q is unknown; use text or json", l.Format)
	}
	return hclog.New(&hclog.LoggerOptions{Name: name, Level: level, Output: redact.Writer(w),
		JSONFormat: l.Format == "json"}), nil
}
