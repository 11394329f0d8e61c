package fleet_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/metric"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/vector"
	"github.com/cleave-project/cleave/internal/worker"
)

// vectorProblem is vectors with their data set, and the same in one local shard to compare with.
type vectorProblem struct {
	data       dataset.Dataset
	spec       *vector.Spec
	distortion metric.Distortion
	full       bool // models have a full metric
	k          int
	shard      *vector.Shard
	tiles      []int
	step       uint64
}

func newVectorProblem(t *testing.T, data dataset.Dataset, distortion metric.Distortion, full bool) *vectorProblem {
	t.Helper()
	preparation := map[metric.Distortion]vector.Preparation{
		metric.SquaredEuclidean: vector.Plain, metric.Cosine: vector.Unit, metric.KL: vector.Probability, metric.IDivergence: vector.NonNegative,
	}[distortion]
	spec, err := vector.NewSpec(data, preparation)
	if err != nil {
		t.Fatal(err)
	}
	source, err := vector.NewSource(spec, data)
	if err != nil {
		t.Fatal(err)
	}
	p := &vectorProblem{data: data, spec: spec, distortion: distortion, full: full, k: 6, shard: vector.NewShard(source, 1), tiles: partition.All(data.Rows())}
	if _, err := p.shard.Build(t.Context(), p.tiles); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *vectorProblem) need(size int64) planning.Problem {
	return planning.Problem{DatasetBytes: size, K: p.k, Vectors: &planning.Vectors{
		Rows: p.spec.Rows, Columns: p.spec.Columns, Width: p.spec.Width(), FullMetric: p.full, Entries: planning.TileEntries(p.data)}}
}

func (p *vectorProblem) task(id string, size int64, report func(fleet.Status)) fleet.Task {
	return fleet.Task{JobID: "job", DatasetID: id, Need: p.need(size), Vectors: p.spec, Report: report}
}

// memory gives a worker of two threads room for so many tiles.
func (p *vectorProblem) memory(size, tiles int64) func(*worker.Config) {
	need := p.need(size)
	bytes := max(need.JoinBytes(2), need.SeatBytes(2)+tiles*need.TileSize(0).Stored)
	return func(cfg *worker.Config) { cfg.MemoryBytes = uint64(bytes) }
}

func (c *cluster) submitVectors(p *vectorProblem, report func(fleet.Status)) *fleet.VectorExecutor {
	c.Helper()
	id, size := c.shelf.put(c.T, p.data)
	e, err := c.fleet.NewVectorExecutor(c.ctx, p.task(id, size, report))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(e.Release)
	return e
}

