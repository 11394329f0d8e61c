package clustertest

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/test/testscale"
)

// largeData has a data set of several pieces, and few iterations.
var largeData = sync.OnceValue(func() *workload {
	iterations := uint32(3)
	return newWorkload(gaussians(testscale.Count(20_000, 40_000), 80, 5, 8), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 5}, Seed: 1, Restarts: 1, MaxIterations: &iterations,
		Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}},
	})
})

// passingOn are the flags of a worker that passes data on.
func passingOn(t testing.TB) []string {
	t.Helper()
	return []string{"--cache-dir", t.TempDir(), "--peer-listen", "127.0.0.1:0"}
}

// startPassingOn starts workers that pass data on.
func startPassingOn(t testing.TB, c *Coordinator, workers int, args ...string) {
	t.Helper()
	for i := range workers {
		startWorker(t, c.Addr, fmt.Sprint("w", i), "1GiB", append(passingOn(t), args...)...)
	}
}

// wantSent checks that the coordinator sent at most some copies of a data set to all workers together.
func wantSent(t testing.TB, admin string, data dataset.Dataset, copies float64) {
	t.Helper()
	size := float64(dataset.EncodedSize(data))
	if sent := metric(t, admin, "cleave_dataset_sent_bytes_total"); sent > copies*size {
		t.Errorf("the coordinator sent %.0f bytes of a data set of %.0f", sent, size)
	}
}

// TestWorkersPassDataOn: with certificates, as operators have them. The coordinator sends the data twice to those that
// pass it on, and once to each that serves nobody, also if it comes later.
func TestWorkersPassDataOn(t *testing.T) {
	t.Parallel()
	f := NewSecureFolder(t)
	c := StartCoordinator(t, Options{Args: []string{"--tls", f.Path("coordinator"), "--admin", "127.0.0.1:0"},
		Dial: f.Dial("admin")})
	startPassingOn(t, c, 4, "--tls", f.Path("worker"))
	startWorker(t, c.Addr, "serves nobody", "1GiB", "--tls", f.Path("worker"))
	c.AwaitWorkers(5)
	load := largeData()
	_, w := load.run(c)
	load.finish(t, "with data from other workers", w)
	late := startWorker(t, c.Addr, "late", "1GiB", "--tls", f.Path("worker"))
	c.AwaitWorkers(6)
	_, w = load.run(c)
	load.finish(t, "with a worker that came later", w)
	if !strings.Contains(late.Stderr(), "fetching data set") {
		t.Error("the worker that came later did not take part")
	}
	wantSent(t, adminOf(t, c.Process), load.data, 4)
}

// TestAParentFailsWhileItPassesDataOn kills or pauses a worker, or freezes its link, while it sends a piece to another
// one.
func TestAParentFailsWhileItPassesDataOn(t *testing.T) {
	t.Parallel()
	failures := map[string]func(*Process, *proxy){
		"killed": func(w *Process, _ *proxy) { w.Kill() }, "paused": func(w *Process, _ *proxy) { w.Pause() },
		"frozen": func(_ *Process, link *proxy) { link.freeze() },
	}
	for _, name := range testscale.Some([]string{"killed", "paused", "frozen"}, 2) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := StartCoordinator(t, Options{Args: []string{"--admin", "127.0.0.1:0"}})
			type parent struct {
				*Process
				*proxy
			}
			failing := make(chan parent)
			failed := make(chan struct{})
			var once sync.Once
			const workers = 4
			for i := range workers {
				at := FreeAddress(t)
				link := startProxy(t, at)
				w := startWorker(t, c.Addr, fmt.Sprint("w", i), "1GiB",
					"--cache-dir", t.TempDir(), "--peer-listen", at, "--peer-address", link.addr())
				link.whenPassed(1<<20, func() {
					once.Do(func() {
						failing <- parent{w.Process, link}
						<-failed
					})
				})
			}
			c.AwaitWorkers(workers)
			load := largeData()
			_, w := load.run(c)
			first := <-failing
			failures[name](first.Process, first.proxy)
			close(failed)
			load.finish(t, "with a parent "+name, w)
			wantSent(t, adminOf(t, c.Process), load.data, workers)
		})
	}
}

// TestTheLeaderEndsDuringATransfer: workers keep the pieces that they have, and go on with the next leader.
func TestTheLeaderEndsDuringATransfer(t *testing.T) {
	testscale.LongOnly(t, "TestAPeerFailsDuringATransfer and TestTheLeaderIsKilled have its parts")
	t.Parallel()
	options := StartObjectStore(t).Options() // both coordinators have the blobs
	options.Members = 1
	c := StartCoordinators(t, 2, options)
	for i := range 2 {
		startWorker(t, c.Addresses(), fmt.Sprint("w", i), "1GiB", passingOn(t)...)
	}
	begun := make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	third := newProcess(t, "worker third", Build(t).Worker,
		append([]string{"--coordinator", c.Addresses(), "--name", "third", "--threads", "1", "--memory", "1GiB"},
			passingOn(t)...)...)
	third.stderr.seen = func(text []byte) {
		if strings.Contains(string(text), "fetching data set") {
			once()
		}
	}
	third.start()
	c.AwaitWorkers(3)
	load := largeData()
	leader := c.Leader()
	job := leader.Create(load.on(leader))
	<-begun
	leader.Kill()
	next := c.Leader(c.Others(leader)...)
	load.finish(t, "with the next leader", next.Watch(job))
}

// TestWorkersReadTheObjectStore: the coordinator sends nothing at all.
func TestWorkersReadTheObjectStore(t *testing.T) {
	t.Parallel()
	s3 := StartObjectStore(t)
	o := s3.Options()
	o.Args = append(o.Args, "--admin", "127.0.0.1:0")
	c := StartCoordinator(t, o)
	w := startWorker(t, c.Addr, "w0", "1GiB", "--admin", "127.0.0.1:0")
	startWorker(t, c.Addr, "w1", "1GiB", passingOn(t)...)
	c.AwaitWorkers(2)
	load := largeData()
	_, watch := load.run(c)
	load.finish(t, "with data from the object store", watch)
	wantSent(t, adminOf(t, c.Process), load.data, 0)
	if read := metric(t, adminOf(t, w.Process), `cleave_worker_piece_bytes_total{source="store"}`); read == 0 {
		t.Error("the worker read nothing from the object store")
	}
}

// TestTheDiskOfTheCacheIsFull: the data is used all the same, and the log says why it is not kept.
func TestTheDiskOfTheCacheIsFull(t *testing.T) {
	t.Parallel()
	if why := needsMounts(); why != "" {
		t.Skip(why)
	}
	c := StartCoordinator(t, Options{})
	w := startWorker(t, c.Addr, "full", "1GiB", "--cache-dir", filepath.Join(smallDisk(t), "cache"), "--peer-listen",
		"127.0.0.1:0")
	startPassingOn(t, c, 1)
	c.AwaitWorkers(2)
	load := largeData()
	_, watch := load.run(c)
	load.finish(t, "with a full disk", watch)
	if !strings.Contains(w.Stderr(), "does not fit into the cache") {
		t.Errorf("the log does not say so: %s", w.Stderr())
	}
}
