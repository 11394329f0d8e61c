package vector

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
)

// way is a preparation with a distortion that suits it.
type way struct {
	preparation Preparation
	distortion  metric.Distortion
}

var ways = []way{
	{Plain, metric.SquaredEuclidean}, {Unit, metric.SquaredEuclidean}, {Unit, metric.Cosine},
	{Probability, metric.KL}, {NonNegative, metric.IDivergence},
}

func (w way) String() string { return fmt.Sprintf("preparation %d, %s", w.preparation, w.distortion) }

// table draws n x d values, a third of them 0, and none negative for the divergences. No row is all zeros.
func table(rng *rand.Rand, n, d int, preparation Preparation) []float64 {
	values := make([]float64, n*d)
	scale := math.Ldexp(1, rng.IntN(30)-15)
	for at := range values {
		if rng.IntN(3) > 0 {
			values[at] = scale * rng.NormFloat64()
		}
		if at%d == d-1 && values[at] == 0 {
			values[at] = scale
		}
		if preparation >= Probability {
			values[at] = math.Abs(values[at])
		}
	}
	return values
}

func densePoints(t testing.TB, n, d int, values []float64) *dataset.Points {
	t.Helper()
	p, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sparsePoints is the same table in compressed rows.
func sparsePoints(t testing.TB, n, d int, values []float64) *dataset.SparsePoints {
	t.Helper()
	starts := []int64{0}
	columns := []int32{}
	stored := []float64{}
	for i := range n {
		for f, v := range values[i*d : (i+1)*d] {
			if v != 0 {
				columns = append(columns, int32(f))
				stored = append(stored, v)
			}
		}
		starts = append(starts, int64(len(columns)))
	}
	p, err := dataset.NewSparsePoints(n, d, starts, columns, stored)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// naiveRows prepares rows by definition, with the background added to every feature.
func naiveRows(n, d int, values []float64, preparation Preparation, mean []float64) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = slices.Clone(values[i*d : (i+1)*d])
		sum, square := 0.0, 0.0
		for f := range rows[i] {
			if mean != nil {
				rows[i][f] -= mean[f]
			}
			if preparation == Probability {
				rows[i][f] += 1e-12
			}
			sum, square = sum+rows[i][f], square+rows[i][f]*rows[i][f]
		}
		for f := range rows[i] {
			switch preparation {
			case Unit:
				rows[i][f] /= math.Sqrt(square)
			case Probability:
				rows[i][f] /= sum
			}
		}
	}
	return rows
}

// naiveDistance is the textbook formula; A is a full matrix.
func naiveDistance(distortion metric.Distortion, x, mu, a []float64) float64 {
	sum, d := 0.0, len(x)
	for f, v := range x {
		m := mu[f]
		switch distortion {
		case metric.SquaredEuclidean:
			for g := range d {
				sum += (v - m) * a[f*d+g] * (x[g] - mu[g])
			}
			continue
		case metric.Cosine:
			sum -= v * m
			continue
		case metric.IDivergence:
			sum += m - v
		}
		if m == 0 {
			m = 1e-12
		}
		if v > 0 {
			sum += v * math.Log(v/m)
		}
	}
	if distortion == metric.Cosine {
		sum++
	}
	return sum
}

// matrixOf returns a metric as a full matrix.
func matrixOf(a []float64, d int) []float64 {
	if len(a) == d*d && d > 1 {
		return a
	}
	full := make([]float64, d*d)
	for f := range d {
		full[f*d+f] = 1
		if a != nil {
			full[f*d+f] = a[f]
		}
	}
	return full
}

// randomMetric draws a positive definite A of the given form.
func randomMetric(rng *rand.Rand, form metric.Form, d int) []float64 {
	switch form {
	case metric.Diagonal:
		a := make([]float64, d)
		for f := range a {
			a[f] = 0.1 + rng.Float64()
		}
		return a
	case metric.Full:
		b := make([]float64, d*d)
		a := make([]float64, d*d)
		for at := range b {
			b[at] = rng.NormFloat64()
		}
		for i := range d {
			for j := range i + 1 {
				for f := range d {
					a[i*d+j] += b[i*d+f] * b[j*d+f]
				}
				a[j*d+i] = a[i*d+j]
			}
			a[i*d+i]++
		}
		return a
	}
	return nil
}

func randomLabels(rng *rand.Rand, n, k int) []int32 {
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(rng.IntN(k+1)) - 1
	}
	return labels
}

