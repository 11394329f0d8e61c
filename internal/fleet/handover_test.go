package fleet_test

import (
	"fmt"
	"testing"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/worker"
)

func patient(cfg *fleet.Config) { cfg.LostAfter = never }

// A worker is killed while an operation waits for it. Its connection is closed, so nobody waits until it would be lost.
func TestAClosedConnectionIsNotAPause(t *testing.T) {
	c := newCluster(t, patient)
	a := c.startWorker("a")
	c.startWorker("b")
	p := gaussianProblem(t, 203, 4)
	s := newSequence(c, c.submit(p, nil), p, 4)
	s.run(5, noDisturbance)
	a.link.pause() // so that the next operation cannot end
	go a.kill()
	s.run(5, noDisturbance)
	c.until("b has all tiles", func() bool { return c.worker("b").Tiles == 13 })
	if now := c.worker("a"); now == nil || now.State != fleet.WorkerSilent || now.Tiles != 0 {
		t.Errorf("the killed worker is %+v; its session should last until LostAfter", now)
	}
	a.kill()
}

// A worker comes back after its tiles went to others: it goes on with its session and takes tiles again.
func TestAWorkerThatWasAwayTakesTilesAgain(t *testing.T) {
	c := newCluster(t, patient)
	a := c.startWorker("a")
	c.startWorker("b")
	p := gaussianProblem(t, 203, 5)
	s := newSequence(c, c.submit(p, nil), p, 5)
	s.run(5, noDisturbance)
	before := c.worker("a").ID
	a.link.refuse()
	s.run(5, noDisturbance)
	if tiles := c.worker("b").Tiles; tiles != 13 {
		t.Errorf("the worker that stayed has %d of 13 tiles", tiles)
	}
	a.link.allow()
	c.until("a is back", func() bool { return c.worker("a").State == fleet.WorkerReady })
	s.run(8, noDisturbance)
	if now := c.worker("a"); now.ID != before || now.Tiles == 0 {
		t.Errorf("the worker that came back is %+v", now)
	}
}

// The connection of the only worker is closed for a while. Nobody else can take its tiles, so it still has them.
func TestTilesStayWithTheOnlyWorker(t *testing.T) {
	c := newCluster(t, patient)
	a := c.startWorker("a")
	p := kernelProblem(t, 203, 6) // tiles fetch their rows when they are built
	s := newSequence(c, c.submit(p, nil), p, 6)
	s.run(3, noDisturbance)
	built := c.datasets.opens.Load()
	a.link.refuse()
	c.until("a is silent", func() bool { return c.worker("a").State == fleet.WorkerSilent })
	<-time.After(2 * reconnectWithin) // it is not back in time
	go a.link.allow()
	s.run(3, noDisturbance)
	if opens := c.datasets.opens.Load(); opens != built {
		t.Errorf("%d tiles were rebuilt", opens-built)
	}
}

// A worker sends heartbeats and never answers. Draining it gives its tiles to the other one, at whatever command it
// hangs, and it is told to leave.
func TestDrainingAWorkerThatHangs(t *testing.T) {
	for _, hangsAt := range []string{"prepare", "build", "load"} {
		t.Run(hangsAt, func(t *testing.T) {
			c := newCluster(t, patient)
			a, _, err := c.attachScripted(validHello())
			if err != nil {
				t.Fatal(err)
			}
			defer a.startHeartbeats()()
			hangs, left := make(chan struct{}, 1), make(chan struct{})
			go func() {
				defer close(left)
				for {
					m, err := a.stream.Recv()
					if err != nil || m.GetFarewell() != nil {
						return
					}
					command := m.GetCommand()
					switch {
					case hangsAt == "prepare" && command.GetPrepare() != nil, hangsAt == "build" && command.GetBuild() != nil,
						hangsAt == "load" && command.GetLoad() != nil:
						hangs <- struct{}{}
					default:
						a.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Answer{Answer: &workerv1.Answer{
							CommandId: command.GetCommandId(), Outcome: &workerv1.Answer_Done{Done: &workerv1.Done{}}}}})
					}
				}
			}()
			c.startWorker("able", func(cfg *worker.Config) { cfg.Threads = 1 })
			p := gaussianProblem(t, 203, 7)
			go func() {
				<-hangs
				if info, err := c.fleet.Drain("scripted"); err != nil || info.State != fleet.WorkerDraining {
					t.Error(fmt.Sprint(info), err)
				}
			}()
			newSequence(c, c.submit(p, nil), p, 7).run(8, noDisturbance)
			<-left
			c.until("it is gone", func() bool { return c.worker("scripted") == nil })
			if tiles := c.worker("able").Tiles; tiles != 13 {
				t.Errorf("the able worker has %d of 13 tiles", tiles)
			}
		})
	}
}
