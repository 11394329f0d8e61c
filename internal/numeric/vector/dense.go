package vector

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// places holds, for each row of a group, the index where the values of its cluster begin.
type places [groupRows]int64

// set points each row to its own cluster, and rows without one, or beyond the last row, to none. Clusters are numbered
// starting at first.
func (p *places) set(labels []int32, first int32, perCluster, none int) {
	for l := range p {
		p[l] = int64(none)
		if l < len(labels) && labels[l] >= first {
			p[l] = int64(labels[l]-first) * int64(perCluster)
		}
	}
}

// addMovesDense subtracts the moved rows of a dense tile from the sums of the clusters that they leave, and adds them
// to those that they join, width values each. Clusters are numbered starting at first. sums has an extra place after
// the last cluster for moves from or to no cluster.
func (t *tile) addMovesDense(sums []float64, moves []labeling.Move, first int32) {
	place := func(c int32) int {
		if c < first {
			return len(sums) - t.width
		}
		return int(c-first) * t.width
	}
	var rows, from, to [groupRows]int
	for len(moves) > 0 {
		g := (int(moves[0].Point) - t.rows.From) / groupRows
		count := 0
		for count < len(moves) && (int(moves[count].Point)-t.rows.From)/groupRows == g {
			m := moves[count]
			rows[count], from[count], to[count] = (int(m.Point)-t.rows.From)%groupRows, place(m.From), place(m.To)
			count++
		}
		moves = moves[count:]
		group := t.group(g)
		for f := range t.width {
			of, line := sums[f:], (*[groupRows]float64)(group[f*groupRows:])
			for at := range count {
				v := line[rows[at]%groupRows]
				of[from[at]] -= v
				of[to[at]] += v
			}
		}
	}
}

// nearestDistances computes, for every row of a tile, the distance to the nearest centroid.
func (s *Shard) nearestDistances(t *tile, terms *terms, w *workspace, nearest []float64) {
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
