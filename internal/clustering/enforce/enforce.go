// Package enforce makes constraints and known labels hold in an answer that ignored or outweighed some of them, and changes
// as few labels as it can.
//
// Rows that must be together move as one. Which cluster each such component goes to is a coloring: components that must be
// apart need different clusters, and those with a known label have theirs. A component starts in the cluster that most of
// its rows are in. Where two that must be apart share a cluster, one of them moves to a cluster that has none of its
// opponents; else a chain of components trades two clusters; else the connected components are searched, depth first and
// within a bound.
package enforce

import (
	"cmp"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
)

// maxWork bounds the search for clusters of components that are connected by cannot-links, in components looked at: it takes
// a few seconds at most.
const maxWork = 20_000_000

// None stands for a row without a known label.
const None = -1

// Result is an answer in which what was asked for holds, as far as it can.
type Result struct {
	Labels  []int32
	Changed int // how many rows have another label than before
	// Contradicted are constraints that others, or known labels, rule out: a cannot-link between rows that must be together,
	// or a must-link between rows of different known labels.
	Contradicted []constraint.Constraint
	// Unsatisfied are cannot-links for which no clusters were found.
	Unsatisfied []constraint.Constraint
}

// Apply makes constraints hold in labels from 0 to k-1. fixed has the known label of each row, or None. prices has what a change
// of each row costs, above 0; nil: all cost the same.
func Apply(k int, labels, fixed []int32, prices []float64, constraints []constraint.Constraint) Result {
	a := newAssignment(k, labels, fixed, prices)
	var result Result
	for _, c := range constraints {
		if c.Kind == constraint.MustLink && !a.join(c.I, c.J) {
			result.Contradicted = append(result.Contradicted, c)
		}
	}
	a.count()
	var apart []constraint.Constraint
	for _, c := range constraints {
		switch {
		case c.Kind != constraint.CannotLink:
		case !a.part(c.I, c.J):
			result.Contradicted = append(result.Contradicted, c)
		default:
			apart = append(apart, c)
		}
	}
	a.start()
	a.repair()
	a.settle()
	for _, c := range apart {
		if a.cluster[a.find(c.I)] == a.cluster[a.find(c.J)] {
			result.Unsatisfied = append(result.Unsatisfied, c)
		}
	}
	result.Labels = make([]int32, len(labels))
	for i := range labels {
		result.Labels[i] = a.cluster[a.find(int32(i))]
		if result.Labels[i] != labels[i] {
			result.Changed++
		}
	}
	return result
}

// assignment gives every component of rows a cluster. A component goes by its root.
type assignment struct {
	k        int32
	labels   []int32
	parent   []int32
	fixed    []int32             // by root: the known label, or None
	price    []float64           // of each row: what a change of its label costs
	total    []float64           // by root: the prices of all rows
	several  map[int32]bool      // roots of components of several rows
	inside   map[int32][]float64 // by root, of components of several rows: the prices of the rows in each cluster
	against  map[int32][]int32   // by root: the components that must be apart
	seen     map[[2]int32]bool   // pairs of components that must be apart
	roots    []int32             // of components with opponents or several rows, ascending
	cluster  []int32             // by root
	searched map[int32]bool      // components for which a search has found no clusters
}

func newAssignment(k int, labels, fixed []int32, prices []float64) *assignment {
	a := &assignment{
		k: int32(k), labels: labels, parent: make([]int32, len(labels)), fixed: slices.Clone(fixed), price: make([]float64, len(labels)), total: make([]float64, len(labels)),
		inside: map[int32][]float64{}, several: map[int32]bool{}, against: map[int32][]int32{}, seen: map[[2]int32]bool{}, cluster: slices.Clone(labels), searched: map[int32]bool{},
	}
	for i := range a.parent {
		if a.parent[i], a.price[i] = int32(i), 1; prices != nil {
			a.price[i] = prices[i]
		}
	}
	copy(a.total, a.price)
	return a
}

