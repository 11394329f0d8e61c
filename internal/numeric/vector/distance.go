package vector

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/parallel"
)

// distance returns the distortion D(x, mu_c): for dense rows computed from the differences of all features, for sparse
// rows from the distortion of a row of zeros and what the listed features change. It returns +Inf for an absent
// cluster. w must not be used by another goroutine.
func (t *terms) distance(c int, x *row, w *workspace) float64 {
	if t.place[c] < 0 {
		return math.Inf(1)
	}
	mu := t.centroid(c, len(t.model.Centroids)/t.model.Clusters)
	switch t.model.Distortion {
	case metric.Cosine:
		product := 0.0
		for i, v := range x.values {
			product += float64(v * mu[x.column(i)])
		}
		return max(0, 1-product)
	case metric.KL:
		return t.divergenceKL(c, mu, x)
	case metric.IDivergence:
		sum := t.bias[c]
		for i, v := range x.values {
			if v > 0 {
				sum += float64(v*elementary.Log(v/notZero(mu[x.column(i)]))) - v
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
	if t.form != metric.Diagonal {
		return metric.SquaredDistance(x.values, mu)
	}
	sum := 0.0
	for f, v := range x.values {
		difference := v - mu[f]
		sum += float64(t.model.Metric[f] * float64(difference*difference))
	}
	return sum
}

// sparseDistance returns |mu|^2 plus, for each listed feature, (x - mu)^2 - mu^2 = x (x - 2 mu), with all terms
// multiplied by the feature weights.
func (t *terms) sparseDistance(c int, x *row, mu []float64) float64 {
	sum := t.bias[c]
	for i, f := range x.columns {
		v := x.values[i]
		part := v * (v - 2*mu[f])
		if t.form == metric.Diagonal {
			part = t.model.Metric[f] * float64(part)
		}
		sum += float64(part)
	}
	return max(0, sum)
}

// fullDistance returns (x - mu)'A(x - mu), with each row of A in column order.
func (t *terms) fullDistance(x *row, mu []float64, w *workspace) float64 {
	difference := w.differenceTo(mu, x)
	d := len(mu)
	sum := 0.0
	for i, v := range difference {
		sum += float64(v * elementary.Dot(t.model.Metric[i*d:][:d], difference))
	}
	return sum
}

// differenceTo returns x - mu in w.difference. x must not have a background.
func (w *workspace) differenceTo(mu []float64, x *row) []float64 {
	w.expanded = parallel.Resized(w.expanded, len(mu))
	w.difference = parallel.Resized(w.difference, len(mu))
	for f, v := range x.expanded(w.expanded) {
		w.difference[f] = v - mu[f]
	}
	return w.difference
}

// divergenceKL returns the sum of p log(p / mu) over the features, where p = x + u and u is the background. It starts
// from the sum for a row of background only, u (d log u - sum of log mu), and adds what each listed value changes.
func (t *terms) divergenceKL(c int, mu []float64, x *row) float64 {
	u := x.background
	logU := elementary.Log(u)
	sum := u * (float64(float64(len(mu))*logU) + t.weight(c, len(mu)))
	for i, v := range x.values {
		if v > 0 {
			f := x.column(i)
			p := v + u
			sum += float64(p*elementary.Log(p/notZero(mu[f]))) - float64(u*(logU+t.weight(c, f)))
		}
	}
	return max(0, sum)
}

// Distances returns, for every query, the distortions of its Points that lie in the given tiles to all clusters, point
// after point. Absent clusters are infinitely far away.
func (s *Shard) Distances(ctx context.Context, numbers []int, queries []Query) ([][]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	for _, q := range queries {
		if err := s.checkPoints(q.Points); err != nil {
			return nil, err
		}
	}
	if err := s.setModels(ctx, queries, false); err != nil {
		return nil, err
	}
	count := func(q int, t *tile) int { return len(t.pointsOf(queries[q].Points)) * queries[q].Model.Clusters }
	return s.measure(ctx, tiles, queries, count, func(q int, t *tile, w *workspace, dst []float64) {
		terms, points := s.terms[q], t.pointsOf(queries[q].Points)
		if terms.hasDistanceRoutine(t) {
			s.distancesDense(dst, t, points, terms, w)
			return
		}
		for _, i := range points {
			x := w.row(int(i) - t.rows.From)
			for c := range terms.model.Clusters {
				dst[c] = terms.distance(c, x, w)
			}
			dst = dst[terms.model.Clusters:]
		}
	})
}

// Farthest returns, for every query, the point that is farthest from its own centroid. Ties go to the lowest point. It
// ignores clusters of a single point and the query's Points.
func (s *Shard) Farthest(ctx context.Context, numbers []int, step uint64,
	queries []Query) ([]labeling.Candidate, error) {
	tiles, err := s.prepare(ctx, numbers, step, queries, false)
	if err != nil {
		return nil, err
	}
	for _, q := range queries {
		if len(q.Counts) != s.clusters {
			return nil, fmt.Errorf("vector: Counts has %d entries, want %d", len(q.Counts), s.clusters)
		}
	}
	s.rememberModels(queries)
	byTile := make([]labeling.Candidate, len(tiles)*len(queries))
	err = s.perTile(ctx, tiles, len(queries), func(at int, t *tile, w *workspace) {
		for number, q := range queries {
			best, left, labels := &byTile[at*len(queries)+number], t.pointsOf(q.Points), s.labelsOf(t, q.Lane)
			for r, distance := range s.ownDistances(t, q.Lane, s.terms[number], w) {
				point := int32(t.rows.From + r)
				if len(left) > 0 && left[0] == point {
					left = left[1:]
				} else if !math.IsInf(distance, 1) && q.Counts[labels[r]-s.firstCluster(q.Lane)] >= 2 {
					*best = best.Farther(labeling.Candidate{Found: true, Point: point, Distance: distance})
				}
			}
		}
	})
	farthest := make([]labeling.Candidate, len(queries))
	for at, found := range byTile {
		farthest[at%len(queries)] = farthest[at%len(queries)].Farther(found)
	}
	return farthest, err
}
