package picture

import (
	"math"
	"strconv"
)

// namer writes the names of clusters into a map, one after the other, so that no name covers another or leaves the
// frame while there is room.
type namer struct {
	frame   frame
	members [][]point // the markers of each cluster; discs have room for a name and are not among them
	beside  bool      // names stand above or below a center
	brief   bool      // names are numbers without classes, which would cover the map; the legend has the classes
	taken   []name    // those written so far
}

// name is where a name was written.
type name struct {
	at   point   // the middle of its baseline
	half float64 // of its width
}

const (
	nameHeight   = 17.0
	nameSize     = 15.0
	maxNameWidth = 150.0 // of a class
	fewMembers   = 10    // so few that each of them must be seen
	maxClasses   = 12    // more clusters have brief names
)

// add writes the name of a cluster at a place within the frame, or above or below what is in its way.
func (n *namer) add(figure *Figure, entry ClusterEntry, place point) {
	label := strconv.Itoa(entry.Cluster)
	if entry.Class != "" && !n.brief {
		// isolated, as it may be written from right to left
		label += " \u2068" + fit(entry.Class, nameSize, maxNameWidth) + "\u2069"
	}
	half := textWidth(label, nameSize) / 2
	place.x = max(n.frame.left+half, min(n.frame.right-half, place.x))
	steps := []float64{0, -1, 1, -2, 2, -3, 3}
	if n.beside || n.covers(entry.Cluster, place, half) {
		steps = steps[1:]
	}
	place.y += 5 // to the foot of the letters
	for _, by := range steps {
		y := place.y + by*nameHeight
		free := y > n.frame.top+nameHeight && y < n.frame.bottom
		for _, other := range n.taken {
			if math.Abs(other.at.y-y) < nameHeight && math.Abs(other.at.x-place.x) < half+other.half {
				free = false
			}
		}
		if free {
			place.y = y
			break
		}
	}
	n.taken = append(n.taken, name{place, half})
	figure.data.printf("<text class=\"name middle\" x=\"%v\" y=\"%v\" data-k=\"%d\">%s</text>\n", number(place.x),
		number(place.y), entry.Cluster, escape(label))
}

// covers reports whether a name would hide its cluster: one of few points, or most of many.
func (n *namer) covers(cluster int, at point, half float64) bool {
	all, hidden := len(n.members[cluster]), 0
	for _, p := range n.members[cluster] {
		if math.Abs(p.x-at.x) < half && math.Abs(p.y-at.y) < nameHeight/2 {
			hidden++
		}
	}
	return hidden > 0 && (all <= fewMembers || 4*hidden > 3*all)
}
