package fleet_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

// neighborProblem is a data set whose neighbors are looked for.
type neighborProblem struct {
	data  dataset.Dataset
	units *dataset.Units
}

const neighborCount = 10

var neighborProblems = map[string]func(t *testing.T) *neighborProblem{
	"points": func(t *testing.T) *neighborProblem { return &neighborProblem{data: randomPoints(t, 700, 5, 1)} },
	"scaled": func(t *testing.T) *neighborProblem {
		points := randomPoints(t, 500, 4, 2)
		for i := range points.N {
			points.Row(i)[1] *= 1e6
		}
		return &neighborProblem{data: points, units: dataset.UnitsBy(dataset.Standard, points)}
	},
	"few rows": func(t *testing.T) *neighborProblem { return &neighborProblem{data: randomPoints(t, 7, 3, 3)} },
	"one row":  func(t *testing.T) *neighborProblem { return &neighborProblem{data: randomPoints(t, 1, 3, 3)} },
	"sparse":   func(t *testing.T) *neighborProblem { return &neighborProblem{data: sparsePoints(t, 600, 300, 30, 4)} },
	"kernel":   func(t *testing.T) *neighborProblem { return &neighborProblem{data: kernelProblem(t, 300, 5).data} },
}

func (p *neighborProblem) task(c *cluster, report func(fleet.Status)) fleet.Task {
	id, size := c.datasets.put(c.T, p.data)
	task := fleet.Task{JobID: "job", DatasetID: id, Need: planning.NeighborWorkload(p.data, size, neighborCount),
		Units: p.units, Report: report}
	task.Need.Scaled = p.units != nil
	if k, given := p.data.(*dataset.Kernel); given {
		task.Diagonal = neighbor.KernelDiagonal(k)
	}
	return task
}

// check compares the neighbors that workers find with those found here.
func (p *neighborProblem) check(c *cluster, task fleet.Task) {
	c.Helper()
	data, err := p.units.Apply(p.data)
	if err != nil {
		c.Fatal(err)
	}
	search, err := neighbor.NewSearch(data)
	if err != nil {
		c.Fatal(err)
	}
	want, err := search.All(c.ctx, neighborCount, 2)
	if err != nil {
		c.Fatal(err)
	}
	got, _, err := c.fleet.Neighbors(c.ctx, task)
	if err != nil || !slices.Equal(got, want) {
		c.Fatalf("got %d neighbors, want %d; %v", len(got), len(want), err)
	}
	for _, w := range c.fleet.Workers() {
		if w.ReservedBytes != 0 || w.Tiles != 0 {
			c.Errorf("still held: %+v", w)
		}
	}
}

func TestNeighborsAreTheSameOnAnyNumberOfWorkers(t *testing.T) {
	for name, make := range neighborProblems {
		for _, workers := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprint(name, "-", workers), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				for w := range workers {
					c.startWorker(fmt.Sprint("w", w))
				}
				p := make(t)
				last := fleet.Status{}
				p.check(c, p.task(c, func(s fleet.Status) { last = s }))
				if last.TilesBuilt != last.Tiles || last.Tiles == 0 || last.Workers == 0 {
					t.Errorf("the last status is %+v", last)
				}
			})
		}
	}
}

// One worker dies, and another joins, while neighbors are looked for.
func TestALostWorkerChangesNoNeighbors(t *testing.T) {
	for _, name := range []string{"points", "sparse", "kernel"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			p := neighborProblems[name](t)
			c.startWorker("a")
			victim := c.startWorker("b")
			var once sync.Once
			var background sync.WaitGroup
			defer background.Wait()
			p.check(c, p.task(c, func(s fleet.Status) {
				if s.TilesBuilt > 3 {
					once.Do(func() {
						background.Go(func() {
							victim.kill()
							c.startWorker("c")
						})
					})
				}
			}))
		})
	}
}

// Workers with exactly the memory that was planned find neighbors; with less, the search is refused.
func TestNeighborsKeepWithinMemory(t *testing.T) {
	for name, make := range neighborProblems {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			p := make(t)
			task := p.task(c, nil)
			planned := task.Need.FixedBytes(2)
			for _, tile := range task.Need.TileSizes() {
				planned += tile.Stored
			}
			planned = max(planned, task.Need.MinFreeBytes(2))
			c.startWorker("tiny", func(cfg *worker.Config) { cfg.MemoryBytes = uint64(planned) - 1 })
			if _, _, err := c.fleet.Neighbors(c.ctx, task); !fault.Is(err, planning.DoesNotFit) {
				t.Fatalf("got %v", err)
			}
			if _, err := c.fleet.Drain("tiny"); err != nil {
				t.Fatal(err)
			}
			c.startWorker("able", func(cfg *worker.Config) { cfg.MemoryBytes = uint64(planned) })
			p.check(c, task)
		})
	}
}

// Answers that cannot be are the worker's fault, and another one is asked.
func TestImpossibleNeighborsAreNotBelieved(t *testing.T) {
	c := newCluster(t)
	p := neighborProblems["points"](t)
	a, _, err := c.attachScripted(validHello())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	stopHeartbeats := a.startHeartbeats()
	go func() { // its neighbors are always none at all
		ended <- a.answerCommands(func(*workerv1.Command) *workerv1.Failure { return nil })
	}()
	c.startWorker("able")
	p.check(c, p.task(c, nil))
	stopHeartbeats()
	c.fleet.Close()
	<-ended
	if _, _, err := c.fleet.Neighbors(c.ctx, fleet.Task{}); err == nil {
		t.Error("a search that is not described was started")
	}
}
