package component

import (
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

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
