package answers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// margin is how much two ARI may differ and still count as level.
const margin = 0.02

// place is where answers are compared: a set, a number of constraints and the share of wrong ones.
type place struct {
	set   string
	m     int
	noise float64
}

// index finds answers by place, method and seed.
type index struct {
	answers map[place]map[string]map[int]Answer
}

// newIndex leaves out runs that took too long: how long is that of the machine, not of the method. Of runs that were
// repeated the last counts.
func newIndex(list []Answer) index {
	x := index{map[place]map[string]map[int]Answer{}}
	for _, a := range list {
		if a.Status == Late {
			continue
		}
		at := place{a.Set, a.M, a.Noise}
		if x.answers[at] == nil {
			x.answers[at] = map[string]map[int]Answer{}
		}
		if x.answers[at][a.Method] == nil {
			x.answers[at][a.Method] = map[int]Answer{}
		}
		x.answers[at][a.Method][a.Seed] = a
	}
	return x
}

// places returns all places in the order of their sets, shares of wrong constraints and numbers of constraints.
func (x index) places() []place {
	return slices.SortedFunc(maps.Keys(x.answers), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.noise, b.noise), cmp.Compare(a.m, b.m))
	})
}

// seeds returns those that a method was asked with.
func (x index) seeds(at place, method string) []int {
	return slices.Sorted(maps.Keys(x.answers[at][method]))
}

// mean returns the mean ARI of a method over the given seeds, or over its own where it was asked with none of them; it
// is NaN where it was not asked.
func (x index) mean(at place, method string, seeds []int) float64 {
	runs := x.answers[at][method]
	if !slices.ContainsFunc(seeds, func(seed int) bool { _, is := runs[seed]; return is }) {
		seeds = x.seeds(at, method)
	}
	sum, count := 0.0, 0.0
	for _, seed := range seeds {
		if a, is := runs[seed]; is {
			sum, count = sum+a.ARI, count+1
		}
	}
	return sum / count
}

// scored is a method and its mean ARI; without a name there is none.
type scored struct {
	method string
	ari    float64
}

func (s *scored) raise(method string, ari float64) {
	if !math.IsNaN(ari) && (s.method == "" || ari > s.ari) {
		*s = scored{method, ari}
	}
}

// cell is one place without wrong constraints, and the best answers there.
type cell struct {
	place
	group, kind   string
	n, k          int
	runs          []Answer // of the method that the page is about
	ari           float64  // their mean
	own, peer     scored   // the best of the others
	fewer         float64  // the largest mean with fewer constraints; NaN if there is none
	unconstrained float64  // the mean without constraints; NaN if there is none
}

// fell returns by how much there is less than with fewer constraints.
func (c cell) fell() float64 {
	if math.IsNaN(c.fewer) {
		return 0
	}
	return c.fewer - c.ari
}

// verdict compares with the best peer.
func (c cell) verdict() string {
	switch {
	case c.peer.method == "":
		return ""
	case c.ari > c.peer.ari+margin:
		return "ahead"
	case c.ari < c.peer.ari-margin:
		return "behind"
	}
	return "level"
}

// missed returns how much more the best of all others has.
func (c cell) missed() float64 {
	best := scored{"itself", c.ari}
	for _, other := range []scored{c.own, c.peer} {
		if other.method != "" {
			best.raise(other.method, other.ari)
		}
	}
	return best.ari - c.ari
}

