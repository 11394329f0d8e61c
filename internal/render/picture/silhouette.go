package picture

import (
	"fmt"
	"strings"
)

// SilhouettePlot shows how well rows lie in their clusters, cluster by cluster.
type SilhouettePlot struct {
	Label    string // describes the figure to those who cannot see it
	Mean     float64
	Clusters []ClusterSilhouette
}

// ClusterSilhouette has the values of the rows of a cluster, the largest first, at least one.
type ClusterSilhouette struct {
	Cluster int
	Class   string // "" for none
	Values  []float64
	Mean    float64
}

// The bands of clusters are at least minBand high, to have room for a name, and bandGap apart.
const (
	minBand, bandGap = 18.0, 6.0
	bandsHeight      = 420.0
)

// Figure draws a band for each cluster, whose rows end at their silhouettes. It returns nil if there are no rows.
func (s SilhouettePlot) Figure() *Figure {
	total, lowest, longest, height := 0, -0.25, 0.0, 0.0
	for _, c := range s.Clusters {
		total += len(c.Values)
		lowest = min(lowest, c.Values[len(c.Values)-1])
		longest = max(longest, textWidth(fit(c.Class, fontSize, maxNameWidth), fontSize))
	}
	if total == 0 {
		return nil
	}
	band := func(c ClusterSilhouette) float64 {
		return max(minBand, bandsHeight*float64(len(c.Values))/float64(total))
	}
	for _, c := range s.Clusters {
		height += band(c) + bandGap
	}
	f := frame{left: 60 + longest, top: 26, right: figureWidth - 14, bottom: height + 30, y: axis{hi: 1}}
	f.x = axis{name: "silhouette: 1 well inside its cluster, 0 between two, below 0 nearer to another", lo: max(-1, lowest), hi: 1}
	f.x.ticks = linearTicks(f.x.lo, 1, 8, 0)
	g := &Figure{id: "silhouette", label: s.Label, width: figureWidth, height: f.bottom + roomBelow(f.x) + 8}
	g.drawFrame(f)
	x := func(v float64) float64 { return f.at(v, 0).x }
	top := f.top + bandGap/2
	for _, c := range s.Clusters {
		name := strings.TrimSpace(fmt.Sprintf("%d %s", c.Cluster, fit(c.Class, fontSize, maxNameWidth)))
		outline := []point{{x(0), top}}
		for i, v := range c.Values {
			step := band(c) / float64(len(c.Values))
			outline = append(outline, point{x(v), top + step*float64(i)}, point{x(v), top + step*float64(i+1)})
		}
		outline = append(outline, point{x(0), top + band(c)})
		g.data.path("area "+ColorClass(c.Cluster), pathThrough(outline)+"Z", fmt.Sprintf("cluster %s: mean silhouette %.2f", name, c.Mean))
		middle := top + band(c)/2
		g.names.mark(c.Cluster, "", point{14, middle}, 0, "")
		g.names.text("tick", point{26, middle + 4}, name)
		top += band(c) + bandGap
	}
	g.data.line("zero", point{x(0), f.top}, point{x(0), f.bottom})
	g.data.line("mean", point{x(s.Mean), f.top}, point{x(s.Mean), f.bottom})
	g.names.text("middle", point{x(s.Mean), f.top - 8}, strings.Replace(fmt.Sprintf("mean %.2f", s.Mean), "-", "\u2212", 1))
	return g
}
