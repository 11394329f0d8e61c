package picture

import (
	"fmt"
	"slices"
	"strings"
)

// CurvesPlot shows scores against an amount (of constraints, for example): a panel for each data set, at least one, and
// a curve for each method.
type CurvesPlot struct {
	Title, Subtitle string
	X, Y            string // what the axes measure
	WholeX          bool   // amounts are few whole numbers: ticks are too, and each has a dot
	Panels          []CurvesPanel
}

// CurvesPanel is one data set. All panels have the same axes.
type CurvesPanel struct {
	Title  string // "" for none
	Curves []Curve
	Mark   float64 // an amount that a dashed line stands at; 0: there is none
}

// Curve is a mean at each amount X, and the range of the values that it is the mean of, unless Low and High are empty.
// All values are finite. Curves of the same name look the same in every panel.
type Curve struct {
	Name               string
	X, Mean, Low, High []float64
}

const (
	panelGap       = 26.0
	panelTitleRoom = 20.0
	maxColumns     = 3
)

// Figure draws means as lines and their ranges as bands.
func (c CurvesPlot) Figure() *Figure {
	columns := min(len(c.Panels), maxColumns)
	rows := (len(c.Panels) + columns - 1) / columns
	height := 190.0
	if columns == 1 {
		height = 330
	}
	figure := &Figure{Title: c.Title, Subtitle: c.Subtitle, width: figureWidth}
	names := c.names()
	top := figure.curveLegend(names) + 8
	x, y := c.axes(columns)
	left := max(margin, roomLeft(axis{name: c.Y, ticks: y.ticks}))
	width := (figure.width - left - float64(columns-1)*panelGap) / float64(columns)
	below := roomBelow(axis{ticks: x.ticks})
	for at, panel := range c.Panels {
		row, column := at/columns, at%columns
		area := frame{left: left + float64(column)*(width+panelGap), x: x, y: y}
		area.top = top + float64(row)*(height+panelTitleRoom+panelGap+below) + panelTitleRoom
		area.right, area.bottom = area.left+width, area.top+height
		if column == 0 { // each row of panels has one name, and values at its first panel only
			area.y.name = c.Y
		}
		if at+columns >= len(c.Panels) {
			area.x.name = c.X
		}
		figure.drawPanel(area, panel, column == 0, names, c.WholeX)
	}
	figure.height = top + float64(rows)*(height+panelTitleRoom+panelGap+below)
	return figure
}

// names returns the distinct names of the curves, in the order of their first appearance.
func (c CurvesPlot) names() []string {
	var names []string
	for _, panel := range c.Panels {
		for _, curve := range panel.Curves {
			if !slices.Contains(names, curve.Name) {
				names = append(names, curve.Name)
			}
		}
	}
	return names
}

// axes returns axes that are wide enough for the curves of all panels.
func (c CurvesPlot) axes(columns int) (x, y axis) {
	var xs, ys []float64
	for _, panel := range c.Panels {
		for _, curve := range panel.Curves {
			xs = append(xs, curve.X...)
			ys = slices.Concat(ys, curve.Low, curve.Mean, curve.High)
		}
	}
	x, y = axisOf("", 0.02, xs), axisOf("", 0.02, ys)
	smallest := 0.0
	if c.WholeX {
		smallest = 1
	}
	x.ticks = linearTicks(x.lo, x.hi, 12/columns, smallest)
	y.ticks = linearTicks(y.lo, y.hi, 7, 0)
	return x, y
}

// curveLegend lists the curves from left to right, on as many lines as they need, and returns where the last line
// ends.
func (g *Figure) curveLegend(names []string) (bottom float64) {
	at := point{inset, fontSize}
	for look, name := range names {
		width := 34 + textWidth(name, fontSize) + 18
		if at.x > inset && at.x+width > g.width-margin {
			at = point{inset, at.y + legendLine}
		}
		g.names.line("curve "+ColorClass(look), point{at.x, at.y - 4}, point{at.x + 28, at.y - 4})
		g.names.text("", point{at.x + 34, at.y}, fit(name, fontSize, g.width-2*margin-34))
		at.x += width
	}
	return at.y
}

// drawPanel draws all bands before all lines, so that no line is covered.
func (g *Figure) drawPanel(f frame, panel CurvesPanel, values bool, names []string, dots bool) {
	shown := f
	if !values {
		shown.y.ticks = slices.Clone(f.y.ticks)
		for at := range shown.y.ticks {
			shown.y.ticks[at].label = ""
		}
	}
	g.drawFrame(shown)
	g.names.text("strong", point{f.left, f.top - 7}, fit(panel.Title, 1.1*fontSize, f.width()))
	if panel.Mark != 0 {
		g.data.line("shift", f.at(panel.Mark, f.y.lo), f.at(panel.Mark, f.y.hi))
	}
	through := func(xs, ys []float64) (points []point) {
		for at, x := range xs {
			points = append(points, f.at(x, ys[at]))
		}
		return points
	}
	for _, curve := range panel.Curves {
		if len(curve.Low) > 1 {
			low := through(curve.X, curve.Low)
			slices.Reverse(low)
			g.data.path("band "+ColorClass(slices.Index(names, curve.Name)),
				pathThrough(append(through(curve.X, curve.High), low...))+"Z", "")
		}
	}
	for _, curve := range panel.Curves {
		look := slices.Index(names, curve.Name)
		line := through(curve.X, curve.Mean)
		if len(line) > 1 {
			g.data.line("curve "+ColorClass(look), line...)
		}
		for _, p := range line {
			if dots {
				g.data.mark(look, "", p, 0, "")
			}
		}
	}
}

