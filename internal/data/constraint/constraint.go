// Package constraint represents supervision: pairs of points that must or cannot be together, and
// points with known labels.
//
// A Set is a validated list of distinct pairs, with the transitive closure of its must-links stored as
// components. A cannot-link between two components entails a cannot-link between every point of one
// and every point of the other. Entailed pairs are not stored; Entail makes the whole list, which
// grows with the square of the size of the components.
package constraint

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/text"
)

// Kind says whether a pair belongs together or apart.
type Kind uint8

// The two kinds of constraint.
const (
	MustLink   Kind = 1
	CannotLink Kind = 2
)

func (k Kind) String() string { return cmp.Or(text.Name(k, "", "must", "cannot"), "unknown") }

// Constraint is one constraint as the user gave it.
type Constraint struct {
	I, J     int32
	Kind     Kind
	Weight   float64
	Weighted bool // if false, Weight is ignored and the algorithm's default applies
}

// Pair is one distinct constraint: I < J, and Weight is the sum over the constraints merged into it.
type Pair struct {
	I, J   int32
	Kind   Kind
	Weight float64
}

// Constraint converts a pair to a constraint with its weight.
func (p Pair) Constraint() Constraint {
	return Constraint{I: p.I, J: p.J, Kind: p.Kind, Weight: p.Weight, Weighted: true}
}

// Seed is a known label of a point. A point may have several seeds, each with its probability.
type Seed struct {
	Index, Label int32
	// Probability is the probability of this label. Zero means that the label is certain. Readers scale the
	// probabilities of one point to the sum 1.
	Probability float64
}

// Belief is an entry of the constraint matrix Q of Wang 2014, for an unordered pair or on the diagonal. A positive
// value means that the points belong together, a negative one that they belong apart.
type Belief struct {
	I, J  int32
	Value float64
}

// Set holds the distinct constraints on n points. It is immutable, so that it is safe for concurrent use.
type Set struct {
	n          int
	pairs      []Pair // sorted by (I, J, Kind)
	given      []Pair // the pairs before EntailSmall added some; nil if it added none
	components *Components
	apart      map[[2]int32]bool // pairs of cannot-linked components, the smaller number first
}

// KulisWeight returns the default weight of the kernel family, w = n / (k m) with m distinct
// constraints (Kulis2009 5.2).
func KulisWeight(n, k int) func(distinct int) float64 {
	return func(distinct int) float64 { return float64(n) / (float64(k) * float64(distinct)) }
}

// UnitWeight returns 1, the default weight of the k-means and spectral families, for NewSet.
func UnitWeight(int) float64 { return 1 }

// NewSet validates and merges the constraints of n points. Constraints of the same kind between the same
// two points, in either order, become one pair with the sum of their weights; a must-link of a point with
// itself has no effect and is dropped. A constraint without a weight gets defaultWeight(distinct), where
// distinct is the number of pairs. The error is an *invalid.Error.
func NewSet(n int, constraints []Constraint, defaultWeight func(distinct int) float64) (*Set, error) {
	sorted := make([]Constraint, 0, len(constraints))
	for at, c := range constraints {
		if err := checkConstraint(n, at, c); err != nil {
			return nil, err
		}
		if c.I == c.J {
			continue
		}
		if c.I > c.J {
			c.I, c.J = c.J, c.I
		}
		sorted = append(sorted, c)
	}
	slices.SortStableFunc(sorted, func(a, b Constraint) int {
		return cmp.Or(cmp.Compare(a.I, b.I), cmp.Compare(a.J, b.J), cmp.Compare(a.Kind, b.Kind))
	})
	distinct := 0
	for at, c := range sorted {
		if at == 0 || !samePair(sorted[at-1], c) {
			distinct++
		}
	}
	s := &Set{n: n, pairs: make([]Pair, 0, distinct)}
	for at, c := range sorted {
		if !c.Weighted {
			c.Weight = defaultWeight(distinct)
		}
		if at > 0 && samePair(sorted[at-1], c) {
			s.pairs[len(s.pairs)-1].Weight += c.Weight
			continue
		}
		s.pairs = append(s.pairs, Pair{I: c.I, J: c.J, Kind: c.Kind, Weight: c.Weight})
	}
	for _, p := range s.pairs {
		if math.IsInf(p.Weight, 0) {
			return nil, invalid.New(invalid.ConstraintWeightSum, "link", p.Kind, "i", p.I, "j", p.J)
		}
	}
	s.computeClosure()
	return s, nil
}

func samePair(a, b Constraint) bool { return a.I == b.I && a.J == b.J && a.Kind == b.Kind }

func checkConstraint(n, at int, c Constraint) error {
	switch {
	case c.Kind != MustLink && c.Kind != CannotLink:
		return invalid.New(invalid.ConstraintKind, "constraint", at, "i", c.I, "j", c.J)
	case c.I < 0 || int(c.I) >= n || c.J < 0 || int(c.J) >= n:
		return invalid.New(invalid.ConstraintPoints, "constraint", at, "i", c.I, "j", c.J, "limit", n-1)
	case c.I == c.J && c.Kind == CannotLink:
		return invalid.New(invalid.SelfCannotLink, "constraint", at, "point", c.I)
	case c.Weighted && (!(c.Weight > 0) || math.IsInf(c.Weight, 0)):
		return invalid.New(invalid.ConstraintNotPositive, "constraint", at, "i", c.I, "j", c.J, "weight", c.Weight)
	}
	return nil
}

