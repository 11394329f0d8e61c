package fleet_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

// problem is a matrix with its data set, and a local shard of all its tiles to compare with.
type problem struct {
	data    dataset.Dataset
	units   *dataset.Units // that workers put the data into
	spec    kernel.MatrixSpec
	storage planning.Storage
	shard   *kernel.Shard
	tiles   []int
	step    uint64
}

func newProblem(t *testing.T, data dataset.Dataset, spec kernel.MatrixSpec) *problem {
	t.Helper()
	spec.Rows = data.Rows()
	bound, err := kernel.FindBounds(spec, data)
	if err != nil {
		t.Fatal(err)
	}
	spec.Grid = kernel.GridFor(4 * bound.RowSum)
	var rows kernel.RowFetcher
	local := data
	if k, given := data.(*dataset.Kernel); given {
		local = nil
		rows = kernel.GivenRows(k)
	}
	source, err := kernel.NewSource(spec, local, rows)
	if err != nil {
		t.Fatal(err)
	}
	p := &problem{data: data, spec: spec, shard: kernel.NewShard(source, 1), tiles: partition.AllTiles(spec.Rows)}
	if err := p.shard.Build(context.Background(), p.tiles, true); err != nil {
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
	return newProblem(t, randomPoints(t, n, 3, seed), kernel.MatrixSpec{Function: kernel.Gaussian, Rho: 1, Columns: 3})
}

// scaledPoints are points, units, and the points in these units.
func scaledPoints(t *testing.T, n, d int) (*dataset.Points, *dataset.Units, dataset.Dataset) {
	t.Helper()
	points := randomPoints(t, n, d, 1)
	for at := range points.Values {
		points.Values[at] = 100*float64(at%d) + float64(at%d+1)*points.Values[at]
	}
	units := dataset.UnitsBy(dataset.Standard, points)
	scaled, err := units.Apply(points)
	if err != nil {
		t.Fatal(err)
	}
	return points, units, scaled
}

func scaledProblem(t *testing.T, d int) *problem {
	t.Helper()
	points, units, scaled := scaledPoints(t, 203, d)
	p := newProblem(t, scaled, kernel.MatrixSpec{Function: kernel.Gaussian, Rho: math.Sqrt(float64(d)), Columns: d})
	p.data, p.units = points, units
	return p
}

func graphProblem(t *testing.T, n, edges int, seed uint64) *problem {
	t.Helper()
	graph, err := randomGraph(n, edges, seed)
	if err != nil {
		t.Fatal(err)
	}
	return newProblem(t, graph, kernel.MatrixSpec{Function: kernel.Adjacency})
}

func randomGraph(n, edges int, seed uint64) (*dataset.Graph, error) {
	random := rand.New(rand.NewPCG(seed, 2))
	list := make([]dataset.Edge, edges)
	for i := range list {
		list[i] = dataset.Edge{Source: int32(random.IntN(n)), Target: int32(random.IntN(n)), Weight: random.Float64()}
	}
	return dataset.NewGraph(n, list)
}

func kernelProblem(t *testing.T, n int, seed uint64) *problem {
	t.Helper()
	points := randomPoints(t, n, 3, seed)
	values := make([]float64, n*n)
	for i := range n {
		for j := range n {
			for f := range 3 {
				values[i*n+j] += math.Abs(points.Row(i)[f] * points.Row(j)[f]) // not negative, so that degrees exist
			}
		}
	}
	given, err := dataset.NewKernel(n, n, values)
	if err != nil {
		t.Fatal(err)
	}
	return newProblem(t, given, kernel.MatrixSpec{Function: kernel.Given, Columns: n})
}

func (c *cluster) submit(p *problem, report func(fleet.Status)) *fleet.Executor {
	c.Helper()
	id, size := c.datasets.put(c.T, p.data)
	return c.launch(p.task("job", id, size, report))
}

// maxClusters is the largest k of a sequence.
const maxClusters = 6

// maxBlock is how many points a block of a sequence may have.
const maxBlock = 16

// maxLanes is the largest number of lanes of a sequence.
func (p *problem) maxLanes() int {
	if p.spec.Function == kernel.Adjacency {
		return 1
	}
	return 3
}

func (p *problem) need(size int64) planning.Workload {
	return planning.Workload{
		DatasetBytes: size, Scaled: p.units != nil, K: maxClusters, Lanes: p.maxLanes(), Storage: p.storage,
		Matrix: &planning.Matrix{Spec: p.spec, Products: 2, Block: maxBlock, SparseEntries: int64(p.spec.Rows)},
	}
}

func (p *problem) task(job, id string, size int64, report func(fleet.Status)) fleet.Task {
	return fleet.Task{JobID: job, DatasetID: id, Need: p.need(size), Units: p.units, Report: report}
}

// memory gives a worker of two threads memory for a number of stored tiles.
func (p *problem) memory(size int64, tiles int64) func(*worker.Config) {
	need := p.need(size)
	bytes := max(need.MinFreeBytes(2), need.FixedBytes(2)+tiles*need.TileSize(0).Stored)
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
