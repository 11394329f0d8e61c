package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// invocation is how a command line ended.
type invocation struct {
	code           int
	stdout, stderr string
}

// invoke runs a command line as the program would, without an environment.
func invoke(t *testing.T, line string) invocation {
	t.Helper()
	return invokeIn(t.Context(), line, func(string) string { return "" })
}

func invokeIn(ctx context.Context, line string, env func(string) string) invocation {
	var stdout, stderr bytes.Buffer
	code := Main(ctx, strings.Fields(line), strings.NewReader(""), &stdout, &stderr, env)
	return invocation{code, stdout.String(), stderr.String()}
}

// succeed runs a command line that must work and returns its standard output.
func succeed(t *testing.T, line string) string {
	t.Helper()
	r := invoke(t, line)
	if r.code != 0 {
		t.Fatalf("cleave %s: exit code %d: %s", line, r.code, r.stderr)
	}
	return r.stdout
}
