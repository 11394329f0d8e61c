package constraint

import (
	"slices"

	"github.com/cleave-project/cleave/internal/text"
)

// Conflict is a cannot-link between two points that must-links connect. Path proves it: a shortest
// path of must-links from one to the other.
type Conflict struct {
	Pair Pair
	Path []int32 // from Pair.I to Pair.J, ends included
}

func (c Conflict) String() string { return c.Message().String() }

// Message describes the conflict. It elides the middle of a long path.
func (c Conflict) Message() text.Message {
	const shown = 12
	row := func(point int32) text.Part { return text.Row(int(point)) }
	m := text.Message{
		text.Plain("points "), row(c.Pair.I), text.Plain(" and "), row(c.Pair.J),
		text.Plain(" cannot be together, but must-links join them: "), row(c.Pair.I),
	}
	rest := c.Path[1:]
	if more := len(c.Path) - shown + 1; more > 1 {
		for _, point := range rest[:shown-3] {
			m = append(m, text.Plain(" = "), row(point))
		}
		m = append(m, text.Plain(" = ... (%d more)", more))
		rest = rest[len(rest)-1:]
	}
	for _, point := range rest {
		m = append(m, text.Plain(" = "), row(point))
	}
	return m
}

// CountConflicts returns the number of given cannot-links inside a must-link component.
func (s *Set) CountConflicts() int {
	count := 0
	for _, p := range s.givenPairs() {
		if s.isConflict(p) {
			count++
		}
	}
	return count
}

// Conflicts returns up to limit conflicts with their paths, or all of them if limit is 0.
func (s *Set) Conflicts(limit int) []Conflict {
	var conflicts []Conflict
	var links adjacency
	for _, p := range s.givenPairs() {
		if !s.isConflict(p) {
			continue
		}
		if links == nil {
			links = s.mustLinkAdjacency()
		}
		conflicts = append(conflicts, Conflict{Pair: p, Path: links.shortestPath(p.I, p.J)})
		if len(conflicts) == limit {
			break
		}
	}
	return conflicts
}

func (s *Set) isConflict(p Pair) bool {
	return p.Kind == CannotLink && s.components.Of(p.I) == s.components.Of(p.J)
}

// adjacency lists each point's must-linked partners in ascending order.
type adjacency map[int32][]int32

func (s *Set) mustLinkAdjacency() adjacency {
	links := adjacency{}
	for _, p := range s.givenPairs() {
		if p.Kind == MustLink {
			links[p.I] = append(links[p.I], p.J)
			links[p.J] = append(links[p.J], p.I)
		}
	}
	return links
}

// shortestPath returns a shortest path, or nil if there is none. The same constraints always give the
// same path.
func (links adjacency) shortestPath(from, to int32) []int32 {
	previous := map[int32]int32{from: from}
	for queue := []int32{from}; len(queue) > 0; queue = queue[1:] {
		point := queue[0]
		if point == to {
			path := []int32{to}
			for point != from {
				point = previous[point]
				path = append(path, point)
			}
			slices.Reverse(path)
			return path
		}
		for _, next := range links[point] {
			if _, seen := previous[next]; !seen {
				previous[next] = point
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// Satisfaction counts the distinct constraints that a labeling violates.
type Satisfaction struct {
	Total              int
	MustLinks          int
	MustLinkViolated   int
	CannotLinkViolated int
}

// Satisfied returns the number of constraints that hold.
func (s Satisfaction) Satisfied() int { return s.Total - s.MustLinkViolated - s.CannotLinkViolated }

// Violates reports whether labels violate the constraint.
func (p Pair) Violates(labels []int32) bool {
	return (labels[p.I] == labels[p.J]) == (p.Kind == CannotLink)
}

// Satisfaction checks labels against every given constraint. Pairs that EntailSmall added do not count.
func (s *Set) Satisfaction(labels []int32) Satisfaction {
	report := Satisfaction{Total: len(s.givenPairs())}
	for _, p := range s.givenPairs() {
		if p.Kind == MustLink {
			report.MustLinks++
		}
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
