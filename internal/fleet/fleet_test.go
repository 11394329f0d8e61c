package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker"
)

func noDisturbance(int) {}

func TestAnyNumberOfWorkersGivesTheSameBits(t *testing.T) {
	problems := map[string]func(t *testing.T) *problem{
		"points": func(t *testing.T) *problem { return gaussianProblem(t, 203, 1) },
		"scaled": func(t *testing.T) *problem { return scaledProblem(t, 3) },
		"graph":  func(t *testing.T) *problem { return graphProblem(t, 400, 3000, 1) },
		"kernel": func(t *testing.T) *problem { return kernelProblem(t, 150, 1) },
	}
	for name, make := range problems {
		for _, workers := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprint(name, "-", workers), func(t *testing.T) {
				c := newCluster(t)
				for w := range workers {
					c.startWorker(fmt.Sprint("w", w))
				}
				p := make(t)
				e := c.submit(p, nil)
				newSequence(c, e, p, 1).run(30, noDisturbance)
				for _, w := range c.fleet.Workers() {
					if w.Tiles == 0 {
						t.Errorf("worker %s has no tiles", w.Name)
					}
				}
			})
		}
	}
}

func TestMeanAndScaleReachTheWorkers(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	c.startWorker("b")
	scale := make([]float64, 100)
	for i := range scale {
		scale[i] = 1 / float64(i+1)
	}
	p := newProblem(t, randomPoints(t, 100, 3, 5), kernel.MatrixSpec{
		Function: kernel.Polynomial, Gamma: 0.5, Coef0: 1, Degree: 2, Columns: 3, ZeroDiagonal: true,
		Mean: []float64{0.5, -0.25, 1}, Scale: scale,
	})
	newSequence(c, c.submit(p, nil), p, 5).run(15, noDisturbance)
}

func TestKilledWorkersChangeNothing(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			var workers []*testWorker
			for w := range 3 {
				workers = append(workers, c.startWorker(fmt.Sprint("w", w)))
			}
			p := gaussianProblem(t, 203, seed)
			e := c.submit(p, nil)
			s := newSequence(c, e, p, seed)
			var killing sync.WaitGroup
			defer killing.Wait()
			s.run(30, func(op int) {
				if op == 8 || op == 16 || op == 24 { // while the operation runs; one worker always stays
					victim := s.random.IntN(len(workers))
					dying := workers[victim]
					killing.Go(dying.kill)
					workers[victim] = c.startWorker(fmt.Sprint("late", op))
				}
			})
		})
	}
}

func TestOnlyTheTilesOfALostWorkerMove(t *testing.T) {
	c := newCluster(t)
	a := c.startWorker("a")
	c.startWorker("b")
	c.startWorker("c")
	p := kernelProblem(t, 203, 4) // 13 tiles, each of which fetches its rows when it is built
	s := newSequence(c, c.submit(p, nil), p, 4)
	s.setOperands()
	s.load()
	built := c.datasets.opens.Load()
	lost := c.worker("a").Tiles
	if built != 13 || lost == 0 {
		t.Fatalf("%d tiles built, %d on the worker to be killed", built, lost)
	}
	a.kill()
	s.update()
	if again := c.datasets.opens.Load() - built; again != int64(lost) {
		t.Errorf("%d tiles were rebuilt after the loss of %d", again, lost)
	}
	if total := c.worker("b").Tiles + c.worker("c").Tiles; total != 13 {
		t.Errorf("the survivors have %d tiles", total)
	}
}

func TestABrokenStreamCostsNothing(t *testing.T) {
	c := newCluster(t, func(cfg *fleet.Config) { cfg.ReconnectWithin = never })
	a := c.startWorker("a")
	b := c.startWorker("b")
	p := kernelProblem(t, 203, 2)
	s := newSequence(c, c.submit(p, nil), p, 2)
	before := c.fleet.Workers()
	built := c.datasets.opens.Load()
	s.run(30, func(op int) {
		switch op % 4 {
		case 1:
			a.link.cut()
		case 3:
			b.link.cut()
		}
	})
	for i, w := range c.fleet.Workers() {
		if w.ID != before[i].ID {
			t.Errorf("worker %s has a new session", w.Name)
		}
	}
	if opens := c.datasets.opens.Load(); opens != built {
		t.Errorf("%d tiles were rebuilt", opens-built)
	}
}

