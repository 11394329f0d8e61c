// Package enforce changes as few labels of an answer as it can so that constraints and known labels hold.
//
// Rows that must be together form a component, which moves as a whole. Assigning clusters to components is a graph
// coloring: components that must be apart need different clusters, and those with a known label keep it. A component
// starts in the cluster of most of its rows. If two that must be apart share a cluster, one of them moves to a cluster
// without its opponents; if there is none, a chain of components swaps two clusters; if that fails too, a bounded
// depth-first search assigns all components that are connected by cannot-links between components without known labels.
package enforce

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
)

// maxWork bounds a search, in components looked at, each of which takes time for its opponents and the clusters: a few
// seconds with tens of them.
const maxWork = 20_000_000

// None marks a row without a known label.
const None = -1

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
func Apply(ctx context.Context, k int, labels, fixed []int32, prices []float64, constraints []constraint.Constraint) (Result, error) {
	a := newAssignment(k, labels, fixed, prices)
	var result Result
	for _, c := range constraints {
		if c.Kind == constraint.MustLink && !a.merge(c.I, c.J) {
			result.Contradicted = append(result.Contradicted, c)
		}
	}
	a.count()
	var apart []constraint.Constraint
	for _, c := range constraints {
		switch {
		case c.Kind != constraint.CannotLink:
		case !a.separate(c.I, c.J):
			result.Contradicted = append(result.Contradicted, c)
		default:
			apart = append(apart, c)
		}
	}
	a.start()
	if err := a.repair(ctx); err != nil {
		return Result{}, err
	}
	if err := a.settle(ctx); err != nil {
		return Result{}, err
	}
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
	return result, nil
}

// assignment assigns a cluster to every component of rows. A component is identified by its root.
type assignment struct {
	k        int32
	labels   []int32
	parent   []int32
	fixed    []int32           // by root: the known label, or None
	price    []float64         // of each row: the cost of changing its label
	total    []float64         // by root: the sum of the prices of its rows
	merged   map[int32]bool    // roots of components of several rows
	inside   map[int32][]share // by merged root: the clusters of its rows, ascending
	against  map[int32][]int32 // by root: its opponents, the components that must be apart from it
	seen     map[[2]int32]bool // pairs of components that must be apart
	movable  []int32           // roots of merged components and of those with opponents, ascending
	cluster  []int32           // by root
	searched map[int32]bool    // components for which a search has failed
	taken    []bool            // per cluster, scratch of occupied
}

// share is the part of a component that is in one cluster.
type share struct {
	cluster int32
	price   float64 // the sum of the prices of its rows
}

