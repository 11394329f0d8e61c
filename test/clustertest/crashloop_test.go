package clustertest

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// crashOnce starts a worker that is killed when it begins to build tiles, as the system does if they exceed its memory,
// and waits for that.
func crashOnce(t *testing.T, c *Coordinator, name string) {
	t.Helper()
	w := StartTracedWorker(t, c, name, func(w *Worker, text []byte) {
		if bytes.Contains(text, []byte("command begins")) && bytes.Contains(text, []byte("Build")) {
			w.signal(syscall.SIGKILL)
		}
	})
	w.ExitCode()
}

// TestAWorkerThatIsKilledAgainAndAgain: something starts the worker anew each time. `cleave workers` says how often it
// ended, and after five times the job fails with a sentence, instead of trying forever.
func TestAWorkerThatIsKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{Args: []string{"--lost-after", "1h"}}) // so that it stays in the list
	w := c.Watch(c.Create(longPoints().on(c)))
	for range 4 {
		crashOnce(t, c, "small")
	}
	Eventually(t, "cleave workers says that it ended", func() (bool, string) {
		shown := Cleave(t, "workers", "--server", c.Addr).Stdout
		return strings.Contains(shown, "ended 4 times while it computed for a job; if it was killed for its memory"),
			shown
	})
	crashOnce(t, c, "small")
	StartWorker(t, c, "small")
	end := w.End()
	if end.GetState() != cleavev1.JobState_JOB_STATE_FAILED || end.GetError().GetReason() != "WORKER_CRASHED" ||
		!strings.Contains(end.GetError().GetMessage(), `worker "small" ended 5 times while it computed for this job`) {
		t.Errorf("the job ended with %v", end)
	}
}

// TestOthersFinishTheJobOfAWorkerThatIsKilled: the job goes on without the worker, and has the bits of an undisturbed
// run.
func TestOthersFinishTheJobOfAWorkerThatIsKilled(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{})
	load := longPoints()
	w := c.Watch(c.Create(load.on(c)))
	for range 3 {
		crashOnce(t, c, "small")
	}
	for at := range 2 {
		StartWorker(t, c, fmt.Sprint("good", at))
	}
	load.finish(t, "with a worker that was killed three times", w)
}
