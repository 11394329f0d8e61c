// Package enforce changes as few labels of an answer as it can so that constraints and known labels hold.
//
// Rows that must be together form a component, which moves as a whole. It starts in the cluster of most of its rows, and
// keeps a known label. Package coloring then moves components until those that must be apart are in different clusters.
package enforce

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering/coloring"
	"github.com/cleave-project/cleave/internal/data/constraint"
)

// None marks a row without a known label.
const None = coloring.None

// Result is an answer in which the constraints and known labels hold as far as possible.
type Result struct {
	Labels  []int32
	Changed int // number of rows whose label changed
	// Contradicted holds constraints that others or known labels rule out: cannot-links between rows that must be
	// together, and must-links between rows with different known labels.
	Contradicted []constraint.Constraint
	// Unsatisfied holds cannot-links for which no assignment was found.
	Unsatisfied []constraint.Constraint
}

// Apply changes labels from 0 to k-1 so that constraints hold. The slice fixed holds the known label of each row, or
// None; prices holds the positive cost of changing each row. If prices is nil, all rows cost the same. It fails only
// if the context ends.
func Apply(
	ctx context.Context, k int, labels, fixed []int32, prices []float64, constraints []constraint.Constraint,
) (Result, error) {
	a := newComponents(labels, fixed)
	var result Result
	for _, c := range constraints {
		if c.Kind == constraint.MustLink && !a.merge(c.I, c.J) {
			result.Contradicted = append(result.Contradicted, c)
		}
	}
	var apart []constraint.Constraint
	for _, c := range constraints {
		switch {
		case c.Kind != constraint.CannotLink:
		case !a.separable(c.I, c.J):
			result.Contradicted = append(result.Contradicted, c)
		default:
			apart = append(apart, c)
		}
	}
	vertices := a.vertices(apart)
	clusters, err := assign(ctx, k, a, vertices, labels, prices, apart)
	if err != nil {
		return Result{}, err
	}
	result.Labels = slices.Clone(labels)
	for i := range labels {
		root := a.find(int32(i))
		if v, moves := vertices[root]; moves {
			result.Labels[i] = clusters[v]
		} else if fixed[i] != None {
			result.Labels[i] = fixed[i]
		}
		if result.Labels[i] != labels[i] {
			result.Changed++
		}
	}
	for _, c := range apart {
		if result.Labels[c.I] == result.Labels[c.J] {
			result.Unsatisfied = append(result.Unsatisfied, c)
		}
	}
	return result, nil
}

// assign returns the clusters of the components that are vertices.
func assign(
	ctx context.Context, k int, a *components, vertices map[int32]int32, labels []int32, prices []float64,
	apart []constraint.Constraint,
) ([]int32, error) {
	costs := newCosts(a, vertices, labels, prices)
	given := make([]int32, len(vertices))
	start := make([]int32, len(vertices))
	for root, v := range vertices {
		given[v] = a.fixed[root]
		start[v] = costs.nearest(v, labels[root])
		if given[v] != None {
			start[v] = given[v]
		}
	}
	var edges [][2]int32
	for _, c := range apart {
		edges = append(edges, [2]int32{vertices[a.find(c.I)], vertices[a.find(c.J)]})
	}
	g := coloring.New(k, len(vertices), edges, given)
	clusters, err := g.Repair(ctx, start, costs.of)
	if err != nil {
		return nil, err
	}
	return g.Reduce(ctx, clusters, costs.of)
}

// components are sets of rows that must be together. A component is identified by its root, its first row.
type components struct {
	parent []int32
	merged []bool  // by root: whether it has several rows
	fixed  []int32 // by root: the known label, or None
}

// newComponents makes every row a component of its own. It does not change its arguments.
func newComponents(labels, fixed []int32) *components {
	a := &components{parent: make([]int32, len(labels)), merged: make([]bool, len(labels)), fixed: slices.Clone(fixed)}
	for i := range a.parent {
		a.parent[i] = int32(i)
	}
	return a
}

func (a *components) find(i int32) int32 {
	for a.parent[i] != i {
		a.parent[i] = a.parent[a.parent[i]]
		i = a.parent[i]
	}
	return i
}

// merge merges the components of two rows. It returns false if they have different known labels.
func (a *components) merge(i, j int32) bool {
	one := a.find(i)
	other := a.find(j)
	if one == other {
		return true
	}
	if a.fixed[one] != None && a.fixed[other] != None && a.fixed[one] != a.fixed[other] {
		return false
	}
	first := min(one, other)
	a.parent[max(one, other)] = first
	a.merged[first] = true
	a.fixed[first] = max(a.fixed[one], a.fixed[other])
	return true
}

// separable reports whether the components of two rows can be apart.
func (a *components) separable(i, j int32) bool {
	one := a.find(i)
	other := a.find(j)
	return one != other && (a.fixed[one] == None || a.fixed[one] != a.fixed[other])
}

// vertices numbers the roots of components that have several rows or must be apart from others, ascending.
func (a *components) vertices(apart []constraint.Constraint) map[int32]int32 {
	linked := make([]bool, len(a.parent))
	for _, c := range apart {
		linked[a.find(c.I)] = true
		linked[a.find(c.J)] = true
	}
	number := map[int32]int32{}
	for i := range int32(len(a.parent)) {
		if a.find(i) == i && (linked[i] || a.merged[i]) {
			number[i] = int32(len(number))
		}
	}
	return number
}

// costs tells what it costs to assign components to clusters: the sum of the prices of the rows that are elsewhere.
type costs struct {
	total  []float64 // the sum of the prices of all rows of a component
	shares [][]share // the clusters of its rows, ascending
}

// share is the part of a component that is in one cluster.
type share struct {
	cluster int32
	price   float64 // the sum of the prices of its rows
}

func newCosts(a *components, vertices map[int32]int32, labels []int32, prices []float64) *costs {
	all := &costs{total: make([]float64, len(vertices)), shares: make([][]share, len(vertices))}
	for i, label := range labels {
		v, moves := vertices[a.find(int32(i))]
		if !moves {
			continue
		}
		price := 1.0
		if prices != nil {
			price = prices[i]
		}
		at, found := all.shareOf(v, label)
		if !found {
			all.shares[v] = slices.Insert(all.shares[v], at, share{cluster: label})
		}
		all.shares[v][at].price += price
		all.total[v] += price
	}
	return all
}

// shareOf returns where the share of a cluster is among those of a component, or would be.
func (s *costs) shareOf(v, cluster int32) (at int, found bool) {
	return slices.BinarySearchFunc(s.shares[v], cluster, func(one share, cluster int32) int {
		return cmp.Compare(one.cluster, cluster)
	})
}

// of returns the cost of assigning a component to a cluster.
func (s *costs) of(v, cluster int32) float64 {
	at, found := s.shareOf(v, cluster)
	if !found {
		return s.total[v]
	}
	return s.total[v] - s.shares[v][at].price
}

// nearest returns the cluster with the lowest cost for a component. Of equals, the given one is nearest, then the first.
func (s *costs) nearest(v, best int32) int32 {
	for _, one := range s.shares[v] {
		if s.of(v, one.cluster) < s.of(v, best) {
			best = one.cluster
		}
	}
	return best
}
