package metric

import "github.com/cleave-project/cleave/internal/text"

// PenaltyKind selects the cost of a violated link. The papers contradict each other, so each has its own kind.
type PenaltyKind uint8

// The kinds of penalties.
const (
	Potts       PenaltyKind = iota + 1 // every link costs its weight: Basu2003 (1)
	Basu2003                           // near must-links and far cannot-links cost more: Basu2003 (4)
	Bilenko2004                        // far must-links and near cannot-links cost more: Bilenko2004 (6)
)

func (c PenaltyKind) String() string {
	return text.Name(c, "unknown", "potts", "basu2003", "bilenko2004")
}

// Penalty returns the cost of a violated link, depending on its weight w and the distance phi of its points:
//
//	             must-link                cannot-link
//	Potts        w                        w
//	Basu2003     w max(0, bound - phi)    w min(phi, bound)
//	Bilenko2004  w phi                    w (bound - phi)
//
// The bound is Measure.Bound. A distance can exceed the bound of Bilenko2004 only by rounding.
func Penalty(c PenaltyKind, mustLink bool, weight, distance, bound float64) float64 {
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

// Link is a constrained pair of points. X and Y must be prepared for the distortion.
type Link struct {
	MustLink bool // the points belong together; otherwise apart
	Weight   float64
	X, Y     []float64
	Violated bool // by the current labels
}

// Bound returns the bound that a kind of penalty compares distances with, under the current measure.
//
//   - Basu2003: a_max, the largest distance of the must-links, or of all links if fewer than two are
//     must-links (Basu2003 4.1).
//   - Bilenko2004: phi_max, an upper bound of all distances: Metric.phiMax of the data's ranges for squared
//     Euclidean distances, 2 for cosines, the largest distance of the links for divergences.
//   - Potts: 0, which is not used.
func (m Measure) Bound(c PenaltyKind, links []Link, ranges []float64) float64 {
	switch {
	case c == Potts:
		return 0
	case c == Bilenko2004 && m.Distortion == SquaredEuclidean:
		return m.Metric.phiMax(ranges)
	case c == Bilenko2004 && m.Distortion == Cosine:
		return 2
	}
	mustLinks := 0
	for _, l := range links {
		if l.MustLink {
			mustLinks++
		}
	}
	mustOnly := c == Basu2003 && mustLinks >= 2
	largest := 0.0
	for _, l := range links {
		if l.MustLink || !mustOnly {
			largest = max(largest, m.Between(l.X, l.Y))
		}
	}
	return largest
}

// Penalties returns the total cost of the violated must-links and of the violated cannot-links, each summed in the
// order of the links.
func (m Measure) Penalties(c PenaltyKind, links []Link, bound float64) (must, cannot float64) {
	for _, l := range links {
		if !l.Violated {
			continue
		}
		cost := Penalty(c, l.MustLink, l.Weight, m.Between(l.X, l.Y), bound)
		if l.MustLink {
			must += cost
		} else {
			cannot += cost
		}
	}
	return must, cannot
}