// CountKinds counts the must-links and the cannot-links of a list.
func CountKinds(pairs []Pair) (must, cannot int) {
	for _, p := range pairs {
		if p.Kind == MustLink {
			must++
		}
	}
	return must, len(pairs) - must
}

// Points returns the number of points, constrained or not.
func (s *Set) Points() int { return s.n }

// Pairs returns the distinct constraints, sorted by (I, J, Kind). The caller must not modify the slice.
func (s *Set) Pairs() []Pair { return s.pairs }

// Len returns the number of distinct constraints.
func (s *Set) Len() int { return len(s.pairs) }

// Components returns the connected components of the must-links. A point without must-links is a
// component of its own.
func (s *Set) Components() *Components { return s.components }

// Apart reports whether there is a cannot-link between two components, which separates every point of
// one from every point of the other.
func (s *Set) Apart(a, b int32) bool {
	return s.apart[[2]int32{min(a, b), max(a, b)}]
}

// Without returns the set without the constraints of the points for which excluded is true. All others count as given,
// also those that EntailSmall added.
func (s *Set) Without(excluded []bool) *Set {
	rest := &Set{n: s.n}
	for _, p := range s.pairs {
		if !excluded[p.I] && !excluded[p.J] {
			rest.pairs = append(rest.pairs, p)
		}
	}
	rest.computeClosure()
	return rest
}

// computeClosure finds the components of must-links, and which components cannot-links keep apart.
func (s *Set) computeClosure() {
	sets := newSides(s.n)
	for _, p := range s.pairs {
		if p.Kind == MustLink {
			sets.join(p.Constraint())
		}
	}
	s.components = sets.components()
	s.apart = map[[2]int32]bool{}
	for _, p := range s.pairs {
		if p.Kind == CannotLink {
			a := s.components.Of(p.I)
			b := s.components.Of(p.J)
			s.apart[[2]int32{min(a, b), max(a, b)}] = true
		}
	}
}

// WithBalancedWeights returns the set with weights that do not depend on how many of the implied pairs are listed: all
// must-links within a component together weigh as much as one for each of its points, and all cannot-links between two
// components at most as much as one for each point of the smaller component.
func (s *Set) WithBalancedWeights() *Set {
	listed := map[[2]int32]int{} // the number of pairs within a component, or between two of them
	for _, p := range s.pairs {
		if key, implied := s.impliedBy(p); implied {
			listed[key]++
		}
	}
	return s.Reweighted(func(p Pair) float64 {
		key, implied := s.impliedBy(p)
		if !implied {
			return p.Weight
		}
		a := len(s.components.Members(key[0]))
		b := len(s.components.Members(key[1]))
		count := float64(listed[key])
		if p.Kind == MustLink { // count pairs give the a points 2 count / a links each
			return p.Weight * float64(a) / (2 * count)
		}
		return p.Weight * min(1, float64(min(a, b))/count)
	})
}

// impliedBy returns the components of a pair's points; ok is false for a cannot-link within a component, a conflict.
func (s *Set) impliedBy(p Pair) (components [2]int32, ok bool) {
	a := s.components.Of(p.I)
	b := s.components.Of(p.J)
	return [2]int32{min(a, b), max(a, b)}, (a == b) == (p.Kind == MustLink)
}

// Reweighted returns the set with the weights that the function returns.
func (s *Set) Reweighted(weight func(Pair) float64) *Set {
	other := *s
	other.pairs = slices.Clone(s.pairs)
	for at, p := range s.pairs {
		other.pairs[at].Weight = weight(p)
	}
	return &other
}

// statement is a Constraint, a Pair, a Seed or a Belief.
type statement[S any] interface {
	// renumbered returns the statement with the numbers of its points, and whether all have one, which is not negative.
	renumbered(number []int32) (S, bool)
}

func (c Constraint) renumbered(number []int32) (Constraint, bool) {
	c.I, c.J = number[c.I], number[c.J]
	return c, c.I >= 0 && c.J >= 0
}

func (p Pair) renumbered(number []int32) (Pair, bool) {
	p.I, p.J = number[p.I], number[p.J]
	return p, p.I >= 0 && p.J >= 0
}

func (s Seed) renumbered(number []int32) (Seed, bool) {
	s.Index = number[s.Index]
	return s, s.Index >= 0
}

func (b Belief) renumbered(number []int32) (Belief, bool) {
	b.I, b.J = number[b.I], number[b.J]
	return b, b.I >= 0 && b.J >= 0
}

// Among returns the statements whose points are all in kept, a sorted subset of n points, renumbered by their positions
// in kept. The result may be all itself.
func Among[S statement[S]](n int, kept []int32, all []S) []S {
	if len(kept) == n {
		return all
	}
	number := slices.Repeat([]int32{-1}, n)
	for at, i := range kept {
		number[i] = int32(at)
	}
	var found []S
	for _, one := range all {
		if among, ok := one.renumbered(number); ok {
			found = append(found, among)
		}
	}
	return found
}
