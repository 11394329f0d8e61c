package constraint

// TwoClusters returns the constraints that the given ones imply if there are two clusters: two points that are apart
// from the same point are then together. So every set of points that constraints of either kind connect has two sides.
// The result has a chain of must-links along each side and a cannot-link between the sides, each with the mean weight
// of the set's constraints. A given constraint that contradicts earlier ones is ignored.
func TwoClusters(n int, given []Constraint) []Constraint {
	s := newSides(n)
	total := make([]float64, n)
	count := make([]int, n)
	for _, c := range given {
		s.join(c)
	}
	for _, c := range given {
		root, _ := s.find(c.I)
		total[root] += c.Weight
		count[root]++
	}
	last := make([][2]int32, n) // for each set and side, 1 + the last point seen; 0 if none
	var implied []Constraint
	for i := range int32(n) {
		root, side := s.find(i)
		if count[root] == 0 {
			continue
		}
		weight := total[root] / float64(count[root])
		own, other := last[root][side], last[root][1-side]
		if own > 0 {
			implied = append(implied, Constraint{I: own - 1, J: i, Kind: MustLink, Weight: weight, Weighted: true})
		} else if other > 0 {
			implied = append(implied, Constraint{I: other - 1, J: i, Kind: CannotLink, Weight: weight, Weighted: true})
		}
		last[root][side] = i + 1
	}
	return implied
}

// Checks estimates how reliable the constraints are. checked counts those that others already decide: a must-link
// between points that must-links connect, a cannot-link within a must-link component or between components that are
// already apart; with k = 2, also what TwoClusters implies. contradictions counts those of them that contradict the
// others. If many are checked and none contradicts, few constraints are wrong.
func Checks(n, k int, given []Constraint) (checked, contradictions int) {
	if k == 2 {
		s := newSides(n)
		for _, c := range given {
			if joined, agrees := s.join(c); !joined && c.I != c.J {
				checked++
				if !agrees {
					contradictions++
				}
			}
		}
		return checked, contradictions
	}
	sets := newSides(n)
	apart := map[[2]int32]bool{}
	for _, c := range given {
		if c.Kind != MustLink || c.I == c.J {
			continue
		}
		if joined, _ := sets.join(c); !joined {
			checked++
		}
	}
	for _, c := range given {
		if c.Kind != CannotLink {
			continue
		}
		a, _ := sets.find(c.I)
		b, _ := sets.find(c.J)
		key := [2]int32{min(a, b), max(a, b)}
		if a == b {
			contradictions++
		}
		if a == b || apart[key] {
			checked++
		}
		apart[key] = true
	}
	return checked, contradictions
}

// sides is a union-find structure of points that also keeps which of two sides of its set each point is on. The root of
// a set is its first point. find does not recurse, so chains may have any length.
type sides struct {
	parent []int32
	side   []uint8 // 0 or 1, relative to the parent
}

func newSides(n int) *sides {
	s := &sides{parent: make([]int32, n), side: make([]uint8, n)}
	for i := range s.parent {
		s.parent[i] = int32(i)
	}
	return s
}

// find returns the root of a point's set, and the side of the point relative to it. It shortens the path on the way.
func (s *sides) find(i int32) (root int32, side uint8) {
	for s.parent[i] != i {
		above := s.parent[i]
		s.side[i] ^= s.side[above]
		s.parent[i] = s.parent[above]
		side ^= s.side[i]
		i = s.parent[i]
	}
	return i, side
}

// join joins the sets of a constraint's points. If they are already in one set, joined is false, and agrees reports
// whether the constraint agrees with the sides.
func (s *sides) join(c Constraint) (joined, agrees bool) {
	differ := uint8(0)
	if c.Kind == CannotLink {
		differ = 1
	}
	a, sideA := s.find(c.I)
	b, sideB := s.find(c.J)
	if a == b {
		return false, sideA^sideB == differ
	}
	s.parent[max(a, b)], s.side[max(a, b)] = min(a, b), sideA^sideB^differ
	return true, true
}

// Components partitions the points into sets that must be together. Sets are numbered in the order of their lowest
// points.
type Components struct {
	of      []int32 // the component of each point
	members []int32 // the points, component by component
	start   []int32 // where each component starts in members, and where the last one ends
}

// Count returns the number of components.
func (c *Components) Count() int { return len(c.start) - 1 }

// Of returns the component of a point.
func (c *Components) Of(point int32) int32 { return c.of[point] }

// Members returns the points of a component in ascending order. The caller must not modify the slice.
func (c *Components) Members(component int32) []int32 {
	return c.members[c.start[component]:c.start[component+1]]
}

// components numbers the sets in the order of their first points, which are their roots.
func (s *sides) components() *Components {
	c := &Components{of: make([]int32, len(s.parent)), members: make([]int32, len(s.parent))}
	for i := range c.of {
		root, _ := s.find(int32(i))
		c.of[i] = c.of[root]
		if int(root) == i {
			c.of[i] = int32(len(c.start))
			c.start = append(c.start, 0)
		}
		c.start[c.of[i]]++
	}
	from := int32(0)
	for at, size := range c.start {
		c.start[at] = from
		from += size
	}
	next := append([]int32(nil), c.start...)
	for i, component := range c.of {
		c.members[next[component]] = int32(i)
		next[component]++
	}
	c.start = append(c.start, from)
	return c
}
