package vector

import (
	"context"
	"math"

	"github.com/cleave-project/cleave/internal/parallel"
)

// Nearest returns, for every query and every row of the given tiles, the distortion to the nearest centroid.
func (s *Shard) Nearest(ctx context.Context, numbers []int, queries []Query) ([][]float64, error) {
	return s.measureRows(ctx, numbers, queries, 1,
		func(dst []float64, present []int32, distances []float64, stride int) {
			dst[0] = math.Inf(1)
			for p := range present {
				dst[0] = min(dst[0], distances[p*stride])
			}
		})
}

// PerNearestTwo is the number of values that NearestTwo returns per row.
const PerNearestTwo = 3

// NearestTwo returns PerNearestTwo values for every query and every row of the given tiles: the number of the nearest
// centroid (the lowest of equally near ones), its distortion, and that of the second nearest. A distortion is +Inf if
// there is no such cluster.
func (s *Shard) NearestTwo(ctx context.Context, numbers []int, queries []Query) ([][]float64, error) {
	return s.measureRows(ctx, numbers, queries, PerNearestTwo,
		func(dst []float64, present []int32, distances []float64, stride int) {
			nearest := int32(0)
			first := math.Inf(1)
			second := math.Inf(1)
			for p, c := range present {
				switch distance := distances[p*stride]; {
				case distance < first:
					nearest, first, second = c, distance, first
				case distance < second:
					second = distance
				}
			}
			dst[0], dst[1], dst[2] = float64(nearest), first, second
		})
}

// measureRows computes some values for every query and every row of the given tiles, from the row's distances to the
// present clusters, those that are not absent: that to present[p] is distances[p*stride].
func (s *Shard) measureRows(ctx context.Context, numbers []int, queries []Query, perRow int,
	take func(dst []float64, present []int32, distances []float64, stride int)) ([][]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if err := s.setModels(ctx, queries, false); err != nil {
		return nil, err
	}
	count := func(_ int, t *tile) int { return perRow * t.rows.Len() }
	return s.measure(ctx, tiles, queries, count, func(q int, t *tile, w *workspace, dst []float64) {
		s.eachRow(t, s.terms[q], w, func(r int, distances []float64, stride int) {
			take(dst[r*perRow:][:perRow], s.terms[q].present, distances, stride)
		})
	})
}

// eachRow calls visit with the distances of every row of a tile; see measureRows.
func (s *Shard) eachRow(t *tile, terms *terms, w *workspace, visit func(r int, distances []float64, stride int)) {
	w.scores = parallel.Resized(w.scores, terms.distanceBlocks()*distanceClusters*groupRows)
	if !terms.hasDistanceRoutine(t) {
		for r := range t.rows.Len() {
			x := w.row(r)
			for p, c := range terms.present {
				w.scores[p] = terms.distance(int(c), x, w)
			}
			visit(r, w.scores, 1)
		}
		return
	}
	for g := range t.groups() {
		clear(w.scores)
		s.addDistances(w.scores, t.group(g), 0, s.source.spec.Columns, terms)
		for l := range min(groupRows, t.rows.Len()-g*groupRows) {
			visit(g*groupRows+l, w.scores[l:], groupRows)
		}
	}
}
