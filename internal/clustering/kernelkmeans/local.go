package kernelkmeans

import (
	"context"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// local is an Executor, its Matrix and its Measurer within one process: a shard that holds every tile.
type local struct {
	shard    *kernel.Shard
	tiles    []int
	step     uint64
	clusters int // of each lane of the operands
}

// NewLocal returns an executor within this process, and builds all tiles of the problem.
func NewLocal(ctx context.Context, p *Problem, data dataset.Dataset, threads int) (Executor, error) {
	data, err := p.Units.Apply(data)
	if err != nil {
		return nil, err
	}
	var rows kernel.RowFetcher
	if given, isKernel := data.(*dataset.Kernel); isKernel {
		data = nil
		rows = kernel.GivenRows(given)
	}
	source, err := kernel.NewSource(p.Matrix, data, rows)
	if err != nil {
		return nil, err
	}
	shard := kernel.NewShard(source, threads)
	return OnShard(shard, p.n), shard.Build(ctx, partition.AllTiles(p.n), true)
}

// OnShard returns an executor on a shard that holds all tiles of n rows.
func OnShard(shard *kernel.Shard, n int) Executor {
	return &local{shard: shard, tiles: partition.AllTiles(n)}
}

func (l *local) Matrix() Matrix { return l }

func (l *local) Measure() Measurer { return l }

func (l *local) Degrees(ctx context.Context) ([]float64, error) { return l.shard.Degrees(ctx, l.tiles) }

func (l *local) Maxima(ctx context.Context) ([]float64, error) { return l.shard.Maxima(ctx, l.tiles) }

func (l *local) SetOperands(_ context.Context, a kernel.Operands) error {
	l.clusters = a.K
	return l.shard.SetOperands(a)
}

func (l *local) Diagonal(ctx context.Context) ([]float64, error) {
	return l.shard.Diagonal(ctx, l.tiles)
}

func (l *local) ColumnSums(ctx context.Context, lists [][]int32) ([][]float64, error) {
	return l.shard.ColumnSums(ctx, l.tiles, lists)
}

func (l *local) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	l.step++
	return l.shard.Load(ctx, l.tiles, l.step, labels)
}

func (l *local) Update(ctx context.Context, moves []labeling.Move) ([]kernel.Int128, error) {
	sums, err := l.shard.Update(ctx, l.tiles, l.step, moves)
	l.step++
	return sums, err
}

func (l *local) Assign(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Move, error) {
	return l.shard.Assign(ctx, l.tiles, l.step, stats)
}

func (l *local) Farthest(ctx context.Context, stats []kernel.ClusterStats) ([]labeling.Candidate, error) {
	return l.shard.Farthest(ctx, l.tiles, l.step, stats)
}

func (l *local) Gains(ctx context.Context, stats []kernel.ClusterStats, _ int) ([][]float64, error) {
	return l.shard.Gains(ctx, l.tiles, l.step, stats)
}

func (l *local) Fits(ctx context.Context, stats []kernel.ClusterStats) ([]Fit, error) {
	lists, err := l.shard.Fits(ctx, l.tiles, l.step, stats)
	return NewFits(lists), err
}

func (l *local) Blocks(ctx context.Context, blocks []kernel.Block) ([]BlockSums, error) {
	lists, err := l.shard.Blocks(ctx, l.tiles, l.step, blocks)
	return NewBlockSums(l.clusters, blocks, lists), err
}

func (l *local) Multiply(ctx context.Context, x [][]float64) ([][]float64, error) {
	return l.shard.Multiply(ctx, l.tiles, x)
}
