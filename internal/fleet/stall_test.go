package fleet_test

import (
	"sync/atomic"
	"testing"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/wire"
)

const stalledAfter = slowdown * time.Second

func impatient(cfg *fleet.Config) { losing(cfg); cfg.StalledAfter = stalledAfter }

// startHanging attaches a worker that sends heartbeats and answers all commands but some. With progress, its
// heartbeats tell that those get on.
func (c *cluster) startHanging(hangs func(*workerv1.Command) bool, progress *atomic.Bool) {
	c.Helper()
	hello := validHello()
	hello.TableRules = wire.TableRules
	a, _, err := c.attachScripted(hello)
	if err != nil {
		c.Fatal(err)
	}
	var running atomic.Uint64
	go func() {
		for {
			m, err := a.stream.Recv()
			if err != nil {
				return
			}
			switch command := m.GetCommand(); {
			case command == nil:
			case hangs(command):
				running.Store(command.GetCommandId())
			default:
				a.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Answer{Answer: &workerv1.Answer{
					CommandId: command.GetCommandId(), Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{}}}}})
			}
		}
	}()
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for pieces := uint64(1); ; {
			select {
			case <-ticker.C:
				if progress.Load() {
					pieces++
				}
				beat := &workerv1.Heartbeat{}
				if id := running.Load(); id != 0 {
					beat.Running = []*workerv1.Progress{{CommandId: id, Pieces: pieces}}
				}
				a.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Heartbeat{Heartbeat: beat}})
			case <-over:
				return
			}
		}
	}()
	c.Cleanup(func() { close(over); <-ended })
}

// submitLater submits a job without waiting until its tiles are built.
func (c *cluster) submitLater(p *problem) <-chan *fleet.Executor {
	c.Helper()
	id, size := c.datasets.put(c.T, p.data)
	submitted := make(chan *fleet.Executor, 1)
	go func() {
		defer close(submitted)
		e, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, nil))
		if err != nil {
			c.Error(err)
			return
		}
		submitted <- e
	}()
	return submitted
}

// A worker sends heartbeats and never answers, at whatever command: its tiles go to the other one.
func TestAWorkerThatNeverAnswersIsExcluded(t *testing.T) {
	for name, hangs := range map[string]func(*workerv1.Command) bool{"prepare": atPrepare, "build": atBuild,
		"load": atLoad} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, impatient, func(cfg *fleet.Config) { cfg.LostAfter = never })
			c.startHanging(hangs, &atomic.Bool{})
			c.startWorker("able")
			p := gaussianProblem(t, 203, 1)
			newSequence(c, c.submit(p, nil), p, 1).run(8, noDisturbance)
			if able := c.worker("able"); able.Tiles != 13 {
				t.Errorf("the able worker has %d of 13 tiles", able.Tiles)
			}
			if hangs := c.worker("scripted"); hangs == nil || hangs.Tiles != 0 || hangs.ReservedBytes != 0 {
				t.Errorf("the worker that hangs is %+v", hangs)
			}
		})
	}
}

// A worker that tells that it gets on is not taken for one that hangs, however long that takes.
func TestProgressIsEnough(t *testing.T) {
	t.Parallel()
	c := newCluster(t, impatient, func(cfg *fleet.Config) { cfg.LostAfter, cfg.SlowAfter = never, never })
	getsOn := &atomic.Bool{}
	getsOn.Store(true)
	c.startHanging(atBuild, getsOn)
	c.startWorker("able")
	p := gaussianProblem(t, 203, 1)
	submitted := c.submitLater(p)
	select {
	case <-submitted:
		t.Error("the job went on without a worker that is only slow")
	case <-time.After(3 * stalledAfter):
	}
	if w := c.worker("scripted"); w.Tiles == 0 {
		t.Error("the slow worker lost its tiles")
	}
	getsOn.Store(false)
	newSequence(c, <-submitted, p, 1).run(3, noDisturbance)
}

// When the only worker hangs the job waits for another one, but not without end.
func TestTheOnlyWorkerHangs(t *testing.T) {
	for _, comes := range []bool{true, false} {
		c := newCluster(t, impatient)
		c.startHanging(atBuild, &atomic.Bool{})
		p := gaussianProblem(t, 203, 1)
		id, size := c.datasets.put(t, p.data)
		waits := make(chan struct{}, 1)
		go func() {
			<-waits
			if comes {
				c.startWorker("able")
			}
		}()
		e, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, func(s fleet.Status) {
			if s.Waiting != "" {
				waits <- struct{}{}
			}
		}))
		switch {
		case comes && err == nil:
			newSequence(c, e, p, 1).run(3, noDisturbance)
			e.Release()
		case comes || !fault.Is(err, "WORKER_STALLED"):
			t.Errorf("another worker comes: %v; the job ended with %v", comes, err)
		}
	}
}

// A real worker hangs because its data never arrive. It tells so, and comes to itself when the job goes on without it.
func TestARealWorkerThatHangs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, impatient)
	c.startWorker("a")
	p := gaussianProblem(t, 203, 2)
	c.datasets.block.Store(true)
	submitted := c.submitLater(p)
	<-c.datasets.began
	c.datasets.block.Store(false)
	c.startWorker("b")
	newSequence(c, <-submitted, p, 2).run(5, noDisturbance)
	<-c.datasets.ended // the fetch was canceled
	if a, b := c.worker("a"), c.worker("b"); a.Tiles != 0 || b.Tiles != 13 {
		t.Errorf("the workers have %d and %d of 13 tiles", a.Tiles, b.Tiles)
	}
}
