package constraint

import "github.com/cleave-project/cleave/internal/invalid"

// MaxEntailed is the largest number of pairs that Entail and OfClasses make: they grow with the square of the size of
// components, and with the number of classes.
const MaxEntailed = 20_000_000

// EntailSmall is Entail if there are fewer than limit entailed pairs and no conflicts; otherwise it returns s itself. A
// conflict shows that some constraints are wrong, and entailing would multiply the error. Satisfaction and Conflicts
// of the result still consider only the given constraints.
func (s *Set) EntailSmall(limit int, defaultWeight func(distinct int) float64) (*Set, error) {
	if len(s.pairs) == 0 || s.CountConflicts() > 0 || s.EntailedCount() >= int64(limit) {
		return s, nil
	}
	entailed, err := s.Entail(defaultWeight)
	if err == nil {
		entailed.given = s.pairs
	}
	return entailed, err
}

// givenPairs returns the given constraints, without those that EntailSmall added.
func (s *Set) givenPairs() []Pair {
	if s.given != nil {
		return s.given
	}
	return s.pairs
}

// Entail returns the set with every entailed pair as a constraint of its own. Given pairs keep their
// weights; the others get defaultWeight of the number of all pairs. It returns an error if there are
// more than MaxEntailed pairs.
func (s *Set) Entail(defaultWeight func(distinct int) float64) (*Set, error) {
	count := s.EntailedCount()
	if count > MaxEntailed {
		return nil, invalid.New(invalid.TooManyEntailed, "limit", MaxEntailed)
	}
	given := make(map[Pair]float64, len(s.pairs))
	for _, p := range s.pairs {
		given[Pair{I: p.I, J: p.J, Kind: p.Kind}] = p.Weight
	}
	all := make([]Constraint, 0, count)
	s.eachEntailedPair(func(i, j int32, kind Kind) {
		weight, weighted := given[Pair{I: i, J: j, Kind: kind}]
		delete(given, Pair{I: i, J: j, Kind: kind})
		all = append(all, Constraint{I: i, J: j, Kind: kind, Weight: weight, Weighted: weighted})
	})
	// The pairs still in given are conflicts: cannot-links inside a component, which the closure does not imply.
	for _, p := range s.pairs {
		if _, left := given[Pair{I: p.I, J: p.J, Kind: p.Kind}]; left {
			all = append(all, p.Constraint())
		}
	}
	return NewSet(s.n, all, defaultWeight)
}

// eachEntailedPair visits every pair that the closure implies, the given ones too: all pairs within a
// must-link component, and all pairs across two cannot-linked components.
func (s *Set) eachEntailedPair(visit func(i, j int32, kind Kind)) {
	for component := range int32(s.components.Count()) {
		members := s.components.Members(component)
		for at, i := range members {
			for _, j := range members[at+1:] {
				visit(i, j, MustLink)
			}
		}
	}
	for _, p := range s.oneCannotLinkPerPair() {
		a := s.components.Of(p.I)
		b := s.components.Of(p.J)
		for _, i := range s.components.Members(a) {
			for _, j := range s.components.Members(b) {
				visit(min(i, j), max(i, j), CannotLink)
			}
		}
	}
}

// oneCannotLinkPerPair returns the first cannot-link between each two components that are apart.
func (s *Set) oneCannotLinkPerPair() []Pair {
	var firsts []Pair
	seen := map[[2]int32]bool{}
	for _, p := range s.pairs {
		a := s.components.Of(p.I)
		b := s.components.Of(p.J)
		key := [2]int32{min(a, b), max(a, b)}
		if p.Kind == CannotLink && a != b && !seen[key] {
			seen[key] = true
			firsts = append(firsts, p)
		}
	}
	return firsts
}

// EntailedCount returns the number of entailed pairs, without a limit. Conflicts are not among them.
func (s *Set) EntailedCount() int64 {
	count := int64(0)
	for component := range int32(s.components.Count()) {
		size := int64(len(s.components.Members(component)))
		count += size * (size - 1) / 2
	}
	for pair := range s.apart {
		if pair[0] != pair[1] {
			count += int64(len(s.components.Members(pair[0]))) * int64(len(s.components.Members(pair[1])))
		}
	}
	return count
}
