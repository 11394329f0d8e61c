package clustertest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/testscale"
)

// someOf returns an evenly spaced part of jobs, by their names: n of them, or all in a long run.
func someOf(jobs map[string]*workload, n int) map[string]*workload {
	some := map[string]*workload{}
	for _, name := range testscale.Some(slices.Sorted(maps.Keys(jobs)), n) {
		some[name] = jobs[name]
	}
	return some
}

// pointsAndGraph returns a long job on points, and in a long run one on a graph too.
func pointsAndGraph() map[string]func() *workload {
	jobs := map[string]func() *workload{"points": longPoints}
	if testscale.Long {
		jobs["graph"] = longGraph
	}
	return jobs
}

// wantError checks the code and the reason of an error, and that it has a message.
func wantError(t testing.TB, what string, err error, code codes.Code, reason string) {
	t.Helper()
	s := status.Convert(err)
	if err == nil || s.Code() != code || wire.Reason(err) != reason || len(s.Message()) < 10 {
		t.Errorf("%s: got %v %q: %q; want %v %q and a sentence", what, s.Code(), wire.Reason(err), s.Message(),
			code, reason)
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
