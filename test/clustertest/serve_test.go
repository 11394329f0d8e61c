package clustertest

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/security/credentials"
)

// startServe starts `cleave serve` and waits until its workers are attached.
func startServe(t *testing.T, args ...string) *Coordinator {
	t.Helper()
	c := &Coordinator{Process: StartCleave(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	Eventually(t, "serve listens", func() (bool, string) {
		found := listening.FindSubmatch(c.stdout.bytes())
		if found != nil {
			c.Addr = string(found[1])
		}
		return found != nil, c.Stderr()
	})
	c.Client = dial(t, c.Addr, credentials.Dial{})
	return c
}

// TestServeOutlivesItsWorkers drains the workers of `cleave serve` one after the other: it says so and stays, a job
// waits, and a worker that joins takes it.
func TestServeOutlivesItsWorkers(t *testing.T) {
	t.Parallel()
	c := startServe(t, "--workers", "2")
	drain := func(worker, said string) {
		t.Helper()
		if got := Cleave(t, "drain", worker, "--server", c.Addr); got.ExitCode != 0 ||
			!strings.HasSuffix(got.Stdout, "): draining; it has no tiles and leaves now\n") {
			t.Fatalf("exit code %d: %s%s", got.ExitCode, got.Stdout, got.Stderr)
		}
		Eventually(t, worker+" has left", func() (bool, string) {
			return strings.Contains(c.Stderr(), "cleave: "+worker+" was drained and has left"+said+"\n"), c.Stderr()
		})
	}
	drain("worker-1", "; workers in this process: 1")
	drain("worker-0", "; it was the last worker in this process. Jobs wait until another joins: worker --coordinator "+
		c.Addr)
	job, w := warmUp().run(c)
	Eventually(t, "the job waits", func() (bool, string) {
		status := c.Job(job).GetStatusMessage()
		return strings.Contains(status, "waiting for a worker: none is connected"), status
	})
	StartWorker(t, c, "joined")
	warmUp().finish(t, "after the workers of serve were drained", w)
	if code := c.Terminate(); code != 0 {
		t.Errorf("exit code %d: %s", code, c.Stderr())
	}
}
