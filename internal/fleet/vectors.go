package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/vector"
	"github.com/cleave-project/cleave/internal/wire"
)

// VectorExecutor runs the operations of a job of the vector family over all workers:
// centroid.Executor. A model travels with every operation, so that workers keep none.
type VectorExecutor struct {
	*job
	spec        *vector.Spec
	mean, grids *operand
}

var _ centroid.Executor = (*VectorExecutor)(nil)

// NewVectorExecutor places the tiles of a job's vectors on workers and builds them. It waits as long as
// there is no worker, until ctx ends.
func (f *Fleet) NewVectorExecutor(ctx context.Context, task Task) (*VectorExecutor, error) {
	if task.Vectors == nil || task.Need.Vectors == nil {
		return nil, errors.New("fleet: a job of the vector family without vectors")
	}
	e := &VectorExecutor{job: f.newJob(task), spec: task.Vectors}
	e.k, e.lanes = task.Need.K, 1
	e.opening, e.sumBytes = e.open, 8*e.k*e.spec.Width()
	if e.spec.Mean != nil {
		e.mean = e.keep(func() []byte { return wire.PackFloat64s(e.spec.Mean) })
	}
	e.grids = e.keep(func() []byte { return wire.PackInt32s(e.spec.Grids) })
	if err := e.begin(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// open says what a worker is to make of the data.
func (e *VectorExecutor) open(p *workerv1.Prepare) {
	v := wire.VectorSpecToProto(e.spec, e.mean.payload(), e.grids.payload())
	v.FullMetric = e.need.Vectors.FullMetric
	p.What = &workerv1.Prepare_Vectors{Vectors: v}
}

// Load implements centroid.Executor.
func (e *VectorExecutor) Load(ctx context.Context, labels []int32) ([]float64, error) {
	sums, merge := e.sums()
	if err := e.load(ctx, labels, merge); err != nil {
		return nil, err
	}
	return sums, nil
}

// Update implements centroid.Executor.
func (e *VectorExecutor) Update(ctx context.Context, moves []kernel.Move) ([]float64, error) {
	sums, merge := e.sums()
	if err := e.update(ctx, moves, merge); err != nil {
		return nil, err
	}
	return sums, nil
}

// sums are what the sums of tiles are merged into: exact, and so the same in any order.
func (e *VectorExecutor) sums() ([]float64, merging) {
	sums := make([]float64, e.k*e.spec.Width())
	return sums, func(_ []int, done *reply) error {
		parts, err := wire.UnpackFloat64s(done.values)
		if err != nil {
			return err
		}
		if len(parts) != len(sums) {
			return fmt.Errorf("%d sums instead of %d", len(parts), len(sums))
		}
		for at, v := range parts {
			sums[at] += v
		}
		return nil
	}
}

// model is a vector.Model as operands of one operation.
type model struct {
	*vector.Model
	centroids, absent, metric *operand
}

func (e *VectorExecutor) model(m *vector.Model) *model {
	packed := &model{Model: m, centroids: e.fleet.operand(func() []byte { return wire.PackFloat64s(m.Centroids) })}
	if m.Absent != nil {
		packed.absent = e.fleet.operand(func() []byte { return wire.PackBools(m.Absent) })
	}
	if m.Metric != nil {
		packed.metric = e.fleet.operand(func() []byte { return wire.PackFloat64s(m.Metric) })
	}
	return packed
}

func (m *model) payload() *workerv1.VectorModel {
	return wire.VectorModelToProto(m.Model, m.centroids.payload(), m.absent.payload(), m.metric.payload())
}

func (m *model) drop() {
	m.centroids.drop()
	m.absent.drop()
	m.metric.drop()
}

// Assign implements centroid.Executor.
func (e *VectorExecutor) Assign(ctx context.Context, m *vector.Model, skip []int32) ([]kernel.Move, error) {
	packed, stay := e.model(m), e.fleet.operand(func() []byte { return wire.PackInt32s(skip) })
	defer packed.drop()
	defer stay.drop()
	return e.assign(ctx, 12, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_VectorAssign{VectorAssign: &workerv1.VectorAssign{Step: e.step, Model: packed.payload(), Skip: stay.payload()}}
	})
}

// Farthest implements centroid.Executor.
func (e *VectorExecutor) Farthest(ctx context.Context, m *vector.Model, skip, counts []int32) (kernel.Candidate, error) {
	packed, stay := e.model(m), e.fleet.operand(func() []byte { return wire.PackInt32s(skip) })
	sizes := e.fleet.operand(func() []byte { return wire.PackInt32s(counts) })
	defer packed.drop()
	defer stay.drop()
	defer sizes.drop()
	best, err := e.farthest(ctx, 1, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_VectorFarthest{
			VectorFarthest: &workerv1.VectorFarthest{Step: e.step, Model: packed.payload(), Skip: stay.payload(), Counts: sizes.payload()}}
	})
	return best[0], err
}

