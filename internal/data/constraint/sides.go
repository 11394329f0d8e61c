package constraint

// TwoClusters turns constraints into those that they imply where there are two clusters: there, what is apart from the
// same point is together. So every set of points that constraints of either kind connect has two sides: the points of
// a side are must-linked, one after the other, and a cannot-link holds between the sides, with the mean weight of the
// set's constraints. A constraint that contradicts those before it is left out.
func TwoClusters(n int, given []Constraint) []Constraint {
	s := newSides(n)
	total, count := make([]float64, n), make([]int, n)
	for _, c := range given {
		s.join(c)
	}
	for _, c := range given {
		root, _ := s.find(c.I)
		total[root] += c.Weight
		count[root]++
	}
	last := make([][2]int32, n) // of each set, the last point met of either side, plus 1
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

// Checks counts the constraints that others imply, and of these the ones that contradict them: a must-link between
// points that must-links connect already, a cannot-link within a must-link component or between components that are
// apart already; with two clusters everything that TwoClusters implies. Wrong constraints show as contradictions: where
// many were checked and none contradicts, few are wrong.
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
	sets, apart := newUnionFind(n), map[[2]int32]bool{}
	for _, c := range given {
		if c.Kind != MustLink || c.I == c.J {
			continue
		}
		if sets.find(c.I) == sets.find(c.J) {
			checked++
		}
		sets.union(c.I, c.J)
	}
	for _, c := range given {
		if c.Kind != CannotLink {
			continue
		}
		a, b := sets.find(c.I), sets.find(c.J)
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

// sides joins points into sets, with the side of each point relative to the one it hangs below.
type sides struct {
	parent []int32
	side   []uint8
}

func newSides(n int) *sides {
	s := &sides{parent: make([]int32, n), side: make([]uint8, n)}
	for i := range s.parent {
		s.parent[i] = int32(i)
	}
	return s
}

// find is the root of a point's set, and the side of the point relative to it. It shortens the path on its way.
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

// join joins the sets of a constraint's points. If they are in one set already, it tells whether the constraint agrees.
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
