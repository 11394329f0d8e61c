package krange

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/snapshot"
)

const (
	// beyondCloud is how much more stable two clusters must be than those of a cloud without clusters.
	beyondCloud = 0.05
	// cloudTerms is the number of rows that are summed to a row of a cloud.
	cloudTerms = 32
)

// compareWithCloud marks a proposal of two clusters as unsure if they are hardly more stable than the halves of a
// single normal distribution with the covariance of the data, because an elongated cloud is always cut across its
// length. Three or more clusters of a cloud are not stable.
func (r *run) compareWithCloud(ctx context.Context, h *clustering.KSelection, part string) error {
	points, dense := r.origin.Data.(*dataset.Points)
	if h.Proposed != 2 || h.Confidence == clustering.Unsure || r.folds != nil || !dense || ctx.Err() != nil {
		return nil
	}
	two := h.Scores[2-h.Min]
	found, err := snapshot.Once(snapshot.Within(ctx, "cloud"), "stability", (*snapshot.Writer).Floats, (*snapshot.Reader).Floats,
		func(ctx context.Context) ([]float64, error) { return r.cloudStability(snapshot.Without(ctx), points) })
	if err != nil || len(found) == 0 || stabilityOf(two) >= found[0]+beyondCloud {
		return err
	}
	h.Confidence = clustering.Unsure
	h.Reason = fmt.Sprintf("%s, but so do the halves of a cloud of the same shape without clusters (%.2f): there may be no clusters", reappears(two, part), found[0])
	return nil
}

// cloudStability returns the stability of two clusters of a cloud, or nothing if the cloud cannot be clustered.
func (r *run) cloudStability(ctx context.Context, points *dataset.Points) ([]float64, error) {
	spec := withK(r.origin.Spec, 2)
	spec.Constraints, spec.Seeds = nil, nil
	rng := spec.Random(clustering.StreamCloud)
	data := cloud(points, min(points.N, 2*maxRows), rng)
	cloud := &run{origin: Job{data, spec}, solver: r.solver, threads: r.threads, firstPart: len(r.parts) + 1}
	whole, err := r.solver.Small(ctx, len(r.parts), data, spec, r.threads)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, nil //nolint:nilerr // for example, weights are those of the rows of the data
	}
	if cloud.parts, err = newParts(data, spec); err != nil {
		return nil, err
	}
	values, err := cloud.strengths(ctx, spec, whole.Labels)
	if err != nil {
		return nil, err
	}
	if mean := meanStability(values); mean != nil {
		return []float64{*mean}, nil
	}
	return nil, nil
}

// cloud draws rows from a normal distribution with the mean and covariance of points. Each is a sum of centered rows
// with random signs.
func cloud(p *dataset.Points, rows int, rng *rand.Rand) *dataset.Points {
	mean := make([]float64, p.D)
	for i := range p.N {
		for f, v := range p.Row(i) {
			mean[f] += v / float64(p.N)
		}
	}
	drawn := &dataset.Points{N: rows, D: p.D, Values: make([]float64, rows*p.D)}
	scale := 1 / math.Sqrt(cloudTerms)
	for i := range rows {
		row := drawn.Row(i)
		for range cloudTerms {
			sign := float64(1 - 2*rng.IntN(2))
			for f, v := range p.Row(rng.IntN(p.N)) {
				row[f] += float64(sign * (v - mean[f]))
			}
		}
		for f := range row {
			row[f] = mean[f] + float64(scale*row[f])
		}
	}
	return drawn
}
