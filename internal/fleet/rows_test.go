package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker"
	"github.com/cleave-project/cleave/test/testscale"
)

// rowProblem has a data set that is large enough for workers to fetch the rows of their tiles only. Tiles have 2 MiB,
// half of a piece.
func rowProblem(t *testing.T, rows int) *vectorProblem {
	t.Helper()
	p := newVectorProblem(t, randomPoints(t, rows, 256, 1), metric.SquaredEuclidean, false)
	p.k, p.lanes = 3, 2
	if !p.need(dataset.EncodedSize(p.data)).ByRows() {
		t.Fatal("the data set is small enough to be fetched whole")
	}
	return p
}

// sparseRowProblem is the same with sparse points. Later rows have more entries, and the number of all is odd, so
// that values cross the borders of pieces.
func sparseRowProblem(t *testing.T, rows int, distortion metric.Distortion) *vectorProblem {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	const columns = 2000
	points := &dataset.SparsePoints{N: rows, D: columns, RowStart: []int64{0}}
	for i := range rows {
		for f := random.IntN(8); f < columns/2+columns/2*i/rows; f += 1 + random.IntN(8) {
			points.Column, points.Value = append(points.Column, int32(f)), append(points.Value, 0.1+random.Float64())
		}
		if i == rows-1 && len(points.Column)%2 == 0 {
			last := len(points.Column) - 1
			points.Column, points.Value = points.Column[:last], points.Value[:last]
		}
		points.RowStart = append(points.RowStart, int64(len(points.Column)))
	}
	p := newVectorProblem(t, points, distortion, false)
	p.k, p.lanes = 3, 2
	if size := dataset.EncodedSize(p.data); !p.need(size).ByRows() {
		t.Fatalf("the data set has %d bytes, few enough to be fetched whole", size)
	}
	return p
}

// whole makes a worker fetch data sets whole, like those of the release before.
func whole(cfg *worker.Config) { cfg.SharedDataset = func(string) dataset.Dataset { return nil } }

// cached returns the size of all pieces in a cache.
func cached(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	for _, file := range cachedFiles(t, dir) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

func cachedFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Each of eight workers gets about an eighth of the data set, from the coordinator, which sends nothing else. Workers
// that join or take over the tiles of lost ones fetch what they lack.
func TestWorkersFetchTheRowsOfTheirTiles(t *testing.T) {
	t.Run("dense", func(t *testing.T) { fetchRowsOfTiles(t, rowProblem(t, testscale.Count(24_000, 64_000)), 3) })
	if testscale.Long {
		t.Run("sparse", func(t *testing.T) {
			fetchRowsOfTiles(t, sparseRowProblem(t, 32_000, metric.SquaredEuclidean), 7)
		})
	}
}

// fetchRowsOfTiles runs the test on one problem. Runs of tiles share this many pieces with others.
func fetchRowsOfTiles(t *testing.T, p *vectorProblem, shared int64) {
	c := newCluster(t)
	_, size := c.datasets.put(t, p.data)
	var dirs []string
	var workers []*testWorker
	for w := range 8 {
		dirs = append(dirs, t.TempDir())
		workers = append(workers, c.startWorker(fmt.Sprint("w", w), serving(dirs[w])))
	}
	e := c.submitVectors(p, nil)
	fetched := int64(0)
	for w, dir := range dirs {
		// A run of tiles shares its first and last piece with its neighbors, in every place of the data set where its
		// rows are. The largest sparse tiles have a third more than the mean.
		if got := cached(t, dir); got < size/16 || got > size/6+shared*wire.PieceBytes {
			t.Errorf("worker %d fetched %d bytes of %d", w, got, size)
		}
		fetched += cached(t, dir)
	}
	if sent := c.sent.Load(); sent != fetched {
		t.Errorf("the coordinator sent %d bytes, and workers have %d", sent, fetched)
	}
	e.Release()
	before := c.sent.Load()
	e = c.submitVectors(p, nil)
	if more := c.sent.Load() - before; more > 0 {
		t.Errorf("the coordinator sent %d bytes that workers had already", more)
	}
	s := newVectorSequence(c, e, p, 1)
	s.run(2, noDisturbance)
	workers[3].kill()
	s.run(2, noDisturbance)
	c.startWorker("late", serving(t.TempDir()))
	s.run(5, noDisturbance)
	if sent := c.sent.Load(); sent > fetched+size {
		t.Errorf("the coordinator sent %d bytes of a data set of %d, %d of them at first", sent, size, fetched)
	}
}

// Workers without a cache fetch their rows from the coordinator, and get each piece a few times at most.
func TestRowsWithoutACache(t *testing.T) {
	c := newCluster(t)
	for w := range 4 {
		c.startWorker(fmt.Sprint("w", w))
	}
	p := rowProblem(t, 17_000)
	_, size := c.datasets.put(t, p.data)
	e := c.submitVectors(p, nil)
	if sent := c.sent.Load(); sent > size+8*wire.PieceBytes {
		t.Errorf("the coordinator sent %d bytes of a data set of %d", sent, size)
	}
	newVectorSequence(c, e, p, 1).run(2, noDisturbance)
	e.Release()
	before := c.sent.Load()
	again := c.submitVectors(p, nil)
	if more := c.sent.Load() - before; more > 8*wire.PieceBytes { // a piece at a border may be in use by another tile
		t.Errorf("the coordinator sent %d bytes that workers had in memory", more)
	}
	newVectorSequence(c, again, p, 2).run(2, noDisturbance)
}

// Every kind of rows has the same bits by rows, on any number of workers, also if some fetch data sets whole.
func TestRowsHaveTheSameBits(t *testing.T) {
	problems := map[string]func(t *testing.T) *vectorProblem{
		"plain": func(t *testing.T) *vectorProblem { return rowProblem(t, 17_000) },
		"scaled": func(t *testing.T) *vectorProblem {
			points, units, scaled := scaledPoints(t, 17_000, 256)
			p := newVectorProblem(t, scaled, metric.SquaredEuclidean, false)
			p.data, p.units = points, units
			return p
		},
		"spherical": func(t *testing.T) *vectorProblem {
			return newVectorProblem(t, randomPoints(t, 17_000, 256, 1), metric.Cosine, false)
		},
		"probabilities": func(t *testing.T) *vectorProblem {
			return newVectorProblem(t, positivePoints(t, 17_000, 256, 3, 1), metric.KL, false)
		},
		"sparse": func(t *testing.T) *vectorProblem {
			return sparseRowProblem(t, 9000, metric.SquaredEuclidean)
		},
		"sparse probabilities": func(t *testing.T) *vectorProblem { return sparseRowProblem(t, 9000, metric.KL) },
		"landmarks": func(t *testing.T) *vectorProblem {
			points, units, scaled := scaledPoints(t, 17_000, 256)
			return landmarkProblem(t, points, units, scaled.(*dataset.Points))
		},
		"wide": func(t *testing.T) *vectorProblem { // a tile has several pieces
			return newVectorProblem(t, randomPoints(t, 480, 9000, 1), metric.SquaredEuclidean, false)
		},
	}
	for _, name := range testscale.Some([]string{"sparse", "landmarks", "plain", "probabilities", "scaled",
		"sparse probabilities", "spherical", "wide"}, 1) {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			p := problems[name](t)
			p.k, p.lanes = 3, 2
			_, size := c.datasets.put(t, p.data)
			if !p.need(size).ByRows() {
				t.Fatal("the data set is small enough to be fetched whole")
			}
			for at, change := range []func(*worker.Config){func(*worker.Config) {}, serving(t.TempDir()), whole,
				caching(t.TempDir())} {
				c.startWorker(fmt.Sprint("w", at), change)
				e := c.submitVectors(p, nil)
				newVectorSequence(c, e, p, uint64(at)).run(3, noDisturbance)
				if held := e.Usage(); len(held.Shares) != at+1 {
					t.Errorf("the job is on %d workers", len(held.Shares))
				}
				e.Release()
			}
		})
	}
}