func (a *assignment) find(i int32) int32 {
	for a.parent[i] != i {
		a.parent[i] = a.parent[a.parent[i]]
		i = a.parent[i]
	}
	return i
}

// join puts two rows into one component. It returns false if they have different known labels.
func (a *assignment) join(i, j int32) bool {
	i, j = a.find(i), a.find(j)
	if i == j {
		return true
	}
	if a.fixed[i] != None && a.fixed[j] != None && a.fixed[i] != a.fixed[j] {
		return false
	}
	if i > j {
		i, j = j, i
	}
	a.parent[j] = i
	a.total[i] += a.total[j]
	a.several[i] = true
	a.fixed[i] = max(a.fixed[i], a.fixed[j])
	return true
}

// count counts in which clusters the rows of components are.
func (a *assignment) count() {
	for i, c := range a.labels {
		if root := a.find(int32(i)); a.several[root] {
			if a.inside[root] == nil {
				a.inside[root] = make([]float64, a.k)
			}
			a.inside[root][c] += a.price[i]
		}
	}
}

// part notes that the components of two rows must be apart. It returns false if they cannot be.
func (a *assignment) part(i, j int32) bool {
	i, j = a.find(i), a.find(j)
	if i == j || a.fixed[i] != None && a.fixed[i] == a.fixed[j] {
		return false
	}
	if pair := [2]int32{min(i, j), max(i, j)}; !a.seen[pair] {
		a.seen[pair] = true
		a.against[i], a.against[j] = append(a.against[i], j), append(a.against[j], i)
	}
	return true
}

// start gives every component its known label, or the cluster that most of its rows are in.
func (a *assignment) start() {
	for i := range a.parent {
		root := a.find(int32(i))
		if int(root) != i {
			continue
		}
		a.cluster[root] = a.nearest(root)
		if a.inside[root] != nil || a.against[root] != nil {
			a.roots = append(a.roots, root)
		}
	}
}

// nearest is the cluster in which the fewest rows of a component change their label.
func (a *assignment) nearest(root int32) int32 {
	if a.fixed[root] != None {
		return a.fixed[root]
	}
	best := a.labels[root]
	for c := range a.k {
		if a.cost(root, c) < a.cost(root, best) {
			best = c
		}
	}
	return best
}

// cost is what the rows of a component cost that change their label in a cluster.
func (a *assignment) cost(root, c int32) float64 {
	if inside := a.inside[root]; inside != nil {
		return a.total[root] - inside[c]
	}
	if a.labels[root] == c {
		return 0
	}
	return a.price[root]
}

// free tells whether a cluster has none of a component's opponents.
func (a *assignment) free(root, c int32) bool {
	return !slices.ContainsFunc(a.against[root], func(other int32) bool { return a.cluster[other] == c })
}

// repair parts components that must be apart and share a cluster.
func (a *assignment) repair() {
	for _, root := range a.roots {
		for _, other := range a.against[root] {
			if a.cluster[root] == a.cluster[other] && !a.move(root, other) && !a.trade(root, other) {
				a.search(root)
			}
		}
	}
}

// move moves one of two components to a free cluster, the one with the fewest changes.
func (a *assignment) move(one, other int32) bool {
	best, to, least := int32(-1), int32(0), 0.0
	for _, root := range []int32{one, other} {
		if a.fixed[root] != None {
			continue
		}
		for c := range a.k {
			if !a.free(root, c) {
				continue
			}
			if change := a.cost(root, c) - a.cost(root, a.cluster[root]); best < 0 || change < least {
				best, to, least = root, c, change
			}
		}
	}
	if best >= 0 {
		a.cluster[best] = to
	}
	return best >= 0
}

