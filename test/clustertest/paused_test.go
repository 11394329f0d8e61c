package clustertest

import (
	"testing"
	"time"
)

// TestTheCoordinatorIsPaused pauses the coordinator for longer than LostAfter and longer than the lease of
// a leader. Afterwards it must not treat the workers as lost, because it was not there to read their
// heartbeats. It must also still lead: no other process can lead with its data directory.
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
		t.Errorf("the workers were %v and are %v: their sessions ended", was, now)
	}
}
