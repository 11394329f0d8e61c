package page

import "strings"

// Silhouette shows how well rows lie in their clusters, cluster by cluster.
type Silhouette struct {
	Text     string
	Note     string
	Mean     float64
	Clusters []ClusterSilhouette
	Table    *Table
}

// ClusterSilhouette has the values of the rows of a cluster, the largest first.
type ClusterSilhouette struct {
	Cluster int
	Class   string // "": it has none
	Values  []float64
	Mean    float64
}

// Clusters are at least so high, to have room for their number, and so far apart.
const (
	minBand, bandGap   = 18, 6
	silhouetteHeight   = 420
	silhouetteMinValue = -0.25
)

func (s *Silhouette) draw() *drawing {
	total, lowest := 0, silhouetteMinValue
	for _, c := range s.Clusters {
		total += len(c.Values)
		if n := len(c.Values); n > 0 {
			lowest = min(lowest, c.Values[n-1])
		}
	}
	if total == 0 {
		return nil
	}
	var bands []float64
	height, longest := 0.0, 0
	for _, c := range s.Clusters {
		longest = max(longest, min(maxDrawnClass, len([]rune(c.Class))))
		band := max(minBand, silhouetteHeight*float64(len(c.Values))/float64(total))
		bands = append(bands, band)
		height += band + bandGap
	}
	d := &drawing{ID: "silhouette", Label: s.Text, Width: 800, Height: number(height) + 82, Left: 60 + 8*number(longest), Top: 26, Right: 786, Bottom: number(height) + 30}
	x := axis{max(-1, lowest), 1, d.Left, d.Right}
	d.addTicks(&x, nil, false)
	d.addAxes("silhouette: 1 well inside its cluster, 0 between two, below 0 nearer to another", "")
	top := float64(d.Top) + bandGap/2
	for at, c := range s.Clusters {
		var b strings.Builder
		zero := x.at(0).String()
		b.WriteString("M" + zero + " " + number(top).String())
		for i, v := range c.Values {
			from, to := top+bands[at]*float64(i)/float64(len(c.Values)), top+bands[at]*float64(i+1)/float64(len(c.Values))
			b.WriteString("L" + x.at(v).String() + " " + number(from).String() + "V" + number(to).String())
		}
		b.WriteString("L" + zero + " " + number(top+bands[at]).String() + "Z")
		title := "cluster " + numbered(c.Cluster, c.Class) + ": mean silhouette " + Fixed(c.Mean, 2)
		d.Paths = append(d.Paths, path{Class: "area " + colorClass(c.Cluster), D: b.String(), Title: title})
		middle := number(top + bands[at]/2)
		d.Dots = append(d.Dots, mark{Class: "mark " + colorClass(c.Cluster), Shape: shapeOf(c.Cluster).Name, Cluster: c.Cluster, X: 14, Y: middle})
		d.Ticks = append(d.Ticks, label{Class: "tick", Text: numbered(c.Cluster, c.Class), X: 26, Y: middle + 4})
		top += bands[at] + bandGap
	}
	d.Over = append(d.Over, line{"zero", x.at(0), d.Top, x.at(0), d.Bottom}, line{"mean", x.at(s.Mean), d.Top, x.at(s.Mean), d.Bottom})
	d.Ticks = append(d.Ticks, label{Class: "of-mean middle", Text: "mean " + Fixed(s.Mean, 2), X: x.at(s.Mean), Y: d.Top - 8})
	return d
}
