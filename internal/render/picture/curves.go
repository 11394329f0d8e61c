package picture

import (
	"fmt"
	"slices"
)

// CurvesPlot shows scores against an amount (of constraints, for example): a panel for each data set, a
// curve for each method.
type CurvesPlot struct {
	Title, Subtitle string
	X, Y            string // what the axes measure
	WholeX          bool   // amounts are few whole numbers: ticks are too, and each has a dot
	Panels          []CurvesPanel
}

// CurvesPanel is one data set. All panels have the same axes.
type CurvesPanel struct {
	Title  string
	Curves []Curve
	Mark   float64 // an amount that a dashed line stands at; 0: there is none
}

// Curve is a mean at each amount X, and the range of the values that it is the mean of, unless Low and
// High are empty. Curves of the same name look the same in every panel.
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
func (c CurvesPlot) Figure() (*Figure, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("draw the curves: %w", err)
	}
	columns := min(len(c.Panels), maxColumns)
	rows := (len(c.Panels) + columns - 1) / columns
	height := 190.0
	if columns == 1 {
		height = 330
	}
	g := &Figure{Title: c.Title, Subtitle: c.Subtitle, width: figureWidth}
	names := c.names()
	top := g.curveLegend(names) + 8
	x, y := c.axes(columns)
	left := max(margin, roomLeft(axis{name: c.Y, ticks: y.ticks}))
	width := (g.width - left - float64(columns-1)*panelGap) / float64(columns)
	below := roomBelow(axis{ticks: x.ticks})
	for at, panel := range c.Panels {
		row, column := at/columns, at%columns
		f := frame{left: left + float64(column)*(width+panelGap), x: x, y: y}
		f.top = top + float64(row)*(height+panelTitleRoom+panelGap+below) + panelTitleRoom
		f.right, f.bottom = f.left+width, f.top+height
		if column == 0 { // each row of panels has one name, and values at its first panel only
			f.y.name = c.Y
		}
		if at+columns >= len(c.Panels) {
			f.x.name = c.X
		}
		g.drawPanel(f, panel, column == 0, names, c.WholeX)
	}
	g.height = top + float64(rows)*(height+panelTitleRoom+panelGap+below)
	return g, nil
}

func (c CurvesPlot) check() error {
	if len(c.Panels) == 0 {
		return fmt.Errorf("there is no panel")
	}
	for _, panel := range c.Panels {
		for _, curve := range panel.Curves {
			n := len(curve.X)
			if len(curve.Mean) != n || len(curve.Low) != len(curve.High) || len(curve.Low) != n && len(curve.Low) != 0 {
				return fmt.Errorf("%s: %d amounts but %d means, %d and %d ends", curve.Name, n, len(curve.Mean), len(curve.Low), len(curve.High))
			}
			for _, v := range slices.Concat(curve.X, curve.Mean, curve.Low, curve.High) {
				if !isFinite(v) {
					return fmt.Errorf("%s: %v cannot be drawn", curve.Name, v)
				}
			}
		}
	}
	return nil
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
			xs, ys = append(xs, curve.X...), slices.Concat(ys, curve.Low, curve.Mean, curve.High)
		}
	}
	x, y = axisOf("", 0.02, xs), axisOf("", 0.02, ys)
	smallest := 0.0
	if c.WholeX {
		smallest = 1
	}
	x.ticks, y.ticks = linearTicks(x.lo, x.hi, 12/columns, smallest), linearTicks(y.lo, y.hi, 7, 0)
	return x, y
}

// curveLegend lists the curves from left to right, on as many lines as they need, and returns where the last line ends.
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
			g.data.path("band "+ColorClass(slices.Index(names, curve.Name)), pathThrough(append(through(curve.X, curve.High), low...))+"Z", "")
		}
	}
	for _, curve := range panel.Curves {
		look, line := slices.Index(names, curve.Name), through(curve.X, curve.Mean)
		if len(line) > 1 {
			g.data.lines("curve "+ColorClass(look), line)
		}
		for _, p := range line {
			if dots {
				g.data.mark(look, "", p, 0, "")
			}
		}
	}
}
