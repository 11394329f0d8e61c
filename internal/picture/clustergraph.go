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

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
)

// ClusterGraphPlot is a clustering of a graph too large to lay out.
type ClusterGraphPlot struct {
	Graph  *dataset.Graph
	Labels []int32 // 0..K-1
	K      int
	Pairs  []constraint.Pair

	Title, Subtitle string
}

const (
	mostDiscs   = 60
	mostBonds   = 400
	explanation = "A disc is a cluster, its area the number of vertices; lines show the weight between clusters."
)

// ClusterGraph draws one disc for each cluster, its area proportional to the cluster's size, on a
// circle; lines between discs are as wide as the weight between the clusters. Of very many
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
	bonds := c.bonds()
	between := bonds.between(discs)
	drawn := between[:min(len(between), mostBonds)]

	s := newSheet(sheetWidth, sheetHeight)
	top := s.heading(c.Title, c.Subtitle, explanation, leftOut(sizes, discs, len(drawn), len(between))) - 14
	places := placeDiscs(sizes, discs, vg.Rectangle{
		Min: vg.Point{X: margin, Y: margin},
		Max: vg.Point{X: s.Max.X - margin - legendWidth - 22, Y: top},
	})
	drawBonds(s, drawn, places)
	drawDiscs(s, discs, places)

	_, _, t := splitPairs(c.Pairs, c.Labels)
	l := s.newLegend(s.Max.X-margin, top)
	l.clusters(sizes, discLook)
	l.counts(t)
	if bonds.total > 0 {
		l.heading("Edge weight")
		l.text("within clusters", fmt.Sprintf("%.1f%%", 100*bonds.inside/bonds.total))
		l.text("between clusters", fmt.Sprintf("%.1f%%", 100*(bonds.total-bonds.inside)/bonds.total))
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
		parts = append(parts, fmt.Sprintf("the %d largest of %s clusters", len(discs), count(nonEmpty)))
	}
	if drawn < between {
		parts = append(parts, fmt.Sprintf("the %s heaviest of %s lines between them", count(drawn), count(between)))
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
	discs = discs[:min(len(discs), mostDiscs)]
	slices.Sort(discs)
	return discs
}

// bond is the weight between two clusters.
type bond struct {
	a, b   int
	weight float64
}

// bonding is the weight of the edges by the clusters of their ends, relative to the largest edge.
// Negative weights count by their size.
type bonding struct {
	total, inside float64
	pairs         map[[2]int32]float64
}

func (c ClusterGraphPlot) bonds() bonding {
	g := c.Graph
	largest := 0.0
	for _, w := range g.Weight {
		largest = math.Max(largest, math.Abs(w))
	}
	b := bonding{pairs: make(map[[2]int32]float64)}
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

// between lists the bonds among the given clusters, the heaviest first.
func (b bonding) between(clusters []int) []bond {
	var bonds []bond
	for pair, weight := range b.pairs {
		_, a := slices.BinarySearch(clusters, int(pair[0]))
		_, b := slices.BinarySearch(clusters, int(pair[1]))
		if a && b && weight > 0 {
			bonds = append(bonds, bond{a: int(pair[0]), b: int(pair[1]), weight: weight})
		}
	}
	slices.SortFunc(bonds, func(x, y bond) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	return bonds
}

// disc is where a cluster is drawn.
type disc struct {
	center vg.Point
	radius vg.Length
}

// placeDiscs puts the clusters on a circle, each with an arc proportional to its radius so that
// large ones do not touch.
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
		// Half of each arc is an equal share, half goes by size.
		arc := math.Pi * (root/sum + 1/float64(len(discs)))
		if at == 0 {
			turned = -arc / 2 // the first stands at the top
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

func drawBonds(s *sheet, bonds []bond, places map[int]disc) {
	if len(bonds) == 0 {
		return
	}
	heaviest := bonds[0].weight
	widest := math.Min(13, 60/float64(len(places))) // many lines would else merge into one
	for at := len(bonds) - 1; at >= 0; at-- {       // the heaviest on top
		b := bonds[at]
		share := b.weight / heaviest
		style := draw.LineStyle{
			Color: color.NRGBA{R: 0x5A, G: 0x63, B: 0x6E, A: uint8(50 + 100*share)},
			Width: vg.Length(0.4 + widest*share),
		}
		from, to := places[b.a].center, places[b.b].center
		s.StrokeLine2(style, from.X, from.Y, to.X, to.Y)
	}
}

// discLook is round for every cluster; the number inside tells repeated colors apart.
func discLook(cluster int) marker { return marker{color: markerOf(cluster).color} }

func drawDiscs(s *sheet, discs []int, places map[int]disc) {
	for _, cluster := range discs {
		d := places[cluster]
		outline := draw.LineStyle{Color: white, Width: 1.5}
		s.drawMarker(discLook(cluster), d.center, d.radius, &outline)
		if d.radius < 7 {
			continue
		}
		text := lettering{size: min(14, max(8, d.radius*0.7)), bold: true, color: readableOn(discLook(cluster).color)}
		s.write(text, alignCenter, d.center.X, d.center.Y-text.size*0.35, count(cluster))
	}
}

// readableOn is white on dark colors and ink on light ones, by relative luminance.
func readableOn(c color.NRGBA) color.NRGBA {
	if 0.2126*float64(c.R)+0.7152*float64(c.G)+0.0722*float64(c.B) > 140 {
		return ink
	}
	return white
}
