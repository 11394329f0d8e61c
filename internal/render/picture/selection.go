package picture

import (
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/constraint"
)

// The largest numbers of things that are drawn, to keep the file below 2 MB and the picture readable.
const (
	maxPoints      = 5000
	maxConstraints = 300 // satisfied ones, and the same number of violated ones
	maxEdges       = 12000
	maxCenters     = 300
)

// pairCounts are the numbers of constraints by kind, satisfied and violated.
type pairCounts struct {
	mustSatisfied, cannotSatisfied int
	mustViolated, cannotViolated   int
}

func (t pairCounts) total() int {
	return t.mustSatisfied + t.cannotSatisfied + t.mustViolated + t.cannotViolated
}

// splitBySatisfaction separates satisfied from violated constraints, and counts them.
func splitBySatisfaction(pairs []constraint.Pair, labels []int32) (satisfied, violated []constraint.Pair, t pairCounts) {
	for _, p := range pairs {
		isViolated := p.Violates(labels)
		if isViolated {
			violated = append(violated, p)
		} else {
			satisfied = append(satisfied, p)
		}
		switch {
		case p.Kind == constraint.MustLink && isViolated:
			t.mustViolated++
		case p.Kind == constraint.MustLink:
			t.mustSatisfied++
		case isViolated:
			t.cannotViolated++
		default:
			t.cannotSatisfied++
		}
	}
	return satisfied, violated, t
}

// drawing is what gets drawn of a plot.
type drawing struct {
	points              []int // ascending
	satisfied, violated []constraint.Pair
	edges               [][2]int32
	totalEdges          int
	centers             []int // clusters whose center is drawn
	counts              pairCounts
	mismatch            []bool // see classMismatches; nil without truth
	notes               string // what was left out
}

func (c ClustersPlot) choose() drawing {
	var d drawing
	d.satisfied, d.violated, d.counts = splitBySatisfaction(c.Pairs, c.Labels)
	d.satisfied = pick(d.satisfied, evenSample(len(d.satisfied), maxConstraints))
	d.violated = pick(d.violated, evenSample(len(d.violated), maxConstraints))
	var required []int32
	for _, p := range slices.Concat(d.violated, d.satisfied) {
		required = append(required, p.I, p.J)
	}
	d.points = samplePoints(c.Labels, c.K, maxPoints, required)
	d.edges, d.totalEdges = c.chooseEdges(d.points)
	d.centers = evenSample(len(c.Centers), maxCenters)
	if len(c.Truth) > 0 {
		d.mismatch = classMismatches(c.Labels, c.Truth, c.K)
	}

	var partial []string
	note := func(drawn, total int, what string) {
		if drawn < total {
			partial = append(partial, formatCount(drawn)+" of "+formatCount(total)+" "+what)
		}
	}
	note(len(d.points), len(c.XY), "points")
	note(len(d.satisfied)+len(d.violated), len(c.Pairs), "constraints")
	note(len(d.edges), d.totalEdges, "edges")
	note(len(d.centers), len(c.Centers), "centroids")
	if len(partial) > 0 {
		d.notes = "Drawn: " + strings.Join(partial, ", ") + "."
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
	return pick(edges, evenSample(len(edges), maxEdges)), total
}

// classMismatches marks the points whose true class is not the most frequent one of their cluster, the
// errors that purity counts. Of equally frequent classes the smaller number counts.
func classMismatches(labels, truth []int32, k int) []bool {
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
