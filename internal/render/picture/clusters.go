package picture

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// ClustersPlot shows a clustering in two dimensions.
type ClustersPlot struct {
	XY     [][2]float64 // one for each point, from Project, ProjectKernel or LayoutGraph
	Axes   [2]string    // names of the two coordinates; one without a meaning has no name and no scale
	Labels []int32      // 0..K-1
	K      int
	// Classes are what the clusters are called besides their numbers, "" for none; nil: none has a class.
	Classes []string
	Pairs   []constraint.Pair
	Graph   *dataset.Graph // nil for points
	Truth   []int32        // optional: the true classes, any numbers
	// Centers are those of the K clusters, or empty for methods without centers.
	Centers [][2]float64

	Title, Subtitle string
}

// The styles of lines.
var (
	mustStyle           = draw.LineStyle{Color: faint, Width: 0.9}
	cannotStyle         = draw.LineStyle{Color: faint, Width: 0.9, Dashes: []vg.Length{3, 2.5}}
	mustViolatedStyle   = draw.LineStyle{Color: violation, Width: 2.2}
	cannotViolatedStyle = draw.LineStyle{Color: violation, Width: 2.2, Dashes: []vg.Length{5, 3}}
	mismatchStyle       = draw.LineStyle{Color: ink, Width: 0.9}
)

// Clusters draws the points in the colors of their clusters, satisfied constraints as faint lines, and
// violated ones as bold lines on top. Of a large data set it draws a sample, and says so.
func Clusters(w io.Writer, c ClustersPlot) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("draw the clusters: %w", err)
	}
	d := c.choose()
	s := newSheet(sheetWidth, sheetHeight)
	top := s.heading(c.Title, c.Subtitle, d.notes) - 14
	f := c.frame(s, top)
	s.drawFrame(f)
	c.drawEdges(s, f, d)
	c.drawPairs(s, f, d.satisfied)
	c.drawPoints(s, f, d)
	c.drawCenters(s, f, d.centers)
	c.drawLegend(s, top, d)
	return s.writeTo(w)
}

func (c ClustersPlot) check() error {
	n := len(c.XY)
	switch {
	case len(c.Labels) != n:
		return fmt.Errorf("%d points but %d labels", n, len(c.Labels))
	case len(c.Truth) != 0 && len(c.Truth) != n:
		return fmt.Errorf("%d points but %d true classes", n, len(c.Truth))
	case c.Graph != nil && c.Graph.N != n:
		return fmt.Errorf("%d points but a graph of %d vertices", n, c.Graph.N)
	case len(c.Centers) != 0 && len(c.Centers) != c.K:
		return fmt.Errorf("%d clusters but %d centers", c.K, len(c.Centers))
	}
	for i, xy := range slices.Concat(c.XY, c.Centers) {
		if !isFinite(xy[0]) || !isFinite(xy[1]) {
			return fmt.Errorf("point %d is at (%v, %v)", i, xy[0], xy[1])
		}
	}
	return checkLabels(n, c.K, c.Labels, c.Pairs)
}

func checkLabels(n, k int, labels []int32, pairs []constraint.Pair) error {
	if k > n {
		return fmt.Errorf("%d clusters of %d points", k, n)
	}
	for i, label := range labels {
		if label < 0 || int(label) >= k {
			return fmt.Errorf("point %d has label %d outside 0..%d", i, label, k-1)
		}
	}
	for _, p := range pairs {
		if p.I < 0 || int(p.I) >= n || p.J < 0 || int(p.J) >= n {
			return fmt.Errorf("the constraint %d-%d names a point outside 0..%d", p.I, p.J, n-1)
		}
	}
	return nil
}

// maxScaleRatio is the ratio of the two scales up to which both axes get the same scale.
const maxScaleRatio = 4

// frame fits the data into the space left of the legend. Both axes get the same scale (a circle
// is round) unless they measure different things or the picture would become a thin strip.
func (c ClustersPlot) frame(s *sheet, top vg.Length) frame {
	var xs, ys []float64
	for _, xy := range slices.Concat(c.XY, c.Centers) {
		xs, ys = append(xs, xy[0]), append(ys, xy[1])
	}
	x, y := axis{name: c.Axes[0]}, axis{name: c.Axes[1]}
	x.lo, x.hi = rangeOf(xs...)
	y.lo, y.hi = rangeOf(ys...)
	x.lo, x.hi = widened(x.lo, x.hi, 0.04)
	y.lo, y.hi = widened(y.lo, y.hi, 0.04)

	f := frame{x: x, y: y, Rectangle: vg.Rectangle{
		Min: vg.Point{X: margin, Y: margin + roomBelow(axis{name: x.name, ticks: ticksOf(x)})},
		Max: vg.Point{X: s.Max.X - margin - legendWidth - 22, Y: top},
	}}
	// The labels of the y axis take room from the x axis, which with equal scales changes the y axis and
	// its labels: the second round knows how much room they take.
	for range 2 {
		f.x, f.y = x, y
		if size := f.Size(); (x.name == "") == (y.name == "") {
			equalScale(&f.x, &f.y, float64(size.X), float64(size.Y))
		}
		f.x.ticks, f.y.ticks = ticksOf(f.x), ticksOf(f.y)
		f.Min.X = max(f.Min.X, margin+s.room(f.y))
	}
	return f
}

// ticksOf are the ticks of an axis; one without a meaning has none.
func ticksOf(a axis) []tick {
	if a.name == "" {
		return nil
	}
	return linearTicks(a.lo, a.hi, 10, 0)
}

