package worker

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/wire"
)

// vectorJob is a job of 64 points in 4 tiles and 3 clusters, in 2 lanes, and a shard of the same points to compare
// with.
func vectorJob(t *testing.T) (*job, *vector.Shard) {
	t.Helper()
	values := make([]float64, 64*2)
	for i := range values {
		values[i] = float64(i*i%17) - 8
	}
	points, err := dataset.NewPoints(64, 2, values)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := vector.NewRowSpec(points, vector.Plain)
	if err != nil {
		t.Fatal(err)
	}
	source, err := vector.NewSource(spec, points)
	if err != nil {
		t.Fatal(err)
	}
	j := newTestJob(t)
	local := vector.NewShard(source, 1)
	if err := local.Build(t.Context(), partition.AllTiles(64)); err != nil {
		t.Fatal(err)
	}
	j.rows = 64
	j.shard = &vectors{Shard: vector.NewShard(source, 1)}
	j.need = planning.Workload{K: 3, Lanes: 2, Vectors: &planning.Vectors{Rows: 64, Columns: 2, Width: 2}}
	return j, local
}

func inline(data []byte) *workerv1.Payload {
	return &workerv1.Payload{Where: &workerv1.Payload_Inline{Inline: data}}
}

func queriesOf(queries []vector.Query) *workerv1.VectorQueries {
	return wire.QueriesToProto(queries, inline(wire.PackFloat64s(wire.QueryValues(queries))),
		inline(wire.PackInt32s(wire.QueryIntegers(queries))))
}

// executeOnAll runs a command on all four tiles.
func (j *job) executeOnAll(c *workerv1.Command) *workerv1.Answer {
	for tile := range uint32(4) {
		c.Tiles = append(c.Tiles, &workerv1.Tile{Tile: tile, Epoch: 1})
	}
	return j.execute(c)
}

var buildCommand = &workerv1.Command_Build{Build: &workerv1.Build{}}

func TestCommandsOfVectorsReachTheShard(t *testing.T) {
	j, local := vectorJob(t)
	ctx := t.Context()
	tiles := partition.AllTiles(64)
	labels := make([]int32, 2*64)
	moves := []labeling.Move{{Point: 3, From: 0, To: -1}, {Point: 40, From: 1, To: 2}, {Point: 1, From: 4, To: 3}}
	for i := range labels {
		labels[i] = int32(i/64*3 + i%64%3)
	}
	m := &vector.Model{
		Distortion: metric.SquaredEuclidean, Clusters: 3, Centroids: []float64{1, 2, -3, 0.5, 0, 0},
		Absent: []bool{false, false, true}, Metric: []float64{1, 0.25},
	}
	some := []int32{0, 17, 63}
	counts := []int32{20, 21, 22}
	queries := []vector.Query{{Model: m, Points: some, Counts: counts, Kind: vector.Diagonal},
		{Lane: 1, Model: m, Counts: counts, Kind: vector.Total}}
	lists := func(values [][]float64, err error) any { return packed(t, wire.PackFloat64Lists(values), err) }
	floats := func(values []float64, err error) any { return packed(t, wire.PackFloat64s(values), err) }
	for _, step := range []struct {
		name string
		want any
		c    *workerv1.Command
	}{
		{"build", nil, &workerv1.Command{Operation: buildCommand}},
		{"load", packed(t, nil, local.Load(7, 3, labels)), &workerv1.Command{Operation: &workerv1.Command_Load{
			Load: &workerv1.Load{Step: 7, Labels: inline(wire.PackInt32s(labels))}}}},
		{"update", floats(local.Update(ctx, tiles, 7, moves)), &workerv1.Command{Operation: &workerv1.Command_Update{
			Update: &workerv1.Update{Step: 7, PackedMoves: inline(wire.PackMoves(moves, 3))}}}},
		{"assign", movesOf(t)(local.Assign(ctx, tiles, 8, queries)),
			&workerv1.Command{Operation: &workerv1.Command_VectorAssign{
				VectorAssign: &workerv1.VectorAssign{Step: 8, Queries: queriesOf(queries)}}}},
		{"distances", lists(local.Distances(ctx, tiles, queries)),
			&workerv1.Command{Operation: &workerv1.Command_Distances{
				Distances: &workerv1.Distances{Queries: queriesOf(queries)}}}},
		{"scatter", lists(local.Scatter(ctx, tiles, 8, queries)),
			&workerv1.Command{Operation: &workerv1.Command_Scatter{
				Scatter: &workerv1.Scatter{Step: 8, Queries: queriesOf(queries)}}}},
		{"nearest", lists(local.Nearest(ctx, tiles, queries)), &workerv1.Command{Operation: &workerv1.Command_Nearest{
			Nearest: &workerv1.Nearest{Queries: queriesOf(queries)}}}},
		{"nearest two", lists(local.NearestTwo(ctx, tiles, queries)),
			&workerv1.Command{Operation: &workerv1.Command_NearestTwo{
				NearestTwo: &workerv1.NearestTwo{Queries: queriesOf(queries)}}}},
		{"farthest", nil, &workerv1.Command{Operation: &workerv1.Command_VectorFarthest{
			VectorFarthest: &workerv1.VectorFarthest{Step: 8, Queries: queriesOf(queries)}}}},
	} {
		answer := j.executeOnAll(step.c)
		if answer.GetFailure() != nil {
			t.Fatalf("%s: %v", step.name, answer.GetFailure())
		}
		if got := answer.GetDone().GetValues().GetInline(); step.want != nil &&
			!reflect.DeepEqual(any(got), step.want) {
			t.Errorf("%s: got % x, want % x", step.name, got, step.want)
		}
		if step.name == "farthest" {
			want, err := local.Farthest(ctx, tiles, 8, queries)
			got, bad := wire.CandidatesFromProto(answer.GetDone().GetFarthest())
			if err != nil || bad != nil || !want[0].Found || !reflect.DeepEqual(got, want) {
				t.Errorf("farthest: got %v, %v, want %v, %v", got, bad, want, err)
			}
		}
	}
	want, err := local.Step(ctx, tiles, 8, queries)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // it can be repeated
		answer := j.executeOnAll(
			&workerv1.Command{
				Operation: &workerv1.Command_VectorStep{VectorStep: &workerv1.VectorStep{Step: 8,
					Queries: queriesOf(queries)}}})
		if got := answer.GetDone().GetValues().GetInline(); len(want.Moves) == 0 ||
			!slices.Equal(got, wire.PackStep(want, 3)) {
			t.Errorf("step: got % x, want %+v", got, want)
		}
	}
}

