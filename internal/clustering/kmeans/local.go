package kmeans

import (
	"context"
	"errors"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
)

// local is an Executor and its Measurer within one process: a shard that holds every tile.
type local struct {
	shard  *vector.Shard
	shape  labeling.Shape
	tiles  []int
	step   uint64
	labels []int32
	sums   []float64
}

// NewLocal returns an executor within this process, and builds all tiles of the problem. It has as many lanes as the
// problem and others on the same rows can use.
func NewLocal(ctx context.Context, p *Problem, data dataset.Dataset, threads int,
	others ...*Problem) (Executor, error) {
	data, err := p.Units.Apply(data)
	if err != nil {
		return nil, err
	}
	source, err := vector.NewSource(p.Vectors, data)
	if err != nil {
		return nil, err
	}
	shape := labeling.Shape{Points: p.n, Clusters: p.spec.K, Lanes: Lanes(append([]*Problem{p}, others...)...)}
	l := &local{
		shard: vector.NewShard(source, threads), shape: shape, tiles: partition.AllTiles(p.n),
		labels: clustering.Unassigned(shape.Lanes * p.n),
		sums:   make([]float64, shape.Lanes*shape.Clusters*p.Vectors.Width()),
	}
	if err = l.shard.Build(ctx, l.tiles); err != nil {
		return nil, err
	}
	return l, l.shard.Load(l.step, shape.Clusters, l.labels)
}

func (l *local) Clusters() Clusters { return Clusters{Shape: l.shape, Labels: l.labels, Sums: l.sums} }

func (l *local) Update(ctx context.Context, moves []labeling.Move) error {
	if err := l.shape.Apply(l.labels, moves); err != nil {
		return err
	}
	changes, err := l.shard.Update(ctx, l.tiles, l.step, moves)
	if err != nil {
		l.shape.Undo(l.labels, moves)
		return l.reload(err)
	}
	l.step++
	AddChanges(l.sums, l.shape.Clusters, moves, changes)
	return nil
}

// reload gives the shard, which may be at the next step after an error, the labels again. It returns the error.
func (l *local) reload(err error) error {
	l.step += 2
	return errors.Join(err, l.shard.Load(l.step, l.shape.Clusters, l.labels))
}

// AddChanges adds the changes of a shard's sums, which cover only the lanes that have moves, to the sums of all lanes.
func AddChanges(sums []float64, clusters int, moves []labeling.Move, changes []float64) {
	lanes := vector.MovedLanes(clusters, moves)
	for i, lane := range lanes {
		size := len(changes) / len(lanes)
		for c, v := range changes[i*size : (i+1)*size] {
			sums[lane*size+c] += v
		}
	}
}

func (l *local) Assign(ctx context.Context, queries []vector.Query) ([]labeling.Move, error) {
	return l.shard.Assign(ctx, l.tiles, l.step, queries)
}

func (l *local) Step(ctx context.Context, queries []vector.Query) (*Step, error) {
	done, err := l.shard.Step(ctx, l.tiles, l.step, queries)
	if err == nil {
		err = l.shape.Apply(l.labels, done.Moves)
	}
	if err != nil {
		return nil, l.reload(err)
	}
	l.step++
	AddChanges(l.sums, l.shape.Clusters, done.Sorted, done.Changes)
	return &Step{Moves: done.Sorted, Before: Totals(done.Before), After: Totals(done.After)}, nil
}

// Totals adds up one value of each tile, in tile order, for each of several lists.
func Totals(perTile [][]float64) []float64 {
	totals := make([]float64, len(perTile))
	for i, values := range perTile {
		totals[i] = AddTiles(values, len(values))[0]
	}
	return totals
}

func (l *local) Measure() Measurer { return l }

func (l *local) Nearest(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	return l.shard.Nearest(ctx, l.tiles, queries)
}

func (l *local) NearestTwo(ctx context.Context, queries []vector.Query) ([]NearestTwo, error) {
	lists, err := l.shard.NearestTwo(ctx, l.tiles, queries)
	return NewNearestTwo(lists), err
}

func (l *local) Distances(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	return l.shard.Distances(ctx, l.tiles, queries)
}

func (l *local) Scatter(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	scatter, err := l.shard.Scatter(ctx, l.tiles, l.step, queries)
	for q := range scatter {
		scatter[q] = AddTiles(scatter[q], len(l.tiles))
	}
	return scatter, err
}

// AddTiles adds up the values of several tiles, which are given one after the other, in tile order.
func AddTiles(values []float64, tiles int) []float64 {
	size := len(values) / tiles
	total := slices.Clone(values[:size])
	for tile := 1; tile < tiles; tile++ {
		for i, v := range values[tile*size : (tile+1)*size] {
			total[i] += v
		}
	}
	return total
}

func (l *local) Farthest(ctx context.Context, queries []vector.Query) ([]labeling.Candidate, error) {
	return l.shard.Farthest(ctx, l.tiles, l.step, queries)
}
