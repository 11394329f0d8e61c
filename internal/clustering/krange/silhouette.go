package krange

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/render/profile"
)

const (
	// mostSilhouettes is the maximum number of rows whose silhouettes are computed, from distances among them.
	mostSilhouettes = 4096
	// There are fewer if rows are long, so that a k takes a fraction of a second.
	leastSilhouettes     = 512
	mostSilhouetteValues = 1 << 28
)

// silhouette returns the mean silhouette of the labels in the space that was clustered.
func (r *run) silhouette(ctx context.Context, result *clustering.Result, k int) (*float64, error) {
	distances, width, err := r.distances(result)
	if err != nil {
		return nil, err
	}
	n := len(result.Labels)
	rows := everyRow(n, max(leastSilhouettes, min(mostSilhouettes, int(math.Sqrt(mostSilhouetteValues/float64(max(1, width)))))))
	mean, err := Silhouette(ctx, rows, result.Labels, k, distances, r.threads)
	return &mean, err
}

// everyRow returns at most most of n rows, evenly spaced.
func everyRow(n, most int) []int32 {
	count := min(n, most)
	rows := make([]int32, count)
	for at := range rows {
		rows[at] = int32(int64(at) * int64(n) / int64(count))
	}
	return rows
}

// Silhouette returns the mean of profile.Silhouette over some rows. Rows with labels below 0 are ignored. All distances
// of a row are requested together.
func Silhouette(ctx context.Context, rows, labels []int32, k int, distances Distances, threads int) (float64, error) {
	var kept []int32
	sizes := make([]int, k)
	for _, i := range rows {
		if c := labels[i]; c >= 0 {
			kept = append(kept, i)
			sizes[c]++
		}
	}
	values := make([]float64, len(kept))
	const block = 64 // rows at a time
	blocks := (len(kept) + block - 1) / block
	err := parallel.NewPool(threads).Run(ctx, threads, blocks, func(b int) error {
		out, sums := make([]float64, len(kept)), make([]float64, k)
		for at := b * block; at < min(len(kept), (b+1)*block); at++ {
			distances(kept[at], kept, out)
			clear(sums)
			for place, j := range kept {
				sums[labels[j]] += out[place]
			}
			values[at] = profile.Silhouette(int(labels[kept[at]]), sums, sizes)
		}
		return ctx.Err()
	})
	if err != nil || len(kept) == 0 {
		return 0, err
	}
	return partition.SumByTile(len(kept), func(at int) float64 { return values[at] }) / float64(len(kept)), nil
}
