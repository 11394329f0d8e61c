package vector

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/metric"
)

// ScatterKind says which sum over the labeled points and their own centroids is wanted.
type ScatterKind uint8

// The kinds of scatter. The last two are for squared Euclidean distances.
const (
	Total    ScatterKind = iota + 1 // the sum of D(x, mu): one value
	Diagonal                        // the sum of (x_f - mu_f)^2: one value per feature
	Full                            // the sum of (x - mu)(x - mu)': one value per pair of features
)

// size is the number of values of a scatter of d features.
func (k ScatterKind) size(d int) int {
	switch k {
	case Diagonal:
		return d
	case Full:
		return d * d
	}
	return 1
}

// Scatter sums each of the given tiles in row order, and returns the sums tile after tile. They are rounded, so
// that the caller has to add them up in tile order. Points of absent clusters do not count. A full scatter of
// many features is large: ask for a few tiles at a time.
func (s *Shard) Scatter(ctx context.Context, numbers []int, step uint64, model *Model, kind ScatterKind) ([]float64, error) {
	tiles, err := s.prepare(ctx, numbers, step, model, nil, false)
	if err != nil {
		return nil, err
	}
	if kind < Total || kind > Full || kind != Total && model.Distortion != metric.SquaredEuclidean {
		return nil, fmt.Errorf("vector: distortion %s has no scatter %d", model.Distortion, kind)
	}
	size := kind.size(s.source.spec.Columns)
	sums := make([]float64, len(tiles)*size)
	err = s.perTile(ctx, s.threads, tiles, func(at int, t *tile, w *workspace) {
		dst := sums[at*size:][:size]
		switch {
		case kind == Full:
			s.addFull(dst, t, w)
		case kind == Diagonal && t.packed == nil:
			s.addSparseDiagonal(dst, t, w)
		case kind == Diagonal:
			s.addDiagonal(dst, t, w)
		default:
			s.addTotal(dst, t, w)
		}
	})
	return sums, err
}

func (s *Shard) addTotal(dst []float64, t *tile, w *workspace) {
	s.forEachOwnDistance(t, w, func(_ int, distance float64) { dst[0] += distance })
}

func (s *Shard) addDiagonal(dst []float64, t *tile, w *workspace) {
	for r, c := range s.labelsOf(t) {
		if c < 0 || s.terms.place[c] < 0 {
			continue
		}
		x, mu := w.row(r), s.terms.centroid(int(c), len(dst))
		for f, v := range x.values {
			difference := v - mu[f]
			dst[f] += float64(difference * difference)
		}
	}
}

// addSparseDiagonal adds (x - mu)^2 - mu^2 = x (x - 2 mu) for the listed features row by row, and then mu^2 times
// the number of points for each cluster, so that the work per point does not depend on the number of features.
func (s *Shard) addSparseDiagonal(dst []float64, t *tile, w *workspace) {
	w.counts = resized(w.counts, s.clusters)
	clear(w.counts)
	for r, c := range s.labelsOf(t) {
		if c < 0 || s.terms.place[c] < 0 {
			continue
		}
		w.counts[c]++
		x, mu := w.row(r), s.terms.centroid(int(c), len(dst))
		for at, f := range x.columns {
			v := x.values[at]
			dst[f] += float64(v * (v - 2*mu[f]))
		}
	}
	for c, count := range w.counts {
		if count == 0 {
			continue
		}
		for f, v := range s.terms.centroid(c, len(dst)) {
			dst[f] += float64(float64(count) * float64(v*v))
		}
	}
	for f, v := range dst {
		dst[f] = max(0, v)
	}
}

func (s *Shard) addFull(dst []float64, t *tile, w *workspace) {
	d := s.source.spec.Columns
	for r, c := range s.labelsOf(t) {
		if c < 0 || s.terms.place[c] < 0 {
			continue
		}
		x := w.row(r)
		difference := w.differenceTo(s.terms.centroid(int(c), d), x)
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
