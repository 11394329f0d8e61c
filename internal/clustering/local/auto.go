package local

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
)

// executors runs the parts of auto in this process.
type executors struct {
	data    dataset.Dataset
	threads int
}

// Executors returns executors for auto within this process.
func Executors(data dataset.Dataset, threads int) auto.Executors { return executors{data, threads} }

// Rows implements auto.Executors.
func (e executors) Rows(ctx context.Context, p *kmeans.Problem) (kmeans.Executor, func(), error) {
	x, err := kmeans.NewLocal(ctx, p, e.data, e.threads)
	return x, func() {}, err
}

// Neighbors implements auto.Executors.
func (e executors) Neighbors(ctx context.Context, units *dataset.Units, count int) ([]int32, error) {
	data, err := units.Apply(e.data)
	if err != nil {
		return nil, err
	}
	search, err := neighbor.NewSearch(data)
	if err != nil {
		return nil, err
	}
	return search.All(ctx, count, e.threads)
}

// Matrix implements auto.Executors.
func (e executors) Matrix(ctx context.Context) (embedding.Multiplier, func(), error) {
	x, err := auto.NewMatrix(ctx, e.data, e.threads)
	return x, func() {}, err
}
