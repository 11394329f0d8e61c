package coloring

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/connected"
)

// SearchLimit is how many times all searches of a graph together may take a color back to try another. That takes about
// a second with some ten neighbors for each vertex.
const SearchLimit = 100_000

// Verdict is the outcome of a search.
type Verdict uint8

// The verdicts.
const (
	Colorable Verdict = iota + 1
	Uncolorable
	Undecided // the limit was reached
)

// Search looks for a coloring by exhaustive search, part by part, with a limit on its work. It fails only if the
// context ends.
func (g *Graph) Search(ctx context.Context, cost Cost) ([]int32, Verdict, error) {
	colors := slices.Clone(g.given)
	s := newSearcher(g, cost)
	all := Colorable
	for _, part := range g.parts() {
		found, verdict, err := s.color(ctx, part)
		if err != nil || verdict == Uncolorable {
			return nil, verdict, err
		}
		if verdict == Undecided {
			all = Undecided // another part may be uncolorable
			continue
		}
		for at, v := range part {
			colors[v] = found[at]
		}
	}
	if all == Undecided {
		return nil, all, nil
	}
	return colors, all, nil
}

// parts returns the parts of the graph that edges connect. Edges do not connect through a vertex with a given color,
// because it has that whatever the others do, and such vertices are in no part.
func (g *Graph) parts() [][]int32 {
	vertices := slices.DeleteFunc(choose.All[int32](g.Len()), func(v int32) bool { return g.given[v] != None })
	return connected.Parts(g.Len(), vertices, g.openNeighbors)
}

// part returns the part of the graph with a vertex without a given color.
func (g *Graph) part(v int32) []int32 {
	return connected.Parts(g.Len(), []int32{v}, g.openNeighbors)[0]
}

// openNeighbors returns the neighbors of a vertex that have no given color.
func (g *Graph) openNeighbors(v int32) []int32 {
	isGiven := func(u int32) bool { return g.given[u] != None }
	if !slices.ContainsFunc(g.neighbors[v], isGiven) {
		return g.neighbors[v]
	}
	return slices.DeleteFunc(slices.Clone(g.neighbors[v]), isGiven)
}

// searcher colors parts of a graph by exhaustive search. The next vertex is always the one with the fewest colors left
// (DSATUR), and its colors are tried by increasing cost. Colors that neither the part nor its neighbors have yet are
// interchangeable, so only the cheapest of them is tried. It takes memory for the graph, and time
// O(degree (log n + min(k, degree)) + k) to color a vertex.
type searcher struct {
	*Graph
	cost       Cost
	left       int // how many more times it may take a color back
	colors     []int32
	near       *tally
	saturation []int32 // of each vertex: the number of different colors near it
	taken      []bool  // per color

	// Of the part that is being colored.
	used  []int32 // how many vertices of the part, or next to it, have each color
	place []int32 // of each vertex
	// next is a tournament of the vertices, which are its leaves in the second half: next[i] is the one of next[2*i]
	// and next[2*i+1] to color first, so next[1] is the first of all. Colored vertices lose against all others.
	next []int32
}

func newSearcher(g *Graph, cost Cost) *searcher {
	s := &searcher{
		Graph:      g,
		cost:       cost,
		left:       SearchLimit,
		colors:     slices.Clone(g.given),
		near:       newTally(g),
		saturation: make([]int32, g.Len()),
		taken:      make([]bool, g.k),
		used:       make([]int32, g.k),
		place:      make([]int32, g.Len()),
	}
	for v, c := range g.given {
		if c == None {
			continue
		}
		for _, u := range g.neighbors[v] {
			s.count(u, c, 1)
		}
	}
	return s
}

// step is a vertex that was colored.
type step struct {
	vertex, color int32
}

// color looks for a coloring of a part.
func (s *searcher) color(ctx context.Context, part []int32) ([]int32, Verdict, error) {
	s.begin(part)
	var path []step
	defer func() { // the next part finds no colors of this one
		for _, one := range path {
			s.set(one, -1)
		}
	}()
	v := s.next[1]
	tried := int32(None) // the last color of v that was tried
	for len(path) < len(part) {
		if c := s.colorAfter(v, tried); c != None {
			path = append(path, step{v, c})
			if len(path)%64 == 0 && ctx.Err() != nil {
				return nil, 0, ctx.Err()
			}
			s.set(step{v, c}, 1)
			v = s.next[1]
			tried = None
			continue
		}
		if len(path) == 0 {
			return nil, Uncolorable, nil
		}
		s.left--
		if s.left < 0 {
			return nil, Undecided, nil
		}
		if s.left%64 == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		last := path[len(path)-1]
		path = path[:len(path)-1]
		s.set(last, -1)
		v = last.vertex
		tried = last.color
	}
	return choose.At(s.colors, part), Colorable, nil
}

