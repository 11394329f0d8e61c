package multilevel

// Penalty is what it costs to violate a constraint between two vertices: above 0 to have them apart, below 0 to have them
// together. Unlike entries of M it is not divided by the weight of a cluster, so that a cluster of two vertices gains nothing.
type Penalty struct {
	A, B   int32
	Weight float64
}

// Penalties are penalties with the partners of each vertex.
type Penalties struct {
	all     []Penalty
	start   []int32 // nil: there are none
	partner []int32
	weight  []float64
}

// NewPenalties lists the partners of n vertices.
func NewPenalties(n int, all []Penalty) Penalties {
	if len(all) == 0 {
		return Penalties{}
	}
	p := Penalties{all: all, start: make([]int32, n+1), partner: make([]int32, 2*len(all)), weight: make([]float64, 2*len(all))}
	for _, e := range all {
		p.start[e.A+1]++
		p.start[e.B+1]++
	}
	for v := range n {
		p.start[v+1] += p.start[v]
	}
	next := append([]int32(nil), p.start[:n]...)
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

// of are the partners of a vertex.
func (p Penalties) of(v int32) ([]int32, []float64) {
	if p.start == nil {
		return nil, nil
	}
	return p.partner[p.start[v]:p.start[v+1]], p.weight[p.start[v]:p.start[v+1]]
}

// cost is what labels cost.
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

// merged are the penalties between merged vertices. Those within one do not depend on labels any more.
func (p Penalties) merged(into []int32, count int) Penalties {
	var all []Penalty
	for _, e := range p.all {
		if a, b := into[e.A], into[e.B]; a != b {
			all = append(all, Penalty{a, b, e.Weight})
		}
	}
	return NewPenalties(count, all)
}
