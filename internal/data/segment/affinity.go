package segment

import (
	"iter"
	"math"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

// minWeight is the smallest weight of an edge; the largest is 1. Less similar pairs have no edge, except
// pixels that share a side, whose edge gets this weight. So the graph of a picture is connected, and no
// pixel has degree 0, for which a normalized cut is not defined.
const minWeight = 1e-6

// maxPairs is the largest number of pairs within the radius: 268 million, a file of 9 GB.
const maxPairs = 1 << 28

// bytesPerEdge is the measured memory per edge while one machine reads and clusters the graph. The graph
// itself takes 24 bytes of it, a column and a weight in the rows of both ends.
const bytesPerEdge = 200

// Affinity measures how similar two pixels are, by the RBF kernel of Wang2014 7.1 over position and gray
// value:
//
//	a_ij = exp(-(dx^2 + dy^2) / (2 SigmaPosition^2) - dI^2 / (2 SigmaGray^2))
//
// for pixels that are at most Radius apart, with gray values I from 0 to 255. The paper takes all pairs
// and does not state its widths; DefaultAffinity chooses ours.
type Affinity struct {
	Radius        float64
	SigmaPosition float64
	SigmaGray     float64
}

// DefaultAffinity chooses the widths. SigmaPosition is half the radius: a pair at that distance has the
// weight exp(-2), and pairs beyond it would matter little. SigmaGray is half the picture's contrast: across
// the border of two equally large regions, each of one gray value, the weight is then at most exp(-8),
// whatever the two values are. In a picture without contrast any width gives the same weights.
func DefaultAffinity(p *Picture, radius float64) Affinity {
	a := Affinity{Radius: radius, SigmaPosition: radius / 2, SigmaGray: p.Contrast() / 2}
	if a.SigmaGray == 0 {
		a.SigmaGray = 1
	}
	return a
}

// Check returns an error if the parameters are invalid, or the graph of the picture would be empty or too large.
func (a Affinity) Check(p *Picture) error {
	for _, sigma := range []struct {
		name  string
		value float64
	}{{"position", a.SigmaPosition}, {"gray", a.SigmaGray}} {
		if !(sigma.value > 0) || math.IsInf(sigma.value, 0) {
			return fault.Invalid("BAD_SIGMA", "the width (sigma) of the %s is %v; it must be positive and finite",
				sigma.name, sigma.value)
		}
	}
	if !(a.Radius >= 1) || math.IsInf(a.Radius, 0) {
		return fault.Invalid("BAD_RADIUS",
			"the radius is %v; it must be finite and at least 1, so that pixels that share a side are joined", a.Radius)
	}
	if p.Pixels() < 2 {
		return fault.Invalid("EMPTY_PICTURE", "a picture of one pixel has no edges and nothing to segment")
	}
	if pairs := a.pairs(p); pairs > maxPairs {
		return fault.Invalid("TOO_MANY_EDGES",
			"%.0f pairs of the %d x %d pixels are within the radius %v, which would take about %.0f GB of memory to "+
				"cluster on one machine; at most %d are supported: take a smaller radius or picture",
			pairs, p.Width, p.Height, a.Radius, pairs*bytesPerEdge/1e9, maxPairs)
	}
	return nil
}

// pairs returns the number of pairs within the radius.
func (a Affinity) pairs(p *Picture) float64 {
	pairs := 0.0
	for dy := range p.Height {
		reach, within := a.reach(p, dy)
		if !within {
			break
		}
		// width - dx pairs of columns are dx apart. In the row itself dx is positive; in rows below it has
		// either sign.
		width, rows, r := float64(p.Width), float64(p.Height-dy), float64(reach)
		ahead := r*width - r*(r+1)/2 // exact, fused or not
		if dy == 0 {
			pairs += rows * ahead // exact, fused or not
		} else {
			pairs += rows * (width + 2*ahead) // exact, fused or not
		}
	}
	return pairs
}

// reach returns the largest dx within the picture and the radius for pixels dy rows apart; within is
// false if no such pixels are within the radius.
func (a Affinity) reach(p *Picture, dy int) (dx int, within bool) {
	left := float64(a.Radius*a.Radius) - float64(float64(dy)*float64(dy))
	if left < 0 {
		return 0, false
	}
	dx = int(math.Sqrt(min(left, MaxPixels*MaxPixels)))
	return min(dx, p.Width-1), true
}

// offset is the difference between a pixel and one with a larger number.
type offset struct {
	dx, dy       int
	positionTerm float64 // (dx^2 + dy^2) / (2 SigmaPosition^2)
	adjacent     bool    // the two pixels share a side
}

// offsets returns all offsets within the radius, in the order of the pixels that they lead to.
func (a Affinity) offsets(p *Picture) []offset {
	var offsets []offset
	for dy := range p.Height {
		reach, within := a.reach(p, dy)
		if !within {
			break
		}
		for dx := -reach; dx <= reach; dx++ {
			if dy == 0 && dx <= 0 {
				continue
			}
			// exact, fused or not
			positionTerm := halfSquare(float64(dx)/a.SigmaPosition) + halfSquare(float64(dy)/a.SigmaPosition)
			if elementary.Exp(-positionTerm) < minWeight && dx*dx+dy*dy > 1 {
				continue // too small, whatever the gray values are
			}
			offsets = append(offsets, offset{dx, dy, positionTerm, dx*dx+dy*dy == 1})
		}
	}
	return offsets
}

func halfSquare(x float64) float64 { return float64(x*x) / 2 }

// Edges yields the edges of a picture that Check accepts, sorted by their first pixel, then by the
// second. It computes them one at a time, without storing them.
func (a Affinity) Edges(p *Picture) iter.Seq[dataset.Edge] {
	return func(yield func(dataset.Edge) bool) {
		offsets := a.offsets(p)
		for i := range p.Pixels() {
			x, y := i%p.Width, i/p.Width
			for _, o := range offsets {
				if x+o.dx < 0 || x+o.dx >= p.Width || y+o.dy >= p.Height {
					continue
				}
				j := i + o.dy*p.Width + o.dx
				weight := a.weight(o, float64(p.Gray[i])-float64(p.Gray[j]))
				if weight > 0 && !yield(dataset.Edge{Source: int32(i), Target: int32(j), Weight: weight}) {
					return
				}
			}
		}
	}
}

// weight returns the weight of an edge, 0 if there is none. difference is between gray values from 0 to 65535.
func (a Affinity) weight(o offset, difference float64) float64 {
	weight := elementary.Exp(-(o.positionTerm + halfSquare(difference/grayLevel/a.SigmaGray))) // exact, fused or not
	switch {
	case weight >= minWeight:
		return weight
	case o.adjacent:
		return minWeight
	}
	return 0
}
