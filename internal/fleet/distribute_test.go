package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// largeProblem has a data set of several pieces.
func largeProblem(t *testing.T) *problem {
	t.Helper()
	return graphProblem(t, 20_000, 600_000, 1)
}

// serving makes a worker pass on what it has.
func serving(dir string) func(*worker.Config) {
	return func(cfg *worker.Config) {
		cfg.Exchange = exchange.Settings{CacheDir: dir, CacheBytes: 1 << 30, Listen: "127.0.0.1:0"}
	}
}

func caching(dir string) func(*worker.Config) {
	return func(cfg *worker.Config) { cfg.Exchange = exchange.Settings{CacheDir: dir, CacheBytes: 1 << 30} }
}

// The coordinator sends a data set once, however many workers there are, and those that serve nobody are served too.
func TestWorkersPassDataSetsOn(t *testing.T) {
	c := newCluster(t)
	for w := range 6 {
		c.startWorker(fmt.Sprint("w", w), serving(t.TempDir()))
	}
	c.startWorker("caching", caching(t.TempDir()))
	c.startWorker("neither")
	p := largeProblem(t)
	_, size := c.datasets.put(t, p.data)
	if pieces := wire.PieceCount(size); pieces < 4 {
		t.Fatalf("the data set has %d pieces", pieces)
	}
	e := c.submit(p, nil)
	if held := e.Usage(); len(held.Shares) != 8 {
		t.Errorf("the job is on %d workers", len(held.Shares))
	}
	if sent := c.sent.Load(); sent > 2*size {
		t.Errorf("the coordinator sent %d bytes of a data set of %d", sent, size)
	}
	newSequence(c, e, p, 1).run(10, noDisturbance)
}

// A worker that comes later gets the data set from those that have it, also if they have it in memory from an earlier job.
func TestLateWorkersAreServedByOthers(t *testing.T) {
	c := newCluster(t)
	c.startWorker("first", serving(t.TempDir()))
	p := largeProblem(t)
	_, size := c.datasets.put(t, p.data)
	c.submit(p, nil).Release()
	e := c.submit(p, nil)
	c.startWorker("second", serving(t.TempDir()))
	c.startWorker("third")
	newSequence(c, e, p, 1).run(5, noDisturbance)
	again := c.submit(p, nil)
	if held := again.Usage(); len(held.Shares) != 3 {
		t.Errorf("the job is on %d workers", len(held.Shares))
	}
	if sent := c.sent.Load(); sent != size {
		t.Errorf("the coordinator sent %d bytes of a data set of %d", sent, size)
	}
}

// What a worker has on disk it does not fetch again. What is damaged there it does, and nothing else notices.
func TestCachedDataSets(t *testing.T) {
	c := newCluster(t)
	p, dir := largeProblem(t), t.TempDir()
	_, size := c.datasets.put(t, p.data)
	run := func(name string) int64 {
		t.Helper()
		before := c.sent.Load()
		w := c.startWorker(name, caching(dir))
		e := c.submit(p, nil)
		newSequence(c, e, p, 1).run(3, noDisturbance)
		e.Release()
		w.kill()
		return c.sent.Load() - before
	}
	if sent := run("empty"); sent != size {
		t.Errorf("a worker without anything got %d bytes", sent)
	}
	if sent := run("full"); sent != 0 {
		t.Errorf("a worker with everything got %d bytes", sent)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.*"))
	if err != nil || len(files) != wire.PieceCount(size) {
		t.Fatalf("%v, %v", files, err)
	}
	damage := func(file string) {
		t.Helper()
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 1
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damage(files[0])
	if sent := run("damaged"); sent == 0 || sent > wire.PieceBytes {
		t.Errorf("a worker with one damaged piece got %d bytes", sent)
	}
	// A piece with a name that fits it, and yet not one of the data set.
	if err := os.Rename(files[1], strings.Replace(files[1], filepath.Base(files[1]), "0"+filepath.Ext(files[1]), 1)); err != nil {
		t.Fatal(err)
	}
	if sent := run("forged"); sent == 0 {
		t.Error("a worker with a forged piece got nothing")
	}
}

// Connections to the coordinator that break, and workers that end, cost time and no bits.
func TestDistributionSurvivesFaults(t *testing.T) {
	for seed := range 4 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			var workers []*testWorker
			for w := range 4 {
				workers = append(workers, c.startWorker(fmt.Sprint("w", w), serving(t.TempDir())))
			}
			p := largeProblem(t)
			var faults sync.WaitGroup
			faults.Go(func() {
				for range 5 {
					workers[seed%4].link.cut()
				}
				workers[(seed+1)%4].kill()
			})
			e := c.submit(p, nil)
			faults.Wait()
			newSequence(c, e, p, 1).run(5, noDisturbance)
		})
	}
}
