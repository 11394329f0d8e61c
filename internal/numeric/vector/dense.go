package vector

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/parallel"
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
			totals, line := sums[f:], (*[groupRows]float64)(group[f*groupRows:])
			for i := range count {
				v := line[rows[i]%groupRows]
				totals[from[i]] -= v
				totals[to[i]] += v
			}
		}
	}
}

// distancesDense computes the distances of some points of a tile to all clusters, point after point. It packs groupRows
// points into a group of their own, as many features at a time as fit into w.unpacked.
func (s *Shard) distancesDense(dst []float64, t *tile, points []int32, terms *terms, w *workspace) {
	columns := s.source.spec.Columns
	most := max(1, unpackedRows*t.width/groupRows)
	for some := range slices.Chunk(points, groupRows) {
		w.scores = parallel.Resized(w.scores, terms.distanceBlocks()*distanceClusters*groupRows)
		clear(w.scores)
		for from := 0; from < columns; from += most {
			features := min(most, columns-from)
			s.addDistances(w.scores, w.pack(some, from, features), from, features, terms)
		}
		for r := range some {
			for c, place := range terms.place {
				dst[c] = math.Inf(1)
				if place >= 0 {
					dst[c] = w.scores[int(place)*groupRows+r]
				}
			}
			dst = dst[len(terms.place):]
		}
	}
}

// distanceBlocks returns the number of blocks of clusters that distances are computed for.
func (t *terms) distanceBlocks() int {
	return (len(t.present) + distanceClusters - 1) / distanceClusters
}

// addDistances adds some features to the distances of a group of rows to the clusters that are not absent, by place.
func (s *Shard) addDistances(distances, rows []float64, from, features int, terms *terms) {
	d := s.source.spec.Columns
	for block := range terms.distanceBlocks() {
		var at [distanceClusters]int
		for c := range at {
			place := min(block*distanceClusters+c, len(terms.present)-1)
			at[c] = int(terms.present[place])*d + from
		}
		s.source.routines.distanceBlock(distances[block*distanceClusters*groupRows:], rows, &at, terms.model.Centroids,
			terms.featureWeights[from:][:features])
	}
}
