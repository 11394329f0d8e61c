package multilevel

import "context"

const (
	// chainLength is how many moves a chain goes on without a new best.
	chainLength = 20
	// chainWork is how many entries of the matrix the chains of one level may read: they make much of small graphs, and of
	// large ones there are the small ones below them.
	chainWork = 1 << 20
)

// chains is local search: from each vertex at a border a chain of single moves, each the best of the neighbors of those that
// moved before, which may lower the value on the way and is kept up to its best point.
func (r *refiner) chains(ctx context.Context, l *labeling) error {
	c := &chain{labeling: l, links: r.links, least: l.tolerance(), work: chainWork, seen: make([]bool, l.g.Rows())}
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
	seen    []bool  // vertices that have moved or may move next
	reached []int32 // those that may move next
	moves   []done
}

// done is a move that was carried out.
type done struct{ v, from int32 }

// from runs the chain that begins at a vertex and tells whether it raised the value.
func (c *chain) from(v int32) bool {
	c.reach(v)
	total, best, kept := 0.0, 0.0, 0
	for len(c.moves)-kept < chainLength && c.work > 0 {
		place, to, gain := c.next()
		if place < 0 {
			break
		}
		u, last := c.reached[place], len(c.reached)-1
		c.moves = append(c.moves, done{u, c.labels[u]})
		c.links.of(c.labeling, u)
		c.move(u, to, c.links)
		c.reached[place] = c.reached[last]
		c.reached = c.reached[:last]
		if total += gain; total > best+c.least {
			best, kept = total, len(c.moves)
		}
		neighbors, _ := c.g.row(u)
		c.work -= int64(len(neighbors))
		for _, w := range neighbors {
			c.reach(w)
		}
	}
	for at := len(c.moves) - 1; at >= kept; at-- {
		c.links.of(c.labeling, c.moves[at].v)
		c.move(c.moves[at].v, c.moves[at].from, c.links)
	}
	for _, u := range c.reached {
		c.seen[u] = false
	}
	for _, m := range c.moves {
		c.seen[m.v] = false
	}
	c.reached, c.moves = c.reached[:0], c.moves[:0]
	return kept > 0
}

func (c *chain) reach(v int32) {
	if !c.seen[v] {
		c.seen[v] = true
		c.reached = append(c.reached, v)
	}
}

// next is the best move of the vertices that were reached; a place of -1: there is none.
func (c *chain) next() (place int, to int32, gain float64) {
	place = -1
	for at, u := range c.reached {
		c.links.of(c.labeling, u)
		c.work -= c.g.Start[u+1] - c.g.Start[u]
		if d, g := c.best(u, c.links); d >= 0 && (place < 0 || g > gain || g == gain && u < c.reached[place]) {
			place, to, gain = at, d, g
		}
	}
	return place, to, gain
}
