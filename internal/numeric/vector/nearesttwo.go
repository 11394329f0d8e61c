package vector

import (
	"context"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// PerNearestTwo is the number of values that NearestTwo returns per row.
const PerNearestTwo = 3

// NearestTwo returns PerNearestTwo values for every query and every row of the given tiles: the number of the nearest
// centroid (the lowest of equally near ones), its distortion, and that of the second nearest. A distortion is +Inf if
// there is no such cluster.
func (s *Shard) NearestTwo(ctx context.Context, numbers []int, queries []Query) ([][]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	byScores := slices.ContainsFunc(queries, func(q Query) bool { return s.distancesFollowScores(q.Model) })
	if err := s.setModels(ctx, queries, byScores); err != nil {
		return nil, err
	}
	count := func(_ int, t *tile) int { return PerNearestTwo * t.rows.Len() }
	return s.measure(ctx, tiles, queries, count, func(q int, t *tile, w *workspace, dst []float64) {
		s.nearestTwo(t, s.terms[q], w, dst)
	})
}

// distancesFollowScores reports whether roundingOf bounds the rounding errors of the model's scores and distances.
func (s *Shard) distancesFollowScores(m *Model) bool {
	return !s.source.sparse && m.Distortion == metric.SquaredEuclidean && m.form(s.source.spec.Columns) != metric.Full &&
		!slices.ContainsFunc(m.Metric, func(weight float64) bool { return weight < 0 })
}

func (s *Shard) nearestTwo(t *tile, terms *terms, w *workspace, dst []float64) {
	if len(terms.present) > 1 && s.distancesFollowScores(&terms.model) {
		s.nearestTwoByScores(t, terms, w, dst)
		return
	}
	for r := range t.rows.Len() {
		terms.nearestTwo(dst[r*PerNearestTwo:][:PerNearestTwo], w.row(r), w)
	}
}

// nearestTwo computes a row's result from its distances to all clusters.
func (t *terms) nearestTwo(dst []float64, x *row, w *workspace) {
	dst[0], dst[1], dst[2] = 0, math.Inf(1), math.Inf(1)
	for _, c := range t.present {
		switch distance := t.distance(int(c), x, w); {
		case distance < dst[1]:
			dst[0], dst[1], dst[2] = float64(c), distance, dst[1]
		case distance < dst[2]:
			dst[2] = distance
		}
	}
}

// roundingOf bounds the rounding errors of scores and distances over d features, relative to the size of the terms they
// are computed from: each is a chain of about d additions.
func roundingOf(d int) float64 { return 0x1p-48 * float64(d+8) }

// takeLeast finds the smallest score of each row of a group among the first clusters places, and the place of its
// cluster. It sets that score to +Inf, so that the next call finds the next one.
func (w *workspace) takeLeast(routines *routines, clusters int, least *[groupRows]float64, places *[groupRows]int32) {
	routines.extremes(least, &w.highest, w.scores)
	for r, score := range least {
		at := r
		for w.scores[at] != score && at+groupRows < clusters*groupRows { // a NaN equals nothing, so stop at the end
			at += groupRows
		}
		w.scores[at], places[r] = math.Inf(1), int32(at/groupRows)
	}
}

// nearestTwoByScores finds the two nearest clusters by score, which takes a fraction of the time, and computes only
// their distances. A score is a distance minus |x|^2, up to rounding. If the third score does not exceed the second by
// more than the rounding error, it compares all distances instead.
func (s *Shard) nearestTwoByScores(t *tile, terms *terms, w *workspace, dst []float64) {
	columns := s.source.spec.Columns
	var places [groupRows]int32
	var clusters [2][groupRows]int32
	var scores, distances [2][groupRows]float64
	for g := range t.groups() {
		group := t.group(g)
		w.scoreGroup(&s.source.routines, group, terms)
		for at := len(terms.present) * groupRows; at < len(w.scores); at++ {
			w.scores[at] = math.Inf(1) // padding of the last block
		}
		for at := range clusters {
			w.takeLeast(&s.source.routines, len(terms.present), &scores[at], &places)
			for r, p := range places {
				clusters[at][r] = terms.present[p]
				w.places[r] = int64(terms.present[p]) * int64(columns)
			}
			s.source.routines.distances(&distances[at], group, &w.places, terms.model.Centroids, terms.featureWeights)
		}
		s.source.routines.extremes(&w.lowest, &w.highest, w.scores)
		for r := range min(groupRows, t.rows.Len()-g*groupRows) {
			row := dst[(g*groupRows+r)*PerNearestTwo:][:PerNearestTwo]
			c, near, next := clusters[0][r], distances[0][r], distances[1][r]
			// |x|^2 <= 2 |x - mu|^2 + 2 |mu|^2
			if doubt := roundingOf(columns) * (2*near + float64(3*terms.maxBias)); !(w.lowest[r]-scores[1][r] > doubt) {
				terms.nearestTwo(row, w.row(g*groupRows+r), w)
				continue
			}
			if other := clusters[1][r]; next < near || next == near && other < c {
				c, near, next = other, next, near
			}
			row[0], row[1], row[2] = float64(c), near, next
		}
	}
}
