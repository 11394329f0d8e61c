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

// unionFind joins sets by size with path halving. It does not recurse, so chains may have any length.
type unionFind struct {
	parent []int32
	size   []int32
}

func newUnionFind(n int) *unionFind {
	u := &unionFind{parent: make([]int32, n), size: make([]int32, n)}
	for i := range u.parent {
		u.parent[i], u.size[i] = int32(i), 1
	}
	return u
}

func (u *unionFind) find(i int32) int32 {
	for u.parent[i] != i {
		u.parent[i] = u.parent[u.parent[i]]
		i = u.parent[i]
	}
	return i
}

func (u *unionFind) union(i, j int32) {
	i, j = u.find(i), u.find(j)
	if i == j {
		return
	}
	if u.size[i] < u.size[j] {
		i, j = j, i
	}
	u.parent[j] = i
	u.size[i] += u.size[j]
}

// components numbers the sets in the order of their first points.
func (u *unionFind) components() *Components {
	n := len(u.parent)
	c := &Components{of: make([]int32, n), members: make([]int32, n)}
	number := make([]int32, n) // for each root, 1 + the number of its component; 0 if not yet seen
	for i := range n {
		root := u.find(int32(i))
		if number[root] == 0 {
			c.start = append(c.start, u.size[root])
			number[root] = int32(len(c.start))
		}
		c.of[i] = number[root] - 1
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
