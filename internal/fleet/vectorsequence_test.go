package fleet_test

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

// vectorProblem is vectors with their data set, and a local shard of all their tiles to compare with.
type vectorProblem struct {
	data       dataset.Dataset
	units      *dataset.Units // that workers put the data into
	spec       *vector.RowSpec
	distortion metric.Distortion
	full       bool // models have a full metric
	k, lanes   int
	shard      *vector.Shard
	tiles      []int
	step       uint64
}

func newVectorProblem(t *testing.T, data dataset.Dataset, distortion metric.Distortion, full bool) *vectorProblem {
	t.Helper()
	preparation := map[metric.Distortion]vector.Preparation{
		metric.SquaredEuclidean: vector.Plain, metric.Cosine: vector.Unit, metric.KL: vector.Probability,
		metric.IDivergence: vector.NonNegative,
	}[distortion]
	spec, err := vector.NewRowSpec(data, preparation)
	if err != nil {
		t.Fatal(err)
	}
	return problemOf(t, data, spec, distortion, full)
}

// problemOf returns the problem of a spec.
func problemOf(t *testing.T, data dataset.Dataset, spec *vector.RowSpec, distortion metric.Distortion,
	full bool) *vectorProblem {
	t.Helper()
	source, err := vector.NewSource(spec, data)
	if err != nil {
		t.Fatal(err)
	}
	p := &vectorProblem{data: data, spec: spec, distortion: distortion, full: full, k: 6, lanes: 3,
		shard: vector.NewShard(source, 1), tiles: partition.AllTiles(data.Rows())}
	if err := p.shard.Build(t.Context(), p.tiles); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *vectorProblem) need(size int64) planning.Workload {
	need := planning.Workload{DatasetBytes: size, Scaled: p.units != nil, K: p.k, Lanes: p.lanes,
		Vectors: &planning.Vectors{
			Rows: p.spec.Rows, Columns: p.spec.Columns, Width: p.spec.Width(), FullMetric: p.full,
			Entries: planning.TileEntries(p.data)}}
	if f := p.spec.Features; f != nil {
		need.Vectors.Features = &planning.Features{Function: f.Matrix.Function, Columns: f.Matrix.Columns,
			Landmarks: len(f.Landmarks)}
	}
	return need
}

func (p *vectorProblem) task(id string, size int64, report func(fleet.Status)) fleet.Task {
	return fleet.Task{JobID: "job", DatasetID: id, Need: p.need(size), Vectors: p.spec, Units: p.units, Report: report}
}

// memory gives a worker of two threads memory for a number of tiles.
func (p *vectorProblem) memory(size, tiles int64) func(*worker.Config) {
	need := p.need(size)
	bytes := max(need.MinFreeBytes(2), need.FixedBytes(2)+tiles*need.TileSize(0).Stored)
	return func(cfg *worker.Config) { cfg.MemoryBytes = uint64(bytes) }
}

func (c *cluster) submitVectors(p *vectorProblem, report func(fleet.Status)) *fleet.KMeansExecutor {
	c.Helper()
	id, size := c.datasets.put(c.T, p.data)
	e, err := c.fleet.NewKMeansExecutor(c.ctx, p.task(id, size, report))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(e.Release)
	return e
}

