package clustertest

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/wire"
)

// wantError checks the code and the reason of an error, and that it has a message.
func wantError(t testing.TB, what string, err error, code codes.Code, reason string) {
	t.Helper()
	s := status.Convert(err)
	if err == nil || s.Code() != code || wire.Reason(err) != reason || len(s.Message()) < 10 {
		t.Errorf("%s: got %v %q: %q; want %v %q and a sentence", what, s.Code(), wire.Reason(err), s.Message(), code, reason)
	}
}

// wantSentence checks that a program failed with an exit code and that the last line on standard error
// says why.
func wantSentence(t testing.TB, ran CommandResult, code int, says string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(ran.Stderr, "\n"), "\n")
	last := lines[len(lines)-1]
	if ran.ExitCode != code || !strings.Contains(last, says) {
		t.Errorf("exit code %d and %q; want %d and a sentence with %q", ran.ExitCode, ran.Stderr, code, says)
	}
}
