package picture

import (
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/constraint"
)

// What is drawn at most, to keep the file below 2 MB and the picture readable.
const (
	mostPoints      = 5000
	mostConstraints = 300 // satisfied ones, and as many violated ones
	mostEdges       = 12000
	mostCenters     = 300
)

// tally counts the constraints by kind and fate.
type tally struct {
	mustKept, cannotKept     int
	mustBroken, cannotBroken int
}

func (t tally) total() int { return t.mustKept + t.cannotKept + t.mustBroken + t.cannotBroken }

// splitPairs parts the constraints that hold from those that do not.
func splitPairs(pairs []constraint.Pair, labels []int32) (kept, broken []constraint.Pair, t tally) {
	for _, p := range pairs {
		violated := p.Violates(labels)
		if violated {
			broken = append(broken, p)
		} else {
			kept = append(kept, p)
		}
		switch {
		case p.Kind == constraint.MustLink && violated:
			t.mustBroken++
		case p.Kind == constraint.MustLink:
			t.mustKept++
		case violated:
			t.cannotBroken++
		default:
			t.cannotKept++
		}
	}
	return kept, broken, t
}

// drawing is what gets drawn of a plot.
type drawing struct {
	points       []int // ascending
	kept, broken []constraint.Pair
	edges        [][2]int32
	totalEdges   int
	centers      []int // clusters whose center is drawn
	tally        tally
	disagree     []bool // by point: another class than most of its cluster; nil without truth
	notes        string // what was left out
}

func (c ClustersPlot) choose() drawing {
	var d drawing
	d.kept, d.broken, d.tally = splitPairs(c.Pairs, c.Labels)
	d.kept = pick(d.kept, evenly(len(d.kept), mostConstraints))
	d.broken = pick(d.broken, evenly(len(d.broken), mostConstraints))
	var required []int32
	for _, p := range slices.Concat(d.broken, d.kept) {
		required = append(required, p.I, p.J)
	}
	d.points = samplePoints(c.Labels, c.K, mostPoints, required)
	d.edges, d.totalEdges = c.chooseEdges(d.points)
	d.centers = evenly(len(c.Centres), mostCenters)
	if len(c.Truth) > 0 {
		d.disagree = minority(c.Labels, c.Truth, c.K)
	}

	var left []string
	leave := func(drawn, total int, what string) {
		if drawn < total {
			left = append(left, count(drawn)+" of "+count(total)+" "+what)
		}
	}
	leave(len(d.points), len(c.XY), "points")
	leave(len(d.kept)+len(d.broken), len(c.Pairs), "constraints")
	leave(len(d.edges), d.totalEdges, "edges")
	leave(len(d.centers), len(c.Centres), "centroids")
	if len(left) > 0 {
		d.notes = "Drawn: " + strings.Join(left, ", ") + "."
	}
	return d
}

// chooseEdges takes an even sample of the edges between drawn points; loops are not drawn.
func (c ClustersPlot) chooseEdges(points []int) (edges [][2]int32, total int) {
	if c.Graph == nil {
		return nil, 0
	}
	drawn := make([]bool, c.Graph.N)
	for _, i := range points {
		drawn[i] = true
	}
	for i := range c.Graph.N {
		neighbors, _ := c.Graph.Row(i)
		for _, j := range neighbors {
			if int(j) <= i {
				continue
			}
			total++
			if drawn[i] && drawn[j] {
				edges = append(edges, [2]int32{int32(i), j})
			}
		}
	}
	return pick(edges, evenly(len(edges), mostEdges)), total
}

// minority marks the points whose true class is not the most frequent one of their cluster (ties
// go to the smaller class): the errors that purity counts.
func minority(labels, truth []int32, k int) []bool {
	type cell struct{ label, class int32 }
	counts := make(map[cell]int)
	for i, label := range labels {
		counts[cell{label, truth[i]}]++
	}
	most := make([]int, k)
	class := make([]int32, k)
	for at, number := range counts {
		c := at.label
		if number > most[c] || (number == most[c] && at.class < class[c]) {
			most[c], class[c] = number, at.class
		}
	}
	differs := make([]bool, len(labels))
	for i, label := range labels {
		differs[i] = truth[i] != class[label]
	}
	return differs
}
