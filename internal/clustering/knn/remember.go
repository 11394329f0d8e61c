package knn

import (
	"context"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// Nearest finds the nearest neighbors of all rows, once.
func (p *Problem) Nearest(ctx context.Context, find func(ctx context.Context) ([]int32, error)) ([]int32, error) {
	return Remember(ctx, p.scaled.Rows(), p.Count, find)
}

// Remember finds the nearest neighbors of n rows, so many for each, once: an earlier process may have found them.
func Remember(ctx context.Context, n, count int, find func(ctx context.Context) ([]int32, error)) ([]int32, error) {
	return snapshot.Once(ctx, "neighbors", (*snapshot.Writer).Int32s, func(r *snapshot.Reader) []int32 {
		nearest := r.Int32s()
		r.Check(len(nearest) == n*count)
		for _, i := range nearest {
			r.Check(i >= 0 && int(i) < n)
		}
		return nearest
	}, find)
}
