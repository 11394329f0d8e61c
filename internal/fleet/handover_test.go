package fleet_test

import (
	"fmt"
	"testing"
	"time"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/worker"
	"github.com/cleave-project/cleave/test/bubble"
)

// A worker is killed while an operation waits for it. Its connection is closed, so nobody waits until it would be
// lost. Time is virtual here and below: on a busy machine, heartbeats are late, and what is closed after a silence
// counts as a failing link.
func TestAClosedConnectionIsNotAPause(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := openCluster(t, true)
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
	})
}

// A worker comes back after its tiles went to others: it goes on with its session and takes tiles again.
func TestAWorkerThatWasAwayTakesTilesAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := openCluster(t, true)
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
		s.until(func() bool { return c.worker("a").Tiles > 0 })
		if now := c.worker("a"); now.ID != before {
			t.Errorf("the worker that came back is %+v", now)
		}
	})
}

// The connection of the only worker is closed for a while. Nobody else can take its tiles, so it still has them.
func TestTilesStayWithTheOnlyWorker(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := openCluster(t, true)
		a := c.startWorker("a")
		p := kernelProblem(t, 203, 6) // tiles fetch their rows when they are built
		s := newSequence(c, c.submit(p, nil), p, 6)
		s.run(3, noDisturbance)
		built := c.datasets.opens.Load()
		a.link.refuse()
		c.until("a is silent", func() bool { return c.worker("a").State == fleet.WorkerSilent })
		time.Sleep(2 * reconnectWithin) // it is not back in time
		go a.link.allow()
		s.run(3, noDisturbance)
		if opens := c.datasets.opens.Load(); opens != built {
			t.Errorf("%d tiles were rebuilt", opens-built)
		}
	})
}