// Nearest implements centroid.Executor.
func (e *VectorExecutor) Nearest(ctx context.Context, m *vector.Model) ([]float64, error) {
	packed := e.model(m)
	defer packed.drop()
	return e.perRow(ctx, &operation{name: "nearest", request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Nearest{Nearest: &workerv1.Nearest{Model: packed.payload()}}
	}})
}

// Distances implements centroid.Executor. Only the tiles that the points lie in are asked.
func (e *VectorExecutor) Distances(ctx context.Context, m *vector.Model, points []int32) ([]float64, error) {
	previous := int32(-1)
	for _, i := range points {
		if i <= previous || int(i) >= e.rows {
			return nil, fmt.Errorf("fleet: point %d after %d of %d; points must ascend", i, previous, e.rows)
		}
		previous = i
	}
	packed := e.model(m)
	defer packed.drop()
	distances := make([]float64, 0, len(points)*m.Clusters)
	for portion := range slices.Chunk(points, e.need.PointsAtOnce()) {
		part := distances[len(distances) : len(distances)+len(portion)*m.Clusters]
		if err := e.distances(ctx, packed, portion, part); err != nil {
			return nil, err
		}
		distances = distances[:len(distances)+len(part)]
	}
	return distances, nil
}

// distances asks for those of so many points as workers answer at once.
func (e *VectorExecutor) distances(ctx context.Context, m *model, points []int32, distances []float64) error {
	list := e.fleet.operand(func() []byte { return wire.PackInt32s(points) })
	defer list.drop()
	var tiles []int
	start := map[int]int{} // where the points of a tile begin among all
	for at, i := range points {
		tile := partition.TileOf(e.rows, int(i))
		if len(tiles) == 0 || tiles[len(tiles)-1] != tile {
			tiles, start[tile] = append(tiles, tile), at
		}
	}
	return e.perform(ctx, &operation{
		name:  "distances",
		tiles: tiles,
		limit: func([]int) int { return 8 * len(distances) },
		request: func(c *workerv1.Command) {
			c.Operation = &workerv1.Command_Distances{Distances: &workerv1.Distances{Model: m.payload(), Points: list.payload()}}
		},
		merge: func(tiles []int, done *reply) error {
			values := done.values
			for _, tile := range tiles {
				from, end := start[tile], int32(partition.Tile(e.rows, tile).To)
				to := from
				for to < len(points) && points[to] < end {
					to++
				}
				size := 8 * m.Clusters * (to - from)
				if len(values) < size {
					return errors.New("fewer distances than there are points")
				}
				if err := wire.UnpackFloat64sInto(distances[from*m.Clusters:to*m.Clusters], values[:size]); err != nil {
					return err
				}
				values = values[size:]
			}
			if len(values) > 0 {
				return errors.New("more distances than there are points")
			}
			return nil
		},
	})
}

// Scatter implements centroid.Executor. Tiles are added up in tile order, whichever worker they
// come from; no more are asked for at once than have a place in memory.
func (e *VectorExecutor) Scatter(ctx context.Context, m *vector.Model, kind vector.Scatter) ([]float64, error) {
	packed := e.model(m)
	defer packed.drop()
	size, atOnce := 1, len(e.tiles)
	switch kind {
	case vector.Diagonal:
		size, atOnce = e.spec.Columns, e.need.TilesAtOnce()
	case vector.Full:
		size, atOnce = e.spec.Columns*e.spec.Columns, e.need.TilesAtOnce()
	}
	var total []float64
	for tiles := range slices.Chunk(partition.All(e.rows), atOnce) {
		values, err := e.scatter(ctx, packed, kind, tiles, size)
		if err != nil {
			return nil, err
		}
		total = centroid.AddTiles(append(total, values...), (len(total)+len(values))/size)
	}
	return total, nil
}

// scatter asks for that of consecutive tiles, so many values each.
func (e *VectorExecutor) scatter(ctx context.Context, m *model, kind vector.Scatter, tiles []int, size int) ([]float64, error) {
	values := make([]float64, len(tiles)*size)
	err := e.atStep(ctx, &operation{
		name:  "scatter",
		tiles: tiles,
		limit: func(tiles []int) int { return 8 * size * len(tiles) },
		request: func(c *workerv1.Command) {
			c.Operation = &workerv1.Command_Scatter{Scatter: &workerv1.Scatter{Step: e.step, Model: m.payload(), Kind: wire.ScatterToProto(kind)}}
		},
		merge: func(of []int, done *reply) error {
			if len(done.values) != 8*size*len(of) {
				return fmt.Errorf("%d bytes for the scatter of %d tiles", len(done.values), len(of))
			}
			for at, tile := range of {
				place := (tile - tiles[0]) * size
				if err := wire.UnpackFloat64sInto(values[place:place+size], done.values[8*size*at:8*size*(at+1)]); err != nil {
					return err
				}
			}
			return nil
		},
	})
	return values, err
}
