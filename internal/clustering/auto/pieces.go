package auto

import (
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
)

// smallPiece is the share of the mean cluster size n/k below which a piece of a graph is left out.
const smallPiece = 0.1

// keepPieces tells which vertices belong to a piece that is large enough to have a part in the eigenvectors. Pieces
// are joined by edges and by must-links; the largest is always kept.
func keepPieces(g *dataset.Graph, k int, set *constraint.Set) []bool {
	of := make([]int32, g.N)
	for i := range of {
		of[i] = -1
	}
	var sizes []int
	var queue []int32
	visit := func(j, piece int32) {
		if of[j] < 0 {
			of[j] = piece
			sizes[piece]++
			queue = append(queue, j)
		}
	}
	for i := range int32(g.N) {
		if of[i] >= 0 {
			continue
		}
		piece := int32(len(sizes))
		sizes = append(sizes, 0)
		for visit(i, piece); len(queue) > 0; {
			v := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			neighbors, weights := g.Row(int(v))
			for at, j := range neighbors {
				if weights[at] != 0 {
					visit(j, piece)
				}
			}
			for _, j := range set.Components().Members(set.Components().Of(v)) {
				visit(j, piece)
			}
		}
	}
	largest := 0
	for _, size := range sizes {
		largest = max(largest, size)
	}
	keep := make([]bool, g.N)
	for i, piece := range of {
		size := sizes[piece]
		keep[i] = size == largest || float64(size) >= float64(smallPiece*float64(g.N)/float64(k))
	}
	return keep
}

// attach gives points without a label (-1) one, must-linked points the same: the cluster that their constraints speak
// for, and among equals the one that most of their labeled neighbors are in, by weight. Points that nothing connects
// prefer the given cluster.
func attach(g *dataset.Graph, labels []int32, k int, set *constraint.Set, otherwise int32) {
	left := withoutLabel(labels, set.Components())
	apart := map[int32][]int32{} // the cannot-linked partners of points without a label
	for _, pair := range set.Pairs() {
		if pair.Kind == constraint.CannotLink && labels[pair.I] < 0 {
			apart[pair.I] = append(apart[pair.I], pair.J)
		}
		if pair.Kind == constraint.CannotLink && labels[pair.J] < 0 {
			apart[pair.J] = append(apart[pair.J], pair.I)
		}
	}
	for final := false; len(left) > 0; {
		var waiting [][]int32
		for _, group := range left {
			known, speak, votes := final, make([]int, k), make([]float64, k)
			for _, i := range set.Components().Members(set.Components().Of(group[0])) {
				if labels[i] >= 0 {
					speak[labels[i]]++
					known = true
				}
			}
			for _, i := range group {
				for _, j := range apart[i] {
					if labels[j] >= 0 {
						speak[labels[j]]--
						known = true
					}
				}
				neighbors, weights := g.Row(int(i))
				for at, j := range neighbors {
					if labels[j] >= 0 && weights[at] > 0 {
						votes[labels[j]] += weights[at]
						known = true
					}
				}
			}
			if !known {
				waiting = append(waiting, group)
				continue
			}
			best := otherwise
			for c := range int32(k) {
				if speak[c] > speak[best] || speak[c] == speak[best] && votes[c] > votes[best] {
					best = c
				}
			}
			for _, i := range group {
				labels[i] = best
			}
		}
		final = len(waiting) == len(left)
		left = waiting
	}
}

// withoutLabel are the points without a label, grouped by must-link components.
func withoutLabel(labels []int32, components *constraint.Components) [][]int32 {
	var groups [][]int32
	for i := range int32(len(labels)) {
		if labels[i] >= 0 {
			continue
		}
		var group []int32
		for _, j := range components.Members(components.Of(i)) {
			if labels[j] < 0 {
				group = append(group, j)
			}
		}
		if group[0] == i {
			groups = append(groups, group)
		}
	}
	return groups
}

// heaviest is the place of the largest value, of equal ones the first.
func heaviest(values []float64) int {
	best := 0
	for at, v := range values {
		if v > values[best] {
			best = at
		}
	}
	return best
}
