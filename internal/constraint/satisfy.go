package constraint

// Satisfaction counts how a labeling treats the distinct constraints.
type Satisfaction struct {
	Total              int
	MustLinkViolated   int
	CannotLinkViolated int
}

// Satisfied is the number of constraints that hold.
func (s Satisfaction) Satisfied() int { return s.Total - s.MustLinkViolated - s.CannotLinkViolated }

// Violates tells whether labels break the pair.
func (p Pair) Violates(labels []int32) bool {
	return (labels[p.I] == labels[p.J]) == (p.Kind == CannotLink)
}

// Satisfaction checks labels against every constraint.
func (s *Set) Satisfaction(labels []int32) Satisfaction {
	report := Satisfaction{Total: len(s.pairs)}
	for _, p := range s.pairs {
		switch {
		case !p.Violates(labels):
		case p.Kind == MustLink:
			report.MustLinkViolated++
		default:
			report.CannotLinkViolated++
		}
	}
	return report
}

// Entailed lists every pair that the closure implies, also the stated ones: all pairs within each
// must-link component, and all cross pairs of cannot-linked components. It is quadratic in the
// size of the components; stop early by returning false from yield.
func (s *Set) Entailed(yield func(i, j int32, kind Kind) bool) {
	for component := range int32(s.components.Count()) {
		members := s.components.Members(component)
		for at, i := range members {
			for _, j := range members[at+1:] {
				if !yield(i, j, MustLink) {
					return
				}
			}
		}
	}
	for _, p := range s.firstCannotLinks() {
		a, b := s.components.Of(p.I), s.components.Of(p.J)
		for _, i := range s.components.Members(a) {
			for _, j := range s.components.Members(b) {
				if !yield(min(i, j), max(i, j), CannotLink) {
					return
				}
			}
		}
	}
}

// firstCannotLinks is one cannot-link for each pair of components that are apart, in order.
func (s *Set) firstCannotLinks() []Pair {
	var firsts []Pair
	seen := map[[2]int32]bool{}
	for _, p := range s.pairs {
		a, b := s.components.Of(p.I), s.components.Of(p.J)
		key := [2]int32{min(a, b), max(a, b)}
		if p.Kind == CannotLink && a != b && !seen[key] {
			seen[key] = true
			firsts = append(firsts, p)
		}
	}
	return firsts
}
