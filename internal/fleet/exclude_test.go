package fleet_test

import (
	"sync/atomic"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

const (
	internal   = workerv1.FailureKind_FAILURE_KIND_INTERNAL
	noMemory   = workerv1.FailureKind_FAILURE_KIND_NO_MEMORY
	invalid    = workerv1.FailureKind_FAILURE_KIND_INVALID
	notReady   = workerv1.FailureKind_FAILURE_KIND_NOT_READY
	unprepared = workerv1.FailureKind_FAILURE_KIND_UNPREPARED
)

func atPrepare(c *workerv1.Command) bool { return c.GetPrepare() != nil }
func atBuild(c *workerv1.Command) bool   { return c.GetBuild() != nil }
func atLoad(c *workerv1.Command) bool    { return c.GetLoad() != nil }

// startFailing attaches a worker that answers all commands, and some of them with a failure.
func (c *cluster) startFailing(kind workerv1.FailureKind, fails func(*workerv1.Command) bool) {
	c.Helper()
	c.startFailingAs(validHello(), kind, fails)
}

func (c *cluster) startFailingAs(hello *workerv1.Hello, kind workerv1.FailureKind, fails func(*workerv1.Command) bool) {
	c.Helper()
	a, _, err := c.attachScripted(hello)
	if err != nil {
		c.Fatal(err)
	}
	ended := make(chan error, 1)
	stopHeartbeats := a.startHeartbeats()
	go func() {
		ended <- a.answerCommands(func(c *workerv1.Command) *workerv1.Failure {
			if fails(c) {
				return failureOf(kind, "BROKEN", "it does not work")
			}
			return nil
		})
	}()
	c.Cleanup(func() {
		stopHeartbeats()
		c.fleet.Close()
		<-ended
	})
}

// A worker always fails, in any way and at any command: the job goes on with the other one.
func TestAFailingWorkerIsAvoided(t *testing.T) {
	for kind, commands := range map[workerv1.FailureKind]map[string]func(*workerv1.Command) bool{
		internal:   {"prepare": atPrepare, "build": atBuild, "load": atLoad},
		invalid:    {"prepare": atPrepare, "build": atBuild, "load": atLoad},
		notReady:   {"build": atBuild, "load": atLoad},
		unprepared: {"build": atBuild, "load": atLoad},
		noMemory:   {"build": atBuild},
	} {
		for command, fails := range commands {
			t.Run(kind.String()+"-"+command, func(t *testing.T) {
				c := newCluster(t)
				c.startFailing(kind, fails)
				c.startWorker("able")
				p := gaussianProblem(t, 203, 1)
				newSequence(c, c.submit(p, nil), p, 1).run(8, noDisturbance)
				if able := c.worker("able"); able.Tiles != 13 {
					t.Errorf("the able worker has %d of 13 tiles", able.Tiles)
				}
			})
		}
	}
}

// A worker that failed once gets its tiles again if the others have no room for them.
func TestAFailureIsToleratedIfTheWorkerIsNeeded(t *testing.T) {
	c := newCluster(t)
	p := gaussianProblem(t, 203, 1)
	p.storage = planning.Float32
	id, size := c.datasets.put(t, p.data)
	half := p.memory(size, 7)
	sized := worker.Config{} // of 13 tiles
	half(&sized)
	hello := validHello()
	failures := atomic.Int32{}
	hello.Threads, hello.MemoryBytes = 2, sized.MemoryBytes
	c.startFailingAs(hello, internal, func(command *workerv1.Command) bool {
		return atBuild(command) && failures.Add(1) == 1
	})
	c.startWorker("able", half)
	c.launch(p.task("job", id, size, nil))
	if w := c.worker("scripted"); failures.Load() < 2 || w.Tiles == 0 {
		t.Errorf("the worker failed once, was asked %d times, and is %+v", failures.Load(), w)
	}
}

// One able worker is enough, however many others fail at the same time.
func TestOneAbleWorkerIsEnough(t *testing.T) {
	for _, kind := range []workerv1.FailureKind{internal, notReady, noMemory} {
		t.Run(kind.String(), func(t *testing.T) {
			c := newCluster(t)
			for range 4 {
				c.startFailing(kind, atBuild)
			}
			c.startWorker("able")
			p := gaussianProblem(t, 203, 1)
			newSequence(c, c.submit(p, nil), p, 1).run(8, noDisturbance)
			if able := c.worker("able"); able.Tiles != 13 {
				t.Errorf("the able worker has %d of 13 tiles", able.Tiles)
			}
		})
	}
}

// What two workers say of the input is believed, even if a third one might have said something else.
func TestTwoWorkersThatCallTheInputInvalidAreBelieved(t *testing.T) {
	c := newCluster(t)
	c.startFailing(invalid, atBuild)
	c.startFailing(invalid, atBuild)
	c.startWorker("able")
	p := gaussianProblem(t, 203, 1)
	id, size := c.datasets.put(t, p.data)
	if _, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, nil)); !fault.Is(err, "BROKEN") {
		t.Errorf("got %v", err)
	}
	for _, w := range c.fleet.Workers() {
		if w.Tiles != 0 || w.ReservedBytes != 0 {
			t.Errorf("worker %s still holds %+v", w.Name, w)
		}
	}
}

func TestAJobThatOnlyFailsEnds(t *testing.T) {
	for kind, reason := range map[workerv1.FailureKind]string{
		workerv1.FailureKind_FAILURE_KIND_INTERNAL:   "WORKER_FAILED",
		workerv1.FailureKind_FAILURE_KIND_NOT_READY:  "WORKER_FAILED",
		workerv1.FailureKind_FAILURE_KIND_UNPREPARED: "WORKER_FAILED",
		workerv1.FailureKind_FAILURE_KIND_NO_MEMORY:  "PLAN_DOES_NOT_FIT",
		workerv1.FailureKind_FAILURE_KIND_INVALID:    "BROKEN",
	} {
		t.Run(kind.String(), func(t *testing.T) {
			c := newCluster(t)
			c.startFailing(kind, atBuild)
			p := gaussianProblem(t, 203, 1)
			id, size := c.datasets.put(t, p.data)
			if _, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, nil)); !fault.Is(err, reason) {
				t.Errorf("got %v", err)
			}
		})
	}
}
