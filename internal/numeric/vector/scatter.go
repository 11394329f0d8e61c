package vector

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/parallel"
)

// ScatterKind selects a sum over the labeled points and their own centroids.
type ScatterKind uint8

// The kinds of scatter. The last two are for squared Euclidean distances.
const (
	Total    ScatterKind = iota + 1 // the sum of D(x, mu): one value
	Diagonal                        // the sum of (x_f - mu_f)^2: one value per feature
	Full                            // the sum of (x - mu)(x - mu)': one value per pair of features
)

// Size returns the number of values of a scatter over d features.
func (k ScatterKind) Size(d int) int {
	switch k {
	case Diagonal:
		return d
	case Full:
		return d * d
	}
	return 1
}

// Scatter returns, for every query, the sums over each of the given tiles, tile after tile. A tile is summed in row
// order. The sums are rounded, so the caller must add them up in tile order. Points of absent clusters do not count. A
// full scatter of many features is large: ask for a few tiles at a time.
func (s *Shard) Scatter(ctx context.Context, numbers []int, step uint64, queries []Query) ([][]float64, error) {
	tiles, err := s.prepare(ctx, numbers, step, queries, false)
	if err != nil {
		return nil, err
	}
	var totals []Query
	for _, q := range queries {
		if q.Kind < Total || q.Kind > Full || q.Kind != Total && q.Model.Distortion != metric.SquaredEuclidean {
			return nil, fmt.Errorf("vector: distortion %s has no scatter %d", q.Model.Distortion, q.Kind)
		}
		if q.Kind == Total {
			totals = append(totals, q)
		}
	}
	s.rememberModels(totals)
	count := func(q int, _ *tile) int { return queries[q].Kind.Size(s.source.spec.Columns) }
	return s.measure(ctx, tiles, queries, count, func(at int, t *tile, w *workspace, dst []float64) {
		switch q := queries[at]; {
		case q.Kind == Full:
			s.addFull(dst, t, q.Lane, s.terms[at], w)
		case q.Kind == Diagonal && t.packed == nil:
			s.addSparseDiagonal(dst, t, q.Lane, s.terms[at], w)
		case q.Kind == Diagonal:
			s.addDiagonal(dst, t, q.Lane, s.terms[at])
		default:
			dst[0] = s.addOwnDistances(t, q.Lane, s.terms[at], w)
		}
	})
}

// addDiagonal adds group by group, feature by feature, each in row order. It processes four features at a time, because
// every sum is a chain of additions that wait for each other.
func (s *Shard) addDiagonal(dst []float64, t *tile, lane int, terms *terms) {
	first := s.firstCluster(lane)
	labels := s.labelsOf(t, lane)
	d := len(dst)
	var rows, at [groupRows]int // rows that count, and where their centroids begin
	for g := range t.groups() {
		count := 0
		for l, c := range labels[g*groupRows : min((g+1)*groupRows, len(labels))] {
			c -= first
			if c >= 0 && terms.place[c] >= 0 {
				rows[count], at[count] = l, int(c)*d
				count++
			}
		}
		group := t.group(g)
		f := 0
		for ; f+4 <= d; f += 4 {
			a, b, c, e := dst[f], dst[f+1], dst[f+2], dst[f+3]
			for i := range count {
				x := group[f*groupRows+rows[i]:]
				mu := terms.model.Centroids[at[i]+f:][:4]
				v, w, y, z := x[0]-mu[0], x[groupRows]-mu[1], x[2*groupRows]-mu[2], x[3*groupRows]-mu[3]
				a, b, c, e = a+float64(v*v), b+float64(w*w), c+float64(y*y), e+float64(z*z)
			}
			dst[f], dst[f+1], dst[f+2], dst[f+3] = a, b, c, e
		}
		for ; f < d; f++ {
			for i := range count {
				difference := group[f*groupRows+rows[i]] - terms.model.Centroids[at[i]+f]
				dst[f] += float64(difference * difference)
			}
		}
	}
}

// addSparseDiagonal adds (x - mu)^2 - mu^2 = x (x - 2 mu) for the listed features row by row, and then mu^2 times
// the number of points for each cluster, so that the work per point does not depend on the number of features.
func (s *Shard) addSparseDiagonal(dst []float64, t *tile, lane int, terms *terms, w *workspace) {
	first := s.firstCluster(lane)
	w.counts = parallel.Resized(w.counts, s.clusters)
	clear(w.counts)
	for r, c := range s.labelsOf(t, lane) {
		c -= first
		if c < 0 || terms.place[c] < 0 {
			continue
		}
		w.counts[c]++
		x := w.row(r)
		mu := terms.centroid(int(c), len(dst))
		for i, f := range x.columns {
			v := x.values[i]
			dst[f] += float64(v * (v - 2*mu[f]))
		}
	}
	for c, count := range w.counts {
		if count == 0 {
			continue
		}
		for f, v := range terms.centroid(c, len(dst)) {
			dst[f] += float64(float64(count) * float64(v*v))
		}
	}
	for f, v := range dst {
		dst[f] = max(0, v)
	}
}

// addFull adds the outer products of the differences between rows and their centroids to the lower triangle of dst.
func (s *Shard) addFull(dst []float64, t *tile, lane int, terms *terms, w *workspace) {
	first := s.firstCluster(lane)
	d := s.source.spec.Columns
	for r, c := range s.labelsOf(t, lane) {
		c -= first
		if c < 0 || terms.place[c] < 0 {
			continue
		}
		x := w.row(r)
		difference := w.differenceTo(terms.centroid(int(c), d), x)
		for i, v := range difference {
			line := dst[i*d:][:i+1]
			for j, u := range difference[:i+1] {
				line[j] += float64(v * u)
			}
		}
	}
	for i := range d {
		for j := range i {
			dst[j*d+i] = dst[i*d+j]
		}
	}
}

// centroid returns mu_c, of d features.
func (t *terms) centroid(c, d int) []float64 { return t.model.Centroids[c*d:][:d] }