// begin begins with a part.
func (s *searcher) begin(part []int32) {
	clear(s.used)
	s.next = slices.Concat(make([]int32, len(part)), part)
	for at, v := range part {
		s.place[v] = int32(at)
		for _, u := range s.neighbors[v] {
			if s.given[u] != None {
				s.used[s.given[u]]++
			}
		}
	}
	for at := len(part) - 1; at > 0; at-- {
		s.next[at] = s.first(s.next[2*at], s.next[2*at+1])
	}
}

// colorAfter returns the color of a vertex to try after another, or first if that is None. It returns None if there is
// none left.
func (s *searcher) colorAfter(v, tried int32) int32 {
	s.mark(s.taken, v, s.colors)
	unused := int32(None) // the cheapest color that nothing has yet
	best := int32(None)
	for c := range int32(s.k) {
		switch {
		case s.taken[c]:
		case s.used[c] == 0:
			if unused == None || s.cheaper(v, c, unused) {
				unused = c
			}
		case (tried == None || s.cheaper(v, tried, c)) && (best == None || s.cheaper(v, c, best)):
			best = c
		}
	}
	if unused != None && (tried == None || s.cheaper(v, tried, unused)) &&
		(best == None || s.cheaper(v, unused, best)) {
		return unused
	}
	return best
}

// cheaper reports whether a color of a vertex is tried before another: if it costs less or, of equals, is lower.
func (s *searcher) cheaper(v, a, b int32) bool {
	return cmp.Or(cmp.Compare(s.cost(v, a), s.cost(v, b)), cmp.Compare(a, b)) < 0
}

// set gives a vertex a color (sign 1), or takes it (sign -1).
func (s *searcher) set(one step, sign int32) {
	s.colors[one.vertex] = one.color
	if sign < 0 {
		s.colors[one.vertex] = None
	}
	s.used[one.color] += sign
	s.update(one.vertex)
	for _, u := range s.neighbors[one.vertex] {
		if s.count(u, one.color, sign) && s.colors[u] == None {
			s.update(u)
		}
	}
}

// count counts a neighbor of v that gets a color or loses it. It reports whether that changes the saturation of v.
func (s *searcher) count(v, color, sign int32) bool {
	count := s.near.count(v, color)
	*count += sign
	changed := *count == 0 || *count == 1 && sign > 0
	if changed {
		s.saturation[v] += sign
	}
	return changed
}

// update updates the tournament after the saturation or the color of a vertex has changed.
func (s *searcher) update(v int32) {
	for at := (len(s.next)/2 + int(s.place[v])) / 2; at > 0; at /= 2 {
		before := s.next[at]
		s.next[at] = s.first(s.next[2*at], s.next[2*at+1])
		if s.next[at] == before && before != v {
			return
		}
	}
}

// first returns which of two vertices to color first: one without a color, then the one with fewer colors left, then
// the one with more neighbors, then the lower one.
func (s *searcher) first(a, b int32) int32 {
	switch {
	case s.colors[a] != None:
		return b
	case s.colors[b] != None:
		return a
	}
	order := cmp.Or(
		cmp.Compare(s.saturation[a], s.saturation[b]),
		cmp.Compare(len(s.neighbors[a]), len(s.neighbors[b])),
		cmp.Compare(b, a),
	)
	if order > 0 {
		return a
	}
	return b
}

// tally counts the neighbors of each vertex by color. A vertex has room for k colors, or for one more than it has
// neighbors if that is less, so the memory is proportional to the graph.
type tally struct {
	k     int
	start []int // the room of vertex v is colors[start[v]:start[v+1]], and so for counts
	// colors tells which color a count is of. A room for k colors has them in order instead.
	colors, counts []int32
}

func newTally(g *Graph) *tally {
	t := &tally{k: g.k, start: make([]int, len(g.neighbors)+1)}
	for v, us := range g.neighbors {
		t.start[v+1] = t.start[v] + min(g.k, len(us)+1)
	}
	size := t.start[len(g.neighbors)]
	t.colors = make([]int32, size)
	t.counts = make([]int32, size)
	return t
}

// count returns the number of neighbors of v with color c, to be read or changed before the next call.
func (t *tally) count(v, c int32) *int32 {
	from, to := t.start[v], t.start[v+1]
	if to-from == t.k {
		return &t.counts[from+int(c)]
	}
	unused := from // there is one, because fewer neighbors than places have colors
	for at := from; at < to; at++ {
		switch {
		case t.counts[at] == 0:
			unused = at
		case t.colors[at] == c:
			return &t.counts[at]
		}
	}
	t.colors[unused] = c
	return &t.counts[unused]
}