func packed(t *testing.T, data []byte, err error) any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func movesOf(t *testing.T) func([]labeling.Move, error) any {
	return func(moves []labeling.Move, err error) any {
		t.Helper()
		return packed(t, wire.PackMoves(moves, 3), err)
	}
}

func TestInvalidCommandsForVectorsAreRefused(t *testing.T) {
	good := func(points int) *workerv1.VectorQueries {
		m := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: 3, Centroids: make([]float64, 6)}
		return queriesOf([]vector.Query{{Model: m, Points: make([]int32, points)}})
	}
	nearest := func(change func(*workerv1.VectorQueries, *workerv1.VectorQuery)) *workerv1.Command {
		queries := good(0)
		change(queries, queries.Queries[0])
		return &workerv1.Command{Operation: &workerv1.Command_Nearest{Nearest: &workerv1.Nearest{Queries: queries}}}
	}
	scatter := func(kind workerv1.ScatterKind, step uint64) *workerv1.Command {
		queries := good(0)
		queries.Queries[0].Kind = kind
		return &workerv1.Command{
			Operation: &workerv1.Command_Scatter{Scatter: &workerv1.Scatter{Step: step, Queries: queries}}}
	}
	internal := workerv1.FailureKind_FAILURE_KIND_INTERNAL
	for name, c := range map[string]struct {
		command *workerv1.Command
		kind    workerv1.FailureKind
		says    string
	}{
		"a command for a matrix": {
			&workerv1.Command{Operation: &workerv1.Command_Degrees{Degrees: &workerv1.Degrees{}}}, internal,
			"unknown command"},
		"no queries": {&workerv1.Command{Operation: &workerv1.Command_Nearest{Nearest: &workerv1.Nearest{}}},
			internal, "0 queries at once"},
		"too many queries": {nearest(func(p *workerv1.VectorQueries, q *workerv1.VectorQuery) {
			p.Queries = append(p.Queries, q, q)
		}), internal, "3 queries at once"},
		"too many clusters": {nearest(func(_ *workerv1.VectorQueries, q *workerv1.VectorQuery) {
			q.Clusters = math.MaxUint32
		}), internal, "prepared for 3"},
		"other centroids": {nearest(func(_ *workerv1.VectorQueries, q *workerv1.VectorQuery) { q.Clusters = 2 }),
			internal, "48 bytes for 4 values"},
		"half a centroid": {nearest(func(p *workerv1.VectorQueries, _ *workerv1.VectorQuery) {
			p.Values = inline(make([]byte, 47))
		}), internal, "47 bytes"},
		"unknown distortion": {nearest(func(_ *workerv1.VectorQueries, q *workerv1.VectorQuery) { q.Distortion = 257 }),
			internal, "Distortion 257"},
		"a full metric": {nearest(func(_ *workerv1.VectorQueries, q *workerv1.VectorQuery) { q.Metric = 4 }), internal,
			"a metric of 4 values"},
		"no such absent cluster": {nearest(func(p *workerv1.VectorQueries, q *workerv1.VectorQuery) {
			q.Absent = 1
			p.Integers = inline(wire.PackInt32s([]int32{3}))
		}), internal, "cluster 3 of 3"},
		"too many lanes": {&workerv1.Command{Operation: &workerv1.Command_Load{
			Load: &workerv1.Load{Labels: inline(wire.PackInt32s(make([]int32, 3*64)))}}}, internal,
			"prepared for 2 lanes"},
		"unknown scatter": {scatter(257, 1), internal, "ScatterKind 257"},
		"full scatter":    {scatter(workerv1.ScatterKind_SCATTER_KIND_FULL, 1), internal, "without a full metric"},
		"before the labels": {scatter(workerv1.ScatterKind_SCATTER_KIND_TOTAL, 1),
			workerv1.FailureKind_FAILURE_KIND_NOT_READY, ""},
		"tiles not stored": {
			&workerv1.Command{Operation: &workerv1.Command_Build{Build: &workerv1.Build{MatrixFree: true}}}, internal,
			"always stored"},
		"distances without end": {&workerv1.Command{Operation: &workerv1.Command_Distances{
			Distances: &workerv1.Distances{Queries: good(1 + planning.Workload{K: 3}.MaxPointsPerRequest())}}},
			internal, "are planned for"},
	} {
		j, _ := vectorJob(t)
		if failure := j.executeOnAll(&workerv1.Command{Operation: buildCommand}).GetFailure(); failure != nil {
			t.Fatal(failure)
		}
		before := j.reserved
		failure := j.executeOnAll(c.command).GetFailure()
		if failure.GetKind() != c.kind || !strings.Contains(failure.GetMessage(), c.says) || j.reserved != before {
			t.Errorf("%s: %v, %d bytes reserved instead of %d", name, failure, j.reserved, before)
		}
	}
}

