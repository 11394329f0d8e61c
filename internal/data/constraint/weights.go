package constraint

// Evened is the set with the weights of constraints that say the same several times evened out: all must-links within a
// component together weigh as much for each of its points as one, and all cannot-links between two components as one
// for each point of the smaller one. So it makes no difference how many of the implied pairs are listed.
func (s *Set) Evened() *Set {
	listed := map[[2]int32]int{} // pairs within a component, and between two of them
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
		a, b, count := len(s.components.Members(key[0])), len(s.components.Members(key[1])), float64(listed[key])
		if p.Kind == MustLink { // count pairs give the a points 2 count / a links each
			return p.Weight * float64(a) / (2 * count)
		}
		return p.Weight * min(1, float64(min(a, b))/count)
	})
}

// impliedBy is the two components that a pair is about; ok is false for a cannot-link within one, which contradicts it.
func (s *Set) impliedBy(p Pair) (components [2]int32, ok bool) {
	a, b := s.components.Of(p.I), s.components.Of(p.J)
	return [2]int32{min(a, b), max(a, b)}, (a == b) == (p.Kind == MustLink)
}

// Reweighted is the set with other weights.
func (s *Set) Reweighted(weight func(Pair) float64) *Set {
	other := *s
	other.pairs = make([]Pair, len(s.pairs))
	for at, p := range s.pairs {
		p.Weight = weight(p)
		other.pairs[at] = p
	}
	return &other
}