// randomModel draws centroids that are rows, or means of a few rows; sometimes a cluster is absent.
func randomModel(rng *rand.Rand, spec *RowSpec, rows [][]float64, distortion metric.Distortion, form metric.Form,
	k int) *Model {
	d := spec.Columns
	m := &Model{Distortion: distortion, Clusters: k, Centroids: make([]float64, k*d),
		Metric: randomMetric(rng, form, d)}
	for c := range k {
		mu := m.Centroids[c*d:][:d]
		some := 1 + rng.IntN(3)
		for range some {
			for f, v := range rows[rng.IntN(len(rows))] {
				mu[f] += v / float64(some)
			}
		}
		distortion.NormalizeMean(mu)
	}
	if k > 1 && rng.IntN(2) == 0 {
		m.Absent = make([]bool, k)
		m.Absent[rng.IntN(k)] = true
	}
	return m
}

func newSource(t testing.TB, data dataset.Dataset, preparation Preparation) *Source {
	t.Helper()
	spec, err := NewRowSpec(data, preparation)
	if err != nil {
		t.Fatal(err)
	}
	source, err := NewSource(spec, data)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// built returns a shard with the given tiles, or with all.
func built(t testing.TB, source *Source, threads int, tiles ...int) *Shard {
	t.Helper()
	if tiles == nil {
		tiles = partition.AllTiles(source.Rows())
	}
	shard := NewShard(source, threads)
	if err := shard.Build(context.Background(), tiles); err != nil {
		t.Fatal(err)
	}
	return shard
}

// job is everything that shards are asked in a comparison.
type job struct {
	labels []int32
	moves  []labeling.Move
	model  *Model
	skip   []int32
	points []int32
	counts []int32
	k      int
}

func randomJob(rng *rand.Rand, n, k int, model *Model) *job {
	j := &job{labels: randomLabels(rng, n, k), model: model, counts: make([]int32, k), k: k}
	for i, c := range j.labels {
		if to := int32(rng.IntN(k+1)) - 1; rng.IntN(5) == 0 && to != c {
			j.moves = append(j.moves, labeling.Move{Point: int32(i), From: c, To: to})
		}
		if rng.IntN(6) == 0 {
			j.skip = append(j.skip, int32(i))
		}
		if rng.IntN(4) == 0 {
			j.points = append(j.points, int32(i))
		}
	}
	for _, c := range j.moved() {
		if c >= 0 {
			j.counts[c]++
		}
	}
	return j
}

// moved returns the labels after the moves.
func (j *job) moved() []int32 {
	labels := slices.Clone(j.labels)
	for _, m := range j.moves {
		labels[m.Point] = m.To
	}
	return labels
}

// outcome is everything that shards answer, combined as a coordinator does.
type outcome struct {
	sums, changes, moved []float64
	moves                []labeling.Move
	distances            []float64
	nearest              []float64
	scatter              map[ScatterKind][]float64
	farthest             labeling.Candidate
}

// perform runs a job on shards, each with some tiles. Tiles must ascend from shard to shard.
func perform(t testing.TB, j *job, shards []*Shard, tiles [][]int) outcome {
	t.Helper()
	return performAll(t, []*job{j}, shards, tiles)[0]
}

// performAll runs several jobs of the same k side by side, each in a lane.
func performAll(t testing.TB, jobs []*job, shards []*Shard, tiles [][]int) []outcome {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	k := jobs[0].k
	n := len(jobs[0].labels)
	outcomes := make([]outcome, len(jobs))
	none := []int32(nil)
	var queries, totals, points []Query
	var toLabels, moves []labeling.Move
	for lane, j := range jobs {
		outcomes[lane] = outcome{scatter: map[ScatterKind][]float64{}}
		queries = append(queries, Query{Lane: lane, Model: j.model, Points: j.skip, Counts: j.counts})
		totals = append(totals, Query{Lane: lane, Model: j.model})
		points = append(points, Query{Lane: lane, Model: j.model, Points: j.points})
		toLabels = append(toLabels, inLane(movesTo(j.labels), lane, k)...)
		moves = append(moves, inLane(j.moves, lane, k)...)
		for range n {
			none = append(none, labeling.None)
		}
	}
	for at, s := range shards {
		must(s.Load(2, k, none))
		update := func(step uint64, moves []labeling.Move, sums func(o *outcome) *[]float64) {
			changes, err := s.Update(ctx, tiles[at], step, moves)
			must(err)
			size, lanes := k*s.source.spec.Width(), MovedLanes(k, moves)
			if len(changes) != len(lanes)*size {
				t.Fatalf("changes of %d sums in %d lanes", len(changes), len(lanes))
			}
			for lane := range outcomes {
				if of := sums(&outcomes[lane]); *of == nil {
					*of = make([]float64, size)
				}
			}
			for place, lane := range lanes {
				addTo(*sums(&outcomes[lane]), changes[place*size:(place+1)*size])
			}
		}
		update(2, toLabels, func(o *outcome) *[]float64 { return &o.sums })
		update(3, moves, func(o *outcome) *[]float64 { return &o.changes })
		assigned, err := s.Assign(ctx, tiles[at], 4, queries)
		must(err)
		for _, m := range assigned {
			o := &outcomes[int(m.To)/k]
			o.moves = append(o.moves, inLane([]labeling.Move{m}, -int(m.To)/k, k)...)
		}
		distances, err := s.Distances(ctx, tiles[at], points)
		must(err)
		nearest, err := s.Nearest(ctx, tiles[at], queries)
		must(err)
		for lane := range outcomes {
			outcomes[lane].distances = append(outcomes[lane].distances, distances[lane]...)
			outcomes[lane].nearest = append(outcomes[lane].nearest, nearest[lane]...)
		}
		for _, kind := range []ScatterKind{Total, Diagonal, Full} {
			if kind == Total || jobs[0].model.Distortion == metric.SquaredEuclidean {
				for lane := range totals {
					totals[lane].Kind = kind
				}
				scatter, err := s.Scatter(ctx, tiles[at], 4, totals)
				must(err)
				for lane := range outcomes {
					outcomes[lane].scatter[kind] = append(outcomes[lane].scatter[kind], scatter[lane]...)
				}
			}
		}
		farthest, err := s.Farthest(ctx, tiles[at], 4, queries)
		must(err)
		for lane := range outcomes {
			outcomes[lane].farthest = outcomes[lane].farthest.Farther(farthest[lane])
		}
	}
	for lane := range outcomes {
		o := &outcomes[lane]
		o.moved = slices.Clone(o.sums)
		addTo(o.moved, o.changes)
	}
	return outcomes
}

func addTo(total, part []float64) {
	for at, v := range part {
		total[at] += v
	}
}

// movesTo are the moves that give points without labels these.
func movesTo(labels []int32) []labeling.Move {
	var moves []labeling.Move
	for i, c := range labels {
		if c >= 0 {
			moves = append(moves, labeling.Move{Point: int32(i), From: labeling.None, To: c})
		}
	}
	return moves
}

// inLane renumbers the clusters of moves as those of the lane so many further on.
func inLane(moves []labeling.Move, lanes, k int) []labeling.Move {
	moves = slices.Clone(moves)
	for at := range moves {
		for _, c := range []*int32{&moves[at].From, &moves[at].To} {
			if *c >= 0 {
				*c += int32(lanes * k)
			}
		}
	}
	return moves
}

// sumsOf loads labels and returns the sums of their clusters.
func sumsOf(t testing.TB, s *Shard, tiles []int, step uint64, k int, labels []int32) []float64 {
	t.Helper()
	none := make([]int32, len(labels))
	for i := range none {
		none[i] = labeling.None
	}
	err := s.Load(step-1, k, none)
	if err != nil {
		t.Fatal(err)
	}
	sums := make([]float64, k*s.source.spec.Width())
	moves := movesTo(labels)
	changes, err := s.Update(context.Background(), tiles, step-1, moves)
	if err != nil {
		t.Fatal(err)
	}
	addTo(sums, changes)
	return sums
}

// one is the queries of a single lane.
func one(model *Model, points []int32) []Query { return []Query{{Model: model, Points: points}} }

// sameBits compares values to the last bit.
func sameBits(t testing.TB, what string, want, got []float64) {
	t.Helper()
	if len(want) != len(got) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for at := range want {
		if math.Float64bits(want[at]) != math.Float64bits(got[at]) {
			t.Fatalf("%s: value %d is %v, want %v", what, at, got[at], want[at])
		}
	}
}

func (o *outcome) same(t testing.TB, what string, got *outcome) {
	t.Helper()
	sameBits(t, what+": sums", o.sums, got.sums)
	sameBits(t, what+": sums after moves", o.moved, got.moved)
	sameBits(t, what+": distances", o.distances, got.distances)
	sameBits(t, what+": nearest", o.nearest, got.nearest)
	for _, kind := range []ScatterKind{Total, Diagonal, Full} {
		sameBits(t, fmt.Sprintf("%s: scatter %d", what, kind), o.scatter[kind], got.scatter[kind])
	}
	if !slices.Equal(o.moves, got.moves) {
		t.Fatalf("%s: moves %v, want %v", what, got.moves, o.moves)
	}
	if o.farthest != got.farthest {
		t.Fatalf("%s: farthest %v, want %v", what, got.farthest, o.farthest)
	}
}

// near compares with a tolerance relative to a scale.
func near(got, want, scale float64) bool { return math.Abs(got-want) <= 1e-9*math.Max(scale, 1e-300) }
