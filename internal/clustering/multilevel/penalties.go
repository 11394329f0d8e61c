package multilevel

import "slices"

// Penalty is the cost of violating a constraint between two vertices: positive for having them apart, negative for
// having them together. Unlike entries of M it is not divided by the weight of a cluster, so a cluster of only two
// linked vertices gains nothing.
type Penalty struct {
	A, B   int32
	Weight float64
}

// Penalties holds penalties and the partners of each vertex.
type Penalties struct {
	all     []Penalty
	start   []int32 // nil if there are no penalties
	partner []int32
	weight  []float64
}

// newPenalties returns the penalties of a graph of n vertices.
func newPenalties(n int, all []Penalty) Penalties {
	if len(all) == 0 {
		return Penalties{}
	}
	p := Penalties{all: all, start: make([]int32, n+1), partner: make([]int32, 2*len(all)),
		weight: make([]float64, 2*len(all))}
	for _, e := range all {
		p.start[e.A+1]++
		p.start[e.B+1]++
	}
	for v := range n {
		p.start[v+1] += p.start[v]
	}
	next := slices.Clone(p.start[:n])
	put := func(v, partner int32, weight float64) {
		p.partner[next[v]], p.weight[next[v]] = partner, weight
		next[v]++
	}
	for _, e := range all {
		put(e.A, e.B, e.Weight)
		put(e.B, e.A, e.Weight)
	}
	return p
}

// row returns the partners of a vertex and the weights of their penalties.
func (p Penalties) row(v int32) ([]int32, []float64) {
	if p.start == nil {
		return nil, nil
	}
	return p.partner[p.start[v]:p.start[v+1]], p.weight[p.start[v]:p.start[v+1]]
}

// cost returns the sum of the penalties that the labels violate.
func (p Penalties) cost(labels []int32) float64 {
	cost := 0.0
	for _, e := range p.all {
		switch together := labels[e.A] == labels[e.B]; {
		case e.Weight > 0 && !together:
			cost += e.Weight
		case e.Weight < 0 && together:
			cost -= e.Weight
		}
	}
	return cost
}

// merged returns the penalties between merged vertices. It drops those within one, which no longer depend on labels.
func (p Penalties) merged(into []int32, count int) Penalties {
	var all []Penalty
	for _, e := range p.all {
		if a, b := into[e.A], into[e.B]; a != b {
			all = append(all, Penalty{a, b, e.Weight})
		}
	}
	return newPenalties(count, all)
}
