package clustertest

import (
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/testscale"
)

func TestOneWorkerIsKilledAndAnotherPaused(t *testing.T) {
	testscale.LongOnly(t, "other tests have a kill and a pause")
	t.Parallel()
	for name, load := range pointsAndGraph() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, workers := StartCluster(t, 4)
			paused := workerID(t, c, "w1")
			_, w := load().run(c)
			w.UntilIterations(3)
			workers[0].Kill()
			workers[1].Pause()
			w.StillRunning()
			load().finish(t, "with one worker killed and one paused", w)

			c.AwaitWorkers(2) // the paused worker is lost, and its session ends
			workers[1].Resume()
			c.AwaitWorkers(3)
			if again := workerID(t, c, "w1"); again == paused {
				t.Error("the lost worker resumed its old session")
			}
			_, w = load().run(c)
			load().finish(t, "with the paused worker back", w)
		})
	}
}

// A worker that is silent for less than LostAfter keeps its session and its tiles, and the job waits for it.
func TestAWorkerPausesAndComesBack(t *testing.T) {
	t.Parallel()
	c := startPatient(t, "--slow-after", "1h")
	worker := StartWorker(t, c, "w0")
	StartWorker(t, c, "w1")
	c.AwaitWorkers(2)
	session := workerID(t, c, "w0")
	_, w := longPoints().run(c)
	w.UntilIterations(3)
	worker.Pause()
	Eventually(t, "the worker is silent", func() (bool, string) {
		for _, w := range c.Workers() {
			if w.GetName() == "w0" {
				return w.GetState() == cleavev1.WorkerState_WORKER_STATE_SILENT && w.GetTiles() > 0, w.String()
			}
		}
		return false, "it is lost"
	})
	w.StillRunning()
	worker.Resume()
	longPoints().finish(t, "with a worker that paused", w)
	c.AwaitWorkers(2)
	if workerID(t, c, "w0") != session {
		t.Error("the worker has a new session")
	}
}

// TestAWorkerIsKilledDuringTheBuild pauses a worker, so that the build cannot end, and then kills it.
func TestAWorkerIsKilledDuringTheBuild(t *testing.T) {
	t.Parallel()
	c, workers := StartCluster(t, 3)
	spec := longBuild().on(c)
	workers[0].Pause()
	w := c.Watch(c.Create(spec))
	w.UntilProgress("a build that is half done", func(p *cleavev1.Progress) bool {
		return p.GetPhase() == cleavev1.Phase_PHASE_BUILDING && p.GetTilesBuilt() > 0 &&
			p.GetTilesBuilt() < p.GetTiles()
	})
	workers[0].Kill()
	w.StillRunning()
	longBuild().finish(t, "with a worker killed during the build", w)
}

func TestAllWorkersAreKilledAndANewOneJoins(t *testing.T) {
	t.Parallel()
	c, workers := StartCluster(t, 2)
	job, w := longPoints().run(c)
	w.UntilIterations(3)
	for _, each := range workers {
		each.Kill()
	}
	const waits = "waiting for a worker"
	w.UntilProgress("the job waits", func(p *cleavev1.Progress) bool {
		return p.GetPhase() == cleavev1.Phase_PHASE_WAITING && strings.Contains(p.GetMessage(), waits)
	})
	if said := c.Job(job).GetStatusMessage(); !strings.Contains(said, waits) {
		t.Errorf("the job waits, but its status says %q", said)
	}
	w.StillRunning()
	c.AwaitWorkers(0)
	StartWorker(t, c, "replacement")
	longPoints().finish(t, "with all workers killed and a new one", w)
	if said := c.Job(job).GetStatusMessage(); said != "" {
		t.Errorf("the job has succeeded, but its status says %q", said)
	}
}

func TestAWorkerJoins(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 1)
	job, w := longPoints().run(c)
	w.UntilIterations(3)
	StartWorker(t, c, "late")
	Eventually(t, "the worker that joined holds tiles", func() (bool, string) {
		w.StillRunning()
		workers := c.Workers()
		for _, each := range workers {
			if each.GetName() == "late" && each.GetTiles() > 0 {
				return true, ""
			}
		}
		return false, "the workers are " + c.describeWorkers()
	})
	longPoints().finish(t, "with a worker that joined", w)
	if count := c.Outcome(job).Result.GetPlan().GetWorkers(); count != 2 {
		t.Errorf("the plan has %d workers, want 2", count)
	}
}

func TestAWorkerIsTerminated(t *testing.T) {
	t.Parallel()
	c, workers := StartCluster(t, 3)
	_, w := longPoints().run(c)
	w.UntilIterations(3)
	if code := workers[0].Terminate(); code != 0 {
		t.Errorf("the worker ended with exit code %d", code)
	}
	for _, each := range c.Workers() {
		if each.GetName() == "w0" && each.GetState() == cleavev1.WorkerState_WORKER_STATE_SILENT {
			t.Error("the worker ended without a Leaving message")
		}
	}
	w.StillRunning()
	longPoints().finish(t, "with a worker terminated", w)
	c.AwaitWorkers(2)
}

// TestTheLastWorkerIsTerminated: it waits some seconds for another worker to take its tiles, and then
// leaves. The job waits for another worker.
func TestTheLastWorkerIsTerminated(t *testing.T) {
	testscale.LongOnly(t, "TestAWorkerIsTerminated and TestAllWorkersAreKilledAndANewOneJoins have its parts")
	t.Parallel()
	c, workers := StartCluster(t, 1)
	spec := longPoints().on(c)
	spec.Restarts = 10_000 // longer than the worker waits
	job := c.Create(spec)
	w := c.Watch(job)
	w.UntilIterations(3)
	if code := workers[0].Terminate(); code != 0 {
		t.Errorf("the worker ended with exit code %d", code)
	}
	w.UntilProgress("the job waits", func(p *cleavev1.Progress) bool {
		return p.GetPhase() == cleavev1.Phase_PHASE_WAITING
	})
	StartWorker(t, c, "next")
	w.UntilProgress("the job goes on", func(p *cleavev1.Progress) bool {
		return p.GetPhase() == cleavev1.Phase_PHASE_ITERATING
	})
	canceled, err := c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: job})
	must(t, canceled, err)
	wantCanceled(t, c, w)
}

func workerID(t testing.TB, c *Coordinator, name string) string {
	t.Helper()
	for _, w := range c.Workers() {
		if w.GetName() == name {
			return w.GetWorkerId()
		}
	}
	t.Fatalf("no worker is named %s", name)
	return ""
}
