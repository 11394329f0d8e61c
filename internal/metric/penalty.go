package metric

import (
	"github.com/cleave-project/cleave/internal/constraint"
)

// Convention says what a violated link costs. The papers contradict each other, so each has a name.
type Convention uint8

// The conventions of penalties.
const (
	Potts       Convention = iota + 1 // its weight: Basu2003 (1)
	Basu2003                          // near must-links and far cannot-links cost more: Basu2003 (4)
	Bilenko2004                       // far must-links and near cannot-links cost more: Bilenko2004 (6)
)

func (c Convention) String() string {
	switch c {
	case Potts:
		return "potts"
	case Basu2003:
		return "basu2003"
	case Bilenko2004:
		return "bilenko2004"
	}
	return "unknown"
}

// Penalty is what a violated link costs, by its weight and the distance of its points, phi:
//
//	             must-link                cannot-link
//	Potts        w                        w
//	Basu2003     w max(0, bound - phi)    w min(phi, bound)
//	Bilenko2004  w phi                    w (bound - phi)
//
// The bound is Measure.Bound, and no distance passes Bilenko2004's but by rounding.
func Penalty(c Convention, mustLink bool, weight, distance, bound float64) float64 {
	switch {
	case c == Basu2003 && mustLink:
		return weight * max(0, bound-distance)
	case c == Basu2003:
		return weight * min(distance, bound)
	case c == Bilenko2004 && mustLink:
		return weight * distance
	case c == Bilenko2004:
		return weight * max(0, bound-distance)
	}
	return weight
}

// Link is a constrained pair of points, prepared as their distortion wants them.
type Link struct {
	Kind     constraint.Kind
	Weight   float64
	X, Y     []float64
	Violated bool // by the current labels
}

func (l Link) mustLink() bool { return l.Kind == constraint.MustLink }

// Bound is what a convention measures distances against, under the measure as it is now.
//
//   - Basu2003: a_max, the largest distance over the must-links, or over all links when fewer than
//     two of them are must-links (Basu2003 4.1).
//   - Bilenko2004: phi_max, no less than any distance: Metric.PhiMax of the data's ranges for squared
//     Euclidean distances, 2 for cosines, the largest distance over the links for divergences.
//   - Potts: none, 0.
func (m Measure) Bound(c Convention, links []Link, ranges []float64) float64 {
	switch {
	case c == Potts:
		return 0
	case c == Bilenko2004 && m.Distortion == SquaredEuclidean:
		return m.Metric.PhiMax(ranges)
	case c == Bilenko2004 && m.Distortion == Cosine:
		return 2
	}
	mustLinks := 0
	for _, l := range links {
		if l.mustLink() {
			mustLinks++
		}
	}
	mustOnly := c == Basu2003 && mustLinks >= 2
	largest := 0.0
	for _, l := range links {
		if l.mustLink() || !mustOnly {
			largest = max(largest, m.Between(l.X, l.Y))
		}
	}
	return largest
}

// Penalties are the costs of the violated must-links and cannot-links, summed in the links' order.
func (m Measure) Penalties(c Convention, links []Link, bound float64) (must, cannot float64) {
	for _, l := range links {
		if !l.Violated {
			continue
		}
		cost := Penalty(c, l.mustLink(), l.Weight, m.Between(l.X, l.Y), bound)
		if l.mustLink() {
			must += cost
		} else {
			cannot += cost
		}
	}
	return must, cannot
}
