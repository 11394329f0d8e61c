// Package component splits a graph that is not connected into its components. It decides which components are large
// enough to be clustered by eigenvectors of their own, and which cluster the vertices of the others join.
package component

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Pieces holds the connected components of a graph, numbered by their lowest vertices.
type Pieces struct {
	Piece []int32 // the piece of each vertex
	Size  []int   // the number of vertices of each piece
	// Bound reports for each piece whether an edge joins two of its vertices that must-links do not. A vertex without
	// edges other than a loop is a piece that is not bound.
	Bound []bool
}

// Count returns the number of pieces.
func (p Pieces) Count() int { return len(p.Size) }

// Find finds the pieces of a graph. Vertices of the same must-link component count as connected; together may be nil.
// Edges of weight 0 or of a magnitude below least are ignored.
func Find(g *dataset.Graph, together *constraint.Components, least float64) Pieces {
	p := Pieces{Piece: slices.Repeat([]int32{-1}, g.N)}
	var queue []int32
	for i := range g.N {
		if p.Piece[i] >= 0 {
			continue
		}
		number := int32(p.Count())
		p.Size = append(p.Size, 0)
		p.Bound = append(p.Bound, false)
		visit := func(v int32) {
			if p.Piece[v] < 0 {
				p.Piece[v] = number
				p.Size[number]++
				queue = append(queue, v)
			}
		}
		for visit(int32(i)); len(queue) > 0; {
			v := queue[len(queue)-1]
			queue = queue[:len(queue)-1]
			if together != nil {
				if members := together.Members(together.Of(v)); members[0] == v || p.Piece[members[0]] < 0 {
					for _, u := range members {
						visit(u)
					}
				}
			}
			neighbors, weights := g.Row(int(v))
			for at, u := range neighbors {
				if w := weights[at]; w == 0 || max(w, -w) < least {
					continue
				}
				visit(u)
				if u != v && (together == nil || together.Of(u) != together.Of(v)) {
					p.Bound[number] = true
				}
			}
		}
	}
	return p
}

// smallShare is the share of the mean cluster size, n/k, below which a piece is small.
const smallShare = 0.1

// Included reports which pieces take part in an eigenproblem for k clusters. Small pieces do not: each has an
// eigenvector of its own that is as good as the best cut, so the clusters would be small pieces and everything else.
// Unbound pieces do not either, because there is nothing to cut. The largest bound piece is always kept. If small
// pieces hold most of the vertices, all bound pieces are kept.
func (p Pieces) Included(k int) []bool {
	keep := make([]bool, p.Count())
	largest, kept, bound := -1, 0, 0
	for c, size := range p.Size {
		if !p.Bound[c] {
			continue
		}
		bound += size
		if largest < 0 || size > p.Size[largest] {
			largest = c
		}
		if float64(size)*float64(k) >= smallShare*float64(len(p.Piece)) {
			keep[c] = true
			kept += size
		}
	}
	if largest >= 0 && !keep[largest] { // then no piece is kept yet
		keep[largest] = true
		kept = p.Size[largest]
	}
	if 2*kept < bound {
		copy(keep, p.Bound)
	}
	return keep
}

// Attach assigns a cluster, 0 to k-1, to every vertex with label -1. Such vertices that edges or must-links connect
// stay together. They join the cluster with the most of their neighbors and must-linked points minus their
// cannot-linked ones; ties go to the largest cluster, then to the lowest number. Vertices without any connection join
// the largest cluster. Sizes are those of the given labels. The graph and the constraints may be nil.
func Attach(labels []int32, k int, g *dataset.Graph, set *constraint.Set) {
	AttachTo(labels, k, g, set, elected(sizesOf(labels, k), nil))
}

func sizesOf(labels []int32, k int) []int {
	sizes := make([]int, k)
	for _, c := range labels {
		if c >= 0 {
			sizes[c]++
		}
	}
	return sizes
}

// AttachTo is like Attach, but vertices without any connection join the cluster otherwise.
func AttachTo(labels []int32, k int, g *dataset.Graph, set *constraint.Set, otherwise int32) {
	sizes := sizesOf(labels, k)
	must, cannot := partners(labels, set)
	votes := map[int32]int{}
	var members []int32
	seen := make([]bool, len(labels))
	for i := range labels {
		if labels[i] >= 0 || seen[i] {
			continue
		}
		clear(votes)
		seen[i], members = true, append(members[:0], int32(i))
		reach := func(v int32) {
			switch {
			case labels[v] >= 0:
				votes[labels[v]]++
			case !seen[v]:
				seen[v], members = true, append(members, v)
			}
		}
		for at := 0; at < len(members); at++ {
			v := members[at]
			if g != nil {
				neighbors, weights := g.Row(int(v))
				for place, u := range neighbors {
					if weights[place] > 0 {
						reach(u)
					}
				}
			}
			for _, u := range must[v] {
				reach(u)
			}
			for _, u := range cannot[v] {
				if labels[u] >= 0 {
					votes[labels[u]]--
				}
			}
		}
		to := otherwise
		if len(votes) > 0 {
			to = elected(sizes, votes)
		}
		for _, v := range members {
			labels[v] = to
		}
	}
}

// partners returns the points that are constrained with each point without a label.
func partners(labels []int32, set *constraint.Set) (must, cannot map[int32][]int32) {
	must, cannot = map[int32][]int32{}, map[int32][]int32{}
	if set == nil {
		return must, cannot
	}
	for _, pair := range set.Pairs() {
		to := must
		if pair.Kind == constraint.CannotLink {
			to = cannot
		}
		if labels[pair.I] < 0 {
			to[pair.I] = append(to[pair.I], pair.J)
		}
		if labels[pair.J] < 0 {
			to[pair.J] = append(to[pair.J], pair.I)
		}
	}
	return must, cannot
}

// elected returns the cluster with the most votes. Ties go to the largest, then to the lowest number.
func elected(sizes []int, votes map[int32]int) int32 {
	best := int32(0)
	for c := range int32(len(sizes)) {
		if d := votes[c] - votes[best]; d > 0 || d == 0 && sizes[c] > sizes[best] {
			best = c
		}
	}
	return best
}
