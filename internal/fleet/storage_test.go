package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

// checkReserved checks that no worker is given more than its memory.
func (c *cluster) checkReserved() {
	c.Helper()
	for _, w := range c.fleet.Workers() {
		if w.MemoryBytes > 0 && w.ReservedBytes > w.MemoryBytes {
			c.Errorf("worker %s is to hold %d bytes of %d", w.Name, w.ReservedBytes, w.MemoryBytes)
		}
	}
}

// The bits do not depend on the storage of tiles or on the number of workers.
func TestAnyStorageGivesTheSameBits(t *testing.T) {
	const tiles = 13
	for _, workers := range []int{1, 2, 3} {
		for _, c := range []struct {
			storage  planning.Storage
			room     int64 // stored tiles that fit on each worker
			stored   int
			computed int
		}{
			{planning.None, tiles, 0, tiles},
			{planning.Float32, tiles, tiles, 0},
			{planning.Auto, tiles, tiles, 0},
			{planning.Auto, 4, 0, 0}, // some of each
		} {
			t.Run(fmt.Sprint(c.storage, "-", workers, "-", c.room), func(t *testing.T) {
				t.Parallel()
				k := newCluster(t)
				p := gaussianProblem(t, 203, 1)
				p.storage = c.storage
				_, size := k.datasets.put(t, p.data)
				for w := range workers {
					k.startWorker(fmt.Sprint("w", w), p.memory(size, c.room))
				}
				e := k.submit(p, nil)
				newSequence(k, e, p, 1).run(30, func(int) { k.checkReserved() })
				held := e.Usage()
				if c.stored+c.computed > 0 && (held.Stored != c.stored || held.Computed != c.computed) {
					t.Errorf("%d tiles are stored, %d are not; want %d and %d", held.Stored, held.Computed,
						c.stored, c.computed)
				}
				if held.Stored+held.Computed != tiles || len(held.Shares) != workers {
					t.Errorf("held is %+v", held)
				}
				if c.room < tiles && (held.Stored < workers || held.Computed == 0 || !held.EverComputed) {
					t.Errorf("with room for %d stored tiles on each of %d workers: %+v", c.room, workers, held)
				}
			})
		}
	}
}

// A worker is lost, and the other has too little memory to store all tiles: some go on without storage.
// When a new worker joins, all tiles are stored again.
func TestLostTilesGoOnWithoutStorage(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			p := gaussianProblem(t, 203, seed)
			_, size := c.datasets.put(t, p.data)
			c.startWorker("a", p.memory(size, 7))
			b := c.startWorker("b", p.memory(size, 7))
			e := c.submit(p, nil)
			if held := e.Usage(); held.Stored != 13 || held.Computed != 0 {
				t.Fatalf("at first %+v", held)
			}
			s := newSequence(c, e, p, seed)
			s.run(20, func(op int) {
				c.checkReserved()
				if op == 6 {
					b.kill()
				}
			})
			held := e.Usage()
			if held.Computed < 6 || held.Stored == 0 || held.Stored+held.Computed != 13 || len(held.Shares) != 1 {
				t.Errorf("after the loss %+v", held)
			}
			c.startWorker("c", p.memory(size, 13))
			s.run(20, func(int) { c.checkReserved() })
			for e.Usage().Computed > 0 && c.ctx.Err() == nil { // the new worker may be slow to get its data
				s.load()   // sets nearly every label, so it reads the whole matrix
				s.update() // may read only a part of it
			}
			s.comparePerRow("degrees", e.Degrees, p.shard.Degrees)
			if held := e.Usage(); held.Stored != 13 || !held.EverComputed || len(held.Shares) != 2 {
				t.Errorf("after memory came back %+v", held)
			}
		})
	}
}