// A worker sends heartbeats and never answers. Draining it gives its tiles to the other one, at whatever command it
// hangs, and it is told to leave.
func TestDrainingAWorkerThatHangs(t *testing.T) {
	for _, hangsAt := range []string{"prepare", "build", "load"} {
		t.Run(hangsAt, func(t *testing.T) {
			c := newCluster(t, func(cfg *fleet.Config) { cfg.LostAfter = never })
			a, _, err := c.attachScripted(validHello())
			if err != nil {
				t.Fatal(err)
			}
			defer a.startHeartbeats()()
			hangs := make(chan struct{}, 1)
			left := make(chan struct{})
			go func() {
				defer close(left)
				for {
					m, err := a.stream.Recv()
					if err != nil || m.GetFarewell() != nil {
						return
					}
					command := m.GetCommand()
					switch {
					case hangsAt == "prepare" && command.GetPrepare() != nil,
						hangsAt == "build" && command.GetBuild() != nil,
						hangsAt == "load" && command.GetLoad() != nil:
						hangs <- struct{}{}
					default:
						a.send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Answer{Answer: &workerv1.Answer{
							CommandId: command.GetCommandId(),
							Outcome:   &workerv1.Answer_Done{Done: &workerv1.Done{}}}}})
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

// A worker is replaced while a job runs: its successor joins, then it is told to leave. No operation waits for the
// successor, which gets no bytes at first, and it builds little else than the tiles of the worker that leaves.
func TestOperationsDoNotWaitForASuccessor(t *testing.T) {
	c := newCluster(t)
	a := c.startWorker("a", func(cfg *worker.Config) { cfg.LeaveTimeout = c.timeout() })
	c.startWorker("b")
	p := kernelProblem(t, 203, 6) // tiles fetch their rows when they are built
	s := newSequence(c, c.submit(p, nil), p, 6)
	s.run(5, noDisturbance)
	built := c.datasets.opens.Load()
	before := [2]int{c.worker("a").Tiles, c.worker("b").Tiles}
	successor := c.startWorker("a2")
	successor.link.pause()
	s.run(10, noDisturbance)
	a.cancel()
	c.until("a is leaving", func() bool { return c.worker("a").State == fleet.WorkerDraining })
	s.run(10, noDisturbance)
	if now := [3]int{c.worker("a").Tiles, c.worker("b").Tiles, c.worker("a2").Tiles}; now != [3]int{before[0],
		before[1], 0} {
		t.Errorf("a, b and the successor have %v tiles; a and b had %v", now, before)
	}
	successor.link.resume()
	s.until(func() bool { return c.worker("a") == nil })
	if err := <-a.done; err != nil {
		t.Error(err)
	}
	a.done <- nil
	if now := [2]int{c.worker("a2").Tiles, c.worker("b").Tiles}; now != before {
		t.Errorf("the successor and b have %v tiles; a and b had %v", now, before)
	}
	// the first few may be for balance
	if again := int(c.datasets.opens.Load() - built); again < before[0] || again > before[0]+4 {
		t.Errorf("%d tiles were built for %d that moved", again, before[0])
	}
	s.run(5, noDisturbance)
}

// The worker that has the tiles ends while its successor builds them. What the successor has built is used.
func TestAWorkerEndsBeforeItsSuccessorHasItsTiles(t *testing.T) {
	for _, first := range []int64{0, 2} { // tiles that the successor has built by then
		c := newCluster(t)
		a := c.startWorker("a")
		p := kernelProblem(t, 203, 6)
		s := newSequence(c, c.submit(p, nil), p, 6)
		s.run(5, noDisturbance)
		built := c.datasets.opens.Load()
		successor := c.startWorker("a2", func(cfg *worker.Config) { cfg.Threads = 1 })
		if first == 0 {
			successor.link.pause()
		}
		if _, err := c.fleet.Drain("a"); err != nil {
			t.Fatal(err)
		}
		s.until(func() bool { return c.datasets.opens.Load() >= built+first })
		successor.link.pause()
		a.kill()
		go successor.link.resume()
		s.run(5, noDisturbance)
		if tiles := c.worker("a2").Tiles; tiles != 13 {
			t.Errorf("the successor has %d of 13 tiles", tiles)
		}
		if again := c.datasets.opens.Load() - built; again > 13+4 { // what was under way may be built twice
			t.Errorf("%d tiles were built for 13", again)
		}
	}
}

// A successor that ends while it builds, or cannot build, changes nothing for the workers that have the tiles.
func TestASuccessorEndsBeforeItHasTheTiles(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	p := kernelProblem(t, 203, 6)
	s := newSequence(c, c.submit(p, nil), p, 6)
	s.run(5, noDisturbance)
	successor := c.startWorker("a2")
	successor.link.pause()
	s.run(5, noDisturbance)
	successor.kill()
	s.run(5, noDisturbance)
	if tiles := c.worker("a").Tiles; tiles != 13 {
		t.Errorf("a has %d of 13 tiles", tiles)
	}
	if another := c.startWorker("a3"); another != nil {
		s.until(func() bool { return c.worker("a3").Tiles > 0 })
	}
}

// replaced runs a job on two workers in virtual time, and replaces both of them meanwhile, or not. A tile takes 10 ms
// in an operation, and 40 times as long to build and to load its labels. It returns how long the operations took in
// all, and how many took more than twice as long as usual.
func replaced(t *testing.T, replace bool) (total time.Duration, held int) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		const perTile = 10 * time.Millisecond
		slow := pacedBy(func(c *workerv1.Command, tiles int) time.Duration {
			switch c.GetOperation().(type) {
			case *workerv1.Command_Build, *workerv1.Command_Load:
				return time.Duration(tiles) * 20 * perTile
			case *workerv1.Command_Prepare, *workerv1.Command_SetOperands, *workerv1.Command_Drop:
				return 0
			case *workerv1.Command_Update:
				// less, or whether a successor ever catches up is decided by events at the same instant
				return time.Duration(tiles) * perTile * 9 / 10
			}
			return time.Duration(tiles) * perTile
		})
		leaving := func(cfg *worker.Config) { slow(cfg); cfg.LeaveTimeout = time.Hour }
		c := openCluster(t, true, func(cfg *fleet.Config) { cfg.HeartbeatInterval = time.Second })
		old := []*testWorker{c.startWorker("a", leaving), c.startWorker("b", leaving)}
		p := gaussianProblem(t, 800, 4) // 50 tiles
		s := newSequence(c, c.submit(p, nil), p, 4)
		s.setOperands()
		s.load()
		var left *testWorker // the worker that was told to leave last
		for op := range 240 {
			if replace && op >= 20 && len(old) > 0 && (left == nil || c.worker(left.name) == nil) {
				left, old = old[0], old[1:]
				c.startWorker(left.name+"2", slow)
				left.cancel()
				c.until("it is leaving", func() bool {
					w := c.worker(left.name)
					return w == nil || w.State == fleet.WorkerDraining
				})
			}
			began := time.Now()
			if op%2 == 0 {
				s.move(nil)
			} else {
				s.assign()
			}
			took := time.Since(began)
			total += took
			if took > 2*26*perTile*2 { // an assignment may be followed by an update
				held++
			}
		}
		if replace && (len(old) > 0 || c.worker("a") != nil || c.worker("b") != nil) {
			t.Errorf("the workers are %+v", c.fleet.Workers())
		}
	})
	return total, held
}

func TestReplacingAllWorkersHoldsNoOperationUp(t *testing.T) {
	alone, _ := replaced(t, false)
	total, held := replaced(t, true)
	t.Logf("%v undisturbed, %v with all workers replaced, %d operations held up", alone, total, held)
	if held > 0 || total > alone+alone/20 {
		t.Errorf("%v instead of %v, and %d operations were held up", total, alone, held)
	}
}
