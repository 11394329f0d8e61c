package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/store/seal"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker"
	"github.com/cleave-project/cleave/internal/worker/exchange"
	"github.com/cleave-project/cleave/test/testscale"
)

// largeGraph is a data set of several pieces, made once for all tests.
var largeGraph = sync.OnceValues(func() (*dataset.Graph, error) {
	return randomGraph(20_000, testscale.Count(360_000, 600_000), 1)
})

// largeProblem has a data set of several pieces.
func largeProblem(t *testing.T) *problem {
	t.Helper()
	graph, err := largeGraph()
	if err != nil {
		t.Fatal(err)
	}
	return newProblem(t, graph, kernel.MatrixSpec{Function: kernel.Adjacency})
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
	if pieces := wire.PieceCount(size); pieces < 3 {
		t.Fatalf("the data set has %d pieces", pieces)
	}
	e := c.submit(p, nil)
	if held := e.Usage(); len(held.Shares) < 7 { // with 20 tiles and at most 3 on a worker, one may have none
		t.Errorf("the job is on %d workers", len(held.Shares))
	}
	if sent := c.sent.Load(); sent > 2*size {
		t.Errorf("the coordinator sent %d bytes of a data set of %d", sent, size)
	}
	newSequence(c, e, p, 1).run(10, noDisturbance)
}

// A worker that comes later gets the data set from those that have it, also if they have it in memory from an earlier
// job.
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

