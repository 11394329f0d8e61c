package fleet_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	heartbeat       = 50 * time.Millisecond
	lostAfter       = slowdown * 400 * time.Millisecond
	reconnectWithin = 100 * time.Millisecond
	never           = time.Hour // longer than a test takes
	// patience is how long a worker may be silent in most tests. A worker that is killed on a busy machine, when its
	// last heartbeat is late, seems to be silent, and must be given up some time.
	patience = 30 * time.Second
)

// memoryDatasets is a DatasetSource in memory that counts its readers.
type memoryDatasets struct {
	mu    sync.Mutex
	sets  map[string][]byte
	opens atomic.Int64
	block atomic.Bool   // readers of ranges, for workers, block until their context ends
	began chan struct{} // one for each blocked reader
	ended chan struct{} // one for each blocked reader whose context ended
}

func (m *memoryDatasets) OpenDataset(ctx context.Context, id string, offset, length int64) (io.ReadCloser, error) {
	m.opens.Add(1)
	if m.block.Load() && length >= 0 {
		m.began <- struct{}{}
		<-ctx.Done()
		m.ended <- struct{}{}
		return nil, ctx.Err()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	data, found := m.sets[id]
	if !found {
		return nil, fmt.Errorf("no data set %s", id)
	}
	data = data[offset:]
	if length >= 0 {
		data = data[:length]
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (m *memoryDatasets) put(t *testing.T, d dataset.Dataset) (id string, size int64) {
	t.Helper()
	data, err := dataset.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets[hex.EncodeToString(hash[:])] = data
	return hex.EncodeToString(hash[:]), int64(len(data))
}

// cluster is a fleet that listens on the loopback interface.
type cluster struct {
	*testing.T
	config   fleet.Config
	fleet    *fleet.Fleet
	datasets *memoryDatasets
	addr     string
	pipes    bool            // connections are in memory, as virtual time needs them
	dial     dialFunc        // connects to the fleet
	ctx      context.Context // ends when the test takes too long
	sent     atomic.Int64    // bytes of data sets that the coordinator sent
	stop     func()
}

// losing makes a fleet give up a worker that is silent, or that keeps others waiting.
func losing(cfg *fleet.Config) {
	cfg.LostAfter = lostAfter
	cfg.SlowAfter = fleet.DefaultTiming().SlowAfter
}

// newCluster starts a fleet. Unless it is changed, no worker is overtaken, or lost by a short silence, however long
// this machine lets it wait.
func newCluster(t *testing.T, change ...func(*fleet.Config)) *cluster {
	t.Helper()
	return openCluster(t, false, change...)
}

// openCluster starts a fleet that workers reach by TCP or by pipes.
func openCluster(t *testing.T, pipes bool, change ...func(*fleet.Config)) *cluster {
	t.Helper()
	limit, lostAfter := 5*time.Minute, patience // the race detector on a busy machine takes more than one
	if pipes {
		limit, lostAfter = 24*time.Hour, never // of virtual time
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	c := &cluster{T: t, ctx: ctx, pipes: pipes,
		datasets: &memoryDatasets{sets: map[string][]byte{}, began: make(chan struct{}, 100),
			ended: make(chan struct{}, 100)}}
	c.config = fleet.Config{Timing: fleet.DefaultTiming(), Datasets: c.datasets}
	c.config.HeartbeatInterval, c.config.LostAfter, c.config.SlowAfter, c.config.ReconnectWithin = heartbeat, lostAfter,
		never, reconnectWithin
	for _, f := range change {
		f(&c.config)
	}
	c.addr = "127.0.0.1:0"
	c.start()
	t.Cleanup(func() {
		c.stop()
		cancel()
	})
	return c
}

func (c *cluster) start(prepare ...func(*fleet.Fleet)) {
	c.Helper()
	c.fleet = fleet.New(c.config)
	for _, f := range prepare {
		f(c.fleet)
	}
	listener := c.listen()
	server := grpc.NewServer(slices.Concat(fleet.ServerOptions(), c.config.Observe.ServerOptions(),
		[]grpc.ServerOption{grpc.StreamInterceptor(c.countSent)})...)
	c.fleet.Register(server)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(listener); err != nil {
			c.Error(err)
		}
	}()
	c.stop = func() {
		c.fleet.Close()
		server.Stop()
		<-served
	}
}

// listen opens the port of the fleet.
func (c *cluster) listen() net.Listener {
	c.Helper()
	if c.pipes {
		listener := dial.ListenPipe(dial.PipeAddr{})
		c.dial = func(ctx context.Context, _ string) (net.Conn, error) { return listener.Dial(ctx) }
		return listener
	}
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		c.Fatal(err)
	}
	c.addr = listener.Addr().String()
	c.dial = func(ctx context.Context, addr string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}
	return listener
}

// countSent counts the bytes of data sets that the coordinator sends.
func (c *cluster) countSent(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo,
	handler grpc.StreamHandler) error {
	return handler(server, &countedStream{stream, &c.sent})
}

type countedStream struct {
	grpc.ServerStream
	sent *atomic.Int64
}

func (s *countedStream) SendMsg(m any) error {
	if chunk, is := m.(*workerv1.FetchDatasetResponse); is {
		s.sent.Add(int64(len(chunk.GetData())))
	}
	return s.ServerStream.SendMsg(m)
}

// restart replaces the fleet by a new one at the same address.
func (c *cluster) restart() {
	c.Helper()
	c.stop()
	c.start()
}

// testWorker is a worker of a cluster, with its network link.
type testWorker struct {
	cluster *cluster
	name    string
	link    *link
	cancel  context.CancelFunc
	done    chan error
}

func (c *cluster) startWorker(name string, change ...func(*worker.Config)) *testWorker {
	c.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &testWorker{cluster: c, name: name, link: newLink(c.dial), cancel: cancel, done: make(chan error, 1)}
	cfg := worker.Config{
		Coordinator: "passthrough:///" + c.addr,
		Name:        name,
		Threads:     2,
		Version:     "test",
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(w.link.dial)},
	}
	for _, f := range change {
		f(&cfg)
	}
	go func() { w.done <- worker.Run(ctx, cfg) }()
	c.Cleanup(func() { w.kill() })
	c.until(name+" is attached", func() bool { return c.worker(name) != nil })
	return w
}

// kill ends a worker as kill -9 would: it cannot say goodbye to the coordinator.
func (w *testWorker) kill() {
	w.link.refuse()
	w.cancel()
	select {
	case <-w.done:
	case <-w.cluster.ctx.Done():
		w.cluster.Errorf("worker %s does not end", w.name)
	}
	select {
	case w.done <- nil: // so that it can be killed twice
	default:
	}
}

func (c *cluster) worker(name string) *fleet.WorkerInfo {
	for _, w := range c.fleet.Workers() {
		if w.Name == name {
			return &w
		}
	}
	return nil
}

// until waits for a condition, and checks it after every change of the fleet.
func (c *cluster) until(what string, condition func() bool) {
	c.Helper()
	for {
		changed := c.fleet.Changed()
		if condition() {
			return
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			c.Fatalf("still waiting: %s; workers: %+v", what, c.fleet.Workers())
		}
	}
}

// timeout is longer than any test takes.
func (c *cluster) timeout() time.Duration { return time.Minute }
