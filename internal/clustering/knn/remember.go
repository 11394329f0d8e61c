package knn

import (
	"context"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// Nearest returns the neighbors of all rows; see Remember.
func (p *Problem) Nearest(ctx context.Context, find func(ctx context.Context) ([]int32, error)) ([]int32, error) {
	return Remember(ctx, p.scaled.Rows(), p.Count, find)
}

// Remember returns count nearest neighbors of each of n rows, from a snapshot or by calling find.
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
