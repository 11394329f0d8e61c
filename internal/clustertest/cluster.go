package clustertest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Coordinator is a coordinator process.
type Coordinator struct {
	*Process
	Client

	Addr    string
	DataDir string
	args    []string
}

// Options say how a coordinator starts. The zero value is a fresh one on a free port.
type Options struct {
	DataDir string   // empty: a directory of the test's
	Listen  string   // empty: a free port of this machine
	Args    []string // further flags
}

// StartCoordinator starts a coordinator and waits until it listens.
func StartCoordinator(t testing.TB, o Options) *Coordinator {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	c := &Coordinator{DataDir: o.DataDir, args: o.Args}
	c.launch(t, o.Listen)
	c.Client = dial(t, c.Addr)
	return c
}

var listening = regexp.MustCompile(`(?m)^listening on (\S+)$`)

func (c *Coordinator) launch(t testing.TB, listen string) {
	t.Helper()
	args := append([]string{"--listen", listen, "--data-dir", c.DataDir}, c.args...)
	c.Process = start(t, "coordinator", Build(t).Coordinator, args...)
	Eventually(t, "the coordinator listens", func() (bool, string) {
		if !c.Running() {
			t.Fatal("the coordinator ended while starting")
		}
		found := listening.FindSubmatch(c.stdout.bytes())
		if found == nil {
			return false, "it has not said so"
		}
		c.Addr = string(found[1])
		return true, ""
	})
}

// Restart starts a coordinator that has ended again: the same data, the same address. Workers and
// clients find it by themselves.
func (c *Coordinator) Restart() {
	t := c.Process.t
	t.Helper()
	if c.Running() {
		t.Fatal("the coordinator has not ended")
	}
	c.launch(t, c.Addr)
}

// Worker is a worker process.
type Worker struct {
	*Process
	Name string
}

// StartWorker starts a worker of a coordinator. It does not wait for it to attach. Workers of tests
// compute with one thread: there are usually more of them than cores.
func StartWorker(t testing.TB, c *Coordinator, name string) *Worker {
	t.Helper()
	return &Worker{Name: name, Process: start(t, "worker "+name, Build(t).Worker,
		"--coordinator", c.Addr, "--name", name, "--threads", "1", "--memory", "1GiB")}
}

// StartCluster starts a coordinator and some workers, and waits until all are attached.
func StartCluster(t testing.TB, workers int) (*Coordinator, []*Worker) {
	t.Helper()
	c := StartCoordinator(t, Options{})
	started := make([]*Worker, workers)
	for i := range started {
		started[i] = StartWorker(t, c, fmt.Sprintf("w%d", i))
	}
	c.AwaitWorkers(workers)
	return c, started
}

// AwaitWorkers waits until exactly this many workers are attached, all of them ready.
func (c *Client) AwaitWorkers(count int) {
	c.t.Helper()
	Eventually(c.t, fmt.Sprintf("%d workers are ready", count), func() (bool, string) {
		workers := c.Workers()
		ready := 0
		for _, w := range workers {
			if w.GetState() == cleavev1.WorkerState_WORKER_STATE_READY {
				ready++
			}
		}
		return ready == count && len(workers) == count, "the workers are " + c.describeWorkers()
	})
}

// describeWorkers is the workers in a few words each.
func (c *Client) describeWorkers() string {
	c.t.Helper()
	var words []string
	for _, w := range c.Workers() {
		words = append(words, fmt.Sprintf("%s (%v, %d tiles)", w.GetName(), w.GetState(), w.GetTiles()))
	}
	return "[" + strings.Join(words, ", ") + "]"
}
