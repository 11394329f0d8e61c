package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// ClusterGraphPlot shows a clustering of a graph that is too large to draw its vertices.
type ClusterGraphPlot struct {
	Graph  *dataset.Graph
	Labels []int32 // 0..K-1
	K      int
	Pairs  []constraint.Pair
	// Classes are what the clusters are called besides their numbers, "" for none; nil: none has a class.
	Classes []string

	Title, Subtitle string
}

const (
	maxDiscs    = 60
	maxLinks    = 400
	explanation = "A disc is a cluster, its area the number of vertices; lines show the weight between clusters."
)

// ClusterGraph draws the clusters as discs on a circle. The area of a disc is proportional to the size of
// its cluster, the width of a line between discs to the weight between the clusters. Of very many
// clusters it draws the largest, of very many lines the heaviest, and says so.
func ClusterGraph(w io.Writer, c ClusterGraphPlot) error {
	if c.Graph == nil {
		return fmt.Errorf("draw the cluster graph: no graph")
	}
	if c.Graph.N != len(c.Labels) {
		return fmt.Errorf("draw the cluster graph: %d vertices but %d labels", c.Graph.N, len(c.Labels))
	}
	if err := checkLabels(c.Graph.N, c.K, c.Labels, c.Pairs); err != nil {
		return fmt.Errorf("draw the cluster graph: %w", err)
	}
	sizes := clusterSizes(c.Labels, c.K)
	discs := largestClusters(sizes)
	links := c.links()
	between := links.between(discs)
	drawn := between[:min(len(between), maxLinks)]

	s := newSheet(sheetWidth, sheetHeight)
	top := s.heading(c.Title, c.Subtitle, explanation, leftOut(sizes, discs, len(drawn), len(between))) - 14
	places := placeDiscs(sizes, discs, vg.Rectangle{
		Min: vg.Point{X: margin, Y: margin},
		Max: vg.Point{X: s.Max.X - margin - legendWidth - 22, Y: top},
	})
	drawLinks(s, drawn, places)
	drawDiscs(s, discs, places)

	_, _, t := splitBySatisfaction(c.Pairs, c.Labels)
	l := s.newLegend(s.Max.X-margin, top)
	l.clusters(sizes, c.Classes, discMarker)
	l.counts(t)
	if links.total > 0 {
		l.heading("Edge weight")
		l.text("within clusters", fmt.Sprintf("%.1f%%", 100*links.inside/links.total))
		l.text("between clusters", fmt.Sprintf("%.1f%%", 100*(links.total-links.inside)/links.total))
	}
	return s.writeTo(w)
}

// leftOut says what is not drawn.
func leftOut(sizes, discs []int, drawn, between int) string {
	nonEmpty := 0
	for _, size := range sizes {
		if size > 0 {
			nonEmpty++
		}
	}
	var parts []string
	if len(discs) < nonEmpty {
		parts = append(parts, fmt.Sprintf("the %d largest of %s clusters", len(discs), formatCount(nonEmpty)))
	}
	if drawn < between {
		parts = append(parts, fmt.Sprintf("the %s heaviest of %s lines between them", formatCount(drawn), formatCount(between)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Drawn: " + strings.Join(parts, ", ") + "."
}

// largestClusters are the clusters to draw, in the order of their numbers; empty ones have no disc.
func largestClusters(sizes []int) []int {
	var discs []int
	for cluster, size := range sizes {
		if size > 0 {
			discs = append(discs, cluster)
		}
	}
	slices.SortStableFunc(discs, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
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
	total, inside float64
	pairs         map[[2]int32]float64
}

func (c ClusterGraphPlot) links() clusterLinks {
	g := c.Graph
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

// disc is where a cluster is drawn.
type disc struct {
	center vg.Point
	radius vg.Length
}

// placeDiscs puts the clusters on a circle, large ones on longer arcs, so that they do not touch.
func placeDiscs(sizes, discs []int, area vg.Rectangle) map[int]disc {
	places := make(map[int]disc, len(discs))
	if len(discs) == 0 {
		return places
	}
	size := area.Size()
	middle := vg.Point{X: area.Min.X + size.X/2, Y: area.Min.Y + size.Y/2}
	half := min(size.X, size.Y) / 2
	sum, largest := 0.0, 0.0
	for _, cluster := range discs {
		root := math.Sqrt(float64(sizes[cluster]))
		sum += root
		largest = math.Max(largest, root)
	}
	if len(discs) == 1 {
		places[discs[0]] = disc{center: middle, radius: half * 0.5}
		return places
	}
	// Discs fill at most 60% of the circle they stand on, and none is wider than a third of it.
	perRoot := math.Min(0.6*math.Pi/(sum+0.6*math.Pi*largest), 1/(3*largest)) * float64(half)
	ring := half - vg.Length(perRoot*largest)
	turned := 0.0
	for at, cluster := range discs {
		root := math.Sqrt(float64(sizes[cluster]))
		// Half of each arc is the same for all, half is proportional to the radius.
		arc := math.Pi * (root/sum + 1/float64(len(discs)))
		if at == 0 {
			turned = -arc / 2 // the first is at the top
		}
		sin, cos := math.Sincos(math.Pi/2 - (turned + arc/2))
		turned += arc
		places[cluster] = disc{
			center: vg.Point{X: middle.X + ring*vg.Length(cos), Y: middle.Y + ring*vg.Length(sin)},
			radius: max(vg.Length(perRoot*root), 2.5),
		}
	}
	return places
}

func drawLinks(s *sheet, links []clusterLink, places map[int]disc) {
	if len(links) == 0 {
		return
	}
	heaviest := links[0].weight
	widest := math.Min(13, 60/float64(len(places))) // many wide lines would cover each other
	for at := len(links) - 1; at >= 0; at-- {       // the heaviest on top
		b := links[at]
		share := b.weight / heaviest
		style := draw.LineStyle{
			Color: color.NRGBA{R: 0x5A, G: 0x63, B: 0x6E, A: uint8(50 + 100*share)},
			Width: vg.Length(0.4 + widest*share),
		}
		from, to := places[b.a].center, places[b.b].center
		s.StrokeLine2(style, from.X, from.Y, to.X, to.Y)
	}
}

// discMarker is round for every cluster; those of the same color differ by the number inside.
func discMarker(cluster int) marker { return marker{color: markerOf(cluster).color} }

func drawDiscs(s *sheet, discs []int, places map[int]disc) {
	for _, cluster := range discs {
		d := places[cluster]
		outline := draw.LineStyle{Color: white, Width: 1.5}
		s.drawMarker(discMarker(cluster), d.center, d.radius, &outline)
		if d.radius < 7 {
			continue
		}
		text := textStyle{size: min(14, max(8, d.radius*0.7)), bold: true, color: readableOn(discMarker(cluster).color)}
		s.write(text, alignCenter, d.center.X, d.center.Y-text.size*0.35, formatCount(cluster))
	}
}

// readableOn is white on dark colors and ink on light ones, by relative luminance.
func readableOn(c color.NRGBA) color.NRGBA {
	if 0.2126*float64(c.R)+0.7152*float64(c.G)+0.0722*float64(c.B) > 140 {
		return ink
	}
	return white
}
