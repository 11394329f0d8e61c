// Package constraint is the supervision: pairs of points that must or cannot be together.
//
// A Set is a checked, merged list of pairs with the transitive closure of its must-links kept as
// components. Entailed pairs stay implicit: a cannot-link between two components stands for every
// cross pair, and the quadratic list is made only when asked for (Entailed).
package constraint

import (
	"cmp"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
)

// Kind says whether a pair belongs together or apart.
type Kind uint8

// The two kinds of constraint.
const (
	MustLink   Kind = 1
	CannotLink Kind = 2
)

func (k Kind) String() string {
	switch k {
	case MustLink:
		return "must"
	case CannotLink:
		return "cannot"
	}
	return "unknown"
}

// Constraint is one statement as the user made it.
type Constraint struct {
	I, J     int32
	Kind     Kind
	Weight   float64
	Weighted bool // false: no weight was given, take the algorithm's default
}

// Pair is one merged constraint: I < J, and Weight is the sum over its statements.
type Pair struct {
	I, J   int32
	Kind   Kind
	Weight float64
}

// Set is the supervision of one problem of n points.
type Set struct {
	n          int
	pairs      []Pair // by (I, J, Kind)
	components *Components
	apart      map[[2]int32]struct{} // cannot-linked components, smaller number first
}

// KulisWeight is the default weight of the kernel family, w = n / (k m) with m distinct
// constraints (Kulis2009 5.2).
func KulisWeight(n, k int) func(distinct int) float64 {
	return func(distinct int) float64 { return float64(n) / (float64(k) * float64(distinct)) }
}

// UnitWeight is the default weight of the vector and spectral families.
func UnitWeight(int) float64 { return 1 }

// NewSet checks and merges the constraints of n points. Duplicates of a pair and kind, also
// reversed, add their weights and count as one; a must-link of a point with itself says nothing
// and is dropped. defaultWeight gives the weight of statements without one, from the number of
// distinct constraints.
func NewSet(n int, constraints []Constraint, defaultWeight func(distinct int) float64) (*Set, error) {
	statements := make([]Constraint, 0, len(constraints))
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
		statements = append(statements, c)
	}
	slices.SortStableFunc(statements, func(a, b Constraint) int {
		return cmp.Or(cmp.Compare(a.I, b.I), cmp.Compare(a.J, b.J), cmp.Compare(a.Kind, b.Kind))
	})
	distinct := 0
	for at, c := range statements {
		if at == 0 || !samePair(statements[at-1], c) {
			distinct++
		}
	}
	s := &Set{n: n, pairs: make([]Pair, 0, distinct)}
	for at, c := range statements {
		if !c.Weighted {
			c.Weight = defaultWeight(distinct)
		}
		if at > 0 && samePair(statements[at-1], c) {
			s.pairs[len(s.pairs)-1].Weight += c.Weight
			continue
		}
		s.pairs = append(s.pairs, Pair{I: c.I, J: c.J, Kind: c.Kind, Weight: c.Weight})
	}
	for _, p := range s.pairs {
		if math.IsInf(p.Weight, 0) {
			return nil, fault.Invalid("BAD_WEIGHT", "the weights of the %v-links %d-%d add up to infinity", p.Kind, p.I, p.J)
		}
	}
	s.close()
	return s, nil
}

func samePair(a, b Constraint) bool { return a.I == b.I && a.J == b.J && a.Kind == b.Kind }

func checkConstraint(n, at int, c Constraint) error {
	switch {
	case c.Kind != MustLink && c.Kind != CannotLink:
		return fault.Invalid("UNKNOWN_CONSTRAINT_KIND", "constraint %d (%d,%d) has no kind; use must or cannot", at, c.I, c.J)
	case c.I < 0 || int(c.I) >= n || c.J < 0 || int(c.J) >= n:
		return fault.Invalid("INDEX_OUT_OF_RANGE", "constraint %d (%d,%d) names a point outside 0..%d", at, c.I, c.J, n-1)
	case c.I == c.J && c.Kind == CannotLink:
		return fault.Invalid("SELF_CANNOT_LINK", "constraint %d says that point %d cannot be with itself", at, c.I)
	case c.Weighted && (!(c.Weight > 0) || math.IsInf(c.Weight, 0)):
		return fault.Invalid("BAD_WEIGHT", "constraint %d (%d,%d) has weight %v; weights must be positive and finite", at, c.I, c.J, c.Weight)
	}
	return nil
}

// Points is the number of points the set speaks about.
func (s *Set) Points() int { return s.n }

// Pairs are the merged constraints by (I, J, Kind); the caller must not change them.
func (s *Set) Pairs() []Pair { return s.pairs }

// Len is the number of distinct constraints.
func (s *Set) Len() int { return len(s.pairs) }

// Components are the classes of the must-links' transitive closure; singletons are components.
func (s *Set) Components() *Components { return s.components }

// Apart tells whether a cannot-link joins two components, so that every cross pair is entailed.
func (s *Set) Apart(a, b int32) bool {
	if a > b {
		a, b = b, a
	}
	_, apart := s.apart[[2]int32{a, b}]
	return apart
}

func (s *Set) close() {
	forest := newUnionFind(s.n)
	for _, p := range s.pairs {
		if p.Kind == MustLink {
			forest.union(p.I, p.J)
		}
	}
	s.components = forest.components()
	s.apart = make(map[[2]int32]struct{})
	for _, p := range s.pairs {
		if p.Kind == CannotLink {
			a, b := s.components.Of(p.I), s.components.Of(p.J)
			s.apart[[2]int32{min(a, b), max(a, b)}] = struct{}{}
		}
	}
}
