package vector

import (
	"context"
	"math"
)

// PerNearestTwo is how many values NearestTwo has for a row.
const PerNearestTwo = 3

// NearestTwo returns, for every query and every row of the given tiles, the number of the nearest centroid, of equally near
// ones the lowest, its distortion, and that of the second nearest. What does not exist is infinitely far away.
func (s *Shard) NearestTwo(ctx context.Context, numbers []int, queries []Query) ([][]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if err := s.setModels(ctx, queries, false); err != nil {
		return nil, err
	}
	count := func(_ int, t *tile) int { return PerNearestTwo * t.rows.Len() }
	return s.measure(ctx, tiles, queries, 1, count, func(q int, t *tile, w *workspace, dst []float64) {
		s.nearestTwo(t, s.terms[q], w, dst)
	})
}

func (s *Shard) nearestTwo(t *tile, terms *terms, w *workspace, dst []float64) {
	for r := 0; r < len(dst); r += PerNearestTwo {
		dst[r], dst[r+1], dst[r+2] = 0, math.Inf(1), math.Inf(1)
	}
	meet := func(row []float64, c int32, distance float64) {
		switch {
		case distance < row[1]:
			row[0], row[1], row[2] = float64(c), distance, row[1]
		case distance < row[2]:
			row[2] = distance
		}
	}
	if !terms.hasDistanceRoutine(t) {
		for r := range t.rows.Len() {
			x := w.row(r)
			for _, c := range terms.present {
				meet(dst[r*PerNearestTwo:][:PerNearestTwo], c, terms.distance(int(c), x, w))
			}
		}
		return
	}
	for from := 0; from < t.rows.Len(); from += groupRows {
		for _, c := range terms.present {
			for l := range w.places {
				w.places[l] = int64(c) * int64(s.source.spec.Columns)
			}
			s.source.routines.distances(&w.lowest, t.group(from/groupRows), &w.places, terms.model.Centroids, terms.featureWeights)
			for l := range min(groupRows, t.rows.Len()-from) {
				row := dst[(from+l)*PerNearestTwo:][:PerNearestTwo]
				if distance := w.lowest[l]; distance < row[2] { // most are not
					meet(row, c, distance)
				}
			}
		}
	}
}
