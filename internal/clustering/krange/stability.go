package krange

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// stability is how well the clusters come out again when only a part of the data is clustered, in the mean of several
// parts; nil: it is not known, because a part cannot be clustered so.
func (r *run) stability(ctx context.Context, spec clustering.Spec, labels []int32) (*float64, error) {
	values, err := snapshot.Once(ctx, "stability", (*snapshot.Writer).Floats, (*snapshot.Reader).Floats,
		func(ctx context.Context) ([]float64, error) { return r.strengths(snapshot.Without(ctx), spec, labels) })
	if err != nil {
		return nil, err
	}
	return meanStability(values), nil
}

// meanStability is that of all parts; nil: one could not be clustered.
func meanStability(strengths []float64) *float64 {
	mean := 0.0
	for _, v := range strengths {
		if v < 0 {
			return nil
		}
		mean += v / float64(len(strengths))
	}
	return &mean
}

// strengths are those of the labels in each part, -1 where it cannot be clustered.
func (r *run) strengths(ctx context.Context, spec clustering.Spec, labels []int32) ([]float64, error) {
	values := make([]float64, len(r.parts))
	err := parallel.NewPool(r.threads).Run(ctx, r.threads, len(r.parts), func(at int) error {
		p := r.parts[at]
		if values[at] = -1; p.data.Rows() < spec.K {
			return nil
		}
		found, err := r.solver.Small(ctx, r.firstPart+at, p.data, p.spec(spec, len(labels)))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil //nolint:nilerr // as of an algorithm that needs constraints, where the part has none
		}
		of := labels
		if p.rows != nil {
			of = make([]int32, len(p.rows))
			for place, i := range p.rows {
				of[place] = labels[i]
			}
		}
		values[at] = Strength(of, found.Labels, spec.K)
		return nil
	})
	return values, err
}

// Strength is how well two labelings of the same points have each other's clusters: for each cluster of one of them the
// share of its pairs of points that are together in the other, the least of a labeling's clusters, and the mean of the
// two. It is the prediction strength of Tibshirani and Walther (2005), between two answers instead of an answer and a
// prediction. Labels below 0 are those of points in no cluster.
func Strength(a, b []int32, k int) float64 {
	return (leastKept(a, b, k) + leastKept(b, a, k)) / 2
}

// leastKept is the least share of a cluster's pairs that another labeling has together.
func leastKept(of, in []int32, k int) float64 {
	counts, sizes := make([]int64, k*k), make([]int64, k)
	for i, c := range of {
		if c >= 0 && in[i] >= 0 {
			counts[int(c)*k+int(in[i])]++
			sizes[c]++
		}
	}
	least := 1.0
	for c, size := range sizes {
		if size < 2 {
			continue
		}
		together := int64(0)
		for _, count := range counts[c*k : (c+1)*k] {
			together += count * (count - 1)
		}
		least = min(least, float64(together)/float64(size*(size-1)))
	}
	return least
}
