package multilevel

import "context"

const (
	// chainLength is the number of moves without a new best value after which a chain ends.
	chainLength = 20
	// chainWork is how many entries of the matrix the chains of one level may read. That suffices for small graphs, and
	// large ones have coarser levels. Options.Brief reduces it to briefWork.
	chainWork = 1 << 20
	briefWork = 1 << 18
)

// chains performs a local search. From every vertex at the border of its cluster it follows a chain of single moves,
// each the best one among the neighbors of vertices that moved before. A chain may lower the value temporarily and is
// kept up to its best point. The search ends when no chain finds a better one, when the work is done, or when the
// value does not rise although chains say so, as with penalties of very different sizes, whose sums are rounded.
func (r *refiner) chains(ctx context.Context, l *labeling) error {
	c := &chain{labeling: l, links: r.links, least: l.tolerance(), work: r.chainWork, place: make([]int32, l.g.Rows())}
	for improved := true; improved && c.work > 0; {
		improved = false
		before := l.value()
		for v := int32(0); int(v) < l.g.Rows() && c.work > 0; v++ {
			if v%256 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
			c.work--
			if !l.inside(v) && c.from(v) {
				improved = true
			}
		}
		improved = improved && l.value() > before
	}
	return nil
}

// chain is the state of one chain of moves. It changes the labeling in place, and undoes the moves after the best
// point.
type chain struct {
	*labeling
	links   *links
	least   float64 // gains up to this are considered rounding
	work    int64   // remaining entries to read
	place   []int32 // per vertex: its index in reached plus 1; 0 if it is not reached, -1 if it has moved
	reached []candidate
	changed uint64 // bit set of the clusters of the last move
	moves   []done
}

// candidate is a vertex that may move next. Its best move usually stays the same when another vertex moves, so it is
// cached.
type candidate struct {
	v      int32
	summed bool // whether links are up to date
	links  []link
	// clusters is the bit set of the clusters that its best move depends on: its own and those of its neighbors.
	clusters uint64
	to       int32
	gain     float64
}

// link holds the sums of a vertex with one cluster; see links.
type link struct {
	cluster      int32
	sum, avoided float64
}

// bit returns the bit of a cluster. With more than 64 clusters, several share a bit.
func bit(cluster int32) uint64 { return 1 << (uint(cluster) % 64) }

// done is a move that was made, with the cluster that the vertex left, to undo it.
type done struct{ v, from int32 }

// from runs the chain that begins at a vertex and reports whether it raised the value.
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
		partners, _ := c.g.Penalties.row(u)
		for _, w := range partners {
			if at := c.place[w]; at > 0 {
				c.reached[at-1].summed = false
			}
		}
	}
	for at := len(c.moves) - 1; at >= kept; at-- {
		c.links.sumUp(c.labeling, c.moves[at].v)
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

// carryOut makes the best move of a candidate and removes it from the candidates.
func (c *chain) carryOut(place int) (moved int32) {
	u, to, last := c.reached[place].v, c.reached[place].to, len(c.reached)-1
	c.moves = append(c.moves, done{u, c.labels[u]})
	c.changed = bit(c.labels[u]) | bit(to)
	c.links.sumUp(c.labeling, u)
	c.move(u, to, c.links)
	c.place[c.reached[last].v] = int32(place + 1)
	c.place[u] = -1
	c.reached[place], c.reached[last] = c.reached[last], c.reached[place]
	c.reached = c.reached[:last]
	return u
}

// reach makes a vertex a candidate. If it is one already, its links are marked as outdated, because a neighbor has
// moved.
func (c *chain) reach(v int32) {
	switch at := c.place[v]; {
	case at > 0:
		c.reached[at-1].summed = false
	case at == 0:
		if len(c.reached) < cap(c.reached) {
			c.reached = c.reached[:len(c.reached)+1] // reuse the memory of an earlier candidate
		} else {
			c.reached = append(c.reached, candidate{})
		}
		u := &c.reached[len(c.reached)-1]
		u.v, u.summed = v, false
		c.place[v] = int32(len(c.reached))
	}
}

// next returns the index of the candidate with the best move, or -1 if none can move.
func (c *chain) next() int {
	best := -1
	for i := range c.reached {
		u := &c.reached[i]
		c.work -= c.g.Start[u.v+1] - c.g.Start[u.v]
		if !u.summed || u.clusters&c.changed != 0 {
			c.look(u)
		}
		if u.to < 0 {
			continue
		}
		if best < 0 || u.gain > c.reached[best].gain || u.gain == c.reached[best].gain && u.v < c.reached[best].v {
			best = i
		}
	}
	return best
}

// look finds the best move of a candidate, like labeling.best.
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
		if g := leaving + c.joining(u.v, l.cluster, l.sum) + l.avoided - own.avoided; u.to < 0 || g > u.gain ||
			g == u.gain && l.cluster < u.to {
			u.to, u.gain = l.cluster, g
		}
	}
}

// sumUp computes the links of a candidate.
func (c *chain) sumUp(u *candidate) {
	c.links.sumUp(c.labeling, u.v)
	u.links, u.clusters, u.summed = u.links[:0], bit(c.labels[u.v]), true
	for _, d := range c.links.touched {
		u.links = append(u.links, link{d, c.links.sum[d], c.links.avoided[d]})
		u.clusters |= bit(d)
	}
}
