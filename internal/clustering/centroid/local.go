package centroid

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/vector"
)

// Local is the executor within one process: a shard that holds every tile.
type Local struct {
	shard *vector.Shard
	k     int
	tiles []int
	step  uint64
}

// NewLocal builds all tiles of a problem.
func NewLocal(ctx context.Context, p *Problem, data dataset.Dataset, threads int) (*Local, error) {
	data, err := p.Units.Apply(data)
	if err != nil {
		return nil, err
	}
	source, err := vector.NewSource(p.Vectors, data)
	if err != nil {
		return nil, err
	}
	l := &Local{shard: vector.NewShard(source, threads), k: p.spec.K, tiles: partition.AllTiles(p.n)}
	_, err = l.shard.Build(ctx, l.tiles)
	return l, err
}

// Load implements Executor.
func (l *Local) Load(ctx context.Context, labels []int32) ([]float64, error) {
	l.step++
	return l.shard.Load(ctx, l.tiles, l.step, l.k, labels)
}

// Update implements Executor.
func (l *Local) Update(ctx context.Context, moves []kernel.Move) ([]float64, error) {
	sums, err := l.shard.Update(ctx, l.tiles, l.step, moves)
	l.step++
	return sums, err
}

// Assign implements Executor.
func (l *Local) Assign(ctx context.Context, m *vector.Model, skip []int32) ([]kernel.Move, error) {
	return l.shard.Assign(ctx, l.tiles, l.step, m, skip)
}

// Distances implements Executor.
func (l *Local) Distances(ctx context.Context, m *vector.Model, points []int32) ([]float64, error) {
	return l.shard.Distances(ctx, l.tiles, m, points)
}

// Scatter implements Executor.
func (l *Local) Scatter(ctx context.Context, m *vector.Model, kind vector.ScatterKind) ([]float64, error) {
	tiles, err := l.shard.Scatter(ctx, l.tiles, l.step, m, kind)
	if err != nil {
		return nil, err
	}
	return AddTiles(tiles, len(l.tiles)), nil
}

// AddTiles adds up the values of several tiles, given one after the other, in tile order.
func AddTiles(values []float64, tiles int) []float64 {
	size := len(values) / tiles
	total := slices.Clone(values[:size])
	for tile := 1; tile < tiles; tile++ {
		for at, v := range values[tile*size : (tile+1)*size] {
			total[at] += v
		}
	}
	return total
}

// Farthest implements Executor.
func (l *Local) Farthest(ctx context.Context, m *vector.Model, skip, counts []int32) (kernel.Candidate, error) {
	return l.shard.Farthest(ctx, l.tiles, l.step, m, skip, counts)
}

// Nearest implements Executor.
func (l *Local) Nearest(ctx context.Context, m *vector.Model) ([]float64, error) {
	return l.shard.Nearest(ctx, l.tiles, m)
}
