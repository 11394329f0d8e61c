package clustertest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

// Coordinator is a coordinator process.
type Coordinator struct {
	*Process
	Client

	Addr    string
	DataDir string
	options Options
}

// Options configure a coordinator. The zero value is a new one on a free port.
type Options struct {
	DataDir string   // "" means a temporary directory of the test
	Listen  string   // "" means a free port of this machine
	Args    []string // further flags
	Env     []string // further variables of the environment
	Program string   // "" means the coordinator of this repository
	Members int      // of the etcd that StartCoordinators starts; 0 means three
	// Dial is how clients of the test connect.
	Dial credentials.Dial
	// DataKiB limits the memory of the process: it may crash for want of memory. 0 means no limit.
	DataKiB int
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
	c := &Coordinator{DataDir: o.DataDir, options: o}
	c.launch(t, o.Listen)
	c.Client = dial(t, c.Addr, o.Dial)
	return c
}

var listening = regexp.MustCompile(`(?m)^listening on (\S+)$`)

func (c *Coordinator) launch(t testing.TB, listen string) {
	t.Helper()
	args := append([]string{"--listen", listen, "--data-dir", c.DataDir}, c.options.Args...)
	program := c.options.Program
	if program == "" {
		program = Build(t).Coordinator
	}
	c.Process = newProcess(t, "coordinator", program, args...)
	if c.options.DataKiB > 0 {
		limited := fmt.Sprintf(`ulimit -d %d; exec "$0" "$@"`, c.options.DataKiB)
		c.Process = newProcess(t, "coordinator", "sh", append([]string{"-c", limited, program}, args...)...)
		c.mayCrash = true
	}
	c.cmd.Env = append(c.cmd.Env, c.options.Env...)
	c.start()
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

// Restart starts a coordinator that has ended again, with the same data and at the same address. Workers
// and clients reconnect by themselves.
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

// StartWorker starts a worker and does not wait until it is attached. It has one thread, because there are
// usually more workers than cores.
func StartWorker(t testing.TB, c *Coordinator, name string) *Worker {
	t.Helper()
	return startWorker(t, c.Addr, name, "1GiB")
}

// StartWorkerWith starts a worker with this much memory.
func StartWorkerWith(t testing.TB, c *Coordinator, name, memory string) *Worker {
	t.Helper()
	return startWorker(t, c.Addr, name, memory)
}

// StartWorkerAt starts a worker that reaches the coordinator at another address.
func StartWorkerAt(t testing.TB, addr, name string) *Worker {
	t.Helper()
	return startWorker(t, addr, name, "1GiB")
}

func startWorker(t testing.TB, addr, name, memory string, args ...string) *Worker {
	t.Helper()
	return startWorkerOf(t, Build(t).Worker, addr, name, append([]string{"--memory", memory}, args...)...)
}

// startWorkerOf starts a worker of another version.
func startWorkerOf(t testing.TB, program, addr, name string, args ...string) *Worker {
	t.Helper()
	return &Worker{Name: name, Process: start(t, "worker "+name, program,
		append([]string{"--coordinator", addr, "--name", name, "--threads", "1"}, args...)...)}
}

// StartTracedWorker starts a worker that logs which commands it begins, and calls seen with each part of the log as
// soon as it is written.
func StartTracedWorker(t testing.TB, c *Coordinator, name string, seen func(w *Worker, text []byte)) *Worker {
	t.Helper()
	w := &Worker{Name: name, Process: newProcess(t, "worker "+name, Build(t).Worker,
		"--coordinator", c.Addr, "--name", name, "--threads", "1", "--memory", "1GiB", "--log-level", "trace")}
	w.stderr.seen = func(text []byte) { seen(w, text) }
	w.Process.start()
	return w
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

// AwaitWorkers waits until exactly count workers are attached and all are ready.
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

// describeWorkers lists the workers with their states, for error messages.
func (c *Client) describeWorkers() string {
	c.t.Helper()
	var words []string
	for _, w := range c.Workers() {
		words = append(words, fmt.Sprintf("%s (%v, %d tiles)", w.GetName(), w.GetState(), w.GetTiles()))
	}
	return "[" + strings.Join(words, ", ") + "]"
}