// BarsPlot compares shares, each a horizontal bar with its name.
type BarsPlot struct {
	Title, Subtitle string
	Axis            string // what the shares are of
	Bars            []Bar  // from the top
}

// Bar is a share from 0 to 1. A bold one stands out from the others.
type Bar struct {
	Name  string
	Share float64
	Bold  bool
}

const barStep, barHeight = 24.0, 15.0

// Figure draws shares as horizontal bars, one below the other.
func (b BarsPlot) Figure() *Figure {
	figure := &Figure{Title: b.Title, Subtitle: b.Subtitle, width: figureWidth}
	area := frame{left: inset, right: figureWidth - margin - 30, bottom: barStep * float64(len(b.Bars)), y: axis{hi: 1}}
	for _, bar := range b.Bars {
		area.left = min(0.7*figureWidth, max(area.left, inset+8+textWidth(bar.Name, fontSize)))
	}
	area.x = axis{name: b.Axis, hi: 1, ticks: linearTicks(0, 1, int(area.width()/30), 0)}
	figure.height = area.bottom + roomBelow(area.x)
	figure.drawFrame(area)
	for at, bar := range b.Bars {
		y := barStep * (float64(at) + 0.5)
		end := area.at(bar.Share, 0).x
		class := "quiet"
		if bar.Bold {
			class = "strong"
		}
		figure.data.rect("bar "+class, area.left, y-barHeight/2, end, y+barHeight/2)
		figure.names.text(class, point{inset, y + 4}, fit(bar.Name, fontSize, area.left-inset-8))
		figure.names.text(class, point{end + 6, y + 4}, fmt.Sprintf("%.2f", bar.Share))
	}
	return figure
}

// SilhouettePlot shows how well rows lie in their clusters, cluster by cluster.
type SilhouettePlot struct {
	Label    string              // describes the figure to those who cannot see it
	Mean     float64             // over all rows
	Clusters []ClusterSilhouette // at least one
}

// ClusterSilhouette has the values of the rows of a cluster, the largest first, at least one.
type ClusterSilhouette struct {
	Cluster int
	Class   string    // "" for none
	Values  []float64 // from -1 to 1
	Mean    float64   // of the values
}

// The bands of clusters are at least minBand high, to have room for a name, and bandGap apart.
const (
	minBand, bandGap = 18.0, 6.0
	bandsHeight      = 420.0
)

// Figure draws a band for each cluster, whose rows end at their silhouettes.
func (s SilhouettePlot) Figure() *Figure {
	total, lowest, longest, height := 0, -0.25, 0.0, 0.0
	for _, c := range s.Clusters {
		total += len(c.Values)
		lowest = min(lowest, c.Values[len(c.Values)-1])
		longest = max(longest, textWidth(fit(c.Class, fontSize, maxNameWidth), fontSize))
	}
	band := func(c ClusterSilhouette) float64 {
		return max(minBand, bandsHeight*float64(len(c.Values))/float64(total))
	}
	for _, c := range s.Clusters {
		height += band(c) + bandGap
	}
	area := frame{left: 60 + longest, top: 26, right: figureWidth - 14, bottom: height + 30, y: axis{hi: 1}}
	area.x = axis{name: "silhouette: 1 well inside its cluster, 0 between two, below 0 nearer to another",
		lo: max(-1, lowest), hi: 1}
	area.x.ticks = linearTicks(area.x.lo, 1, 8, 0)
	figure := &Figure{id: "silhouette", label: s.Label, width: figureWidth, height: area.bottom + roomBelow(area.x) + 8}
	figure.drawFrame(area)
	x := func(v float64) float64 { return area.at(v, 0).x }
	top := area.top + bandGap/2
	for _, c := range s.Clusters {
		name := strings.TrimSpace(fmt.Sprintf("%d %s", c.Cluster, fit(c.Class, fontSize, maxNameWidth)))
		outline := []point{{x(0), top}}
		for i, v := range c.Values {
			step := band(c) / float64(len(c.Values))
			outline = append(outline, point{x(v), top + step*float64(i)}, point{x(v), top + step*float64(i+1)})
		}
		outline = append(outline, point{x(0), top + band(c)})
		figure.data.path("area "+ColorClass(c.Cluster), pathThrough(outline)+"Z",
			fmt.Sprintf("cluster %s: mean silhouette %.2f", name, c.Mean))
		middle := top + band(c)/2
		figure.names.mark(c.Cluster, "", point{14, middle}, 0, "")
		figure.names.text("tick", point{26, middle + 4}, name)
		top += band(c) + bandGap
	}
	figure.data.line("zero", point{x(0), area.top}, point{x(0), area.bottom})
	figure.data.line("mean", point{x(s.Mean), area.top}, point{x(s.Mean), area.bottom})
	figure.names.text("middle", point{x(s.Mean), area.top - 8}, withMinus(fmt.Sprintf("mean %.2f", s.Mean)))
	return figure
}
