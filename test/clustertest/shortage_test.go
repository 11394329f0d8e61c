package clustertest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// threeShares is a job whose stored matrix has 36 MB: more than two small workers hold, and less than three.
var threeShares = sync.OnceValue(func() *workload {
	return newWorkload(gaussians(3000, 6, 12, 6), longPoints().spec)
})

// smallWorkers starts a coordinator and three workers, all of which a job needs: together they have memory for its
// matrix, which must be stored, and two of them have not.
func smallWorkers(t *testing.T, args ...string) (*Coordinator, []*Worker, *cleavev1.JobSpec) {
	t.Helper()
	c := StartCoordinator(t, Options{Args: args})
	workers := make([]*Worker, 3)
	for i := range workers {
		workers[i] = smallWorker(t, c, fmt.Sprintf("w%d", i))
	}
	c.AwaitWorkers(3)
	spec := threeShares().on(c)
	spec.Storage = cleavev1.StorageMode_STORAGE_MODE_FLOAT32
	return c, workers, spec
}

func smallWorker(t *testing.T, c *Coordinator, name string) *Worker {
	t.Helper()
	return StartWorkerWith(t, c, name, "16MiB")
}

// waitsForMemory tells whether a job waits because the workers have too little memory for it.
func waitsForMemory(p *cleavev1.Progress) bool {
	return p.GetPhase() == cleavev1.Phase_PHASE_WAITING &&
		strings.Contains(p.GetMessage(), "waiting for a worker, up to") &&
		strings.Contains(p.GetMessage(), "the job does not fit")
}

// TestARestartedCoordinatorWaitsForAllWorkers: workers come back one after the other, and the job goes on once all are
// there that it needs.
func TestARestartedCoordinatorWaitsForAllWorkers(t *testing.T) {
	t.Parallel()
	c, workers, spec := smallWorkers(t)
	w := c.Watch(c.Create(spec))
	w.Resumes = true
	w.UntilIterations(3)
	w.StillRunning()
	for _, each := range workers {
		each.Pause() // none comes back before its turn
	}
	c.Kill()
	c.Restart()
	for at, each := range workers[:2] {
		each.Resume()
		c.AwaitWorkers(at + 1)
		w.UntilProgress("the job waits for its workers", waitsForMemory)
	}
	workers[2].Resume()
	threeShares().finish(t, "with a restart of the coordinator that all workers survive", w)
}

// TestAJobWaitsForAWorkerInPlaceOfALostOne: those that are left have too little memory.
func TestAJobWaitsForAWorkerInPlaceOfALostOne(t *testing.T) {
	t.Parallel()
	c, workers, spec := smallWorkers(t)
	w := c.Watch(c.Create(spec))
	w.UntilIterations(3)
	workers[0].Kill()
	w.UntilProgress("the job waits for a worker", waitsForMemory)
	w.StillRunning()
	smallWorker(t, c, "replacement")
	threeShares().finish(t, "with a worker in place of a lost one", w)
}

// TestAJobDoesNotWaitForever: once the time is over for which jobs wait, the job fails.
func TestAJobDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	c, workers, spec := smallWorkers(t, "--worker-wait", "200ms")
	w := c.Watch(c.Create(spec))
	w.UntilIterations(3)
	workers[0].Kill()
	end := w.End()
	if end.GetState() != cleavev1.JobState_JOB_STATE_FAILED || end.GetError().GetReason() != "NOT_ENOUGH_MEMORY" ||
		!strings.Contains(end.GetError().GetMessage(), "no worker joined within 200ms") {
		t.Errorf("the job ended with %v", end)
	}

	fresh := c.Watch(c.Create(spec)) // never had workers enough
	if end := fresh.End(); end.GetError().GetReason() != "PLAN_DOES_NOT_FIT" {
		t.Errorf("a new job ended with %v", end)
	}
}
