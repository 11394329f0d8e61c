// Package simulation runs a coordinator, its workers and its clients in one process, in virtual time, over a network
// and a disk of its own. At every message and at every step of the store a plan, which is a function of a seed, decides
// whether something goes wrong. Thousands of runs, each with other faults, are checked for what must never happen.
//
// The coordinator, the fleet, the workers and the client are the real ones. Simulated are time (testing/synctest), the
// network, the stores, and the end of processes.
package simulation

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// world is one simulation.
type world struct {
	t         testing.TB
	plan      *plan
	net       *network
	disk      *disk
	log       hclog.Logger
	lines     *logLines
	running   context.Context // ends when all processes are to stop
	stop      context.CancelFunc
	processes sync.WaitGroup

	mu           sync.Mutex
	acknowledged []*acknowledged
}

func newWorld(t testing.TB, p *plan) *world {
	d, err := newDisk(p)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, plan: p, net: newNetwork(p), disk: d, lines: &logLines{}}
	w.log = hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: w.lines, TimeFormat: "15:04:05.000000",
		DisableTime: false})
	w.running, w.stop = context.WithCancel(context.Background())
	return w
}

// start starts processes.
func (w *world) start(coordinators, workers int) {
	for i := range coordinators {
		name := "coordinator"
		if i > 0 {
			name = fmt.Sprintf("coordinator-%d", i)
		}
		w.keep(name, w.coordinate)
	}
	for i := range workers {
		w.keep(fmt.Sprintf("worker-%d", i), w.work)
	}
}

// end stops all processes and checks that they left nothing open.
func (w *world) end() {
	w.stop()
	w.processes.Wait()
	time.Sleep(time.Minute) // virtual: what was given up ends
	if open := w.net.open(); len(open) > 0 {
		w.t.Errorf("connections are open after the end: %v", open)
	}
	w.disk.blobs.Close()
}

// logLines keeps the log of a simulation, to show it should the simulation fail.
type logLines struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *logLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(line)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}
