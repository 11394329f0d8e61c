package clustertest

import (
	"testing"
	"time"
)

// TestTheCoordinatorIsPaused stops the coordinator for longer than it waits for a silent worker, and
// longer than a leader may be silent. It must not give up workers because it was not there to hear
// them, nor itself: with a store of its own there is nobody who could have taken over.
func TestTheCoordinatorIsPaused(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 2)
	was := []string{workerID(t, c, "w0"), workerID(t, c, "w1")}
	_, w := longPoints().run(c)
	w.UntilIterations(3)
	w.StillRunning()
	c.Pause()
	const pause = 8 * time.Second
	began := time.Now()
	Eventually(t, "time passes", func() (bool, string) { return time.Since(began) > pause, "" })
	c.Resume()
	longPoints().finish(t, "with the coordinator paused", w)
	c.AwaitWorkers(2)
	if now := []string{workerID(t, c, "w0"), workerID(t, c, "w1")}; now[0] != was[0] || now[1] != was[1] {
		t.Errorf("the workers were %v and are %v: they were given up", was, now)
	}
}