// newAssignment makes every row a component of its own, in the cluster of its label. It does not change its arguments.
func newAssignment(k int, labels, fixed []int32, prices []float64) *assignment {
	a := &assignment{
		k: int32(k), labels: labels, parent: make([]int32, len(labels)), fixed: slices.Clone(fixed), price: make([]float64, len(labels)), total: make([]float64, len(labels)),
		inside: map[int32][]share{}, merged: map[int32]bool{}, against: map[int32][]int32{}, seen: map[[2]int32]bool{}, cluster: slices.Clone(labels), searched: map[int32]bool{}, taken: make([]bool, k),
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

// merge merges the components of two rows. It returns false if they have different known labels.
func (a *assignment) merge(i, j int32) bool {
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
	a.merged[i] = true
	a.fixed[i] = max(a.fixed[i], a.fixed[j])
	return true
}

// count sums the prices of rows by component and cluster.
func (a *assignment) count() {
	for i, c := range a.labels {
		if root := a.find(int32(i)); a.merged[root] {
			at, found := a.shareOf(root, c)
			if !found {
				a.inside[root] = slices.Insert(a.inside[root], at, share{cluster: c})
			}
			a.inside[root][at].price += a.price[i]
		}
	}
}

// shareOf returns where the share of a cluster is among those of a merged root, or would be.
func (a *assignment) shareOf(root, c int32) (at int, found bool) {
	return slices.BinarySearchFunc(a.inside[root], c, func(s share, c int32) int { return cmp.Compare(s.cluster, c) })
}

// separate records that the components of two rows must be apart. It returns false if they cannot be.
func (a *assignment) separate(i, j int32) bool {
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

// start assigns every component to its known label, or to the cluster of most of its rows.
func (a *assignment) start() {
	for i := range a.parent {
		root := a.find(int32(i))
		if int(root) != i {
			continue
		}
		a.cluster[root] = a.nearest(root)
		if a.inside[root] != nil || a.against[root] != nil {
			a.movable = append(a.movable, root)
		}
	}
}

// nearest returns the cluster with the lowest cost for a component.
func (a *assignment) nearest(root int32) int32 {
	if a.fixed[root] != None {
		return a.fixed[root]
	}
	best := a.labels[root] // for a single row, which costs nothing where it is
	for _, s := range a.inside[root] {
		if a.cost(root, s.cluster) < a.cost(root, best) {
			best = s.cluster
		}
	}
	return best
}

// cost returns the cost of assigning a component to a cluster.
func (a *assignment) cost(root, c int32) float64 {
	switch at, found := a.shareOf(root, c); {
	case found:
		return a.total[root] - a.inside[root][at].price
	case a.inside[root] == nil && a.labels[root] == c: // a single row
		return 0
	}
	return a.total[root]
}

// occupied reports for each cluster whether it contains an opponent of a component. The slice is valid until the next
// call.
func (a *assignment) occupied(root int32) []bool {
	clear(a.taken)
	for _, other := range a.against[root] {
		if c := a.cluster[other]; c != None {
			a.taken[c] = true
		}
	}
	return a.taken
}

// repair separates components that must be apart but share a cluster.
func (a *assignment) repair(ctx context.Context) error {
	for _, root := range a.movable {
		for _, other := range a.against[root] {
			if a.cluster[root] != a.cluster[other] || a.move(root, other) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			switch {
			case a.trade(root, other):
			case a.fixed[root] == None:
				a.search(ctx, root)
			default: // the label of other is not known: it would contradict the link
				a.search(ctx, other)
			}
		}
	}
	return ctx.Err()
}

// move moves one of two components to a free cluster, at the lowest cost. It returns false if there is none.
func (a *assignment) move(one, other int32) bool {
	best, to, least := int32(-1), int32(0), 0.0
	for _, root := range []int32{one, other} {
		if a.fixed[root] != None {
			continue
		}
		for c, taken := range a.occupied(root) {
			if taken {
				continue
			}
			if change := a.cost(root, int32(c)) - a.cost(root, a.cluster[root]); best < 0 || change < least {
				best, to, least = root, int32(c), change
			}
		}
	}
	if best >= 0 {
		a.cluster[best] = to
	}
	return best >= 0
}

// trade swaps two clusters along a Kempe chain that starts at one of two components, at the lowest cost. It returns
// false if there is none.
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

// chain returns the components of clusters own and c that must swap clusters with root, and the increase of the cost.
// It returns nil if one of them has a known label or is without, the component that root must be separated from.
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

// search assigns root and all components that cannot-links connect with it, depth first. Links do not connect through a
// component with a known label, because it is in its cluster whatever the others do. The search picks the component
// with the fewest free clusters next and tries its clusters by increasing cost. If it fails or exceeds the bound,
// nothing changes.
func (a *assignment) search(ctx context.Context, root int32) {
	if a.searched[root] {
		return
	}
	s := &search{
		assignment: a, ctx: ctx, open: []int32{root}, before: map[int32]int32{root: a.cluster[root]}, work: maxWork,
	}
	for at := 0; at < len(s.open); at++ {
		for _, next := range a.against[s.open[at]] {
			if _, found := s.before[next]; !found && a.fixed[next] == None {
				s.before[next] = a.cluster[next]
				s.open = append(s.open, next)
			}
		}
	}
	for _, i := range s.open {
		a.cluster[i] = None
	}
	least := len(s.open) * (len(s.open) + 1) / 2 // the work of a search that never goes back
	if least > s.work || !s.color() {
		for i, c := range s.before {
			a.cluster[i], a.searched[i] = c, true
		}
	}
}

// search looks for a coloring by backtracking, with a limit on its work.
type search struct {
	*assignment
	ctx    context.Context
	open   []int32 // components without a cluster
	before map[int32]int32
	work   int // remaining steps
}

// color assigns the open components. It returns false if that is impossible, the bound is exceeded, or the context has
// ended.
func (s *search) color() bool {
	if len(s.open) == 0 {
		return true
	}
	if s.work -= len(s.open); s.work < 0 || s.ctx.Err() != nil {
		return false
	}
	at, fewest := 0, int(s.k)+1
	for place, i := range s.open {
		free := 0
		for _, taken := range s.occupied(i) {
			if !taken {
				free++
			}
		}
		if free < fewest {
			at, fewest = place, free
		}
	}
	i := s.open[at]
	s.open[at] = s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	var clusters []int32
	for c, taken := range s.occupied(i) {
		if !taken {
			clusters = append(clusters, int32(c))
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

// settle moves components to cheaper free clusters until there are none.
func (a *assignment) settle(ctx context.Context) error {
	for moved := true; moved; {
		if err := ctx.Err(); err != nil {
			return err
		}
		moved = false
		for _, root := range a.movable {
			if a.fixed[root] != None {
				continue
			}
			best := a.cluster[root]
			for c, taken := range a.occupied(root) {
				if !taken && a.cost(root, int32(c)) < a.cost(root, best) {
					best = int32(c)
				}
			}
			if best != a.cluster[root] {
				a.cluster[root], moved = best, true
			}
		}
	}
	return nil
}
