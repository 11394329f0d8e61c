package vector

import (
	"math"

	"github.com/cleave-project/cleave/internal/metric"
)

// places says, for each row of a group, where the values of a cluster begin among those of all clusters.
type places [groupRows]int64

// set points each row to its own cluster, and rows without one, or beyond the last row, to none.
func (p *places) set(labels []int32, perCluster, none int) {
	for l := range p {
		p[l] = int64(none)
		if l < len(labels) && labels[l] >= 0 {
			p[l] = int64(labels[l]) * int64(perCluster)
		}
	}
}

// addDense adds the rows of a dense tile to the sums of their clusters, width values each. Rows without a
// cluster are added to an extra place after the last cluster.
func (t *tile) addDense(sums []float64, labels []int32) {
	var at places
	for from := 0; from < len(labels); from += groupRows {
		group := t.group(from / groupRows)
		at.set(labels[from:], t.width, len(sums)-t.width)
		for f := range t.width {
			of := sums[f:]
			for l, v := range (*[groupRows]float64)(group[f*groupRows:]) {
				of[at[l]] += v
			}
		}
	}
}

// hasDistanceRoutine tells whether there is SIMD code for the distances of a tile's rows to single centroids.
func (t *terms) hasDistanceRoutine(of *tile) bool {
	return of.packed != nil && t.model.Distortion == metric.SquaredEuclidean && t.form != metric.Full
}

// forEachOwnDistance calls do with the distance of each row of a tile to its own centroid, in row order. Rows
// whose cluster is absent, or that have none, are left out.
func (s *Shard) forEachOwnDistance(t *tile, w *workspace, do func(r int, distance float64)) {
	labels, terms := s.labelsOf(t), &s.terms
	counts := func(c int32) bool { return c >= 0 && terms.place[c] >= 0 }
	if !terms.hasDistanceRoutine(t) {
		for r, c := range labels {
			if counts(c) {
				do(r, terms.distance(int(c), w.row(r), w))
			}
		}
		return
	}
	for from := 0; from < len(labels); from += groupRows {
		rows := labels[from:min(from+groupRows, len(labels))]
		w.places.set(rows, s.source.spec.Columns, 0)
		s.source.routines.distances(&w.lowest, t.group(from/groupRows), &w.places, terms.model.Centroids, terms.featureWeights)
		for l, c := range rows {
			if counts(c) {
				do(from+l, w.lowest[l])
			}
		}
	}
}

// nearestDistances computes, for every row of a tile, the distance to the nearest centroid.
func (s *Shard) nearestDistances(t *tile, w *workspace, nearest []float64) {
	terms := &s.terms
	for r := range nearest {
		nearest[r] = math.Inf(1)
	}
	if !terms.hasDistanceRoutine(t) {
		for r := range nearest {
			x := w.row(r)
			for _, c := range terms.present {
				nearest[r] = min(nearest[r], terms.distance(int(c), x, w))
			}
		}
		return
	}
	for from := 0; from < len(nearest); from += groupRows {
		rows := nearest[from:min(from+groupRows, len(nearest))]
		for _, c := range terms.present {
			for l := range w.places {
				w.places[l] = int64(c) * int64(s.source.spec.Columns)
			}
			s.source.routines.distances(&w.lowest, t.group(from/groupRows), &w.places, terms.model.Centroids, terms.featureWeights)
			for l := range rows {
				rows[l] = min(rows[l], w.lowest[l])
			}
		}
	}
}
