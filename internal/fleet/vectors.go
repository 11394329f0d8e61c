package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/labeling"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/vector"
	"github.com/cleave-project/cleave/internal/wire"
)

// VectorExecutor runs the operations of a job of the vector family on all workers. It implements
// centroid.Executor. Every operation carries its model; workers keep none.
type VectorExecutor struct {
	*job
	spec        *vector.RowSpec
	mean, grids *payload
}

var _ centroid.Executor = (*VectorExecutor)(nil)

// NewVectorExecutor places the tiles of a job's vectors on workers and builds them. While there is no
// worker it waits, until ctx ends.
func (f *Fleet) NewVectorExecutor(ctx context.Context, task Task) (*VectorExecutor, error) {
	if task.Vectors == nil || task.Need.Vectors == nil {
		return nil, errors.New("fleet: a job of the vector family without vectors")
	}
	e := &VectorExecutor{job: f.newJob(task), spec: task.Vectors}
	e.k, e.lanes = task.Need.K, 1
	e.describe, e.sumBytes = e.describeVectors, 8*e.k*e.spec.Width()
	if e.spec.Mean != nil {
		e.mean = e.keepPayload(func() []byte { return wire.PackFloat64s(e.spec.Mean) })
	}
	e.grids = e.keepPayload(func() []byte { return wire.PackInt32s(e.spec.Grids) })
	if err := e.start(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

// describeVectors completes a Prepare command with the vectors.
func (e *VectorExecutor) describeVectors(p *workerv1.Prepare) {
	v := wire.VectorSpecToProto(e.spec, e.mean.message(), e.grids.message())
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
func (e *VectorExecutor) Update(ctx context.Context, moves []labeling.Move) ([]float64, error) {
	sums, merge := e.sums()
	if err := e.update(ctx, moves, merge); err != nil {
		return nil, err
	}
	return sums, nil
}

// sums gives the sums of all clusters, still zero, and the function that adds up answers. The sums are
// exact, so their order does not matter.
func (e *VectorExecutor) sums() ([]float64, mergeFunc) {
	sums := make([]float64, e.k*e.spec.Width())
	return sums, func(_ []int, answer *reply) error {
		parts, err := wire.UnpackFloat64s(answer.values)
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

// packedModel is a vector.Model with its arrays as payloads, for one operation.
type packedModel struct {
	*vector.Model
	centroids, absent, metric *payload
}

func (e *VectorExecutor) packModel(m *vector.Model) *packedModel {
	packed := &packedModel{Model: m, centroids: e.fleet.newPayload(func() []byte { return wire.PackFloat64s(m.Centroids) })}
	if m.Absent != nil {
		packed.absent = e.fleet.newPayload(func() []byte { return wire.PackBools(m.Absent) })
	}
	if m.Metric != nil {
		packed.metric = e.fleet.newPayload(func() []byte { return wire.PackFloat64s(m.Metric) })
	}
	return packed
}

func (m *packedModel) message() *workerv1.VectorModel {
	return wire.VectorModelToProto(m.Model, m.centroids.message(), m.absent.message(), m.metric.message())
}

func (m *packedModel) free() {
	m.centroids.free()
	m.absent.free()
	m.metric.free()
}

// Assign implements centroid.Executor.
func (e *VectorExecutor) Assign(ctx context.Context, m *vector.Model, skip []int32) ([]labeling.Move, error) {
	packed, skipped := e.packModel(m), e.fleet.newPayload(func() []byte { return wire.PackInt32s(skip) })
	defer packed.free()
	defer skipped.free()
	return e.assign(ctx, 12, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_VectorAssign{VectorAssign: &workerv1.VectorAssign{Step: e.step, Model: packed.message(), Skip: skipped.message()}}
	})
}

// Farthest implements centroid.Executor.
func (e *VectorExecutor) Farthest(ctx context.Context, m *vector.Model, skip, counts []int32) (labeling.Candidate, error) {
	packed, skipped := e.packModel(m), e.fleet.newPayload(func() []byte { return wire.PackInt32s(skip) })
	sizes := e.fleet.newPayload(func() []byte { return wire.PackInt32s(counts) })
	defer packed.free()
	defer skipped.free()
	defer sizes.free()
	best, err := e.farthest(ctx, 1, func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_VectorFarthest{
			VectorFarthest: &workerv1.VectorFarthest{Step: e.step, Model: packed.message(), Skip: skipped.message(), Counts: sizes.message()}}
	})
	return best[0], err
}

// Nearest implements centroid.Executor.
func (e *VectorExecutor) Nearest(ctx context.Context, m *vector.Model) ([]float64, error) {
	packed := e.packModel(m)
	defer packed.free()
	return e.perRow(ctx, &operation{name: "nearest", request: func(c *workerv1.Command) {
		c.Operation = &workerv1.Command_Nearest{Nearest: &workerv1.Nearest{Model: packed.message()}}
	}})
}

// Distances implements centroid.Executor. It asks only the tiles that contain the points.
func (e *VectorExecutor) Distances(ctx context.Context, m *vector.Model, points []int32) ([]float64, error) {
	previous := int32(-1)
	for _, i := range points {
		if i <= previous || int(i) >= e.rows {
			return nil, fmt.Errorf("fleet: point %d after %d of %d; points must ascend", i, previous, e.rows)
		}
		previous = i
	}
	packed := e.packModel(m)
	defer packed.free()
	distances := make([]float64, 0, len(points)*m.Clusters)
	for portion := range slices.Chunk(points, e.need.MaxPointsPerRequest()) {
		part := distances[len(distances) : len(distances)+len(portion)*m.Clusters]
		if err := e.distances(ctx, packed, portion, part); err != nil {
			return nil, err
		}
		distances = distances[:len(distances)+len(part)]
	}
	return distances, nil
}

// distances fills in the distances of one portion of points.
func (e *VectorExecutor) distances(ctx context.Context, m *packedModel, points []int32, distances []float64) error {
	list := e.fleet.newPayload(func() []byte { return wire.PackInt32s(points) })
	defer list.free()
	var tiles []int
	start := map[int]int{} // index of the first point of each tile
	for at, i := range points {
		tile := partition.TileOf(e.rows, int(i))
		if len(tiles) == 0 || tiles[len(tiles)-1] != tile {
			tiles, start[tile] = append(tiles, tile), at
		}
	}
	return e.perform(ctx, &operation{
		name:     "distances",
		tiles:    tiles,
		maxBytes: func([]int) int { return 8 * len(distances) },
		request: func(c *workerv1.Command) {
			c.Operation = &workerv1.Command_Distances{Distances: &workerv1.Distances{Model: m.message(), Points: list.message()}}
		},
		merge: func(tiles []int, answer *reply) error {
			values := answer.values
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

// Scatter implements centroid.Executor. It adds up tiles in tile order, whichever workers they
// come from, and asks for only as many at a time as fit in the memory that was planned.
func (e *VectorExecutor) Scatter(ctx context.Context, m *vector.Model, kind vector.ScatterKind) ([]float64, error) {
	packed := e.packModel(m)
	defer packed.free()
	size, atOnce := 1, len(e.tiles)
	switch kind {
	case vector.Diagonal:
		size, atOnce = e.spec.Columns, e.need.MaxTilesPerRequest()
	case vector.Full:
		size, atOnce = e.spec.Columns*e.spec.Columns, e.need.MaxTilesPerRequest()
	}
	var total []float64
	for tiles := range slices.Chunk(partition.AllTiles(e.rows), atOnce) {
		values, err := e.scatter(ctx, packed, kind, tiles, size)
		if err != nil {
			return nil, err
		}
		total = centroid.AddTiles(append(total, values...), (len(total)+len(values))/size)
	}
	return total, nil
}

// scatter gives the scatter of consecutive tiles, size values each.
func (e *VectorExecutor) scatter(ctx context.Context, m *packedModel, kind vector.ScatterKind, tiles []int, size int) ([]float64, error) {
	values := make([]float64, len(tiles)*size)
	err := e.atStep(ctx, &operation{
		name:     "scatter",
		tiles:    tiles,
		maxBytes: func(tiles []int) int { return 8 * size * len(tiles) },
		request: func(c *workerv1.Command) {
			c.Operation = &workerv1.Command_Scatter{Scatter: &workerv1.Scatter{Step: e.step, Model: m.message(), Kind: wire.ScatterToProto(kind)}}
		},
		merge: func(of []int, answer *reply) error {
			if len(answer.values) != 8*size*len(of) {
				return fmt.Errorf("%d bytes for the scatter of %d tiles", len(answer.values), len(of))
			}
			for at, tile := range of {
				offset := (tile - tiles[0]) * size
				if err := wire.UnpackFloat64sInto(values[offset:offset+size], answer.values[8*size*at:8*size*(at+1)]); err != nil {
					return err
				}
			}
			return nil
		},
	})
	return values, err
}