// cells returns the places where a method was asked with a share of wrong constraints: real sets first, by name, then
// by the number of constraints.
func (x index) cells(subject string, noise float64) []cell {
	var list []cell
	for at, methods := range x.answers {
		if at.noise != noise || methods[subject] == nil {
			continue
		}
		seeds := x.seeds(at, subject)
		c := cell{place: at, ari: x.mean(at, subject, seeds), fewer: math.NaN(),
			unconstrained: x.mean(place{at.set, 0, 0}, subject, seeds)}
		for _, seed := range seeds {
			c.runs = append(c.runs, methods[subject][seed])
		}
		c.group, c.kind, c.n, c.k = c.runs[0].Group, c.runs[0].Kind, c.runs[0].N, c.runs[0].K
		x.findBest(&c, subject, seeds)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b cell) int {
		return cmp.Or(-cmp.Compare(a.group, b.group), cmp.Compare(a.set, b.set), cmp.Compare(a.m, b.m))
	})
	for at := 1; at < len(list); at++ {
		if before := list[at-1]; before.set == list[at].set {
			list[at].fewer = before.ari
			if before.fewer > before.ari { // false for NaN
				list[at].fewer = before.fewer
			}
		}
	}
	return list
}

// findBest finds the best algorithm of ours that leaves all options open, and the best peer. What takes no constraints
// counts with its answer without them, and so do peers that take them: a user might leave them away.
func (x index) findBest(c *cell, subject string, seeds []int) {
	for _, at := range []place{c.place, {c.set, 0, 0}} {
		for _, method := range slices.Sorted(maps.Keys(x.answers[at])) {
			switch {
			case isPeer(method):
				c.peer.raise(method, x.mean(at, method, seeds))
			case plain(method) && method != subject && method != Default &&
				(at == c.place || !takesConstraints(method)):
				c.own.raise(method, x.mean(at, method, seeds))
			}
		}
	}
}

// tally sums up cells.
type tally struct {
	name                          string
	cells, owns, peers            int
	ari, own, peer, unconstrained float64 // sums
	ahead, level, behind          int
	fell, fellFar                 int // less than with fewer constraints, by more than .02 and .05
	below, belowFar               int // less than without constraints, by more than .02 and .05
}

func (t *tally) add(c cell) {
	t.cells++
	t.ari += c.ari
	if c.own.method != "" {
		t.owns, t.own = t.owns+1, t.own+c.own.ari
	}
	if c.peer.method != "" {
		t.peers, t.peer = t.peers+1, t.peer+c.peer.ari
	}
	count := func(counter *int, is bool) {
		if is {
			*counter++
		}
	}
	count(&t.ahead, c.verdict() == "ahead")
	count(&t.level, c.verdict() == "level")
	count(&t.behind, c.verdict() == "behind")
	count(&t.fell, c.fell() > margin)
	count(&t.fellFar, c.fell() > 0.05)
	if !math.IsNaN(c.unconstrained) {
		t.unconstrained += c.unconstrained
		count(&t.below, c.ari < c.unconstrained-margin)
		count(&t.belowFar, c.ari < c.unconstrained-0.05)
	}
}

// numberName returns the number of constraints of a cell as columns and rows call it.
func numberName(m, n int) string {
	if m == n/2 && !slices.Contains(standardNumbers, m) {
		return "n/2"
	}
	return fmt.Sprint(m)
}

// tallies sums up cells by their groups and numbers of constraints, and once more all cells with many.
func tallies(cells []cell) []tally {
	var list []tally
	add := func(name string, c cell) {
		at := slices.IndexFunc(list, func(t tally) bool { return t.name == name })
		if at < 0 {
			at = len(list)
			list = append(list, tally{name: name})
		}
		list[at].add(c)
	}
	for _, group := range []string{Real, Generated} {
		inGroup := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.group != group })
		slices.SortStableFunc(inGroup, func(a, b cell) int { return cmp.Compare(rank(a), rank(b)) })
		for _, c := range inGroup {
			add(fmt.Sprintf("%s sets, m = %s", group, numberName(c.m, c.n)), c)
		}
		for _, c := range inGroup {
			if c.m >= 100 {
				add(group+" sets, m >= 100", c)
			}
		}
	}
	return list
}

// rank orders numbers of constraints, n/2 last.
func rank(c cell) int {
	if numberName(c.m, c.n) == "n/2" {
		return math.MaxInt
	}
	return c.m
}
