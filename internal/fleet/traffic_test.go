package fleet_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
	"github.com/cleave-project/cleave/test/testscale"
)

// jobID is as long as those of a coordinator.
const jobID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"

// settled is the number of iterations after which traffic is checked: many points move in the first ones.
const settled = 10

// traffic counts the bytes on the connections of workers, iteration by iteration. It is the observer of a run.
type traffic struct {
	workers    []*testWorker
	before     []int64
	iterations []iterationTraffic
}

// iterationTraffic is what one iteration sent and received.
type iterationTraffic struct {
	moved int
	bytes []int64 // of each worker
}

// count returns the bytes on each connection so far.
func (tr *traffic) count() []int64 {
	now := make([]int64, len(tr.workers))
	for w := range tr.workers {
		now[w] = tr.workers[w].link.bytes.Load()
	}
	return now
}

// Observe implements clustering.Observer.
func (tr *traffic) Observe(e clustering.Event) {
	now := tr.count()
	if done, is := e.(clustering.IterationDone); is {
		i := iterationTraffic{moved: done.Moved}
		for w := range now {
			i.bytes = append(i.bytes, now[w]-tr.before[w])
		}
		tr.iterations = append(tr.iterations, i)
	}
	tr.before = now
}

// most returns the largest number of bytes that a worker exchanged since a count.
func (tr *traffic) most(since []int64) int64 {
	most := int64(0)
	for w, now := range tr.count() {
		most = max(most, now-since[w])
	}
	return most
}

// startTraffic starts workers. Heartbeats are so rare that an iteration has at most one, however slow this machine is.
func startTraffic(t *testing.T, workers int, change ...func(*worker.Config)) (*cluster, *traffic) {
	t.Helper()
	c := newCluster(t, func(cfg *fleet.Config) { cfg.HeartbeatInterval = time.Minute })
	f := &traffic{}
	for w := range workers {
		f.workers = append(f.workers, c.startWorker(fmt.Sprint("w", w), change...))
	}
	return c, f
}

// runKernel runs kernel k-means.
func (tr *traffic) runKernel(c *cluster, data dataset.Dataset, spec clustering.Spec) *clustering.Result {
	c.Helper()
	p, err := kernelkmeans.Prepare(data, spec)
	if err != nil {
		c.Fatal(err)
	}
	id, size := c.datasets.put(c.T, data)
	e := c.launch(fleet.Task{JobID: jobID, DatasetID: id, Need: planning.Workload{
		DatasetBytes: size, K: spec.K, Lanes: p.Lanes(),
		Matrix: &planning.Matrix{Spec: p.Matrix, Block: p.Candidates(), SparseEntries: int64(p.Rows())}}})
	result, err := kernelkmeans.Run(c.ctx, p, e, tr)
	if err != nil {
		c.Fatal(err)
	}
	return result
}

// check checks every iteration once it is settled: at most perMove bytes for each point that moved anywhere, and
// fixed. It returns how many bytes an iteration takes on average.
func (tr *traffic) check(t *testing.T, perMove, fixed int64) (mean int64) {
	t.Helper()
	if len(tr.iterations) < settled+5 {
		t.Fatalf("only %d iterations", len(tr.iterations))
	}
	moved, all, beyond, later := 0, int64(0), int64(0), tr.iterations[settled:]
	for at, i := range later {
		moved += i.moved
		for w, bytes := range i.bytes {
			if bytes > perMove*int64(i.moved)+fixed {
				t.Errorf("iteration %d: %d bytes of worker %d for %d moves", settled+1+at, bytes, w, i.moved)
			}
			all += bytes
			beyond = max(beyond, bytes-perMove*int64(i.moved))
		}
	}
	last := later[len(later)-1]
	mean = all / int64(len(later)*len(tr.workers))
	t.Logf("per iteration and worker: %d moves, %d bytes; at most %d beyond %d for each move; %d bytes in the last, "+
		"with %d moves",
		moved/len(later), mean, beyond, perMove, last.bytes[0], last.moved)
	return mean
}

// ringGraph connects every vertex with the next ones on a ring, and a few with any other.
func ringGraph(t *testing.T, n, degree int) *dataset.Graph {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var edges []dataset.Edge
	for i := range n {
		for step := range degree {
			edges = append(edges, dataset.Edge{Source: int32(i), Target: int32((i + 1 + step) % n), Weight: 1})
		}
		if to := random.IntN(n); i%50 == 0 && to != i {
			edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(to), Weight: 1})
		}
	}
	graph, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return graph
}

