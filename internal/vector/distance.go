package vector

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/labeling"
	"github.com/cleave-project/cleave/internal/metric"
)

// distance computes the distortion D(x, mu_c) directly: for dense rows from the differences of all features,
// for sparse rows from the distortion of a row of zeros and what the listed features change. An absent
// cluster is infinitely far away. The workspace must not be shared with another thread.
func (t *terms) distance(c int, x *row, w *workspace) float64 {
	if t.place[c] < 0 {
		return math.Inf(1)
	}
	mu := t.centroid(c, len(t.model.Centroids)/t.model.Clusters)
	switch t.model.Distortion {
	case metric.Cosine:
		product := 0.0
		for at, v := range x.values {
			product += float64(v * mu[x.column(at)])
		}
		return max(0, 1-product)
	case metric.KL:
		return t.divergenceKL(c, mu, x)
	case metric.IDivergence:
		sum := t.bias[c]
		for at, v := range x.values {
			if v > 0 {
				sum += float64(v*metric.Log(v/notZero(mu[x.column(at)]))) - v
			}
		}
		return max(0, sum)
	}
	switch {
	case t.form == metric.Full:
		return t.fullDistance(x, mu, w)
	case x.columns != nil:
		return t.sparseDistance(c, x, mu)
	}
	sum := 0.0
	if t.form == metric.Diagonal {
		for f, v := range x.values {
			difference := v - mu[f]
			sum += float64(t.model.Metric[f] * float64(difference*difference))
		}
		return sum
	}
	for f, v := range x.values {
		difference := v - mu[f]
		sum += float64(difference * difference)
	}
	return sum
}

// sparseDistance is |mu|^2 plus, for each listed feature, (x - mu)^2 - mu^2 = x (x - 2 mu), all of them times
// the weights of the features.
func (t *terms) sparseDistance(c int, x *row, mu []float64) float64 {
	sum := t.bias[c]
	for at, f := range x.columns {
		v := x.values[at]
		part := v * (v - 2*mu[f])
		if t.form == metric.Diagonal {
			part = t.model.Metric[f] * float64(part)
		}
		sum += float64(part)
	}
	return max(0, sum)
}

// fullDistance is (x - mu)'A(x - mu), with each row of A in column order.
func (t *terms) fullDistance(x *row, mu []float64, w *workspace) float64 {
	difference, d := w.differenceTo(mu, x), len(mu)
	sum := 0.0
	for i, v := range difference {
		product := 0.0
		for j, a := range t.model.Metric[i*d:][:d] {
			product += float64(a * difference[j])
		}
		sum += float64(v * product)
	}
	return sum
}

// differenceTo computes x - mu in the workspace, for rows without a background.
func (w *workspace) differenceTo(mu []float64, x *row) []float64 {
	w.expanded, w.difference = resized(w.expanded, len(mu)), resized(w.difference, len(mu))
	for f, v := range x.expanded(w.expanded) {
		w.difference[f] = v - mu[f]
	}
	return w.difference
}

// divergenceKL is the sum of p log(p / mu) over the features, where p = x + u and u is the background. It starts
// from the sum for a row of background only, u (d log u - sum of log mu), and adds what each listed value
// changes.
func (t *terms) divergenceKL(c int, mu []float64, x *row) float64 {
	u := x.background
	logU := metric.Log(u)
	sum := u * (float64(float64(len(mu))*logU) + t.weight(c, len(mu)))
	for at, v := range x.values {
		if v > 0 {
			f := x.column(at)
			p := v + u
			sum += float64(p*metric.Log(p/notZero(mu[f]))) - float64(u*(logU+t.weight(c, f)))
		}
	}
	return max(0, sum)
}

// Distances returns the distortions of some points to all clusters, point after point, for those of the points
// (ascending) that are in the given tiles. Absent clusters are infinitely far away.
func (s *Shard) Distances(ctx context.Context, numbers []int, model *Model, points []int32) ([]float64, error) {
	if err := s.checkPoints(points); err != nil {
		return nil, err
	}
	count := func(t *tile) int { return len(within(points, t)) * model.Clusters }
	return s.measure(ctx, numbers, model, count, func(t *tile, w *workspace, dst []float64) {
		for _, i := range within(points, t) {
			x := w.row(int(i) - t.rows.From)
			for c := range model.Clusters {
				dst[c] = s.terms.distance(c, x, w)
			}
			dst = dst[model.Clusters:]
		}
	})
}

// Nearest returns, for every row of the given tiles, the distortion to the nearest of the model's centroids.
func (s *Shard) Nearest(ctx context.Context, numbers []int, model *Model) ([]float64, error) {
	return s.measure(ctx, numbers, model, func(t *tile) int { return t.rows.Len() }, s.nearestDistances)
}

// measure sets a model and computes count values of each of the given tiles, tile after tile.
func (s *Shard) measure(ctx context.Context, numbers []int, model *Model, count func(*tile) int, compute func(t *tile, w *workspace, dst []float64)) ([]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if err := s.setModel(ctx, model, false); err != nil {
		return nil, err
	}
	begin := make([]int, len(tiles)+1)
	for at, t := range tiles {
		begin[at+1] = begin[at] + count(t)
	}
	values := make([]float64, begin[len(tiles)])
	err = s.perTile(ctx, s.threads, tiles, func(at int, t *tile, w *workspace) { compute(t, w, values[begin[at]:begin[at+1]]) })
	return values, err
}

// Farthest finds the point that is farthest from its own centroid; among equals, the lowest point. It leaves
// out clusters of a single point, and the points in skip, which must be ascending. counts are the sizes of the
// clusters over the tiles of all shards.
func (s *Shard) Farthest(ctx context.Context, numbers []int, step uint64, model *Model, skip []int32, counts []int32) (labeling.Candidate, error) {
	tiles, err := s.prepare(ctx, numbers, step, model, skip, false)
	if err != nil {
		return labeling.Candidate{}, err
	}
	if len(counts) != s.clusters {
		return labeling.Candidate{}, fmt.Errorf("vector: %d counts for %d clusters", len(counts), s.clusters)
	}
	for _, w := range s.workspaces.idle {
		w.farthest = labeling.Candidate{}
	}
	err = s.perTile(ctx, s.threads, tiles, func(_ int, t *tile, w *workspace) {
		left, labels := within(skip, t), s.labelsOf(t)
		s.forEachOwnDistance(t, w, func(r int, distance float64) {
			point := int32(t.rows.From + r)
			for len(left) > 0 && left[0] < point {
				left = left[1:]
			}
			if counts[labels[r]] >= 2 && (len(left) == 0 || left[0] != point) {
				w.farthest = w.farthest.Farther(labeling.Candidate{Found: true, Point: point, Distance: distance})
			}
		})
	})
	if err != nil {
		return labeling.Candidate{}, err
	}
	var best labeling.Candidate
	for _, w := range s.workspaces.idle {
		best = best.Farther(w.farthest)
	}
	return best, nil
}
