package neighbor

import (
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Graph returns the neighbor graph (A + A')/2, where A_ij = 1 if j is a neighbor of i: an edge has weight 1 if both are
// neighbors of each other, and 1/2 if only one is. neighbors lists count neighbors for each of the n rows, as returned
// by Search.All. A row without neighbors has no edges.
func Graph(n, count int, neighbors []int32) (*dataset.Graph, error) {
	if n < 1 || count < 0 || len(neighbors) != n*count {
		return nil, fmt.Errorf("neighbor: there are %d neighbors, want %d for each of %d rows",
			len(neighbors), count, n)
	}
	neighbors = slices.Clone(neighbors)
	neighborsOf := func(i int32) []int32 { return neighbors[int(i)*count : (int(i)+1)*count] }
	for i := range int32(n) { // sorted, because there may be nearly n of them
		slices.Sort(neighborsOf(i))
	}
	edges := make([]dataset.Edge, 0, len(neighbors))
	for i := range int32(n) {
		for at, j := range neighborsOf(i) {
			if j == None {
				continue
			}
			if j < 0 || int(j) >= n || j == i || at > 0 && j == neighborsOf(i)[at-1] {
				return nil, fmt.Errorf("neighbor: row %d of %d cannot have the neighbors %v", i, n, neighborsOf(i))
			}
			if _, mutual := slices.BinarySearch(neighborsOf(j), i); !mutual {
				edges = append(edges, dataset.Edge{Source: i, Target: j, Weight: 0.5})
			} else if i < j {
				edges = append(edges, dataset.Edge{Source: i, Target: j, Weight: 1})
			}
		}
	}
	return dataset.NewGraph(n, edges)
}
