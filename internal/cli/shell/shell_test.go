package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/fault"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]Size{
		"1":        1,
		"4GiB":     4 << 30,
		"512MiB":   512 << 20,
		"2GB":      2_000_000_000,
		"1.5 KiB":  1536,
		"16k":      16 << 10,
		"3g":       3 << 30,
		"1tib":     1 << 40,
		"100b":     100,
		" 10 MB  ": 10_000_000,
	} {
		var got Size
		if err := got.Set(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "GiB", "-1GiB", "0", "four", "1e30", "nan", "inf", "1 PiB", "0.2"} {
		var got Size
		if err := got.Set(text); ExitCode(err) != ExitBadInput {
			t.Errorf("%q: %d, %v; want a usage error", text, got, err)
		}
	}
}

func TestDefaultMemoryIsPartOfTheMachine(t *testing.T) {
	if m := DefaultMemory(); m < 64<<20 || m > 1<<50 {
		t.Errorf("default memory is %d bytes", m)
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("broken"), 1},
		{Usage("wrong"), 2},
		{fmt.Errorf("in a file: %w", fault.Invalid("X", "wrong")), 2},
		{fault.New(fault.NotFound, "X", "none"), 2},
		{fault.New(fault.AlreadyExists, "X", "there"), 2},
		{fault.New(fault.FailedPrecondition, "X", "not now"), 2},
		{fault.New(fault.Internal, "X", "ours"), 1},
		{Canceled("stopped"), 130},
		{context.Canceled, 130},
		{context.DeadlineExceeded, 1},
		{fault.New(fault.DeadlineExceeded, "TIME_LIMIT", "late"), 1},
		{fmt.Errorf("after all: %w", fault.New(fault.DeadlineExceeded, fault.LabelsSoFar, "late")), 3},
		{status.Error(codes.InvalidArgument, "x"), 2},
		{status.Error(codes.FailedPrecondition, "x"), 2},
		{status.Error(codes.NotFound, "x"), 2},
		{status.Error(codes.AlreadyExists, "x"), 2},
		{status.Error(codes.OutOfRange, "x"), 2},
		{status.Error(codes.Canceled, "x"), 130},
		{status.Error(codes.Unavailable, "x"), 75},
		{fault.New(fault.Unavailable, "NOT_REACHABLE", "nobody there"), 75},
		{fault.New(fault.Unavailable, fault.HandshakeFailed, "another authority"), 1},
		{fault.New(fault.ResourceExhausted, "TOO_MANY_JOBS", "later").RetryIn(time.Second), 75},
		{fault.New(fault.ResourceExhausted, "TOO_MANY_ROWS", "never"), 2},
		{status.Error(codes.Internal, "x"), 1},
	} {
		if got := ExitCode(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

func TestRunEndsWithOneSentence(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		err  error
		code int
		want string
	}{
		{"done", nil, nil, 0, ""},
		{"failed", nil, errors.New("two\nlines"), 1, "prog: two lines\n"},
		{"several", nil, errors.Join(errors.New("a: no  ssh"),
			errors.Join(fault.New(fault.Unavailable, "X", "b: no ssh"))), 75, "prog: a: no ssh\n  b: no ssh\n"},
		{"one of two", nil, fmt.Errorf("%w: %w", errors.New("a"), errors.New("b")), 1, "prog: a: b\n"},
		{"status", nil, status.Error(codes.NotFound, "no job 7"), 2, "prog: no job 7\n"},
		{"unknown flag", []string{"--frob"}, nil, 2, "prog: unknown flag: --frob; see prog --help\n"},
		{"bad value", []string{"--memory", "lots"}, nil, 2,
			`prog: --memory is "lots"; "lots" is not a size in bytes; write for example 4GiB, 512MiB or 2GB` + "\n"},
		{"argument", []string{"stray"}, nil, 2,
			"prog: unexpected argument \"stray\": prog takes flags only; see prog --help\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stderr bytes.Buffer
			memory := Size(0)
			cmd := &cobra.Command{Use: "prog", Args: FlagsOnly, RunE: func(*cobra.Command, []string) error {
				return c.err
			}}
			cmd.Flags().Var(&memory, "memory", "")
			cmd.SetOut(&stderr)
			if code := Run(t.Context(), cmd, append([]string{}, c.args...), &stderr); code != c.code ||
				stderr.String() != c.want {
				t.Errorf("exit code %d, %q; want %d, %q", code, stderr.String(), c.code, c.want)
			}
		})
	}
}

func TestRunOfAnEndedContextIsCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stderr bytes.Buffer
	cmd := &cobra.Command{Use: "prog", RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Context().Err() }}
	if code := Run(ctx, cmd, []string{}, &stderr); code != 130 || stderr.String() != "prog: canceled\n" {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
	if err := Stopped(ctx, ctx.Err()); err != nil {
		t.Errorf("a server that was stopped ended with %v", err)
	}
	if err := Stopped(t.Context(), errors.New("port taken")); err == nil {
		t.Error("a failure was taken for a stop")
	}
}

// Faults name fields of the API; on the command line they name flags.
func TestFaultsNameFlags(t *testing.T) {
	for _, c := range []struct{ field, message, want string }{
		{"spec.k", "k is 9 but there are only 4 rows", "--k is 9 but there are only 4 rows"},
		{"spec.constrained_spectral.beta", "beta = 7 leaves 0 feasible vectors",
			"--beta = 7 leaves 0 feasible vectors"},
		{"spec.supervision.seeds", "point 3 is seeded twice", "--seeds: point 3 is seeded twice"},
		{"spec.spectral.eigenvectors.tolerance", "tolerance is 2", "--tolerance is 2"},
		{"spec.initialization.labels", "there are 3 labels", "--init labels:FILE: there are 3 labels"},
		{"spec.dataset_id", "there is no data set", "there is no data set"},
		{"", "nothing in particular", "nothing in particular"},
	} {
		if got := sentence(fault.Invalid("REASON", "%s", c.message).OnField(c.field)); got != c.want {
			t.Errorf("%s: %q, want %q", c.field, got, c.want)
		}
	}
}
