package bench

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// shardExecutor is an executor on one shard that has every tile: kernelkmeans.Local with a choice whether the
// tiles are stored.
type shardExecutor struct{ *sweeper }

func (e shardExecutor) Degrees(ctx context.Context) ([]float64, error) {
	return e.shard.Degrees(ctx, e.tiles)
}
func (e shardExecutor) Maxima(ctx context.Context) ([]float64, error) {
	return e.shard.Maxima(ctx, e.tiles)
}
func (e shardExecutor) Diagonal(ctx context.Context) ([]float64, error) {
	return e.shard.Diagonal(ctx, e.tiles)
}

func (e shardExecutor) SetOperands(_ context.Context, a kernel.Operands) error {
	return e.shard.SetOperands(a)
}

func (e shardExecutor) ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error) {
	return e.shard.ColumnSums(ctx, e.tiles, lists)
}

func (e shardExecutor) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	e.step++
	return e.shard.Load(ctx, e.tiles, e.step, labels)
}

func (e shardExecutor) Update(ctx context.Context, moves []labeling.Move) ([]kernel.Int128, error) {
	sums, err := e.shard.Update(ctx, e.tiles, e.step, moves)
	e.step++
	return sums, err
}

func (e shardExecutor) Assign(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Move, error) {
	return e.shard.Assign(ctx, e.tiles, e.step, stats)
}

func (e shardExecutor) Farthest(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Candidate, error) {
	return e.shard.Farthest(ctx, e.tiles, e.step, stats)
}

func (e shardExecutor) Fits(ctx context.Context, stats []kernel.ClusterStats) ([][]float64, error) {
	return e.shard.Fits(ctx, e.tiles, e.step, stats)
}

func (e shardExecutor) Gains(ctx context.Context, stats []kernel.ClusterStats) ([][]float64, error) {
	return e.shard.Gains(ctx, e.tiles, e.step, stats)
}

func (e shardExecutor) Blocks(ctx context.Context, blocks []kernel.Block) ([][]float64, error) {
	return e.shard.Blocks(ctx, e.tiles, e.step, blocks)
}

func (e shardExecutor) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	return e.shard.Multiply(ctx, e.tiles, x)
}

var _ kernelkmeans.Executor = shardExecutor{}