// landmarkProblem has features as rows: kernel values with a few points, in other units.
func landmarkProblem(t *testing.T, points *dataset.Points, units *dataset.Units,
	scaled *dataset.Points) *vectorProblem {
	t.Helper()
	const count, rank = 30, 8
	random := rand.New(rand.NewPCG(1, 1))
	f := &kernel.FeatureSpec{
		Matrix:    kernel.MatrixSpec{Function: kernel.Gaussian, Rho: 20, Rows: points.N, Columns: points.D, Grid: -40},
		Landmarks: make([]int32, count), Rank: rank, Projection: make([]float64, count*rank),
		Points: &dataset.Points{N: count, D: points.D},
	}
	for at := range f.Landmarks {
		f.Landmarks[at] = int32(at * points.N / count)
		f.Points.Values = append(f.Points.Values, scaled.Row(int(f.Landmarks[at]))...)
	}
	for at := range f.Projection {
		f.Projection[at] = random.NormFloat64()
	}
	p := problemOf(t, scaled, vector.NewFeatureSpec(f, 1), metric.SquaredEuclidean, false)
	p.data, p.units = points, units
	return p
}

// The same as TestChaosDoesNotChangeTheBits, for rows.
func TestChaosDoesNotChangeTheBitsOfRows(t *testing.T) {
	testscale.LongOnly(t, "TestRowsHaveTheSameBits changes workers too")
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newCluster(t, losing)
			p := sparseRowProblem(t, 10_000, metric.SquaredEuclidean)
			if seed < 2 {
				p = rowProblem(t, 17_000)
			}
			start := func(name string) *testWorker {
				if seed == 0 {
					return c.startWorker(name)
				}
				return c.startWorker(name, serving(t.TempDir()))
			}
			workers := []*testWorker{start("w0"), start("w1"), start("w2")}
			s := newVectorSequence(c, c.submitVectors(p, nil), p, 9+seed)
			var background sync.WaitGroup
			defer background.Wait()
			s.run(20, func(op int) {
				victim := s.random.IntN(len(workers))
				w := workers[victim]
				switch event := s.random.IntN(10); {
				case event < 2:
					background.Go(w.kill)
					workers[victim] = start(fmt.Sprint("after-kill-", op))
				case event < 3:
					background.Go(func() {
						if _, err := c.fleet.Drain(w.name); err != nil {
							t.Log(err) // the worker may already be lost
						}
					})
					workers[victim] = start(fmt.Sprint("after-drain-", op))
				case event < 5:
					background.Go(w.link.cut)
				}
			})
		})
	}
}

