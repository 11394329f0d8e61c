package kernelkmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Local is an Executor within one process: a shard that holds every tile.
type Local struct {
	shard *kernel.Shard
	tiles []int
	step  uint64
}

// NewLocal builds all tiles of a problem.
func NewLocal(ctx context.Context, p *Problem, data dataset.Dataset, threads int) (*Local, error) {
	data, err := p.Units.Apply(data)
	if err != nil {
		return nil, err
	}
	var rows kernel.RowFetcher
	if given, isKernel := data.(*dataset.Kernel); isKernel {
		data, rows = nil, kernel.GivenRows(given)
	}
	source, err := kernel.NewSource(p.Matrix, data, rows)
	if err != nil {
		return nil, err
	}
	l := &Local{shard: kernel.NewShard(source, threads), tiles: partition.AllTiles(p.n)}
	return l, l.shard.Build(ctx, l.tiles, true)
}

// Degrees implements Executor.
func (l *Local) Degrees(ctx context.Context) ([]float64, error) {
	return l.shard.Degrees(ctx, l.tiles)
}

// Maxima implements Executor.
func (l *Local) Maxima(ctx context.Context) ([]float64, error) {
	return l.shard.Maxima(ctx, l.tiles)
}

// SetOperands implements Executor.
func (l *Local) SetOperands(_ context.Context, a kernel.Operands) error {
	return l.shard.SetOperands(a)
}

// Diagonal implements Executor.
func (l *Local) Diagonal(ctx context.Context) ([]float64, error) {
	return l.shard.Diagonal(ctx, l.tiles)
}

// ColumnSums implements Executor.
func (l *Local) ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error) {
	return l.shard.ColumnSums(ctx, l.tiles, lists)
}

// Load implements Executor.
func (l *Local) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	l.step++
	return l.shard.Load(ctx, l.tiles, l.step, labels)
}

// Update implements Executor.
func (l *Local) Update(ctx context.Context, moves []labeling.Move) ([]kernel.Int128, error) {
	sums, err := l.shard.Update(ctx, l.tiles, l.step, moves)
	l.step++
	return sums, err
}

// Assign implements Executor.
func (l *Local) Assign(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Move, error) {
	return l.shard.Assign(ctx, l.tiles, l.step, stats)
}

// Farthest implements Executor.
func (l *Local) Farthest(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Candidate, error) {
	return l.shard.Farthest(ctx, l.tiles, l.step, stats)
}

// Gains implements Executor.
func (l *Local) Gains(ctx context.Context, stats []kernel.ClusterStats, _ int) ([][]float64, error) {
	return l.shard.Gains(ctx, l.tiles, l.step, stats)
}

// Fits implements Executor.
func (l *Local) Fits(ctx context.Context, stats []kernel.ClusterStats) ([][]float64, error) {
	return l.shard.Fits(ctx, l.tiles, l.step, stats)
}

// Blocks implements Executor.
func (l *Local) Blocks(ctx context.Context, blocks []kernel.Block) ([][]float64, error) {
	return l.shard.Blocks(ctx, l.tiles, l.step, blocks)
}

// Multiply implements Executor.
func (l *Local) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	return l.shard.Multiply(ctx, l.tiles, x)
}