// positivePoints are points without negative values, of which about one in so many differs from 0.
func positivePoints(t *testing.T, n, d, oneIn int, seed uint64) *dataset.Points {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	values := make([]float64, n*d)
	for i := range values {
		if i%d == 0 || random.IntN(oneIn) == 0 {
			values[i] = random.Float64()
		}
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func sparsePoints(t *testing.T, n, d, oneIn int, seed uint64) *dataset.SparsePoints {
	t.Helper()
	dense := positivePoints(t, n, d, oneIn, seed)
	starts, columns, values := []int64{0}, []int32{}, []float64{}
	for i := range n {
		for f, v := range dense.Row(i) {
			if v != 0 {
				columns, values = append(columns, int32(f)), append(values, v)
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	points, err := dataset.NewSparsePoints(n, d, starts, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

// vectorProblems are one of every kind. The wide one has models and sums that go by reference.
var vectorProblems = map[string]func(t *testing.T) *vectorProblem{
	"dense": func(t *testing.T) *vectorProblem {
		return newVectorProblem(t, randomPoints(t, 203, 5, 1), metric.SquaredEuclidean, false)
	},
	"full metric": func(t *testing.T) *vectorProblem {
		return newVectorProblem(t, randomPoints(t, 203, 5, 1), metric.SquaredEuclidean, true)
	},
	"spherical": func(t *testing.T) *vectorProblem {
		return newVectorProblem(t, randomPoints(t, 203, 5, 1), metric.Cosine, false)
	},
	"sparse": func(t *testing.T) *vectorProblem {
		return newVectorProblem(t, sparsePoints(t, 300, 40, 5, 1), metric.SquaredEuclidean, false)
	},
	"probabilities": func(t *testing.T) *vectorProblem {
		return newVectorProblem(t, positivePoints(t, 203, 7, 3, 1), metric.KL, false)
	},
	"sparse probabilities": func(t *testing.T) *vectorProblem {
		return newVectorProblem(t, sparsePoints(t, 203, 30, 4, 1), metric.KL, false)
	},
	"wide": func(t *testing.T) *vectorProblem {
		return newVectorProblem(t, sparsePoints(t, 203, 1500, 100, 1), metric.IDivergence, false)
	},
}

// vectorSequence runs the same random operations on an executor and on the local shard, and compares
// every bit.
type vectorSequence struct {
	*testing.T
	ctx    context.Context
	remote *fleet.VectorExecutor
	local  *vectorProblem
	random *rand.Rand
	labels []int32
	counts []int32
	sums   []float64
}

func newVectorSequence(c *cluster, e *fleet.VectorExecutor, p *vectorProblem, seed uint64) *vectorSequence {
	return &vectorSequence{T: c.T, ctx: c.ctx, remote: e, local: p, random: rand.New(rand.NewPCG(seed, 3))}
}

func (s *vectorSequence) run(ops int, disturb func(op int)) {
	s.Helper()
	s.load()
	for op := range ops {
		disturb(op)
		s.one()
	}
	s.assign()
}

func (s *vectorSequence) one() {
	s.Helper()
	l := s.local
	m := s.model()
	switch r := s.random.IntN(20); {
	case r < 2:
		s.load()
	case r < 7:
		s.update()
	case r < 11:
		s.assign()
	case r < 14:
		points := s.some()
		want, err := l.shard.Distances(s.ctx, l.tiles, m, points)
		s.check("distances", err)
		got, err := s.remote.Distances(s.ctx, m, points)
		s.floats("distances", got, want, err)
	case r < 17:
		kind := vector.Total
		if l.distortion == metric.SquaredEuclidean {
			kind = []vector.Scatter{vector.Total, vector.Diagonal, vector.Full}[s.random.IntN(2+map[bool]int{true: 1}[l.full])]
		}
		tiles, err := l.shard.Scatter(s.ctx, l.tiles, l.step, m, kind)
		s.check("scatter", err)
		got, err := s.remote.Scatter(s.ctx, m, kind)
		s.floats("scatter", got, centroid.AddTiles(tiles, len(l.tiles)), err)
	case r < 18:
		skip := s.some()
		want, err := l.shard.Farthest(s.ctx, l.tiles, l.step, m, skip, s.counts)
		s.check("farthest", err)
		got, err := s.remote.Farthest(s.ctx, m, skip, s.counts)
		if s.check("farthest", err); got != want {
			s.Fatalf("farthest: got %v, want %v", got, want)
		}
	default:
		if s.random.IntN(2) == 0 {
			m.Clusters, m.Absent, m.Centroids = 1, nil, m.Centroids[:l.spec.Columns]
		}
		want, err := l.shard.Nearest(s.ctx, l.tiles, m)
		s.check("nearest", err)
		got, err := s.remote.Nearest(s.ctx, m)
		s.floats("nearest", got, want, err)
	}
}

// model is the means of the clusters, with a metric where there can be one; empty clusters are absent.
func (s *vectorSequence) model() *vector.Model {
	l := s.local
	d, width := l.spec.Columns, l.spec.Width()
	m := &vector.Model{Distortion: l.distortion, Clusters: l.k, Centroids: make([]float64, l.k*d), Absent: make([]bool, l.k)}
	for c := range l.k {
		mean := m.Centroids[c*d : (c+1)*d]
		if m.Absent[c] = s.counts[c] == 0; !m.Absent[c] {
			l.spec.Centroid(mean, s.sums[c*width:(c+1)*width], int(s.counts[c]))
			m.Absent[c] = !l.distortion.Centre(mean)
		}
	}
	if slices.Equal(m.Absent, make([]bool, l.k)) && s.random.IntN(2) == 0 {
		m.Absent = nil
	}
	if l.distortion == metric.SquaredEuclidean && s.random.IntN(2) == 0 {
		m.Metric = make([]float64, d)
		for f := range m.Metric {
			m.Metric[f] = s.random.Float64()
		}
	}
	if l.full {
		m.Metric = make([]float64, d*d)
		for f := range d {
			m.Metric[f*d+f] = 1 + s.random.Float64()
		}
	}
	return m
}

// some are points, ascending.
func (s *vectorSequence) some() []int32 {
	var points []int32
	share := s.random.Float64()
	for i := range s.local.spec.Rows {
		if s.random.Float64() < share*share {
			points = append(points, int32(i))
		}
	}
	return points
}

func (s *vectorSequence) cluster() int32 { return int32(s.random.IntN(s.local.k+1)) - 1 }

func (s *vectorSequence) load() {
	s.Helper()
	l := s.local
	s.labels = make([]int32, l.spec.Rows)
	for i := range s.labels {
		s.labels[i] = s.cluster()
	}
	s.labels[0] = 0 // so that some cluster is there
	l.step++
	want, err := l.shard.Load(s.ctx, l.tiles, l.step, l.k, s.labels)
	s.check("load", err)
	got, err := s.remote.Load(s.ctx, s.labels)
	s.floats("load", got, want, err)
	s.sums = want
	s.count()
}

func (s *vectorSequence) count() {
	s.counts = make([]int32, s.local.k)
	for _, c := range s.labels {
		if c >= 0 {
			s.counts[c]++
		}
	}
}

func (s *vectorSequence) update() {
	s.Helper()
	var moves []kernel.Move
	share := s.random.Float64()
	for i, from := range s.labels[1:] {
		if to := s.cluster(); to != from && s.random.Float64() < share {
			moves = append(moves, kernel.Move{Point: int32(i + 1), From: from, To: to})
		}
	}
	s.move(moves)
}

func (s *vectorSequence) move(moves []kernel.Move) {
	s.Helper()
	for _, m := range moves {
		s.labels[m.Point] = m.To
	}
	want, err := s.local.shard.Update(s.ctx, s.local.tiles, s.local.step, moves)
	s.check("update", err)
	s.local.step++
	got, err := s.remote.Update(s.ctx, moves)
	s.floats("update", got, want, err)
	s.sums = want
	s.count()
}

func (s *vectorSequence) assign() {
	s.Helper()
	m, skip := s.model(), s.some()
	want, err := s.local.shard.Assign(s.ctx, s.local.tiles, s.local.step, m, skip)
	s.check("assign", err)
	got, err := s.remote.Assign(s.ctx, m, skip)
	if s.check("assign", err); !slices.Equal(got, want) {
		s.Fatalf("assign: got %v, want %v", got, want)
	}
	if s.random.IntN(2) == 0 {
		s.move(want)
	}
}

func (s *vectorSequence) check(name string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
}

func (s *vectorSequence) floats(name string, got, want []float64, err error) {
	s.Helper()
	s.check(name, err)
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	if !slices.EqualFunc(got, want, same) {
		s.Fatalf("%s: got %v, want %v", name, got, want)
	}
}

func TestVectorsHaveTheSameBitsOnAnyNumberOfWorkers(t *testing.T) {
	for name, make := range vectorProblems {
		for _, workers := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprint(name, "-", workers), func(t *testing.T) {
				t.Parallel()
				c := newCluster(t)
				for w := range workers {
					c.hire(fmt.Sprint("w", w))
				}
				p := make(t)
				e := c.submitVectors(p, nil)
				newVectorSequence(c, e, p, 1).run(30, undisturbed)
				held := e.Held()
				if held.Stored != len(p.tiles) || held.Computed != 0 || len(held.Shares) != workers {
					t.Errorf("held is %+v", held)
				}
			})
		}
	}
}

// Kills, pauses, cuts, joins and drains at random moments, as TestWhateverHappensTheBitsStay.
func TestWhateverHappensTheBitsOfVectorsStay(t *testing.T) {
	for _, name := range []string{"dense", "full metric", "sparse", "sparse probabilities", "wide"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			p := vectorProblems[name](t)
			hands := []*hand{c.hire("w0"), c.hire("w1"), c.hire("w2")}
			var paused *hand // at most one, so that somebody works
			s := newVectorSequence(c, c.submitVectors(p, nil), p, 9)
			var background sync.WaitGroup
			defer background.Wait()
			s.run(50, func(op int) {
				victim := s.random.IntN(len(hands))
				h := hands[victim]
				switch event := s.random.IntN(20); {
				case event < 2:
					background.Go(h.kill)
					hands[victim] = c.hire(fmt.Sprint("after-kill-", op))
				case event < 3:
					background.Go(func() {
						if _, err := c.fleet.Drain(h.name); err != nil {
							t.Log(err) // it may be lost just now
						}
					})
					hands[victim] = c.hire(fmt.Sprint("after-drain-", op))
				case event < 4:
					if paused != nil {
						paused.line.resume()
					}
					paused = h
					h.line.pause() // until it is resumed, killed, or declared lost
				case event < 8:
					background.Go(h.line.resume)
				case event < 11:
					background.Go(h.line.cut)
				}
			})
		})
	}
}

// Tiles are stored or the job waits: vectors have no other way.
func TestVectorsKeepWithinMemory(t *testing.T) {
	c := newCluster(t)
	p := vectorProblems["sparse"](t)
	p.k = 3
	id, size := c.shelf.put(t, p.data)
	c.hire("tiny", func(cfg *worker.Config) { cfg.MemoryBytes = 20_000 })
	if _, err := c.fleet.NewVectorExecutor(c.ctx, p.task(id, size, nil)); !fault.Is(err, planning.DoesNotFit) {
		t.Fatalf("got %v", err)
	}
	if _, err := c.fleet.Drain("tiny"); err != nil {
		t.Fatal(err)
	}
	// A tile of average size fits this often, and tiles differ.
	c.hire("a", p.memory(size, 12))
	b := c.hire("b", p.memory(size, 12))
	waits := make(chan string, 100)
	e := c.submitVectors(p, func(s fleet.Status) {
		if s.Waiting != "" {
			waits <- s.Waiting
		}
	})
	s := newVectorSequence(c, e, p, 5)
	s.run(5, func(int) { c.within() })
	b.kill()
	go func() {
		if why := <-waits; !strings.HasPrefix(why, "waiting for a worker: the job does not fit: with all points in memory it needs") {
			t.Errorf("it waits: %q", why)
		}
		c.hire("late", p.memory(size, 12))
	}()
	s.run(10, func(int) { c.within() })
	if held := e.Held(); held.Stored != len(p.tiles) || held.EverComputed {
		t.Errorf("held is %+v", held)
	}
	e.Release()
	for _, w := range c.fleet.Workers() {
		if w.TileBytes != 0 || w.Tiles != 0 {
			t.Errorf("still held: %+v", w)
		}
	}
}

// Large answers are asked for in portions, and those who ask cannot tell.
func TestLargeAnswersComeInPortions(t *testing.T) {
	c := newCluster(t)
	c.hire("a")
	c.hire("b")
	t.Run("scatter", func(t *testing.T) {
		p := newVectorProblem(t, randomPoints(t, 203, 1000, 1), metric.SquaredEuclidean, true)
		e := c.submitVectors(p, nil)
		defer e.Release()
		if most := p.need(0).TilesAtOnce(); most >= len(p.tiles) {
			t.Fatalf("all of %d tiles at once are no portions", most)
		}
		s := newVectorSequence(c, e, p, 1)
		s.load()
		m := s.model()
		m.Metric = nil // its distances are not asked for
		tiles, err := p.shard.Scatter(s.ctx, p.tiles, p.step, m, vector.Full)
		s.check("scatter", err)
		got, err := e.Scatter(s.ctx, m, vector.Full)
		s.floats("scatter", got, centroid.AddTiles(tiles, len(p.tiles)), err)
	})
	t.Run("distances", func(t *testing.T) {
		p := newVectorProblem(t, randomPoints(t, 45_000, 1, 1), metric.SquaredEuclidean, false)
		p.k = 200
		e := c.submitVectors(p, nil)
		defer e.Release()
		points := make([]int32, 0, 44_000)
		for i := range 44_000 {
			points = append(points, int32(i+500))
		}
		if most := p.need(0).PointsAtOnce(); most >= len(points) {
			t.Fatalf("all of %d points at once are no portions", most)
		}
		s := newVectorSequence(c, e, p, 1)
		s.load()
		m := s.model()
		want, err := p.shard.Distances(s.ctx, p.tiles, m, points)
		s.check("distances", err)
		got, err := e.Distances(s.ctx, m, points)
		s.check("distances", err)
		if !slices.Equal(got, want) {
			t.Error("distances differ")
		}
	})
}

func TestMisuseOfVectorsIsAnError(t *testing.T) {
	c := newCluster(t)
	c.hire("a")
	p := vectorProblems["dense"](t)
	id, size := c.shelf.put(t, p.data)
	task := p.task(id, size, nil)
	task.Vectors = nil
	if _, err := c.fleet.NewVectorExecutor(c.ctx, task); err == nil {
		t.Error("a job without vectors was taken")
	}
	e := c.submitVectors(p, nil)
	m := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: p.k, Centroids: make([]float64, p.k*p.spec.Columns)}
	if _, err := e.Assign(c.ctx, m, nil); err == nil {
		t.Error("assign before load")
	}
	if _, err := e.Update(c.ctx, nil); err == nil {
		t.Error("update before load")
	}
	if _, err := e.Load(c.ctx, make([]int32, 7)); err == nil {
		t.Error("too few labels were taken")
	}
	bad := make([]int32, 203)
	bad[5] = int32(p.k)
	if _, err := e.Load(c.ctx, bad); err == nil {
		t.Error("a label beyond the last was taken")
	}
	for _, points := range [][]int32{{-1}, {203}, {5, 5}, {6, 5}} {
		if _, err := e.Distances(c.ctx, m, points); err == nil {
			t.Errorf("points %v were taken", points)
		}
	}
	s := newVectorSequence(c, e, p, 2)
	s.run(5, undisturbed) // none of that did any harm
}