func TestAPausedWorkerIsReplacedAndGetsANewSession(t *testing.T) {
	c := newCluster(t, losing)
	a := c.startWorker("a")
	c.startWorker("b")
	p := gaussianProblem(t, 203, 3)
	s := newSequence(c, c.submit(p, nil), p, 3)
	before := c.worker("a").ID
	s.run(20, func(op int) {
		if op == 5 {
			a.link.pause() // the next operations wait for it, and then continue without it
		}
	})
	c.until("the paused worker has lost its session", func() bool {
		now := c.worker("a")
		return now == nil || now.ID != before
	})
	a.link.resume()
	c.until("a is back", func() bool { w := c.worker("a"); return w != nil && w.ID != before })
	s.until(func() bool { return c.worker("a").Tiles > 0 })
}

func TestAJoiningWorkerTakesItsShare(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	p := kernelProblem(t, 203, 6)
	s := newSequence(c, c.submit(p, nil), p, 6)
	s.run(5, noDisturbance)
	built := c.datasets.opens.Load()
	c.startWorker("b")
	s.until(func() bool { return c.worker("b").Tiles > 0 })
	if got := c.worker("b").Tiles; got != 6 {
		t.Errorf("the new worker has %d of 13 tiles", got)
	}
	if moved := c.datasets.opens.Load() - built; moved != 6 {
		t.Errorf("%d tiles were built for the new worker", moved)
	}
}

// A worker that joins while tiles are being built builds some of them.
func TestAWorkerThatJoinsDuringTheBuildHelps(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a", func(cfg *worker.Config) { cfg.Threads = 1 })
	p := kernelProblem(t, 203, 6)
	joined := false
	c.submit(p, func(s fleet.Status) {
		if s.TilesBuilt > 0 && !joined { // the first two of thirteen
			joined = true
			c.startWorker("b", func(cfg *worker.Config) { cfg.Threads = 1 })
		}
	})
	if got := c.worker("b").Tiles; got != 6 && got != 7 { // 13 is odd: either worker may have one more
		t.Errorf("the new worker has %d of 13 tiles", got)
	}
	if built := c.datasets.opens.Load(); built != 13 {
		t.Errorf("13 tiles were built %d times", built)
	}
}

func TestADrainedWorkerLeavesWhenItsTilesAreElsewhere(t *testing.T) {
	c := newCluster(t)
	a := c.startWorker("a")
	p := gaussianProblem(t, 203, 7)
	s := newSequence(c, c.submit(p, nil), p, 7)
	if info, err := c.fleet.Drain("a"); err != nil || info.State != fleet.WorkerDraining {
		t.Fatalf("%+v, %v", info, err)
	}
	s.run(5, noDisturbance) // no other worker can take its tiles yet
	if c.worker("a").Tiles != 13 {
		t.Fatal("the only worker lost its tiles")
	}
	c.startWorker("b")
	s.until(func() bool { return c.worker("b").Tiles == 13 })
	if err := <-a.done; err != nil {
		t.Errorf("a drained worker ended with %v", err)
	}
	a.done <- nil
	c.until("a is gone", func() bool { return c.worker("a") == nil })
	s.run(5, noDisturbance)
	if _, err := c.fleet.Drain("a"); !fault.Is(err, "WORKER_NOT_FOUND") {
		t.Errorf("draining a worker that is gone: %v", err)
	}
}

func TestALeavingWorkerHandsItsTilesOver(t *testing.T) {
	c := newCluster(t)
	a := c.startWorker("a", func(cfg *worker.Config) { cfg.LeaveTimeout = c.timeout() })
	c.startWorker("b")
	p := gaussianProblem(t, 203, 8)
	s := newSequence(c, c.submit(p, nil), p, 8)
	s.run(3, noDisturbance)
	a.cancel()
	c.until("a is leaving", func() bool { w := c.worker("a"); return w == nil || w.State == fleet.WorkerDraining })
	s.run(3, noDisturbance)
	if err := <-a.done; err != nil {
		t.Errorf("leaving: %v", err)
	}
	a.done <- nil
	c.until("a is gone", func() bool { return c.worker("a") == nil })
}