// positivePoints are random points without negative values. About one value in oneIn is not zero.
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
	starts := []int64{0}
	columns := []int32{}
	values := []float64{}
	for i := range n {
		for f, v := range dense.Row(i) {
			if v != 0 {
				columns = append(columns, int32(f))
				values = append(values, v)
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

// vectorProblems has one problem of every kind. Models and sums of the wide one are sent by reference.
var vectorProblems = map[string]func(t *testing.T) *vectorProblem{
	"dense": func(t *testing.T) *vectorProblem {
		return newVectorProblem(t, randomPoints(t, 203, 5, 1), metric.SquaredEuclidean, false)
	},
	"scaled": func(t *testing.T) *vectorProblem {
		points, units, scaled := scaledPoints(t, 203, 5)
		p := newVectorProblem(t, scaled, metric.SquaredEuclidean, false)
		p.data, p.units = points, units
		return p
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

// vectorSequence runs the same random operations on an executor and on a local shard, in some of several lanes at a
// time, and compares every bit.
type vectorSequence struct {
	*testing.T
	ctx    context.Context
	remote *fleet.KMeansExecutor
	local  *vectorProblem
	random *rand.Rand
	labels []int32
	sums   []float64
}

func newVectorSequence(c *cluster, e *fleet.KMeansExecutor, p *vectorProblem, seed uint64) *vectorSequence {
	s := &vectorSequence{T: c.T, ctx: c.ctx, remote: e, local: p, random: rand.New(rand.NewPCG(seed, 3))}
	s.labels = slices.Clone(e.Clusters().Labels)
	s.sums = slices.Clone(e.Clusters().Sums)
	p.step += 2
	s.check("load", p.shard.Load(p.step, p.k, s.labels))
	return s
}

func (s *vectorSequence) run(ops int, disturb func(op int)) {
	s.Helper()
	s.load()
	for op := range ops {
		disturb(op)
		s.randomOp()
	}
	s.assign()
}

func (s *vectorSequence) randomOp() {
	s.Helper()
	l := s.local
	queries := s.queries()
	switch r := s.random.IntN(25); {
	case r < 2:
		s.load()
	case r < 7:
		s.update()
	case r < 11:
		s.assign()
	case r < 14:
		want, err := l.shard.Distances(s.ctx, l.tiles, queries)
		s.check("distances", err)
		got, err := s.remote.Distances(s.ctx, queries)
		s.wantLists("distances", got, want, err)
	case r < 17:
		want, err := l.shard.Scatter(s.ctx, l.tiles, l.step, queries)
		s.check("scatter", err)
		for q := range want {
			want[q] = kmeans.AddTiles(want[q], len(l.tiles))
		}
		got, err := s.remote.Scatter(s.ctx, queries)
		s.wantLists("scatter", got, want, err)
	case r < 18:
		want, err := l.shard.Farthest(s.ctx, l.tiles, l.step, queries)
		s.check("farthest", err)
		got, err := s.remote.Farthest(s.ctx, queries)
		if s.check("farthest", err); !slices.Equal(got, want) {
			s.Fatalf("farthest: got %v, want %v", got, want)
		}
	case r < 23:
		s.step()
	default:
		for q := range queries {
			if m := queries[q].Model; s.random.IntN(2) == 0 {
				m.Clusters, m.Absent, m.Centroids = 1, nil, m.Centroids[:l.spec.Columns]
			}
		}
		if s.random.IntN(2) == 0 {
			want, err := l.shard.NearestTwo(s.ctx, l.tiles, queries)
			s.check("nearest two", err)
			got, err := s.remote.NearestTwo(s.ctx, queries)
			if s.check("nearest two", err); !reflect.DeepEqual(got, kmeans.NewNearestTwo(want)) {
				s.Fatalf("nearest two: got %v, want %v", got, want)
			}
			return
		}
		want, err := l.shard.Nearest(s.ctx, l.tiles, queries)
		s.check("nearest", err)
		got, err := s.remote.Nearest(s.ctx, queries)
		s.wantLists("nearest", got, want, err)
	}
}

// queries are those of some lanes, of at least one.
func (s *vectorSequence) queries() []vector.Query {
	l, always := s.local, s.random.IntN(s.local.lanes)
	var queries []vector.Query
	for lane := range l.lanes {
		if lane != always && s.random.IntN(2) == 0 {
			continue
		}
		q := vector.Query{Lane: lane, Model: s.model(lane), Points: s.somePoints(), Counts: s.counts(lane),
			Kind: vector.Total}
		if l.distortion == metric.SquaredEuclidean {
			q.Kind = []vector.ScatterKind{vector.Total, vector.Diagonal,
				vector.Full}[s.random.IntN(2+map[bool]int{true: 1}[l.full])]
		}
		queries = append(queries, q)
	}
	return queries
}

// model is the means of a lane's clusters, with a random metric if the distortion allows one. Empty clusters
// are absent.
func (s *vectorSequence) model(lane int) *vector.Model {
	l, counts := s.local, s.counts(lane)
	d, width := l.spec.Columns, l.spec.Width()
	m := &vector.Model{Distortion: l.distortion, Clusters: l.k, Centroids: make([]float64, l.k*d),
		Absent: make([]bool, l.k)}
	for c := range l.k {
		mean := m.Centroids[c*d : (c+1)*d]
		if m.Absent[c] = counts[c] == 0; !m.Absent[c] {
			l.spec.Centroid(mean, s.sums[(lane*l.k+c)*width:][:width], int(counts[c]))
			m.Absent[c] = !l.distortion.NormalizeMean(mean)
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

// somePoints draws points, in ascending order.
func (s *vectorSequence) somePoints() []int32 {
	var points []int32
	share := s.random.Float64()
	for i := range s.local.spec.Rows {
		if s.random.Float64() < share*share {
			points = append(points, int32(i))
		}
	}
	return points
}

// cluster is one of a lane, or none. The first point always has one, so that not every cluster is empty.
func (s *vectorSequence) cluster(lane, point int) int32 {
	if c := s.random.IntN(s.local.k+1) - 1; c >= 0 || point == 0 {
		return int32(lane*s.local.k + max(0, c))
	}
	return labeling.None
}

// load gives every point a new label in all lanes.
func (s *vectorSequence) load() {
	s.Helper()
	s.moveSome(func(int) float64 { return 1 })
}

// update moves some points, in some lanes none.
func (s *vectorSequence) update() {
	s.Helper()
	s.moveSome(func(int) float64 { return max(0, s.random.Float64()*1.5-0.5) })
}

func (s *vectorSequence) moveSome(share func(lane int) float64) {
	s.Helper()
	var moves []labeling.Move
	n := s.local.spec.Rows
	for lane := range s.local.lanes {
		share := share(lane)
		for i, from := range s.labels[lane*n : (lane+1)*n] {
			if to := s.cluster(lane, i); to != from && s.random.Float64() < share {
				moves = append(moves, labeling.Move{Point: int32(i), From: from, To: to})
			}
		}
	}
	s.move(moves)
}

func (s *vectorSequence) counts(lane int) []int32 {
	counts := make([]int32, s.local.k)
	n := s.local.spec.Rows
	for _, c := range s.labels[lane*n : (lane+1)*n] {
		if c >= 0 {
			counts[int(c)-lane*s.local.k]++
		}
	}
	return counts
}

func (s *vectorSequence) move(moves []labeling.Move) {
	s.Helper()
	l := s.local
	s.check("moves", s.remote.Clusters().Apply(s.labels, moves))
	changes, err := l.shard.Update(s.ctx, l.tiles, l.step, moves)
	s.check("update", err)
	l.step++
	kmeans.AddChanges(s.sums, l.k, moves, changes)
	err = s.remote.Update(s.ctx, moves)
	s.wantLists("update", [][]float64{s.remote.Clusters().Sums}, [][]float64{s.sums}, err)
	if !slices.Equal(s.remote.Clusters().Labels, s.labels) {
		s.Fatal("labels differ")
	}
}

func (s *vectorSequence) assign() {
	s.Helper()
	queries := s.queries()
	want, err := s.local.shard.Assign(s.ctx, s.local.tiles, s.local.step, queries)
	s.check("assign", err)
	got, err := s.remote.Assign(s.ctx, queries)
	if s.check("assign", err); !slices.Equal(got, want) {
		s.Fatalf("assign: got %v, want %v", got, want)
	}
	if s.random.IntN(2) == 0 {
		slices.SortStableFunc(want, func(a, b labeling.Move) int { return int(a.To)/s.local.k - int(b.To)/s.local.k })
		s.move(want)
	}
}

// step moves points to their nearest centroids by a step, and locally by the operations that it consists of.
func (s *vectorSequence) step() {
	s.Helper()
	l, queries := s.local, s.queries()
	totals := slices.Clone(queries)
	for q := range totals {
		totals[q].Kind = vector.Total
	}
	total := func() []float64 {
		values, err := l.shard.Scatter(s.ctx, l.tiles, l.step, totals)
		s.check("scatter", err)
		return kmeans.Totals(values)
	}
	before := total()
	moves, err := l.shard.Assign(s.ctx, l.tiles, l.step, queries)
	s.check("assign", err)
	moves = vector.SortedMoves(l.k, moves)
	changes, err := l.shard.Update(s.ctx, l.tiles, l.step, moves)
	s.check("update", err)
	l.step++
	kmeans.AddChanges(s.sums, l.k, moves, changes)
	s.check("moves", s.remote.Clusters().Apply(s.labels, moves))
	got, err := s.remote.Step(s.ctx, queries)
	s.check("step", err)
	s.wantLists("step", [][]float64{got.Before, got.After, s.remote.Clusters().Sums},
		[][]float64{before, total(), s.sums}, nil)
	if !slices.Equal(got.Moves, moves) || !slices.Equal(s.remote.Clusters().Labels, s.labels) {
		s.Fatal("the moves or labels of a step differ")
	}
}

func (s *vectorSequence) check(name string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
}

func (s *vectorSequence) wantLists(name string, got, want [][]float64, err error) {
	s.Helper()
	s.check(name, err)
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	if !slices.EqualFunc(got, want, func(a, b []float64) bool { return slices.EqualFunc(a, b, same) }) {
		s.Fatalf("%s: got %v, want %v", name, got, want)
	}
}
