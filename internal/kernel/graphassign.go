package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// assign compares a row's adjacent clusters and its own. Every other cluster has S_ic = 0, so that its
// distance is just the cluster's square, and the nearest of them comes first in the terms' order. So the
// work for a row depends on how many clusters are adjacent to it, not on k.
func (s *graphSums) assign(moves []labeling.Move, w *workspace) []labeling.Move {
	a := &w.assignment
	if len(a.terms.nonEmpty) == 0 {
		return moves
	}
	for r := range s.used {
		row, own := s.row(r), a.own(r)
		least, ownPart := math.Inf(1), math.NaN()
		if own >= 0 {
			ownPart = a.part(r, own, 0) // replaced below if it is adjacent
			w.place[own] = 1
		}
		for at := range row {
			c := row[at].cluster
			d := a.part(r, c, row[at].sum)
			if c == own {
				ownPart = d
			}
			if d < least {
				least = d
			}
			w.place[c] = 1
		}
		if ownPart < least {
			least = ownPart
		}
		limit := min(least, nearestOther(w.place, a.terms)) + a.tolerance(r)
		if !(ownPart <= limit) {
			if to := lowestWithin(row, r, a, w.place, limit); to >= 0 {
				moves = append(moves, a.move(r, to))
			}
		}
		if own >= 0 {
			w.place[own] = 0
		}
		for at := range row {
			w.place[row[at].cluster] = 0
		}
	}
	return moves
}

// nearestOther returns the least distance of the clusters that are not adjacent: those without a place.
func nearestOther(place []int32, terms *clusterTerms) float64 {
	for _, c := range terms.bySquare {
		if place[c] == 0 {
			return terms.square[c]
		}
	}
	return math.Inf(1)
}

// lowestWithin returns the lowest cluster whose distance is at most limit. The row's own is none of them.
func lowestWithin(row []adjacency, r int, a *assignment, place []int32, limit float64) int32 {
	lowest := int32(-1)
	for at := range row {
		if c := row[at].cluster; (lowest < 0 || c < lowest) && a.part(r, c, row[at].sum) <= limit {
			lowest = c
		}
	}
	filled, least := a.terms.nonEmpty, &a.terms.squareTree
	for at := least.firstAtMost(0, limit); at < len(filled) && (lowest < 0 || filled[at] < lowest); at = least.firstAtMost(at+1, limit) {
		if place[filled[at]] == 0 {
			return filled[at]
		}
	}
	return lowest
}