// A data set that is larger than the memory of every worker is clustered by three of them, also if one is lost and
// replaced. Workers that hold data sets whole do not take part.
func TestADataSetLargerThanAnyWorker(t *testing.T) {
	c := newCluster(t, losing)
	p := rowProblem(t, 20_000)
	id, size := c.datasets.put(t, p.data)
	third := p.memory(size, 7) // of 20 tiles
	var limit worker.Config
	if third(&limit); int64(limit.MemoryBytes) >= size {
		t.Fatalf("workers have %d bytes, and the data set %d", limit.MemoryBytes, size)
	}
	first := c.startWorker("w0", third)
	c.startWorker("whole", third, whole)
	c.startWorker("w1", third)
	if _, err := c.fleet.NewKMeansExecutor(c.ctx, p.task(id, size, nil)); !fault.Is(err, planning.DoesNotFit) {
		t.Fatalf("on two workers: %v", err)
	}
	c.startWorker("w2", third)
	e := c.submitVectors(p, nil)
	s := newVectorSequence(c, e, p, 1)
	s.run(4, func(int) { c.checkReserved() })
	if held := e.Usage(); len(held.Shares) != 3 {
		t.Errorf("the job is on %d workers", len(held.Shares))
	}
	c.startWorker("spare", third)
	first.kill()
	s.run(3, noDisturbance)
}

// What a worker has on disk of its rows it does not fetch again, and what is damaged there it does.
func TestCachedRows(t *testing.T) {
	c := newCluster(t)
	p := rowProblem(t, 17_000)
	dir := t.TempDir()
	_, size := c.datasets.put(t, p.data)
	c.checkCache(dir, size, func() {
		e := c.submitVectors(p, nil)
		newVectorSequence(c, e, p, 1).run(2, noDisturbance)
		e.Release()
	})
}

// A worker with tiles of a job by rows that then needs the data set whole, for neighbors, gets it, and builds rows
// from it.
func TestRowsAndTheWholeOfADataSet(t *testing.T) {
	changes := map[string]func(*worker.Config){"without a cache": func(*worker.Config) {},
		"with a cache": serving(t.TempDir())}
	for _, name := range testscale.Some([]string{"with a cache", "without a cache"}, 1) {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.startWorker("w0", changes[name])
			p := newVectorProblem(t, randomPoints(t, 480, 9000, 1), metric.SquaredEuclidean, false)
			e := c.submitVectors(p, nil)
			n := &neighborProblem{data: p.data}
			_, size := c.datasets.put(t, p.data)
			if _, _, err := c.fleet.Neighbors(c.ctx, n.task(c, nil)); err != nil {
				t.Fatal(err)
			}
			sent := c.sent.Load()
			other := c.submitVectors(p, nil)
			newVectorSequence(c, other, p, 1).run(2, noDisturbance)
			if more := c.sent.Load() - sent; more != 0 {
				t.Errorf("the coordinator sent %d bytes of a data set of %d that the worker has", more, size)
			}
			newVectorSequence(c, e, p, 2).run(2, noDisturbance)
		})
	}
}

// The jobs that need every row on every worker say so.
func TestWhoNeedsTheWholeDataSet(t *testing.T) {
	const large = 1 << 30
	dense := planning.Vectors{Rows: 1 << 20, Columns: 128, Width: 128}
	sparse, features := dense, dense
	sparse.Entries = make([]int64, 1024)
	features.Features = &planning.Features{Columns: 128, Landmarks: 100}
	for name, c := range map[string]struct {
		need  planning.Workload
		whole bool
	}{
		"dense rows":     {planning.Workload{Vectors: &dense, DatasetBytes: large}, false},
		"few dense rows": {planning.Workload{Vectors: &dense, DatasetBytes: 1 << 20}, true},
		"sparse rows":    {planning.Workload{Vectors: &sparse, DatasetBytes: large}, false},
		"landmarks":      {planning.Workload{Vectors: &features, DatasetBytes: large}, false},
		"neighbors": {planning.Workload{Neighbors: &planning.Neighbors{Rows: 1 << 20, Columns: 128},
			DatasetBytes: large}, true},
		"a matrix":          {planning.Workload{Matrix: &planning.Matrix{}, DatasetBytes: large}, true},
		"an earlier worker": {planning.Workload{Vectors: &dense, DatasetBytes: large, Whole: true}, true},
	} {
		if c.need.ByRows() == c.whole {
			t.Errorf("%s: by rows %v", name, c.need.ByRows())
		}
	}
}
