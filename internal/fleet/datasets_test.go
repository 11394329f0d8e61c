package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// The coordinator sends a data set twice to all workers that pass it on, however many there are, and once to each
// other.
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
	if sent := c.sent.Load(); sent > 4*size {
		t.Errorf("the coordinator sent %d bytes of a data set of %d", sent, size)
	}
	newSequence(c, e, p, 1).run(10, noDisturbance)
}

// A worker that comes later gets the data set from those that have it, also if they have it in memory from an earlier
// job.
func TestLateWorkersAreServedByOthers(t *testing.T) {
	c := newCluster(t)
	c.startWorker("first", serving(t.TempDir()))
	c.startWorker("second", serving(t.TempDir()))
	p := largeProblem(t)
	_, size := c.datasets.put(t, p.data)
	c.submit(p, nil).Release()
	e := c.submit(p, nil)
	c.startWorker("third", serving(t.TempDir()))
	newSequence(c, e, p, 1).run(5, noDisturbance)
	again := c.submit(p, nil)
	if held := again.Usage(); len(held.Shares) != 3 {
		t.Errorf("the job is on %d workers", len(held.Shares))
	}
	if sent := c.sent.Load(); sent != 2*size {
		t.Errorf("the coordinator sent %d bytes of a data set of %d", sent, size)
	}
	c.startWorker("fourth")
	last := c.submit(p, nil)
	if held := last.Usage(); len(held.Shares) != 4 {
		t.Errorf("the job is on %d workers", len(held.Shares))
	}
	if sent := c.sent.Load(); sent != 3*size {
		t.Errorf("with one that does not listen, the coordinator sent %d bytes of a data set of %d", sent, size)
	}
}

// The bits do not depend on how many workers there are, or on who listens.
func TestDeliveredDataHasTheSameBits(t *testing.T) {
	c := newCluster(t)
	p := largeProblem(t)
	for at, change := range []func(*worker.Config){
		serving(t.TempDir()), func(*worker.Config) {}, serving(t.TempDir()), serving(t.TempDir()), caching(t.TempDir()),
	} {
		c.startWorker(fmt.Sprint("w", at), change)
		if at == 3 {
			continue // 1, 2, 3 and 5 workers
		}
		e := c.submit(p, nil)
		newSequence(c, e, p, 1).run(3, noDisturbance)
		e.Release()
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
	p := largeProblem(t)
	dir := t.TempDir()
	_, size := c.datasets.put(t, p.data)
	run := c.checkCache(dir, size, func() {
		e := c.submit(p, nil)
		newSequence(c, e, p, 1).run(3, noDisturbance)
		e.Release()
	})
	files := cachedFiles(t, dir)
	// A piece with a name that fits it, and yet not one of the data set.
	if err := os.Rename(files[1], strings.Replace(files[1], filepath.Base(files[1]), "0"+filepath.Ext(files[1]),
		1)); err != nil {
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

// startBadPeer attaches a worker that says that it passes data on, and serves it as the test says. It tells joined when
// it has the first place in the tree. Its tiles go to others after the others have come.
func (c *cluster) startBadPeer(peer *badPeer, joined chan<- struct{}, others <-chan struct{}) {
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
				<-others
				return failureOf(workerv1.FailureKind_FAILURE_KIND_INTERNAL, "BAD", "it only serves pieces")
			}
			stream, err := a.client.Deliver(a.stream.Context())
			if err == nil {
				err = stream.Send(&workerv1.DeliverRequest{Message: &workerv1.DeliverRequest_Join{Join: &workerv1.Join{
					SessionId: a.id, DatasetId: prepare.GetDatasetId(), Bytes: prepare.GetDatasetBytes(),
					PassesOn: true,
				}}})
			}
			if err == nil {
				_, err = stream.Recv()
			}
			if err != nil {
				c.Error(err)
			}
			joined <- struct{}{}
			return nil
		})
	}()
}

