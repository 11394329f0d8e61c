package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

func TestVectorsHaveTheSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	for name, make := range vectorProblems {
		for _, workers := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprint(name, "-", workers), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				for w := range workers {
					c.startWorker(fmt.Sprint("w", w))
				}
				p := make(t)
				e := c.submitVectors(p, nil)
				newVectorSequence(c, e, p, 1).run(30, noDisturbance)
				held := e.Usage()
				if held.Stored != len(p.tiles) || held.Computed != 0 || len(held.Shares) != workers {
					t.Errorf("held is %+v", held)
				}
			})
		}
	}
}

// The same as TestChaosDoesNotChangeTheBits, for vectors.
func TestChaosDoesNotChangeTheBitsOfVectors(t *testing.T) {
	for _, name := range []string{"dense", "scaled", "full metric", "sparse", "sparse probabilities", "wide"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, losing)
			p := vectorProblems[name](t)
			workers := []*testWorker{c.startWorker("w0"), c.startWorker("w1"), c.startWorker("w2")}
			var paused *testWorker // at most one at a time, so that the others can work
			s := newVectorSequence(c, c.submitVectors(p, nil), p, 9)
			var background sync.WaitGroup
			defer background.Wait()
			s.run(50, func(op int) {
				victim := s.random.IntN(len(workers))
				w := workers[victim]
				switch event := s.random.IntN(20); {
				case event < 2:
					background.Go(w.kill)
					workers[victim] = c.startWorker(fmt.Sprint("after-kill-", op))
				case event < 3:
					background.Go(func() {
						if _, err := c.fleet.Drain(w.name); err != nil {
							t.Log(err) // the worker may already be lost
						}
					})
					workers[victim] = c.startWorker(fmt.Sprint("after-drain-", op))
				case event < 4:
					if paused != nil {
						paused.link.resume()
					}
					paused = w
					w.link.pause() // until it is resumed, killed, or declared lost
				case event < 8:
					background.Go(w.link.resume)
				case event < 11:
					background.Go(w.link.cut)
				}
			})
		})
	}
}

// A job on scaled points runs in exactly the memory that was planned for it and its copy of the data set, and in no
// less.
func TestScaledJobsKeepWithinMemory(t *testing.T) {
	c := newCluster(t)
	vectors := vectorProblems["scaled"](t)
	matrix := scaledProblem(t, 400)
	_, size := c.datasets.put(t, vectors.data)
	w := c.startWorker("vectors", vectors.memory(size, int64(len(vectors.tiles))))
	e := c.submitVectors(vectors, nil)
	newVectorSequence(c, e, vectors, 1).run(10, noDisturbance)
	e.Release()
	w.kill()

	id, size := c.datasets.put(t, matrix.data)
	enough := uint64(matrix.need(size).MinFreeBytes(2))
	w = c.startWorker("too small", func(cfg *worker.Config) { cfg.MemoryBytes = enough - 1 })
	if _, err := c.fleet.NewExecutor(c.ctx, matrix.task("job", id, size, nil)); !fault.Is(err, planning.DoesNotFit) {
		t.Fatalf("got %v", err)
	}
	w.kill()
	c.startWorker("matrix", func(cfg *worker.Config) { cfg.MemoryBytes = enough })
	newSequence(c, c.submit(matrix, nil), matrix, 1).run(10, noDisturbance)
}

// Tiles of vectors are always stored. A job that lost the memory for them waits.
func TestVectorsKeepWithinMemory(t *testing.T) {
	c := newCluster(t, losing)
	p := vectorProblems["sparse"](t)
	p.k = 3
	id, size := c.datasets.put(t, p.data)
	c.startWorker("tiny", func(cfg *worker.Config) { cfg.MemoryBytes = 20_000 })
	if _, err := c.fleet.NewKMeansExecutor(c.ctx, p.task(id, size, nil)); !fault.Is(err, planning.DoesNotFit) {
		t.Fatalf("got %v", err)
	}
	if _, err := c.fleet.Drain("tiny"); err != nil {
		t.Fatal(err)
	}
	// Room for 12 tiles of average size; the actual tiles are larger or smaller.
	c.startWorker("a", p.memory(size, 12))
	b := c.startWorker("b", p.memory(size, 12))
	waits := make(chan string, 100)
	e := c.submitVectors(p, func(s fleet.Status) {
		if s.Waiting != "" {
			waits <- s.Waiting
		}
	})
	s := newVectorSequence(c, e, p, 5)
	s.run(5, func(int) { c.checkReserved() })
	b.kill()
	go func() {
		if why := <-waits; !strings.HasPrefix(why,
			"waiting for a worker, up to 10m0s: the job does not fit: with all points in memory it needs") {
			t.Errorf("it waits: %q", why)
		}
		c.startWorker("late", p.memory(size, 12))
	}()
	s.run(10, func(int) { c.checkReserved() })
	if held := e.Usage(); held.Stored != len(p.tiles) || held.EverComputed {
		t.Errorf("held is %+v", held)
	}
	e.Release()
	for _, w := range c.fleet.Workers() {
		if w.ReservedBytes != 0 || w.Tiles != 0 {
			t.Errorf("still held: %+v", w)
		}
	}
}