func TestAnIdleWorkerLeavesImmediately(t *testing.T) {
	c := newCluster(t)
	a := c.startWorker("a", func(cfg *worker.Config) { cfg.LeaveTimeout = c.timeout() })
	a.cancel()
	if err := <-a.done; err != nil {
		t.Errorf("leaving: %v", err)
	}
	a.done <- nil
}

func TestLargePayloadsAreSentByReference(t *testing.T) {
	c := newCluster(t)
	a := c.startWorker("a")
	c.startWorker("b")
	p := graphProblem(t, 20_000, 30_000, 9) // labels, values and moves are all larger than the inline limit
	if 4*20_000 <= wire.InlineBytes {
		t.Fatal("the problem is too small for this test")
	}
	s := newSequence(c, c.submit(p, nil), p, 9)
	s.run(12, func(op int) {
		if op == 6 {
			a.link.cut()
		}
	})
}

func TestAJobWaitsForTheFirstWorker(t *testing.T) {
	c := newCluster(t)
	p := gaussianProblem(t, 64, 10)
	statuses := make(chan fleet.Status, 100)
	id, size := c.datasets.put(t, p.data)
	got := make(chan *fleet.Executor, 1)
	go func() {
		e, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, func(s fleet.Status) { statuses <- s }))
		if err != nil {
			t.Error(err)
		}
		got <- e
	}()
	if s := <-statuses; s.Waiting != "waiting for a worker: none is connected" {
		t.Errorf("status %+v", s)
	}
	c.startWorker("a")
	e := <-got
	defer e.Release()
	var last fleet.Status
	for len(statuses) > 0 {
		last = <-statuses
	}
	if last != (fleet.Status{TilesBuilt: 4, Tiles: 4, Workers: 1}) {
		t.Errorf("last status %+v", last)
	}
	newSequence(c, e, p, 10).run(5, noDisturbance)
}

func TestCancelEndsAWaitingAndAFetchingJob(t *testing.T) {
	c := newCluster(t)
	p := gaussianProblem(t, 64, 10)
	id, size := c.datasets.put(t, p.data)
	ctx, cancel := context.WithCancel(c.ctx)
	_, err := c.fleet.NewExecutor(ctx, p.task("job", id, size, func(fleet.Status) { cancel() }))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a waiting job ended with %v", err)
	}
	c.startWorker("a")
	c.datasets.block.Store(true)
	ctx, cancel = context.WithCancel(c.ctx)
	go func() {
		<-c.datasets.began
		cancel()
	}()
	if _, err := c.fleet.NewExecutor(ctx, p.task("job", id, size, nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("a fetching job ended with %v", err)
	}
	<-c.datasets.ended // the worker canceled its fetch when the job was released
	c.datasets.block.Store(false)
	if w := c.worker("a"); w.Tiles != 0 || w.ReservedBytes != 0 || len(w.JobIDs) != 0 {
		t.Errorf("the worker still holds %+v", w)
	}
	newSequence(c, c.submit(p, nil), p, 10).run(5, noDisturbance)
}

func TestSeveralJobsShareTheFleet(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	b := c.startWorker("b")
	var jobs []*sequence
	for job := range uint64(3) {
		p := gaussianProblem(t, 203, job%2) // two jobs have the same data
		jobs = append(jobs, newSequence(c, c.submit(p, nil), p, job))
	}
	var all sync.WaitGroup
	for job, s := range jobs {
		all.Go(func() {
			s.run(20, func(op int) {
				if job == 0 && op == 10 { // all data sets have arrived
					b.link.cut()
				}
			})
		})
	}
	all.Wait()
	if opens := c.datasets.opens.Load(); opens > 2+4 { // for their hashes, and for each worker
		t.Errorf("two data sets were read %d times for two workers", opens)
	}
}

