package constraint

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
		if c.of[i] = c.of[root]; int(root) == i {
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