func TestReservedMemoryFollowsTheTilesOfVectors(t *testing.T) {
	j, _ := vectorJob(t)
	size := j.need.TileSize(0).Stored
	memory := j.worker.memory
	memory.limit = 3 * size
	if _, err := j.build(partition.AllTiles(64), true); !fault.Is(err, "NO_MEMORY") || memory.used != 0 {
		t.Errorf("four tiles with room for three: %v, %d bytes", err, memory.used)
	}
	for _, tile := range partition.AllTiles(64) {
		if _, err := j.shard.(*vectors).Distances(t.Context(), []int{tile}, nil); !errors.Is(err, kernel.ErrNotReady) {
			t.Errorf("a build that was refused left tile %d: %v", tile, err)
		}
	}
	if done, err := j.build([]int{0, 2}, true); err != nil || memory.used != 2*size ||
		int64(done.GetTileBytes()) != 2*size {
		t.Errorf("two tiles: %v, %d bytes", err, memory.used)
	}
	j.drop([]*workerv1.Tile{{Tile: 0}})
	if memory.used != size {
		t.Errorf("one tile: %d bytes", memory.used)
	}
	memory.beginRelease()
	if j.close(); memory.used != 0 {
		t.Errorf("closed: %d bytes", memory.used)
	}
}

func TestBadUnitsAreRefused(t *testing.T) {
	j := newTestJob(t)
	for _, c := range []struct{ center, scale []float64 }{
		{[]float64{1, 2}, []float64{1}},
		{[]float64{1}, []float64{0}},
		{[]float64{math.NaN()}, []float64{1}},
	} {
		units := &workerv1.Units{Center: inline(wire.PackFloat64s(c.center)), Scale: inline(wire.PackFloat64s(c.scale))}
		answer := j.execute(&workerv1.Command{Operation: &workerv1.Command_Prepare{Prepare: &workerv1.Prepare{
			K: 1, Units: units, What: &workerv1.Prepare_Vectors{Vectors: &workerv1.VectorSpec{}}}}})
		if f := answer.GetFailure(); f.GetReason() != "BAD_UNITS" || j.shard != nil {
			t.Errorf("%v: %v", c, f)
		}
	}
}

// Queries may name the values of the queries before them, and no others.
func TestValuesOfQueriesAreRemembered(t *testing.T) {
	j := &job{}
	values := func(id uint64, of ...float64) *workerv1.VectorQueries {
		q := &workerv1.VectorQueries{ValuesId: id}
		if of != nil {
			q.Values = inline(wire.PackFloat64s(of))
		}
		return q
	}
	for _, c := range []struct {
		what string
		sent *workerv1.VectorQueries
		want []float64 // nil if they are not remembered
	}{
		{"unknown values", values(1), nil},
		{"new values", values(1, 2, 3), []float64{2, 3}},
		{"the same", values(1), []float64{2, 3}},
		{"other values", values(2, 5), []float64{5}},
		{"earlier values", values(1), nil},
		{"the last values", values(2), []float64{5}},
		{"values without a number", values(0, 7), []float64{7}},
		{"values before those", values(2), nil},
	} {
		got, err := j.queryValues(c.sent, len(c.want))
		if !slices.Equal(got, c.want) || (c.want == nil) != errors.Is(err, kernel.ErrNotReady) {
			t.Errorf("%s: %v, %v", c.what, got, err)
		}
	}
}
