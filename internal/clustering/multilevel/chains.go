package multilevel

import "context"

const (
	// chainLength is how many moves a chain goes on without a new best.
	chainLength = 20
	// chainWork is how many entries of the matrix the chains of one level may read: they make much of small graphs, and of
	// large ones there are the small ones below them. Brief cuts have briefWork.
	chainWork = 1 << 20
	briefWork = 1 << 18
)

// chains is local search: from each vertex at a border a chain of single moves, each the best of the neighbors of those that
// moved before, which may lower the value on the way and is kept up to its best point.
func (r *refiner) chains(ctx context.Context, l *labeling) error {
	c := &chain{labeling: l, links: r.links, least: l.tolerance(), work: r.chainWork, place: make([]int32, l.g.Rows())}
	for improved := true; improved && c.work > 0; {
		improved = false
		for v := int32(0); int(v) < l.g.Rows() && c.work > 0; v++ {
			if v%256 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			if c.work--; !l.inside(v) && c.from(v) {
				improved = true
			}
		}
	}
	return nil
}

// chain is one chain of moves.
type chain struct {
	*labeling
	links   *links
	least   float64 // the gain that is no effect of rounding
	work    int64   // that is left
	place   []int32 // of each vertex among those reached, counted from 1; 0: it is not reached, -1: it has moved
	reached []candidate
	changed uint64 // the clusters of the last move, as bits
	moves   []done
}

// candidate is a vertex that may move next. The best move of most is the same after another one has moved, and is not looked for
// again.
type candidate struct {
	v      int32
	summed bool // the links are those of its neighbors' labels
	links  []link
	// clusters are those that its best move depends on, as bits: its own and those of its neighbors.
	clusters uint64
	to       int32
	gain     float64
}

// link is the sums of a vertex with one cluster; see links.
type link struct {
	cluster      int32
	sum, avoided float64
}

// bit stands for a cluster, and for some others where there are more than 64.
func bit(cluster int32) uint64 { return 1 << (uint(cluster) % 64) }

// done is a move that was carried out.
type done struct{ v, from int32 }

// from runs the chain that begins at a vertex and tells whether it raised the value.
func (c *chain) from(v int32) bool {
	c.reach(v)
	total, best, kept := 0.0, 0.0, 0
	for len(c.moves)-kept < chainLength && c.work > 0 {
		place := c.next()
		if place < 0 {
			break
		}
		total += c.reached[place].gain
		u := c.carryOut(place)
		if total > best+c.least {
			best, kept = total, len(c.moves)
		}
		neighbors, _ := c.g.row(u)
		c.work -= int64(len(neighbors))
		for _, w := range neighbors {
			c.reach(w)
		}
		partners, _ := c.g.Penalties.of(u)
		for _, w := range partners {
			if at := c.place[w]; at > 0 {
				c.reached[at-1].summed = false
			}
		}
	}
	for at := len(c.moves) - 1; at >= kept; at-- {
		c.links.of(c.labeling, c.moves[at].v)
		c.move(c.moves[at].v, c.moves[at].from, c.links)
	}
	for _, u := range c.reached {
		c.place[u.v] = 0
	}
	for _, m := range c.moves {
		c.place[m.v] = 0
	}
	c.reached, c.moves = c.reached[:0], c.moves[:0]
	return kept > 0
}

// carryOut makes the best move of a candidate, which is none any more.
func (c *chain) carryOut(place int) (moved int32) {
	u, to, last := c.reached[place].v, c.reached[place].to, len(c.reached)-1
	c.moves = append(c.moves, done{u, c.labels[u]})
	c.changed = bit(c.labels[u]) | bit(to)
	c.links.of(c.labeling, u)
	c.move(u, to, c.links)
	c.place[c.reached[last].v] = int32(place + 1)
	c.place[u] = -1
	c.reached[place], c.reached[last] = c.reached[last], c.reached[place]
	c.reached = c.reached[:last]
	return u
}

// reach makes a vertex a candidate. If it is one, a neighbor of it has moved.
func (c *chain) reach(v int32) {
	switch at := c.place[v]; {
	case at > 0:
		c.reached[at-1].summed = false
	case at == 0:
		if len(c.reached) < cap(c.reached) {
			c.reached = c.reached[:len(c.reached)+1] // with the memory of an earlier one
		} else {
			c.reached = append(c.reached, candidate{})
		}
		u := &c.reached[len(c.reached)-1]
		u.v, u.summed = v, false
		c.place[v] = int32(len(c.reached))
	}
}

// next is the place of the candidate with the best move; -1: none can move.
func (c *chain) next() int {
	best := -1
	for at := range c.reached {
		u := &c.reached[at]
		c.work -= c.g.Start[u.v+1] - c.g.Start[u.v]
		if !u.summed || u.clusters&c.changed != 0 {
			c.look(u)
		}
		if u.to < 0 {
			continue
		}
		if best < 0 || u.gain > c.reached[best].gain || u.gain == c.reached[best].gain && u.v < c.reached[best].v {
			best = at
		}
	}
	return best
}

// look finds the best move of a candidate, as labeling.best does.
func (c *chain) look(u *candidate) {
	from := c.labels[u.v]
	if !u.summed {
		c.sumUp(u)
	}
	u.to, u.gain = -1, 0
	if c.count[from] == 1 {
		return
	}
	var own link
	for _, l := range u.links {
		if l.cluster == from {
			own = l
		}
	}
	leaving := c.leaving(u.v, own.sum)
	for _, l := range u.links {
		if l.cluster == from {
			continue
		}
		if g := leaving + c.joining(u.v, l.cluster, l.sum) + l.avoided - own.avoided; u.to < 0 || g > u.gain || g == u.gain && l.cluster < u.to {
			u.to, u.gain = l.cluster, g
		}
	}
}

// sumUp finds the links of a candidate.
func (c *chain) sumUp(u *candidate) {
	c.links.of(c.labeling, u.v)
	u.links, u.clusters, u.summed = u.links[:0], bit(c.labels[u.v]), true
	for _, d := range c.links.touched {
		u.links = append(u.links, link{d, c.links.sum[d], c.links.avoided[d]})
		u.clusters |= bit(d)
	}
}