// With storage float32 all tiles must be stored. After a loss the job waits until there is memory again.
func TestAStrictJobWaitsForLostMemory(t *testing.T) {
	c := newCluster(t, losing)
	p := gaussianProblem(t, 203, 5)
	p.storage = planning.Float32
	_, size := c.datasets.put(t, p.data)
	c.startWorker("a", p.memory(size, 7))
	b := c.startWorker("b", p.memory(size, 7))
	waits := make(chan string, 100)
	e := c.submit(p, func(s fleet.Status) {
		if s.Waiting != "" {
			waits <- s.Waiting
		}
	})
	s := newSequence(c, e, p, 5)
	s.setOperands()
	s.load()
	b.kill()
	go func() {
		if why := <-waits; !strings.HasPrefix(why,
			"waiting for a worker, up to 10m0s: the job does not fit: with storage float32 it needs") {
			t.Errorf("it waits: %q", why)
		}
		c.startWorker("late", p.memory(size, 7))
	}()
	s.run(10, noDisturbance)
	if held := e.Usage(); held.Stored != 13 || held.EverComputed {
		t.Errorf("held is %+v", held)
	}
}

// A job that does not fit is refused before workers do anything.
func TestAPlanThatDoesNotFitIsRefused(t *testing.T) {
	c := newCluster(t)
	p := gaussianProblem(t, 203, 6)
	id, size := c.datasets.put(t, p.data)
	if _, err := c.fleet.Plan(p.need(size)); !fault.Is(err, "NO_WORKERS") {
		t.Errorf("a plan without workers: %v", err)
	}
	c.startWorker("a", func(cfg *worker.Config) { cfg.MemoryBytes = 20_000 })
	for _, storage := range []planning.Storage{planning.Auto, planning.None, planning.Float32} {
		p.storage = storage
		_, err := c.fleet.NewExecutor(c.ctx, p.task("job", id, size, nil))
		if !fault.Is(err, planning.DoesNotFit) || !strings.Contains(err.Error(), "19.5 KiB are free on 1 worker") {
			t.Errorf("storage %v: %v", storage, err)
		}
		if _, planned := c.fleet.Plan(p.need(size)); planned == nil || planned.Error() != err.Error() {
			t.Errorf("the plan says %v, the job %v", planned, err)
		}
	}
	if opens := c.datasets.opens.Load(); opens != 0 {
		t.Errorf("the data was fetched %d times", opens)
	}
}

// A plan counts only memory that other jobs leave free, and says if the job would wait for them.
func TestAPlanCountsOnlyFreeMemory(t *testing.T) {
	c := newCluster(t)
	p := gaussianProblem(t, 203, 7)
	_, size := c.datasets.put(t, p.data)
	c.startWorker("a", p.memory(size, 24)) // a second job can start, but stores few tiles
	need := p.need(size)
	plan, err := c.fleet.Plan(need)
	if err != nil || plan.Stored != 13 {
		t.Fatalf("alone: %+v, %v", plan, err)
	}
	e := c.submit(p, nil)
	if got, want := c.worker("a").ReservedBytes, plan.Shares[0].Bytes; int64(got) > want {
		t.Errorf("the job holds %d bytes, planned were %d", got, want)
	}
	if second, err := c.fleet.Plan(need); err != nil || second.Computed == 0 || strings.Contains(second.Why, "wait") {
		t.Errorf("beside another job: %+v, %v", second, err)
	}
	need.Storage = planning.Float32
	if second, err := c.fleet.Plan(need); err != nil || second.Stored != 13 ||
		!strings.Contains(second.Why, "it would wait") {
		t.Errorf("a strict one beside another job: %+v, %v", second, err)
	}
	e.Release()
	if w := c.worker("a"); w.ReservedBytes != 0 {
		t.Errorf("still %d bytes", w.ReservedBytes)
	}
}

// Jobs run one after the other on a worker with memory for exactly one. Each must get the memory of the
// one before, even if that takes a while to free it.
func TestJobsReuseTheMemoryOfEarlierJobs(t *testing.T) {
	c := newCluster(t)
	p := gaussianProblem(t, 203, 8)
	p.storage = planning.Float32
	_, size := c.datasets.put(t, p.data)
	c.startWorker("a", p.memory(size, 13))
	for job := range uint64(5) {
		p := gaussianProblem(t, 203, 8)
		p.storage = planning.Float32
		e := c.submit(p, nil)
		s := newSequence(c, e, p, job)
		s.setOperands()
		s.load()
		e.Release()
	}
}