// trade exchanges two clusters in the components that are connected with one of two within them, as Kempe did with the
// colors of maps. It takes the exchange with the fewest changes.
func (a *assignment) trade(one, other int32) bool {
	var best []int32
	var from, to int32
	least := 0.0
	for _, ends := range [][2]int32{{one, other}, {other, one}} {
		own := a.cluster[ends[0]]
		for c := range a.k {
			if c == own {
				continue
			}
			chain, change := a.chain(ends[0], ends[1], own, c)
			if chain != nil && (best == nil || change < least) {
				best, from, to, least = chain, own, c, change
			}
		}
	}
	for _, root := range best {
		if a.cluster[root] == from {
			a.cluster[root] = to
		} else {
			a.cluster[root] = from
		}
	}
	return best != nil
}

// chain returns the components of two clusters that must change places when root does, and by how much that raises the cost. It returns nil if a known label or the component that root must leave is among them.
func (a *assignment) chain(root, without, own, c int32) ([]int32, float64) {
	chain, in := []int32{root}, map[int32]bool{root: true}
	change := 0.0
	for at := 0; at < len(chain); at++ {
		i := chain[at]
		if a.fixed[i] != None {
			return nil, 0
		}
		target := own
		if a.cluster[i] == own {
			target = c
		}
		change += a.cost(i, target) - a.cost(i, a.cluster[i])
		for _, next := range a.against[i] {
			switch {
			case in[next] || a.cluster[next] != target:
			case next == without:
				return nil, 0
			default:
				in[next] = true
				chain = append(chain, next)
			}
		}
	}
	return chain, change
}

// search looks for clusters of all components that cannot-links connect with one, depth first: the component with the fewest
// free clusters comes next, and its clusters in the order of the changes they take. It keeps what there was if the bound is
// reached first.
func (a *assignment) search(root int32) {
	if a.searched[root] {
		return
	}
	connected, in := []int32{root}, map[int32]bool{root: true}
	for at := 0; at < len(connected); at++ {
		for _, next := range a.against[connected[at]] {
			if !in[next] {
				in[next] = true
				connected = append(connected, next)
			}
		}
	}
	s := &search{assignment: a, before: map[int32]int32{}, work: maxWork}
	for _, i := range connected {
		s.before[i] = a.cluster[i]
		if a.fixed[i] == None {
			a.cluster[i] = None
			s.open = append(s.open, i)
		}
	}
	if !s.color() {
		for i, c := range s.before {
			a.cluster[i], a.searched[i] = c, true
		}
	}
}

type search struct {
	*assignment
	open   []int32 // components without a cluster
	before map[int32]int32
	work   int // that is left
}

// color gives the open components clusters; false: there are none, or the bound is reached.
func (s *search) color() bool {
	if len(s.open) == 0 {
		return true
	}
	if s.work -= len(s.open); s.work < 0 {
		return false
	}
	at, fewest := 0, s.k+1
	for place, i := range s.open {
		count := int32(0)
		for c := range s.k {
			if s.free(i, c) {
				count++
			}
		}
		if count < fewest {
			at, fewest = place, count
		}
	}
	i := s.open[at]
	s.open[at] = s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	var clusters []int32
	for c := range s.k {
		if s.free(i, c) {
			clusters = append(clusters, c)
		}
	}
	slices.SortStableFunc(clusters, func(b, c int32) int { return cmp.Compare(s.cost(i, b), s.cost(i, c)) })
	for _, c := range clusters {
		s.cluster[i] = c
		if s.color() {
			return true
		}
	}
	s.cluster[i] = None
	s.open = append(s.open, i)
	return false
}

// settle moves components to free clusters that take fewer changes, until there are none.
func (a *assignment) settle() {
	for moved := true; moved; {
		moved = false
		for _, root := range a.roots {
			if a.fixed[root] != None {
				continue
			}
			best := a.cluster[root]
			for c := range a.k {
				if a.cost(root, c) < a.cost(root, best) && a.free(root, c) {
					best = c
				}
			}
			if best != a.cluster[root] {
				a.cluster[root], moved = best, true
			}
		}
	}
}