// Parents that serve wrong bytes, nothing at all, too slowly, or refuse cost time, and the answer is the same. They are
// not asked again.
func TestBadPeers(t *testing.T) {
	wrong := func(r *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
		for range wire.PieceBytes / (256 << 10) {
			if err := stream.Send(&workerv1.FetchPieceResponse{Data: make([]byte, 256<<10)}); err != nil {
				return err
			}
		}
		return nil
	}
	// trickle sends so many bytes all the time.
	trickle := func(bytes int) func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error {
		return func(_ *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
			for {
				if err := stream.Send(&workerv1.FetchPieceResponse{Data: make([]byte, bytes)}); err != nil {
					return err
				}
				select {
				case <-time.After(50 * time.Millisecond):
				case <-stream.Context().Done():
					return nil
				}
			}
		}
	}
	for _, bad := range testscale.Some([]struct {
		name  string
		stall time.Duration
		serve func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error
	}{
		{"wrong bytes", 0, wrong},
		{"slow", 300 * time.Millisecond, trickle(1000)},
		{"silent", 300 * time.Millisecond,
			func(_ *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
				<-stream.Context().Done()
				return nil
			}},
		{"always waiting", 300 * time.Millisecond, trickle(0)},
		{"too short", 0, func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error { return nil }},
		{"too long", 0, func(r *workerv1.FetchPieceRequest, stream workerv1.PeerService_FetchPieceServer) error {
			return errors.Join(wrong(r, stream), wrong(r, stream))
		}},
		{"refusing", 0, func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error {
			return status.Error(codes.PermissionDenied, "no")
		}},
		{"empty", 0, func(*workerv1.FetchPieceRequest, workerv1.PeerService_FetchPieceServer) error {
			return status.Error(codes.NotFound, "no")
		}},
	}, 4) {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			joined := make(chan struct{}, 1)
			others := make(chan struct{})
			c := newCluster(t)
			peer := &badPeer{serve: bad.serve}
			c.startBadPeer(peer, joined, others)
			p := largeProblem(t)
			_, size := c.datasets.put(t, p.data)
			submitted := c.submitLater(p)
			<-joined
			const honest = 3
			for w := range honest {
				c.startWorker(fmt.Sprint("w", w), func(cfg *worker.Config) {
					serving(t.TempDir())(cfg)
					cfg.Exchange.Stall = bad.stall
				})
			}
			close(others)
			newSequence(c, <-submitted, p, 1).run(3, noDisturbance)
			if sent := c.sent.Load(); sent > honest*size {
				t.Errorf("the coordinator sent %d bytes of a data set of %d", sent, size)
			}
			// It has two children, each of which asks for two pieces at the same time.
			if asked := peer.asked.Load(); asked == 0 || asked > 4 {
				t.Errorf("the bad worker was asked %d times", asked)
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
		{"forbidden", name, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
			"(403 Forbidden); check that the coordinator's keys may read the object, and that its clock is right"},
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
			if sent := cluster.sent.Load(); c.message == "" && (sent != 0 || says != "") ||
				c.message != "" && (sent == 0 || sent > size) {
				t.Errorf("the coordinator sent %d bytes, and says %q", sent, says)
			}
			if c.message != "" && !strings.Contains(says, c.message) || strings.Contains(says, "secret") {
				t.Errorf("the list of workers says %q", says)
			}
		})
	}
}

// Workers that cannot read the object store pass data on to each other.
func TestAStoreThatRefusesEverybody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	c := newCluster(t, func(cfg *fleet.Config) { cfg.Datasets = locatedDatasets{cfg.Datasets, server.URL, ""} })
	const workers = 5
	for w := range workers {
		c.startWorker(fmt.Sprint("w", w), serving(t.TempDir()))
	}
	p := largeProblem(t)
	_, size := c.datasets.put(t, p.data)
	newSequence(c, c.submit(p, nil), p, 1).run(3, noDisturbance)
	// Until it is told its parent, a worker reads from the coordinator.
	if sent := c.sent.Load(); sent > 2*size+workers*4*wire.PieceBytes {
		t.Errorf("the coordinator sent %d bytes of a data set of %d", sent, size)
	}
	for w := range workers {
		if says := c.worker(fmt.Sprint("w", w)).Message; !strings.Contains(says, "403") {
			t.Errorf("the list of workers says %q", says)
		}
	}
}
