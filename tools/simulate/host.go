package simulate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/fleet"
)

// host is the coordinator's side of its workers, in this process, with simulated workers in another.
type host struct {
	*fleet.Fleet
	server  *grpc.Server
	serving sync.WaitGroup
	workers *exec.Cmd
	stop    context.CancelFunc
	count   int
	idle    float64 // processors that it uses while no job runs

	heartbeats float64 // the same with heartbeats at the default interval

	mu          sync.Mutex
	connections []*connection // in the order in which they were accepted
}

// wholeWorkers is how many workers fetch payloads whole.
const wholeWorkers = 4

// silence is how long workers may be silent: on a busy machine thousands of them are slow.
const silence = 2 * time.Minute

// start starts a fleet and simulated workers, whole of which fetch payloads whole, and waits until all are attached. It
// must be closed.
func (cfg *Config) start(ctx context.Context, count, whole int) (_ *host, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	// Beyond 1,000 workers the heartbeats of both sides would take more than this machine has.
	timing := fleet.DefaultTiming()
	usual := timing.HeartbeatInterval
	interval := max(usual, time.Duration(count)*usual/1000)
	timing.HeartbeatInterval, timing.LostAfter, timing.SlowAfter = interval, silence, silence
	h := &host{
		count: count, server: grpc.NewServer(fleet.ServerOptions()...),
		Fleet: fleet.New(fleet.Config{Timing: timing}),
	}
	h.Register(h.server)
	h.serving.Go(func() { _ = h.server.Serve(countingListener{listener, h}) }) // returns when the server is stopped
	workersCtx, stop := context.WithCancel(ctx)
	h.stop = stop
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	process := exec.CommandContext(workersCtx, program, workersCommand, "-address", listener.Addr().String(), "-count",
		fmt.Sprint(count),
		"-whole", fmt.Sprint(whole), "-moved-every", fmt.Sprint(cfg.MovedEvery), "-worker-threads",
		fmt.Sprint(cfg.WorkerThreads))
	process.Stderr = os.Stderr
	if _, err := process.StdinPipe(); err != nil { // they end when it is closed, also if this process is killed
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	h.workers = process
	if err := h.awaitWorkers(ctx); err != nil {
		return nil, err
	}
	wait := cfg.idleTime
	if !cfg.Quick {
		wait = max(wait, interval) // every worker sends a heartbeat
	}
	if h.idle, err = h.measureIdle(ctx, wait); err != nil {
		return nil, err
	}
	h.heartbeats = h.idle * interval.Seconds() / usual.Seconds()
	return h, nil
}

// awaitWorkers waits until all workers are attached.
func (h *host) awaitWorkers(ctx context.Context) error {
	limit := time.After(5 * time.Minute)
	for len(h.Workers()) < h.count {
		select {
		case <-time.After(200 * time.Millisecond):
		case <-limit:
			return fmt.Errorf("only %d of %d simulated workers attached", len(h.Workers()), h.count)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// measureIdle returns how many processors this process uses for heartbeats alone.
func (h *host) measureIdle(ctx context.Context, wait time.Duration) (float64, error) {
	used := processorTime()
	began := time.Now()
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return (processorTime() - used) / time.Since(began).Seconds(), nil
}

// close ends the workers and the fleet.
func (h *host) close() {
	h.stop()
	if h.workers != nil {
		_ = h.workers.Wait() // it was killed
	}
	h.Fleet.Close()
	h.server.Stop()
	h.serving.Wait()
}

// traffic is the bytes that the coordinator sent and received.
type traffic struct {
	out, in   float64 // to and from all workers
	whole     float64 // what it would have sent if every worker had fetched payloads whole, as the first ones do
	busiestIn float64 // what it received from one of the first workers
	workerOut float64 // what it sent to one of the first workers
}

// traffic returns the bytes so far.
func (h *host) traffic() traffic {
	h.mu.Lock()
	defer h.mu.Unlock()
	var t traffic
	for at, c := range h.connections {
		out := float64(c.out.Load())
		in := float64(c.in.Load())
		t.out, t.in = t.out+out, t.in+in
		if at < wholeWorkers {
			t.workerOut = max(t.workerOut, out)
			t.busiestIn = max(t.busiestIn, in)
		}
	}
	t.whole = t.workerOut * float64(h.count)
	return t
}

func (t traffic) since(before traffic) traffic {
	return traffic{t.out - before.out, t.in - before.in, t.whole - before.whole, t.busiestIn - before.busiestIn,
		t.workerOut - before.workerOut}
}

// processorTime returns the seconds that all processors have spent on this process.
func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// countingListener counts the bytes of each connection.
type countingListener struct {
	net.Listener
	host *host
}

func (l countingListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted}
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	l.host.connections = append(l.host.connections, c)
	return c, nil
}

// connection counts its bytes.
type connection struct {
	net.Conn
	in, out atomic.Int64
}

func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.in.Add(int64(n))
	return n, err
}

func (c *connection) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.out.Add(int64(n))
	return n, err
}

// median returns the middle one of some values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

var errNoIterations = errors.New("the run ended before its iterations could be measured")