// An iteration of kernel k-means takes at most 16 bytes for each point that moves anywhere, and 1 KiB, on the
// connection of each worker. The answer does not depend on the number of workers.
func TestTrafficOfKernelKMeans(t *testing.T) {
	for name, data := range map[string]dataset.Dataset{"points": randomPoints(t, 3000, 4, 1),
		"graph": ringGraph(t, 60_000, 5)} {
		objective := 0.0
		for _, workers := range testscale.Some([]int{1, 2, 3, 5}, 2) {
			t.Run(fmt.Sprint(name, "-", workers), func(t *testing.T) {
				c, f := startTraffic(t, workers)
				spec := clustering.Spec{
					K: 10, Seed: 1, MaxIterations: 60,
					Initialization: clustering.Initialization{Start: clustering.StartRandom}, Restarts: 1,
					Algorithm: &kernelkmeans.Options{OnRise: kernelkmeans.RiseIgnore},
				}
				result := f.runKernel(c, data, spec)
				if workers == 1 {
					objective = result.Objective
				} else if result.Objective != objective {
					t.Errorf("objective %v instead of %v", result.Objective, objective)
				}
				f.check(t, 16, 1024)
			})
		}
	}
}

// Local search asks each worker for the largest gains and for the rows of the candidates, and not for anything of
// every row. The answer is that of a single process.
func TestTrafficOfLocalSearch(t *testing.T) {
	const k, chain, candidates = 10, 20, 80
	data := randomPoints(t, 3000, 4, 1)
	spec := clustering.Spec{K: k, Seed: 1, MaxIterations: 200,
		Initialization: clustering.Initialization{Start: clustering.StartRandom}, Restarts: 1,
		Algorithm: &kernelkmeans.Options{OnRise: kernelkmeans.RiseIgnore, LocalSearch: chain}}
	p, err := kernelkmeans.Prepare(data, spec)
	if err != nil {
		t.Fatal(err)
	}
	x, err := kernelkmeans.NewLocal(t.Context(), p, data, 2)
	if err != nil {
		t.Fatal(err)
	}
	want, err := kernelkmeans.Run(t.Context(), p, x, clustering.NopObserver{})
	if err != nil {
		t.Fatal(err)
	}
	c, f := startTraffic(t, 3)
	got := f.runKernel(c, data, spec)
	if got.Objective != want.Objective || !slices.Equal(got.Labels, want.Labels) ||
		len(f.iterations) != len(want.History) {
		t.Errorf("objective %v after %d iterations instead of %v after %d", got.Objective, len(f.iterations),
			want.Objective, len(want.History))
	}
	most := int64(0)
	for _, i := range f.iterations[settled:] {
		sum := int64(0)
		for _, bytes := range i.bytes {
			sum += bytes
		}
		most = max(most, sum)
	}
	t.Logf("an iteration takes up to %d bytes of all workers together", most)
	if limit := int64(8*candidates*(k+candidates/2+1) + 3*(13*candidates+4096)); most > limit {
		t.Errorf("an iteration takes %d bytes, more than %d", most, limit)
	}
}

