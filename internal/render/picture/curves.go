package picture

import (
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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
	panelGap       = vg.Length(26)
	panelTitleRoom = vg.Length(18)
	maxColumns     = 3
	bandAlpha      = 34
)

// Curves draws means as lines and their ranges as bands.
func Curves(w io.Writer, c CurvesPlot) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("draw the curves: %w", err)
	}
	columns := min(len(c.Panels), maxColumns)
	rows := (len(c.Panels) + columns - 1) / columns
	panelHeight := vg.Length(190)
	if columns == 1 {
		panelHeight = 330
	}
	s := newSheet(sheetWidth, 110+vg.Length(rows)*(panelHeight+panelGap+panelTitleRoom))
	names := c.names()
	top := s.curveLegend(names, s.heading(c.Title, c.Subtitle)-14) - 10
	x, y := c.axes(columns)
	left := margin + s.room(axis{name: c.Y, ticks: y.ticks})
	width := (s.Max.X - margin - left - vg.Length(columns-1)*panelGap) / vg.Length(columns)
	below := margin + roomBelow(axis{name: c.X, ticks: x.ticks})
	height := (top - below - vg.Length(rows-1)*panelGap) / vg.Length(rows)
	for at, panel := range c.Panels {
		row, column := at/columns, at%columns
		f := frame{x: x, y: y}
		f.Min.X = left + vg.Length(column)*(width+panelGap)
		f.Max = vg.Point{X: f.Min.X + width, Y: top - vg.Length(row)*(height+panelGap) - panelTitleRoom}
		f.Min.Y = f.Max.Y + panelTitleRoom - height
		if column == 0 { // each row of panels has one name, and values at its first panel only
			f.y.name = c.Y
		}
		if at+columns >= len(c.Panels) {
			f.x.name = c.X
		}
		s.drawPanel(f, panel, column == 0, names)
		if c.WholeX {
			s.drawDots(f, panel, names)
		}
	}
	return s.writeTo(w)
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

// names are the distinct names of the curves, in the order of their first appearance.
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

// axes are wide enough for the curves of all panels.
func (c CurvesPlot) axes(columns int) (x, y axis) {
	var xs, ys []float64
	for _, panel := range c.Panels {
		for _, curve := range panel.Curves {
			xs, ys = append(xs, curve.X...), slices.Concat(ys, curve.Low, curve.Mean, curve.High)
		}
	}
	x.lo, x.hi = rangeOf(xs...)
	y.lo, y.hi = rangeOf(ys...)
	x.lo, x.hi = widened(x.lo, x.hi, 0.02)
	y.lo, y.hi = widened(y.lo, y.hi, 0.02)
	smallest := 0.0
	if c.WholeX {
		smallest = 1
	}
	x.ticks, y.ticks = linearTicks(x.lo, x.hi, 12/columns, smallest), linearTicks(y.lo, y.hi, 7, 0)
	return x, y
}

// curveLegend lists the curves from left to right, on as many lines as they need, and returns the
// baseline of the last line.
func (s *sheet) curveLegend(names []string, y vg.Length) vg.Length {
	x := margin
	for at, name := range names {
		width := legendSymbol + 6 + s.textWidth(legendText, name) + 18
		if x > margin && x+width > s.Max.X-margin {
			x, y = margin, y-legendLine
		}
		s.StrokeLine2(curveStyle(at), x, y+3.4, x+legendSymbol, y+3.4)
		s.write(legendText, alignLeft, x+legendSymbol+6, y, s.fit(legendText, name, s.Max.X-2*margin-legendSymbol))
		x += width
	}
	return y
}

func curveStyle(at int) draw.LineStyle {
	return draw.LineStyle{Color: palette[at%len(palette)], Width: 2}
}

// drawPanel draws all bands before all lines, so that no line is covered.
func (s *sheet) drawPanel(f frame, panel CurvesPanel, values bool, names []string) {
	shown := f
	if !values {
		shown.y.ticks = slices.Clone(f.y.ticks)
		for at := range shown.y.ticks {
			shown.y.ticks[at].label = ""
		}
	}
	s.drawFrame(shown)
	title := textStyle{size: 11, bold: true, color: ink}
	s.write(title, alignLeft, f.Min.X, f.Max.Y+5, s.fit(title, panel.Title, f.Size().X))
	if panel.Mark != 0 {
		s.StrokeLines(draw.LineStyle{Color: shiftLine, Width: 1.2, Dashes: []vg.Length{4, 3}}, []vg.Point{f.at(panel.Mark, f.y.lo), f.at(panel.Mark, f.y.hi)})
	}
	for _, curve := range panel.Curves {
		s.drawBand(f, curve, slices.Index(names, curve.Name))
	}
	for _, curve := range panel.Curves {
		var line []vg.Point
		for at, x := range curve.X {
			line = append(line, f.at(x, curve.Mean[at]))
		}
		if len(line) > 1 {
			s.StrokeLines(curveStyle(slices.Index(names, curve.Name)), line)
		}
	}
}

// drawDots marks each amount of each curve.
func (s *sheet) drawDots(f frame, panel CurvesPanel, names []string) {
	outline := draw.LineStyle{Color: white, Width: 0.9}
	for _, curve := range panel.Curves {
		for at, x := range curve.X {
			s.drawMarker(markerOf(slices.Index(names, curve.Name)), f.at(x, curve.Mean[at]), 3.4, &outline)
		}
	}
}

func (s *sheet) drawBand(f frame, curve Curve, look int) {
	if len(curve.Low) < 2 {
		return
	}
	var path vg.Path
	for at, x := range curve.X {
		if p := f.at(x, curve.High[at]); at == 0 {
			path.Move(p)
		} else {
			path.Line(p)
		}
	}
	for at := len(curve.X) - 1; at >= 0; at-- {
		path.Line(f.at(curve.X[at], curve.Low[at]))
	}
	path.Close()
	band := palette[look%len(palette)]
	band.A = bandAlpha
	s.SetColor(band)
	s.Fill(path)
}
