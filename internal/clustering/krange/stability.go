package krange

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// stability returns how well the clusters are found again in parts of the data, as a mean over the parts. It returns
// nil if a part cannot be clustered.
func (r *run) stability(ctx context.Context, spec clustering.Spec, labels []int32) (*float64, error) {
	values, err := snapshot.Once(ctx, "stability", (*snapshot.Writer).Floats, (*snapshot.Reader).Floats,
		func(ctx context.Context) ([]float64, error) { return r.strengths(snapshot.Without(ctx), spec, labels) })
	if err != nil {
		return nil, err
	}
	return meanStability(values), nil
}

// meanStability returns the mean over all parts, nil if one could not be clustered.
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

// strengths returns the prediction strength of the labels in each part, -1 if it cannot be clustered.
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
			return nil //nolint:nilerr // for example, an algorithm needs constraints and the part has none
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

// Strength returns how well two labelings of the same points reproduce each other's clusters. It is the share of pairs
// of a cluster that are together in the other labeling, for the worst cluster of each labeling, averaged over both. It
// is the prediction strength of Tibshirani and Walther (2005), between two answers instead of an answer and a
// prediction. Points with labels below 0 are ignored.
func Strength(a, b []int32, k int) float64 {
	return (leastKept(a, b, k) + leastKept(b, a, k)) / 2
}

// leastKept returns the smallest share, over clusters, of pairs that another labeling keeps together.
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