// equalScale widens the axis that has the finer scale.
func equalScale(x, y *axis, width, height float64) {
	perX, perY := (x.hi-x.lo)/width, (y.hi-y.lo)/height
	if perX > maxScaleRatio*perY || perY > maxScaleRatio*perX {
		return
	}
	widen := func(a *axis, to float64) {
		by := (to - (a.hi - a.lo)) / 2
		a.lo, a.hi = a.lo-by, a.hi+by
	}
	if perX > perY {
		widen(y, perX*height)
	} else {
		widen(x, perY*width)
	}
}

func (c ClustersPlot) drawEdges(s *sheet, f frame, d drawing) {
	segments := make([][2]vg.Point, len(d.edges))
	for at, e := range d.edges {
		segments[at] = [2]vg.Point{f.at(c.XY[e[0]][0], c.XY[e[0]][1]), f.at(c.XY[e[1]][0], c.XY[e[1]][1])}
	}
	s.strokePath(edgeStyle(len(d.edges)), segments)
}

// edgeStyle is lighter for more edges.
func edgeStyle(edges int) draw.LineStyle {
	if edges <= 1000 {
		return draw.LineStyle{Color: fewEdgesColor, Width: 0.7}
	}
	return draw.LineStyle{Color: manyEdgesColor, Width: 0.5}
}

func styleOf(p constraint.Pair, violated bool) draw.LineStyle {
	switch {
	case p.Kind == constraint.MustLink && violated:
		return mustViolatedStyle
	case p.Kind == constraint.MustLink:
		return mustStyle
	case violated:
		return cannotViolatedStyle
	}
	return cannotStyle
}

func (c ClustersPlot) drawPairs(s *sheet, f frame, pairs []constraint.Pair) {
	for _, p := range pairs {
		c.drawPair(s, f, p, styleOf(p, false))
	}
}

func (c ClustersPlot) drawPair(s *sheet, f frame, p constraint.Pair, style draw.LineStyle) {
	a, b := f.at(c.XY[p.I][0], c.XY[p.I][1]), f.at(c.XY[p.J][0], c.XY[p.J][1])
	s.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
}

// drawPoints draws the points, then the violated constraints, then again the points at their ends.
func (c ClustersPlot) drawPoints(s *sheet, f frame, d drawing) {
	radius, outline := pointStyle(len(d.points))
	ends := make(map[int]bool, 2*len(d.violated))
	for _, p := range d.violated {
		ends[int(p.I)], ends[int(p.J)] = true, true
	}
	order := slices.Clone(d.points)
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(shuffleKey(a), shuffleKey(b)) })
	put := func(i int, outline *draw.LineStyle) {
		at := f.at(c.XY[i][0], c.XY[i][1])
		s.drawMarker(markerOf(int(c.Labels[i])), at, radius, outline)
		if d.mismatch != nil && d.mismatch[i] {
			s.SetLineStyle(mismatchStyle)
			s.Stroke(shape{}.path(at, radius+2))
		}
	}
	for _, i := range order {
		if !ends[i] {
			put(i, outline)
		}
	}
	for _, p := range d.violated {
		style := styleOf(p, true)
		casing := draw.LineStyle{Color: white, Width: style.Width + 1.6}
		c.drawPair(s, f, p, casing)
		c.drawPair(s, f, p, style)
	}
	rim := draw.LineStyle{Color: violation, Width: 1.2}
	for _, i := range order {
		if ends[i] {
			put(i, &rim)
		}
	}
}

// A center is a large marker of its cluster with a dark rim and a white cross in it.
var (
	centerRim   = draw.LineStyle{Color: ink, Width: 1.5}
	centerCross = draw.LineStyle{Color: white, Width: 1.8}
)

const centerRadius = vg.Length(7)

// drawCenters marks the centers of the clusters on top of everything.
func (c ClustersPlot) drawCenters(s *sheet, f frame, clusters []int) {
	for _, cluster := range clusters {
		xy := c.Centers[cluster]
		s.drawCenter(markerOf(cluster), f.at(xy[0], xy[1]), centerRadius)
	}
}

func (s *sheet) drawCenter(m marker, at vg.Point, radius vg.Length) {
	s.drawMarker(m, at, radius, &centerRim)
	arm := radius / 2
	s.StrokeLine2(centerCross, at.X-arm, at.Y, at.X+arm, at.Y)
	s.StrokeLine2(centerCross, at.X, at.Y-arm, at.X, at.Y+arm)
}

// pointStyle is smaller for more points. Many points have no outline, which would double the size of the
// file.
func pointStyle(points int) (radius vg.Length, outline *draw.LineStyle) {
	outline = &draw.LineStyle{Color: white, Width: 0.6}
	switch {
	case points <= 150:
		return 4.2, outline
	case points <= 500:
		return 3.4, outline
	case points <= 1500:
		return 2.7, outline
	}
	return 2.1, nil
}

func (c ClustersPlot) drawLegend(s *sheet, top vg.Length, d drawing) {
	l := s.newLegend(s.Max.X-margin, top)
	l.clusters(clusterSizes(c.Labels, c.K), c.Classes, markerOf)
	if len(c.Centers) > 0 {
		l.centroid(markerOf(0), formatCount(len(c.Centers)))
	}
	l.constraints(d.counts)
	if d.totalEdges > 0 {
		l.line(edgeStyle(len(d.edges)), "edge", formatCount(d.totalEdges))
	}
	if d.mismatch != nil {
		mismatches := 0
		for _, differs := range d.mismatch {
			if differs {
				mismatches++
			}
		}
		l.ring(mismatchStyle, "truth disagrees", formatCount(mismatches))
	}
}

func clusterSizes(labels []int32, k int) []int {
	sizes := make([]int, max(k, 0))
	for _, label := range labels {
		sizes[label]++
	}
	return sizes
}