// damage changes one bit of a file.
func damage(t *testing.T, file string) {
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

// checkCache runs a job on one worker after the other, all with the same folder as their cache: what is there is not
// fetched again, and what is damaged is. It returns what runs the job on another such worker, and how many bytes that
// gets.
func (c *cluster) checkCache(dir string, size int64, job func()) func(worker string) (sent int64) {
	c.Helper()
	run := func(name string) int64 {
		c.Helper()
		before := c.sent.Load()
		w := c.startWorker(name, caching(dir))
		job()
		w.kill()
		return c.sent.Load() - before
	}
	if sent := run("empty"); sent != size {
		c.Errorf("a worker without anything got %d bytes", sent)
	}
	if sent := run("full"); sent != 0 {
		c.Errorf("a worker with everything got %d bytes", sent)
	}
	files := cachedFiles(c.T, dir)
	if len(files) != wire.PieceCount(size) {
		c.Fatalf("the cache has %v", files)
	}
	damage(c.T, files[0])
	if sent := run("damaged"); sent == 0 || sent > wire.PieceBytes {
		c.Errorf("a worker with one damaged piece got %d bytes", sent)
	}
	return run
}

// What a worker has on disk it does not fetch again. What is damaged there it does, and nothing else notices.
func TestCachedDataSets(t *testing.T) {
	c := newCluster(t)
	p, dir := largeProblem(t), t.TempDir()
	_, size := c.datasets.put(t, p.data)
	run := c.checkCache(dir, size, func() {
		e := c.submit(p, nil)
		newSequence(c, e, p, 1).run(3, noDisturbance)
		e.Release()
	})
	files := cachedFiles(t, dir)
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
	for seed := range testscale.Count(2, 4) {
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

// gatedDatasets are data sets that can be read once the gate is open.
type gatedDatasets struct {
	fleet.DatasetSource
	gate chan struct{}
}

func (d gatedDatasets) OpenDataset(ctx context.Context, id string, offset, length int64) (io.ReadCloser, error) {
	select {
	case <-d.gate:
		return d.DatasetSource.OpenDataset(ctx, id, offset, length)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// badPeer serves pieces as the test says.
type badPeer struct {
	workerv1.UnimplementedPeerServiceServer
	serve func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error
	asked atomic.Int64
	in    *cluster
}

func (p *badPeer) FetchPiece(r *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
	p.asked.Add(1)
	for _, w := range p.in.fleet.Workers() {
		if w.ID == r.GetSessionId() {
			p.in.Errorf("worker %s shows another one its session", w.Name)
		}
	}
	return p.serve(r, stream)
}

// startBadPeer attaches a worker that claims to have all data, and serves it as the test says. Its tiles go to others.
func (c *cluster) startBadPeer(peer *badPeer, joined chan<- struct{}) {
	c.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	peer.in = c
	server := grpc.NewServer()
	workerv1.RegisterPeerServiceServer(server, peer)
	go func() { _ = server.Serve(listener) }()
	c.Cleanup(server.Stop)
	hello := validHello()
	hello.PeerAddress = listener.Addr().String()
	a, welcome, err := c.attachScripted(hello)
	if err != nil || len(welcome.GetPeerKey()) == 0 {
		c.Fatalf("%v, %v", welcome, err)
	}
	c.Cleanup(a.startHeartbeats())
	go func() {
		_ = a.answerCommands(func(command *workerv1.Command) *workerv1.Failure {
			prepare := command.GetPrepare()
			if prepare == nil {
				return failureOf(workerv1.FailureKind_FAILURE_KIND_INTERNAL, "BAD", "it only serves pieces")
			}
			stream, err := a.client.Distribute(a.stream.Context())
			if err == nil {
				err = stream.Send(&workerv1.DistributeRequest{Message: &workerv1.DistributeRequest_Join{Join: &workerv1.Join{
					SessionId: a.id, DatasetId: prepare.GetDatasetId(), Bytes: prepare.GetDatasetBytes(), PieceBytes: wire.PieceBytes,
					Keeps: true, Held: bytes.Repeat([]byte{0xff}, 1000),
				}}})
			}
			if err != nil {
				c.Error(err)
			}
			joined <- struct{}{}
			return nil
		})
	}()
}

// Workers that serve wrong bytes, nothing at all, or refuse cost time, and the answer is the same. One that serves
// two others wrong bytes is asked no more, and the list of workers says why.
func TestBadPeers(t *testing.T) {
	wrong := func(r *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
		for range wire.PieceBytes / (256 << 10) {
			if err := stream.Send(&workerv1.FetchPieceResponse{Data: make([]byte, 256<<10)}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, bad := range testscale.Some([]struct {
		name  string
		serve func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error
	}{
		{"wrong bytes", wrong},
		{"too short", func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error { return nil }},
		{"silent", func(_ *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
			<-stream.Context().Done()
			return nil
		}},
		{"too long", func(r *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
			return errors.Join(wrong(r, stream), wrong(r, stream))
		}},
		{"refusing", func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error {
			return status.Error(codes.PermissionDenied, "no")
		}},
		{"empty", func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error {
			return status.Error(codes.NotFound, "no")
		}},
	}, 3) {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			gate, joined := make(chan struct{}), make(chan struct{}, 1)
			c := newCluster(t, func(cfg *fleet.Config) { cfg.Datasets = gatedDatasets{cfg.Datasets, gate} })
			peer := &badPeer{serve: bad.serve}
			c.startBadPeer(peer, joined)
			honest := func(cfg *worker.Config) {
				serving(t.TempDir())(cfg)
				if bad.name == "silent" {
					cfg.Exchange.Stall = 200 * time.Millisecond
				}
			}
			c.startWorker("a", honest)
			c.startWorker("b", honest)
			p := largeProblem(t)
			_, size := c.datasets.put(t, p.data)
			go func() { <-joined; close(gate) }()
			newSequence(c, c.submit(p, nil), p, 1).run(3, noDisturbance)
			if sent := c.sent.Load(); sent > 2*size {
				t.Errorf("the coordinator sent %d bytes of a data set of %d", sent, size)
			}
			if peer.asked.Load() == 0 {
				t.Error("the bad worker was not asked")
			}
		})
	}
}

// locatedDatasets are data sets that workers can also read from a web server.
type locatedDatasets struct {
	fleet.DatasetSource
	url, sealedName string
}

func (d locatedDatasets) LocateDataset(context.Context, string) (url, sealedName string, err error) {
	return d.url, d.sealedName, nil
}

// Workers read the object store if they can, as it is stored, and otherwise say why not and get the data from
// elsewhere.
func TestWorkersReadTheObjectStore(t *testing.T) {
	const name = "datasets/x"
	plain, err := dataset.Marshal(largeProblem(t).data)
	if err != nil {
		t.Fatal(err)
	}
	sealedOf := func(content []byte) []byte {
		var sealed bytes.Buffer
		w := seal.NewWriter(name, &sealed)
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		return sealed.Bytes()
	}
	sealed := sealedOf(plain)
	damaged := bytes.Clone(sealed)
	damaged[len(damaged)/2] ^= 1
	serve := func(content []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		}
	}
	for _, c := range []struct {
		name, sealedName string
		handler          http.HandlerFunc
		message          string
	}{
		{"sealed", name, serve(sealed), ""},
		{"damaged", name, serve(damaged), "damaged"},
		{"another blob", name + "y", serve(sealed), "damaged"},
		{"other bytes", name, serve(sealedOf(make([]byte, len(plain)))), "not those of the piece"},
		{"forbidden", name, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "(403 Forbidden); check that the coordinator's keys may read the object, and that its clock is right"},
		{"whole", name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(sealed) }, "200"},
		{"elsewhere", name, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/secret", http.StatusFound)
		}, "302"},
		{"silent", name, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.handler)
			t.Cleanup(server.Close)
			cluster := newCluster(t, func(cfg *fleet.Config) {
				cfg.Datasets = locatedDatasets{cfg.Datasets, server.URL + "/blob?signature=secret", c.sealedName}
			})
			p := largeProblem(t)
			_, size := cluster.datasets.put(t, p.data)
			cluster.startWorker("w", func(cfg *worker.Config) { cfg.Exchange.Stall = 3 * time.Second })
			e := cluster.submit(p, nil)
			newSequence(cluster, e, p, 1).run(2, noDisturbance)
			says := cluster.worker("w").Message
			if sent := cluster.sent.Load(); c.message == "" && (sent != 0 || says != "") || c.message != "" && (sent == 0 || sent > size) {
				t.Errorf("the coordinator sent %d bytes, and says %q", sent, says)
			}
			if c.message != "" && !strings.Contains(says, c.message) || strings.Contains(says, "secret") {
				t.Errorf("the list of workers says %q", says)
			}
		})
	}
}