// An iteration of k-means sends the centroids, and gets the moves, the changes of the sums, and two sums of each
// tile. Each moved point is answered by one worker.
func TestTrafficOfKMeans(t *testing.T) {
	const n, d, k, workers = 20_000, 8, 10, 3
	c, f := startTraffic(t, workers)
	data := randomPoints(t, n, d, 1)
	spec := clustering.Spec{
		K: k, Seed: 1, MaxIterations: 40, Initialization: clustering.Initialization{Start: clustering.StartRandom},
		Restarts: 1, Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
	}
	p, err := kmeans.Prepare(data, spec)
	if err != nil {
		t.Fatal(err)
	}
	id, size := c.datasets.put(t, data)
	e, err := c.fleet.NewKMeansExecutor(c.ctx, fleet.Task{JobID: jobID, DatasetID: id, Vectors: p.Vectors,
		Units: p.Units, Need: planning.Workload{
			DatasetBytes: size, K: k, Lanes: 1,
			Vectors: &planning.Vectors{Rows: n, Columns: d, Width: p.Vectors.Width()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Release)
	if _, err := kmeans.Run(c.ctx, p, e, f); err != nil {
		t.Fatal(err)
	}
	if mean := f.check(t, 8, 2*8*k*d+2*8*int64(partition.TileCount(n))+1024); mean > 2000 {
		t.Errorf("an iteration takes %d bytes of a worker", mean)
	}
}

// A product sends every worker the whole vector, and each returns its rows. A search for neighbors returns the
// neighbors of each row once.
func TestTrafficOfProductsAndNeighbors(t *testing.T) {
	const n, workers = 20_000, 2
	c, f := startTraffic(t, workers)
	graph := ringGraph(t, n, 5)
	id, size := c.datasets.put(t, graph)
	e := c.launch(fleet.Task{JobID: jobID, DatasetID: id, Need: planning.Workload{
		DatasetBytes: size, K: 1, Lanes: 1,
		Matrix: &planning.Matrix{
			Spec:     kernel.MatrixSpec{Function: kernel.Adjacency, Rows: n, Grid: kernel.GridFor(1 << 20)},
			Products: 1, SparseEntries: 1,
		}}})
	weights := make([]float64, n)
	if err := e.SetOperands(c.ctx, kernel.Operands{K: 1, Lanes: 1, Weights: weights}); err != nil {
		t.Fatal(err)
	}
	before := f.count()
	if _, err := e.Multiply(c.ctx, [][]float64{weights}); err != nil {
		t.Fatal(err)
	}
	product := f.most(before)
	if limit := int64(8*n+8*n*3/5) + 8192; product > limit {
		t.Errorf("a product takes %d bytes, more than %d", product, limit)
	}
	points := &neighborProblem{data: randomPoints(t, n, 2, 1)}
	task := points.task(c, nil)
	before = f.count()
	if _, _, err := c.fleet.Neighbors(c.ctx, task); err != nil {
		t.Fatal(err)
	}
	search := f.most(before)
	if limit := task.Need.DatasetBytes + 4*(1+neighborCount)*n*3/5 + 16384; search > limit {
		t.Errorf("a search takes %d bytes, more than %d", search, limit)
	}
	t.Logf("n = %d, %d workers: a product %d bytes, a search for %d neighbors %d bytes, of which the data set has %d",
		n, workers, product, neighborCount, search, task.Need.DatasetBytes)
}

// The metrics of both sides count the same bytes, almost all of those on the connections, by what they are for.
func TestTrafficIsCounted(t *testing.T) {
	options := observe.Options{Admin: "127.0.0.1:0"}
	start := func(program string) *observe.Observing {
		o, err := observe.Start(t.Context(), options, program, "test", hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(o.Close)
		return o
	}
	ofCoordinator := start("coordinator")
	ofWorkers := start("worker")
	coordinator := ofCoordinator.Coordinator()
	workers := ofWorkers.Worker()
	c := newCluster(t, func(cfg *fleet.Config) { cfg.Observe, cfg.HeartbeatInterval = coordinator, time.Minute })
	f := &traffic{}
	for w := range 2 {
		f.workers = append(f.workers, c.startWorker(fmt.Sprint("w", w), func(cfg *worker.Config) {
			cfg.Observe = workers
		}))
	}
	p := graphProblem(t, 30_000, 100_000, 1)
	newSequence(c, c.submit(p, nil), p, 1).run(10, noDisturbance)
	for _, kind := range []string{"commands", "datasets", "payloads", "results"} {
		for _, direction := range [][2]string{{"sent", "received"}, {"received", "sent"}} {
			here := func() float64 { return scrape(t, ofCoordinator, "cleave_traffic_bytes_total", kind, direction[0]) }
			there := func() float64 {
				return scrape(t, ofWorkers, "cleave_worker_traffic_bytes_total", kind, direction[1])
			}
			for here() != there() || here() == 0 { // what was sent last may not be counted yet
				if c.ctx.Err() != nil {
					t.Fatalf("%s: the coordinator has %s %v bytes, workers have %s %v", kind, direction[0], here(),
						direction[1], there())
				}
			}
		}
	}
	all := 0.0
	for _, kind := range []string{"commands", "datasets", "payloads", "results"} {
		all += scrape(t, ofWorkers, "cleave_worker_traffic_bytes_total", kind, "sent") + scrape(t, ofWorkers,
			"cleave_worker_traffic_bytes_total", kind, "received")
	}
	real := float64(f.workers[0].link.bytes.Load() + f.workers[1].link.bytes.Load())
	if all > real || all < 0.9*real {
		t.Errorf("%v bytes are counted, %v were on the connections", all, real)
	}
}

// scrape returns the value of a metric.
func scrape(t *testing.T, o *observe.Observing, name, kind, direction string) float64 {
	t.Helper()
	answer, err := http.Get("http://" + o.AdminAddr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if value, is := strings.CutPrefix(line, fmt.Sprintf("%s{direction=%q,kind=%q} ", name, direction, kind)); is {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return number
		}
	}
	return 0
}
