package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fleet/check"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/wire"
)

// KMeansExecutor runs the operations of a k-means-family job on all workers. It implements kmeans.Executor and its
// Measurer. Every operation carries its models. The caller must call Release.
type KMeansExecutor struct {
	job         *execution
	spec        *vector.RowSpec
	mean, grids *payload
	tileEntries *payload                                               // set if workers fetch rows of sparse points
	features    struct{ mean, landmarks, projection, points *payload } // set if the rows are kernel features
	sums        []float64                                              // sums of the clusters of all lanes
	models      struct {                                               // the last values of queries
		mu     sync.Mutex
		id     uint64
		values []byte
	}
}

var _ kmeans.Executor = (*KMeansExecutor)(nil)

// NewKMeansExecutor places the tiles of a job's vectors on workers and builds them. While there is no worker it
// waits, until ctx ends.
func (f *Fleet) NewKMeansExecutor(ctx context.Context, task Task) (*KMeansExecutor, error) {
	if task.Vectors == nil || task.Need.Vectors == nil {
		return nil, errors.New("fleet: a job of the k-means family without vectors")
	}
	if f := task.Vectors.Features; f != nil && f.Points == nil {
		task.Need.Whole = true // workers take the landmarks from the data set
	}
	e := &KMeansExecutor{spec: task.Vectors}
	e.job = f.newExecution(task, e)
	e.job.current.k, e.job.current.lanes = task.Need.K, max(1, task.Need.Lanes)
	e.sums = make([]float64, e.job.current.lanes*e.job.current.k*e.spec.Width())
	e.job.current.labels = clustering.Unassigned(e.job.current.lanes * e.job.rows)
	e.job.current.step = 1
	e.mean = jobPayload(e.job, wire.PackFloat64s, e.spec.Mean)
	e.grids = jobPayload(e.job, wire.PackInt32s, e.spec.Grids)
	e.packFeatures()
	if e.job.need.ByRows() {
		e.tileEntries = jobPayload(e.job, wire.PackInt64s, e.job.need.Vectors.Entries)
	}
	if err := e.job.start(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// Usage returns what the job uses now, with its workers sorted by name.
func (e *KMeansExecutor) Usage() *Usage { return e.job.Usage() }

// Release frees what the job holds on workers. A running operation fails with ErrReleased.
func (e *KMeansExecutor) Release() { e.job.Release() }

// ensureOperands implements family. Workers need nothing besides tiles.
func (e *KMeansExecutor) ensureOperands(context.Context, *group) error { return nil }

func (e *KMeansExecutor) changeBytes() int { return 8 * len(e.sums) }

func (e *KMeansExecutor) describe(p *workerv1.Prepare) {
	v := wire.VectorSpecToProto(e.spec, e.mean.message(), e.grids.message())
	v.FullMetric, v.TileEntries = e.job.need.Vectors.FullMetric, e.tileEntries.message()
	if f, packed := e.spec.Features, e.features; f != nil {
		v.KernelFeatures = wire.FeaturesToProto(f, packed.mean.message(), packed.landmarks.message(),
			packed.projection.message(), packed.points.message())
	}
	p.What = &workerv1.Prepare_Vectors{Vectors: v}
	p.Lanes = uint32(e.job.current.lanes)
}

// packFeatures makes payloads of what workers compute kernel features from.
func (e *KMeansExecutor) packFeatures() {
	f := e.spec.Features
	if f == nil {
		return
	}
	e.features.mean = jobPayload(e.job, wire.PackFloat64s, f.Matrix.Mean)
	e.features.landmarks = jobPayload(e.job, wire.PackInt32s, f.Landmarks)
	e.features.projection = jobPayload(e.job, wire.PackFloat64s, f.Projection)
	if e.job.need.ByRows() {
		e.features.points = jobPayload(e.job, wire.PackFloat64s, f.Points.Values)
	}
}

// Clusters implements kmeans.Executor.
func (e *KMeansExecutor) Clusters() kmeans.Clusters {
	return kmeans.Clusters{Shape: e.job.shape(), Labels: e.job.current.labels, Sums: e.sums}
}

// Update implements kmeans.Executor. Changes are exact, so the order of the answers does not matter.
func (e *KMeansExecutor) Update(ctx context.Context, moves []labeling.Move) error {
	lanes := vector.MovedLanes(e.job.current.k, moves)
	size := e.job.current.k * e.spec.Width()
	changes := make([]float64, len(lanes)*size)
	err := e.job.update(ctx, moves, func(tiles []int, answer *reply) error {
		parts, err := wire.UnpackFloat64s(answer.values)
		if err != nil {
			return err
		}
		own := e.job.movesOf(tiles, moves)
		moved := vector.MovedLanes(e.job.current.k, own)
		if len(parts) != len(moved)*size {
			return fmt.Errorf("changes of %d sums instead of %d", len(parts), len(moved)*size)
		}
		if err := check.Changes(e.job.shape(), e.spec, e.job.rowsOf(tiles), own, parts); err != nil {
			return err
		}
		for _, lane := range moved {
			of, _ := slices.BinarySearch(lanes, lane)
			for at, v := range parts[:size] {
				changes[of*size+at] += v
			}
			parts = parts[size:]
		}
		return nil
	})
	if err == nil {
		kmeans.AddChanges(e.sums, e.job.current.k, moves, changes)
	}
	return err
}

// packedQueries holds queries with their arrays as payloads, for one operation.
type packedQueries struct {
	queries          []vector.Query
	valuesID         uint64 // the same for the same values
	values, integers *payload
}

func (e *KMeansExecutor) pack(queries []vector.Query) *packedQueries {
	values := wire.PackFloat64s(wire.QueryValues(queries))
	return &packedQueries{
		queries:  queries,
		valuesID: e.numberOf(values),
		values:   e.job.newPayload(func() []byte { return values }),
		integers: e.job.newPayload(func() []byte { return wire.PackInt32s(wire.QueryIntegers(queries)) }),
	}
}

// numberOf returns the number of values of queries. Most operations ask about the same models as the one before.
func (e *KMeansExecutor) numberOf(values []byte) uint64 {
	e.models.mu.Lock()
	defer e.models.mu.Unlock()
	if e.models.id == 0 || !bytes.Equal(values, e.models.values) {
		e.models.id++
		e.models.values = values
	}
	return e.models.id
}

// forWorker returns the queries for one worker, which gets their values only if it does not remember them.
func (p *packedQueries) forWorker(g *group) *workerv1.VectorQueries {
	var values *workerv1.Payload
	if g.member.valuesID != p.valuesID {
		values = p.values.message()
		g.member.valuesID = 0 // until the worker has answered
	}
	packed := wire.QueriesToProto(p.queries, values, p.integers.message())
	packed.ValuesId = p.valuesID
	return packed
}

// setQueries sets the operation of a command to one with the queries for the worker of a group.
type setQueries func(c *workerv1.Command, g *group, queries *workerv1.VectorQueries)

// ask returns an operation whose request has queries.
func (p *packedQueries) ask(set setQueries) *operation {
	return &operation{
		valuesID: p.valuesID,
		request:  func(c *workerv1.Command, g *group, _ []int) { set(c, g, p.forWorker(g)) },
	}
}

func (p *packedQueries) free() {
	p.values.free()
	p.integers.free()
}

// Assign implements kmeans.Executor.
func (e *KMeansExecutor) Assign(ctx context.Context, queries []vector.Query) ([]labeling.Move, error) {
	packed := e.pack(queries)
	defer packed.free()
	return e.job.assign(ctx, lanesOf(queries, queryLane),
		packed.ask(func(c *workerv1.Command, _ *group, queries *workerv1.VectorQueries) {
			c.Operation = &workerv1.Command_VectorAssign{VectorAssign: &workerv1.VectorAssign{Step: e.job.current.step,
				Queries: queries}}
		}))
}

// Farthest implements kmeans.Executor.
func (e *KMeansExecutor) Farthest(ctx context.Context, queries []vector.Query) ([]labeling.Candidate, error) {
	packed := e.pack(queries)
	defer packed.free()
	return e.job.farthest(ctx, lanesOf(queries, queryLane),
		packed.ask(func(c *workerv1.Command, _ *group, queries *workerv1.VectorQueries) {
			farthest := &workerv1.VectorFarthest{Step: e.job.current.step, Queries: queries}
			c.Operation = &workerv1.Command_VectorFarthest{VectorFarthest: farthest}
		}))
}

// queryLane returns the lane of a query.
func queryLane(q vector.Query) int { return q.Lane }

// lanesOf returns the lanes of statistics or queries.
func lanesOf[T any](all []T, lane func(T) int) []int {
	lanes := make([]int, len(all))
	for at, of := range all {
		lanes[at] = lane(of)
	}
	return lanes
}

// measure runs an operation that answers each query with count values for each of op.tiles, which must be ascending.
// It returns the values in tile order, whichever workers they come from.
func (e *KMeansExecutor) measure(
	ctx context.Context, op *operation, queries []vector.Query, count func(q, tile int) int,
	run func(context.Context, *operation) error,
) ([][]float64, error) {
	values := make([][]float64, len(queries))
	begin := make([][]int, len(queries))
	for q := range queries {
		begin[q] = make([]int, len(op.tiles)+1)
		for at, tile := range op.tiles {
			begin[q][at+1] = begin[q][at] + count(q, tile)
		}
		values[q] = make([]float64, begin[q][len(op.tiles)])
	}
	op.maxBytes = func(tiles []int) int {
		total := 0
		for q := range queries {
			for _, tile := range tiles {
				total += 8 * count(q, tile)
			}
		}
		return total
	}
	op.merge = func(tiles []int, answer *reply) error {
		if want := op.maxBytes(tiles); len(answer.values) != want {
			return fmt.Errorf("%d bytes instead of %d", len(answer.values), want)
		}
		left := answer.values
		for q := range queries {
			for _, tile := range tiles {
				at, _ := slices.BinarySearch(op.tiles, tile)
				dst := values[q][begin[q][at]:begin[q][at+1]]
				if err := unpackPossible(dst, left[:8*len(dst)], check.Number); err != nil {
					return err
				}
				left = left[8*len(dst):]
			}
		}
		return nil
	}
	return values, run(ctx, op)
}

// Measure implements kmeans.Executor.
func (e *KMeansExecutor) Measure() kmeans.Measurer { return e }

// Nearest implements kmeans.Measurer.
func (e *KMeansExecutor) Nearest(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	return e.perPoint(ctx, "nearest", 1, queries, func(c *workerv1.Command, _ *group, queries *workerv1.VectorQueries) {
		c.Operation = &workerv1.Command_Nearest{Nearest: &workerv1.Nearest{Queries: queries}}
	})
}

// NearestTwo implements kmeans.Measurer.
func (e *KMeansExecutor) NearestTwo(ctx context.Context, queries []vector.Query) ([]kmeans.NearestTwo, error) {
	lists, err := e.perPoint(ctx, "nearest two", vector.PerNearestTwo, queries,
		func(c *workerv1.Command, _ *group, queries *workerv1.VectorQueries) {
			c.Operation = &workerv1.Command_NearestTwo{NearestTwo: &workerv1.NearestTwo{Queries: queries}}
		})
	return kmeans.NewNearestTwo(lists), err
}

// perPoint runs an operation that answers each query with some values for each point.
func (e *KMeansExecutor) perPoint(ctx context.Context, name string, values int, queries []vector.Query,
	set setQueries) ([][]float64, error) {
	packed := e.pack(queries)
	defer packed.free()
	op := packed.ask(set)
	op.name = name
	op.tiles = partition.AllTiles(e.job.rows)
	return e.measure(ctx, op, queries, func(_, tile int) int { return values * partition.Tile(e.job.rows, tile).Len() },
		e.job.perform)
}

// Distances implements kmeans.Measurer. It asks only the tiles that contain the points, for no more points at a time
// than fit into the planned memory.
func (e *KMeansExecutor) Distances(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	distances := make([][]float64, len(queries))
	var portion []vector.Query
	var of []int // indices of the queries in the portion
	room := e.job.need.MaxPointsPerRequest()
	ask := func() error {
		values, err := e.distancesAtOnce(ctx, portion)
		if err != nil {
			return err
		}
		for at, q := range of {
			distances[q] = append(distances[q], values[at]...)
		}
		portion, of, room = nil, nil, e.job.need.MaxPointsPerRequest()
		return nil
	}
	for at, q := range queries {
		distances[at] = make([]float64, 0, len(q.Points)*q.Model.Clusters)
		for left := q.Points; len(left) > 0; {
			q.Points = left[:min(len(left), room)]
			left = left[len(q.Points):]
			portion = append(portion, q)
			of = append(of, at)
			room -= len(q.Points)
			if room > 0 {
				continue
			}
			if err := ask(); err != nil {
				return nil, err
			}
		}
	}
	return distances, ask()
}

// distancesAtOnce returns the distances of one portion.
func (e *KMeansExecutor) distancesAtOnce(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	counts := make([][]int, len(queries)) // number of each query's points in each tile
	var tiles []int
	for q := range queries {
		counts[q] = make([]int, len(e.job.placed.tiles))
		previous := int32(-1)
		for _, i := range queries[q].Points {
			if i <= previous || int(i) >= e.job.rows {
				return nil, fmt.Errorf("fleet: point %d after %d of %d; points must ascend", i, previous, e.job.rows)
			}
			previous = i
			tile := partition.TileOf(e.job.rows, int(i))
			counts[q][tile]++
			tiles = append(tiles, tile)
		}
	}
	if len(tiles) == 0 {
		return make([][]float64, len(queries)), nil
	}
	slices.Sort(tiles)
	packed := e.pack(queries)
	defer packed.free()
	op := packed.ask(func(c *workerv1.Command, _ *group, queries *workerv1.VectorQueries) {
		c.Operation = &workerv1.Command_Distances{Distances: &workerv1.Distances{Queries: queries}}
	})
	op.name = "distances"
	op.tiles = slices.Compact(tiles)
	return e.measure(ctx, op, queries, func(q, tile int) int { return counts[q][tile] * queries[q].Model.Clusters },
		e.job.perform)
}

// Scatter implements kmeans.Measurer. It adds up tiles in tile order, and asks for no more of them at a time than fit
// into the planned memory.
func (e *KMeansExecutor) Scatter(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	packed := e.pack(queries)
	defer packed.free()
	atOnce := len(e.job.placed.tiles)
	for _, q := range queries {
		if q.Kind != vector.Total {
			atOnce = e.job.need.MaxTilesPerRequest()
		}
	}
	size := func(q, _ int) int { return queries[q].Kind.Size(e.spec.Columns) }
	totals := make([][]float64, len(queries))
	for tiles := range slices.Chunk(partition.AllTiles(e.job.rows), atOnce) {
		op := packed.ask(func(c *workerv1.Command, _ *group, queries *workerv1.VectorQueries) {
			c.Operation = &workerv1.Command_Scatter{Scatter: &workerv1.Scatter{Step: e.job.current.step,
				Queries: queries}}
		})
		op.name, op.tiles = "scatter", tiles
		values, err := e.measure(ctx, op, queries, size, e.job.atStep)
		if err != nil {
			return nil, err
		}
		for q := range queries {
			totals[q] = append(totals[q], values[q]...)
			totals[q] = kmeans.AddTiles(totals[q], len(totals[q])/size(q, 0))
		}
	}
	return totals, nil
}
