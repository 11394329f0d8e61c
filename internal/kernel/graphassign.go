package kernel

import (
	"math"

	"github.com/cleave-project/cleave/internal/labeling"
)

// assign looks at a row's adjacent clusters and its own; for every other cluster S_ic = 0, so that
// its distance is the cluster's square and the nearest of them comes first in the terms' order.
// A row takes as many steps as it has adjacent clusters, whatever k.
func (s *graphSums) assign(moves []labeling.Move, w *workspace) []labeling.Move {
	a := &w.assignment
	if len(a.terms.nonEmpty) == 0 {
		return moves
	}
	for r := range s.used {
		row, own := s.row(r), a.own(r)
		least, ownPart := math.Inf(1), math.NaN()
		if own >= 0 {
			ownPart = a.part(r, own, 0) // unless it is adjacent
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

// nearestOther is the least distance of the clusters that are not adjacent, which have no place.
func nearestOther(place []int32, terms *clusterTerms) float64 {
	for _, c := range terms.bySquare {
		if place[c] == 0 {
			return terms.square[c]
		}
	}
	return math.Inf(1)
}

// lowestWithin is the lowest cluster whose distance is at most limit, where the row's own is not.
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
