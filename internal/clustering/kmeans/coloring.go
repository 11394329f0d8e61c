package kmeans

import (
	"github.com/cleave-project/cleave/internal/clustering/coloring"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

// colored is the constraints of COP-KMeans as a graph to color: must-link components are vertices, cannot-links between
// them are edges, and clusters are colors. Unconstrained points are not vertices.
type colored struct {
	groups // the vertices
	*coloring.Graph
	k int
}

// newColored returns the graph of cannot-links between components. Single points without cannot-links are not part of
// it.
func newColored(set *constraint.Set, k int) *colored {
	all := set.Components()
	linked := map[int32]bool{}
	for _, pair := range set.Pairs() {
		if pair.Kind == constraint.CannotLink {
			linked[all.Of(pair.I)] = true
			linked[all.Of(pair.J)] = true
		}
	}
	var components []int32
	for c := range int32(all.Count()) {
		if len(all.Members(c)) > 1 || linked[c] {
			components = append(components, c)
		}
	}
	vertices, number := newGroups(all, components)
	var edges [][2]int32
	for _, pair := range set.Pairs() {
		if pair.Kind == constraint.CannotLink {
			edges = append(edges, [2]int32{number[all.Of(pair.I)], number[all.Of(pair.J)]})
		}
	}
	return &colored{groups: vertices, Graph: coloring.New(k, len(components), edges, nil), k: k}
}
