package bench

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/kernel"
)

// whole is an executor over one shard that holds every tile, stored or not. It is clustering.Local
// with a choice of storage.
type whole struct{ *sweeper }

func (w whole) Degrees(ctx context.Context) ([]float64, error) { return w.shard.Degrees(ctx, w.tiles) }
func (w whole) Maxima(ctx context.Context) ([]float64, error)  { return w.shard.Maxima(ctx, w.tiles) }
func (w whole) Diagonal(ctx context.Context) ([]float64, error) {
	return w.shard.Diagonal(ctx, w.tiles)
}

func (w whole) Arm(_ context.Context, a kernel.Armament) error {
	return w.shard.Arm(a)
}

func (w whole) ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error) {
	return w.shard.ColumnSums(ctx, w.tiles, lists)
}

func (w whole) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	w.step++
	return w.shard.Load(ctx, w.tiles, w.step, labels)
}

func (w whole) Update(ctx context.Context, moves []kernel.Move) ([]kernel.Int128, error) {
	sums, err := w.shard.Update(ctx, w.tiles, w.step, moves)
	w.step++
	return sums, err
}

func (w whole) Assign(ctx context.Context, stats []kernel.Stats) ([]kernel.Move, error) {
	return w.shard.Assign(ctx, w.tiles, w.step, stats)
}

func (w whole) Farthest(ctx context.Context, stats []kernel.Stats) ([]kernel.Candidate, error) {
	return w.shard.Farthest(ctx, w.tiles, w.step, stats)
}

func (w whole) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	return w.shard.Multiply(ctx, w.tiles, x)
}

var _ kernelkmeans.Executor = whole{}
