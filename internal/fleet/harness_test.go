package fleet_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	heartbeat = 50 * time.Millisecond
	lostAfter = 400 * time.Millisecond
)

// memoryDatasets is a DatasetSource in memory that counts how often it is read.
type memoryDatasets struct {
	mu    sync.Mutex
	sets  map[string][]byte
	opens atomic.Int64
	block atomic.Bool   // readers block until their context ends
	began chan struct{} // one for each blocked reader
	ended chan struct{} // one for each blocked reader that ended
}

func (s *memoryDatasets) OpenDataset(ctx context.Context, id string, offset, length int64) (io.ReadCloser, error) {
	s.opens.Add(1)
	if s.block.Load() {
		s.began <- struct{}{}
		<-ctx.Done()
		s.ended <- struct{}{}
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, found := s.sets[id]
	if !found {
		return nil, fmt.Errorf("no data set %s", id)
	}
	data = data[offset:]
	if length > 0 {
		data = data[:length]
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (s *memoryDatasets) put(t *testing.T, d dataset.Dataset) (id string, size int64) {
	t.Helper()
	data, err := dataset.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sets[hex.EncodeToString(hash[:])] = data
	return hex.EncodeToString(hash[:]), int64(len(data))
}

// cluster is a fleet behind a loopback listener, and its workers.
type cluster struct {
	*testing.T
	fleet    *fleet.Fleet
	datasets *memoryDatasets
	addr     string
	ctx      context.Context // the test's patience
	stop     func()
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	c := &cluster{T: t, ctx: ctx, datasets: &memoryDatasets{sets: map[string][]byte{}, began: make(chan struct{}, 100), ended: make(chan struct{}, 100)}}
	c.addr = "127.0.0.1:0"
	c.start()
	t.Cleanup(func() {
		c.stop()
		cancel()
	})
	return c
}

func (c *cluster) start() {
	c.Helper()
	c.fleet = fleet.New(fleet.Config{HeartbeatInterval: heartbeat, LostAfter: lostAfter, Datasets: c.datasets})
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		c.Fatal(err)
	}
	c.addr = listener.Addr().String()
	server := grpc.NewServer(fleet.ServerOptions()...)
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

// restart ends the coordinator and starts one that knows nothing, at the same address.
func (c *cluster) restart() {
	c.Helper()
	c.stop()
	c.start()
}

// testWorker is one worker of a cluster and the line between them.
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
	h := &testWorker{cluster: c, name: name, link: newLink(), cancel: cancel, done: make(chan error, 1)}
	cfg := worker.Config{
		Coordinator: "passthrough:///" + c.addr,
		Name:        name,
		Threads:     2,
		Version:     "test",
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(h.link.dial)},
	}
	for _, f := range change {
		f(&cfg)
	}
	go func() { h.done <- worker.Run(ctx, cfg) }()
	c.Cleanup(func() { h.kill() })
	c.until(name+" is attached", func() bool { return c.worker(name) != nil })
	return h
}

// kill ends a worker as kill -9 would: nothing of it reaches the coordinator any more.
func (h *testWorker) kill() {
	h.link.refuse()
	h.cancel()
	select {
	case <-h.done:
	case <-h.cluster.ctx.Done():
		h.cluster.Errorf("worker %s does not end", h.name)
	}
	h.done <- nil // so that killing twice works
}

func (c *cluster) worker(name string) *fleet.WorkerInfo {
	for _, w := range c.fleet.Workers() {
		if w.Name == name {
			return &w
		}
	}
	return nil
}

// until waits for a condition that changes with the fleet.
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

// link is a network cable that can be cut, blocked and kept from being dialled.
type link struct {
	mu      sync.Mutex
	conns   map[*linkConn]struct{}
	refused bool
	flowing chan struct{} // closed while bytes flow
}

func newLink() *link {
	l := &link{conns: map[*linkConn]struct{}{}, flowing: make(chan struct{})}
	close(l.flowing)
	return l
}

func (l *link) dial(ctx context.Context, addr string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused {
		return nil, errors.New("the line is dead")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &linkConn{Conn: conn, link: l, closed: make(chan struct{})}
	l.conns[c] = struct{}{}
	return c, nil
}

// cut breaks all connections; new ones may be made.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Conn.Close()
	}
	clear(l.conns)
}

// refuse breaks all connections for good.
func (l *link) refuse() {
	l.mu.Lock()
	l.refused = true
	l.mu.Unlock()
	l.resume()
	l.cut()
}

// pause holds every byte in both directions, as a stopped process would.
func (l *link) pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.flowing:
		l.flowing = make(chan struct{})
	default: // paused already
	}
}

func (l *link) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.flowing:
	default:
		close(l.flowing)
	}
}