func TestMemory(t *testing.T) {
	c := newCluster(t)
	p := gaussianProblem(t, 203, 11)
	id, size := c.datasets.put(t, p.data)
	p.storage = planning.Float32
	little := p.memory(size, 7) // of 13 tiles
	c.startWorker("a", little)
	_, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, nil))
	if !fault.Is(err, "PLAN_DOES_NOT_FIT") {
		t.Fatalf("half the memory: %v", err)
	}
	c.startWorker("b", little)
	first, err := c.fleet.NewExecutor(c.ctx, p.task("first", id, size, nil))
	if err != nil {
		t.Fatalf("just enough memory: %v", err)
	}
	newSequence(c, first, p, 11).run(3, noDisturbance)
	second := make(chan error, 1)
	waits := make(chan struct{})
	go func() {
		e, err := c.fleet.NewExecutor(c.ctx, p.task("second", id, size, func(s fleet.Status) {
			if strings.HasPrefix(s.Waiting, "waiting for memory") {
				close(waits)
			}
		}))
		if err == nil {
			e.Release()
		}
		second <- err
	}()
	<-waits
	first.Release()
	if err := <-second; err != nil {
		t.Errorf("the second job: %v", err)
	}
	for _, w := range c.fleet.Workers() {
		if w.ReservedBytes != 0 {
			t.Errorf("worker %s still accounts for %d bytes", w.Name, w.ReservedBytes)
		}
	}
}

func TestReleaseAndCloseEndOperations(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	p := gaussianProblem(t, 64, 12)
	e := c.submit(p, nil)
	e.Release()
	e.Release()
	if _, err := e.Degrees(c.ctx); !errors.Is(err, fleet.ErrReleased) {
		t.Errorf("after release: %v", err)
	}
	e = c.submit(p, nil)
	c.fleet.Close()
	if _, err := e.Degrees(c.ctx); !errors.Is(err, fleet.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// A Send to a paused worker blocks once its flow-control window is full. The session must end anyway.
func TestASessionWithABlockedStreamEnds(t *testing.T) {
	c := newCluster(t, losing)
	a, _, err := c.attachScripted(validHello())
	if err != nil {
		t.Fatal(err)
	}
	stop := a.startHeartbeats()
	loads := make(chan struct{}, 100)
	resumed := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- a.answerCommands(func(command *workerv1.Command) *workerv1.Failure {
			if command.GetLoad() != nil {
				loads <- struct{}{}
				<-resumed // it stops reading
			}
			return nil
		})
	}()
	var jobs []*sequence
	for job := range uint64(4) {
		p := graphProblem(t, 16_000, 1000, job) // labels that just fit inline
		jobs = append(jobs, newSequence(c, c.submit(p, nil), p, job))
	}
	var all sync.WaitGroup
	for _, s := range jobs {
		all.Go(func() { s.run(1, noDisturbance) })
	}
	select {
	case <-loads:
	case <-c.ctx.Done():
		t.Fatal("the worker is not asked to load labels")
	}
	c.startWorker("b")
	stop()
	all.Wait()
	if c.worker("scripted") != nil {
		t.Error("the paused worker is still there")
	}
	close(resumed)
	if err := <-ended; status.Code(err) != codes.Aborted {
		t.Errorf("after its pause the worker was told %v", err)
	}
}

func TestWorkersFollowARestartedCoordinator(t *testing.T) {
	c := newCluster(t)
	a := c.startWorker("a")
	before := c.worker("a").ID
	p := gaussianProblem(t, 203, 13)
	e := c.submit(p, nil)
	newSequence(c, e, p, 13).run(5, noDisturbance)
	c.restart()
	c.until("a is back", func() bool { return c.worker("a") != nil })
	if c.worker("a").ID == before {
		t.Error("the session outlived its coordinator")
	}
	if _, err := e.Degrees(c.ctx); !errors.Is(err, fleet.ErrClosed) {
		t.Errorf("the old coordinator's job: %v", err)
	}
	newSequence(c, c.submit(p, nil), p, 13).run(5, noDisturbance)
	a.kill()
}