// Large answers are requested in portions, which the result does not show.
func TestLargeAnswersComeInPortions(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	c.startWorker("b")
	t.Run("scatter", func(t *testing.T) {
		p := newVectorProblem(t, randomPoints(t, 203, 1000, 1), metric.SquaredEuclidean, true)
		e := c.submitVectors(p, nil)
		defer e.Release()
		if most := p.need(0).MaxTilesPerRequest(); most >= len(p.tiles) {
			t.Fatalf("all of %d tiles at once are no portions", most)
		}
		s := newVectorSequence(c, e, p, 1)
		s.load()
		queries := []vector.Query{{Model: s.model(0), Kind: vector.Full},
			{Lane: 2, Model: s.model(2), Kind: vector.Full}}
		for q := range queries {
			queries[q].Model.Metric = nil // no distances are computed
		}
		want, err := p.shard.Scatter(s.ctx, p.tiles, p.step, queries)
		s.check("scatter", err)
		for q := range want {
			want[q] = kmeans.AddTiles(want[q], len(p.tiles))
		}
		got, err := e.Scatter(s.ctx, queries)
		s.wantLists("scatter", got, want, err)
	})
	t.Run("distances", func(t *testing.T) {
		p := newVectorProblem(t, randomPoints(t, 45_000, 1, 1), metric.SquaredEuclidean, false)
		p.k = 200
		e := c.submitVectors(p, nil)
		defer e.Release()
		points := make([]int32, 0, 44_000)
		for i := range 44_000 {
			points = append(points, int32(i+500))
		}
		if most := p.need(0).MaxPointsPerRequest(); most >= len(points) {
			t.Fatalf("all of %d points at once are no portions", most)
		}
		s := newVectorSequence(c, e, p, 1)
		s.load()
		// Portions end within the first query and within the third.
		queries := []vector.Query{{Model: s.model(0), Points: points}, {Lane: 1, Model: s.model(1)},
			{Lane: 2, Model: s.model(2), Points: points[:43_000]}}
		want, err := p.shard.Distances(s.ctx, p.tiles, queries)
		s.check("distances", err)
		got, err := e.Distances(s.ctx, queries)
		s.check("distances", err)
		if !slices.EqualFunc(got, want, slices.Equal[[]float64]) {
			t.Error("distances differ")
		}
	})
}

func TestMisuseOfVectorsIsAnError(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	p := vectorProblems["dense"](t)
	id, size := c.datasets.put(t, p.data)
	task := p.task(id, size, nil)
	task.Vectors = nil
	if _, err := c.fleet.NewKMeansExecutor(c.ctx, task); err == nil {
		t.Error("a job without vectors was accepted")
	}
	e := c.submitVectors(p, nil)
	m := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: p.k,
		Centroids: make([]float64, p.k*p.spec.Columns)}
	for name, moves := range map[string][]labeling.Move{
		"beyond the last label": {{Point: 5, From: -1, To: int32(p.lanes * p.k)}},
		"not from there":        {{Point: 5, From: 1, To: 2}},
		"descending":            {{Point: 5, From: -1, To: 0}, {Point: 4, From: -1, To: 0}},
		"lanes descend":         {{Point: 5, From: -1, To: int32(p.k)}, {Point: 5, From: -1, To: 0}},
	} {
		if err := e.Update(c.ctx, moves); err == nil {
			t.Errorf("moves that are wrong, %s, were accepted", name)
		}
	}
	if _, err := e.Assign(c.ctx, []vector.Query{{Lane: p.lanes, Model: m}}); err == nil {
		t.Error("a lane beyond the last was accepted")
	}
	for _, points := range [][]int32{{-1}, {203}, {5, 5}, {6, 5}} {
		if _, err := e.Distances(c.ctx, []vector.Query{{Model: m, Points: points}}); err == nil {
			t.Errorf("points %v were accepted", points)
		}
	}
	s := newVectorSequence(c, e, p, 2)
	s.run(5, noDisturbance) // the executor still works
}

// Executors of one job take turns where memory is short: the one that is idle gives up its tiles and has them built
// again.
func TestExecutorsOfAJobTakeTurns(t *testing.T) {
	c := newCluster(t)
	var sequences []*vectorSequence
	for seed := range uint64(2) {
		p := vectorProblems["sparse"](t)
		p.k = 3
		id, size := c.datasets.put(t, p.data)
		if seed == 0 {
			for _, name := range []string{"a", "b"} {
				c.startWorker(name, p.memory(size, int64(len(p.tiles))*3/4))
			}
		}
		e, err := c.fleet.NewKMeansExecutor(c.ctx, p.task(id, size, nil))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Release)
		sequences = append(sequences, newVectorSequence(c, e, p, seed))
	}
	for range 3 {
		for _, s := range sequences {
			s.run(3, func(int) { c.checkReserved() })
		}
	}
}