type linkConn struct {
	net.Conn
	link   *link
	once   sync.Once
	closed chan struct{}
}

func (c *linkConn) waitFlowing() {
	c.link.mu.Lock()
	clear := c.link.flowing
	c.link.mu.Unlock()
	select {
	case <-clear:
	case <-c.closed:
	}
}

func (c *linkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.waitFlowing()
	return n, err
}

func (c *linkConn) Write(p []byte) (int, error) {
	c.waitFlowing()
	return c.Conn.Write(p)
}

func (c *linkConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// problem is a matrix with its data set, and the same in one local shard to compare with.
type problem struct {
	data    dataset.Dataset
	spec    kernel.Spec
	storage planning.Storage
	shard   *kernel.Shard
	tiles   []int
	step    uint64
}

func newProblem(t *testing.T, data dataset.Dataset, spec kernel.Spec) *problem {
	t.Helper()
	spec.Rows = data.Rows()
	bound, err := kernel.Bound(spec, data)
	if err != nil {
		t.Fatal(err)
	}
	spec.Grid = kernel.GridFor(4 * bound.RowSum)
	var rows kernel.RowFetcher
	local := data
	if k, given := data.(*dataset.Kernel); given {
		local, rows = nil, kernel.GivenRows(k)
	}
	source, err := kernel.NewSource(spec, local, rows)
	if err != nil {
		t.Fatal(err)
	}
	p := &problem{data: data, spec: spec, shard: kernel.NewShard(source, 1), tiles: partition.All(spec.Rows)}
	if _, err := p.shard.Build(context.Background(), p.tiles, true); err != nil {
		t.Fatal(err)
	}
	return p
}

func randomPoints(t *testing.T, n, d int, seed uint64) *dataset.Points {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	values := make([]float64, n*d)
	for i := range values {
		values[i] = random.NormFloat64()
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func gaussianProblem(t *testing.T, n int, seed uint64) *problem {
	t.Helper()
	return newProblem(t, randomPoints(t, n, 3, seed), kernel.Spec{Function: kernel.Gaussian, Rho: 1, Columns: 3})
}

func graphProblem(t *testing.T, n, edges int, seed uint64) *problem {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 2))
	list := make([]dataset.Edge, edges)
	for i := range list {
		list[i] = dataset.Edge{Source: int32(random.IntN(n)), Target: int32(random.IntN(n)), Weight: random.Float64()}
	}
	graph, err := dataset.NewGraph(n, list)
	if err != nil {
		t.Fatal(err)
	}
	return newProblem(t, graph, kernel.Spec{Function: kernel.Adjacency})
}

func kernelProblem(t *testing.T, n int, seed uint64) *problem {
	t.Helper()
	points := randomPoints(t, n, 3, seed)
	values := make([]float64, n*n)
	for i := range n {
		for j := range n {
			for f := range 3 {
				values[i*n+j] += math.Abs(points.Row(i)[f] * points.Row(j)[f]) // affinities, so that degrees exist
			}
		}
	}
	given, err := dataset.NewKernel(n, n, values)
	if err != nil {
		t.Fatal(err)
	}
	return newProblem(t, given, kernel.Spec{Function: kernel.Given, Columns: n})
}

func (c *cluster) submit(p *problem, report func(fleet.Status)) *fleet.Executor {
	c.Helper()
	id, size := c.datasets.put(c.T, p.data)
	return c.launch(p.task("job", id, size, report))
}

// most clusters that a sequence arms.
const maxClusters = 6

// maxLanes is how many lanes a sequence has at most.
func (p *problem) maxLanes() int {
	if p.spec.Function == kernel.Adjacency {
		return 1
	}
	return 3
}

func (p *problem) need(size int64) planning.Problem {
	return planning.Problem{
		Matrix: p.spec, DatasetBytes: size, K: maxClusters, Lanes: p.maxLanes(), Products: 2, SparseEntries: int64(p.spec.Rows), Storage: p.storage,
	}
}

func (p *problem) task(job, id string, size int64, report func(fleet.Status)) fleet.Task {
	return fleet.Task{JobID: job, DatasetID: id, Need: p.need(size), Report: report}
}

// memory gives a worker of two threads room for so many tiles, stored.
func (p *problem) memory(size int64, tiles int64) func(*worker.Config) {
	need := p.need(size)
	bytes := max(need.JoinBytes(2), need.SeatBytes(2)+tiles*need.TileSize(0).Stored)
	return func(cfg *worker.Config) { cfg.MemoryBytes = uint64(bytes) }
}

func (c *cluster) launch(task fleet.Task) *fleet.Executor {
	c.Helper()
	e, err := c.fleet.NewExecutor(c.ctx, task)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(e.Release)
	return e
}

// timeout is longer than any test takes.
func (c *cluster) timeout() time.Duration { return time.Minute }
