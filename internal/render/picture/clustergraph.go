package picture

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/text"
)

const (
	maxDiscs = 60
	maxLinks = 400
)

// ClusterGraph draws the clusters of a graph that is too large to draw its vertices, as discs on a circle. The area of
// a disc is proportional to the size of its cluster, the width of a line between discs to the weight between the
// clusters. The legend counts the constraints; none is drawn. Of very many clusters ClusterGraph draws the largest, of
// very many lines the heaviest, and Note says so.
func (c ClustersPlot) ClusterGraph(g *dataset.Graph) *Figure {
	figure := &Figure{Title: c.Title, Subtitle: c.Subtitle, id: "map", label: c.Label, width: figureWidth,
		height: figureHeight}
	figure.about = "A disc is a cluster, its area the number of vertices; lines show the weight between clusters."
	figure.Clusters = clusterEntries(c.Labels, c.K, c.Classes, c.Sizes)
	area := frame{left: 12, top: 12, right: figureWidth - buttonRoom, bottom: figureHeight - 12, x: axis{hi: 1},
		y: axis{hi: 1}}
	figure.zoom = &area
	discs := largestClusters(figure.Clusters)
	links := c.links(g)
	between := links.between(discs)
	shown := between[:min(len(between), maxLinks)]
	places := placeDiscs(figure.Clusters, discs, area)
	widest := math.Min(10, 50/float64(len(discs))) // many wide lines would cover each other
	for _, l := range slices.Backward(shown) {     // the heaviest on top
		width := int(math.Ceil(widest * l.weight / shown[0].weight))
		figure.data.line(fmt.Sprintf("link edge w%d", width), places[l.a].center, places[l.b].center)
	}
	names := namer{frame: area, members: make([][]point, c.K), brief: c.K > maxClasses}
	for _, cluster := range discs {
		title := fmt.Sprintf("cluster %d: %s", cluster, text.Count(figure.Clusters[cluster].Size, "vertex", "vertices"))
		figure.data.mark(cluster, "", places[cluster].center, places[cluster].radius, title)
	}
	for _, cluster := range discs {
		names.add(figure, figure.Clusters[cluster], places[cluster].center)
	}

	_, violated := splitPairs(c.Pairs, c.Labels)
	must, cannot := constraint.CountKinds(c.Pairs)
	mustViolated, cannotViolated := constraint.CountKinds(violated)
	satisfied := func(name string, all, violated int) {
		if all > 0 {
			figure.Kinds = append(figure.Kinds, KindEntry{Name: name + "s satisfied",
				Count: fmt.Sprintf("%s of %s", text.Grouped(all-violated), text.Grouped(all))})
		}
	}
	satisfied("must-link", must, mustViolated)
	satisfied("cannot-link", cannot, cannotViolated)
	if links.total > 0 {
		figure.Kinds = append(figure.Kinds,
			KindEntry{Name: "edge weight within clusters", Count: fmt.Sprintf("%.1f%%", 100*links.inside/links.total)},
			KindEntry{Name: "between clusters",
				Count: fmt.Sprintf("%.1f%%", 100*(links.total-links.inside)/links.total)})
	}
	nonEmpty := 0
	for _, entry := range figure.Clusters {
		nonEmpty += min(1, entry.Size)
	}
	figure.Note = drawnNote(drawn{len(discs), nonEmpty, "clusters, the largest"},
		drawn{len(shown), len(between), "lines between them, the heaviest"})
	return figure
}

// largestClusters returns the clusters to draw, in the order of their numbers; empty ones have no disc.
func largestClusters(all []ClusterEntry) []int {
	var discs []int
	for _, e := range all {
		if e.Size > 0 {
			discs = append(discs, e.Cluster)
		}
	}
	slices.SortStableFunc(discs, func(a, b int) int { return cmp.Compare(all[b].Size, all[a].Size) })
	discs = discs[:min(len(discs), maxDiscs)]
	slices.Sort(discs)
	return discs
}

// clusterLink is the weight between two clusters.
type clusterLink struct {
	a, b   int
	weight float64
}

// clusterLinks are sums of the absolute weights of edges, relative to the largest of them, by the
// clusters of the two ends.
type clusterLinks struct {
	total, inside float64              // of all edges, and of those within a cluster
	pairs         map[[2]int32]float64 // by two different clusters, the smaller number first
}

// links adds up the edges, each once; a loop counts as within its cluster.
func (c ClustersPlot) links(g *dataset.Graph) clusterLinks {
	largest := 0.0
	for _, w := range g.Weight {
		largest = math.Max(largest, math.Abs(w))
	}
	b := clusterLinks{pairs: make(map[[2]int32]float64)}
	if largest == 0 {
		return b
	}
	for i := range g.N {
		neighbors, weights := g.Row(i)
		for e, j := range neighbors {
			if int(j) < i {
				continue
			}
			w := math.Abs(weights[e]) / largest
			x, y := c.Labels[i], c.Labels[j]
			b.total += w
			if x == y {
				b.inside += w
				continue
			}
			b.pairs[[2]int32{min(x, y), max(x, y)}] += w
		}
	}
	return b
}

// between lists the links among the given clusters, the heaviest first.
func (b clusterLinks) between(clusters []int) []clusterLink {
	var links []clusterLink
	for pair, weight := range b.pairs {
		_, a := slices.BinarySearch(clusters, int(pair[0]))
		_, b := slices.BinarySearch(clusters, int(pair[1]))
		if a && b && weight > 0 {
			links = append(links, clusterLink{a: int(pair[0]), b: int(pair[1]), weight: weight})
		}
	}
	slices.SortFunc(links, func(x, y clusterLink) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	return links
}

// disc is where a cluster is drawn, and how large.
type disc struct {
	center point
	radius float64
}

// placeDiscs puts the clusters on a circle, large ones on longer arcs, so that they do not touch.
func placeDiscs(all []ClusterEntry, discs []int, area frame) map[int]disc {
	places := make(map[int]disc, len(discs))
	middle := area.at(0.5, 0.5)
	half := min(area.width(), area.height()) / 2
	if len(discs) == 1 {
		places[discs[0]] = disc{center: middle, radius: half * 0.5}
		return places
	}
	root := func(cluster int) float64 { return math.Sqrt(float64(all[cluster].Size)) }
	sum, largest := 0.0, 0.0
	for _, cluster := range discs {
		sum += root(cluster)
		largest = math.Max(largest, root(cluster))
	}
	// Discs fill at most 60% of the circle they stand on, and none is wider than a third of it.
	perRoot := math.Min(0.6*math.Pi/(sum+0.6*math.Pi*largest), 1/(3*largest)) * half
	ring := half - perRoot*largest
	turned := 0.0
	for at, cluster := range discs {
		// Half of each arc is the same for all, half is proportional to the radius.
		arc := math.Pi * (root(cluster)/sum + 1/float64(len(discs)))
		if at == 0 {
			turned = -arc / 2 // the first is at the top
		}
		sin, cos := math.Sincos(math.Pi/2 - (turned + arc/2))
		turned += arc
		places[cluster] = disc{center: point{middle.x + ring*cos, middle.y - ring*sin},
			radius: max(perRoot*root(cluster), 2.5)}
	}
	return places
}
