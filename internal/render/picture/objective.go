package picture

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ObjectivePlot shows the objective during a run: one entry for each recorded iteration, in order.
type ObjectivePlot struct {
	Name       string // of the axis of values; also the title if Title is empty
	Step       string // of the axis of iterations; "": iteration
	Iterations []int
	Values     []float64
	Moved      []int // points that changed cluster; nil: not drawn
	Shifts     []int // iterations at which the diagonal was shifted
	Title      string
}

const (
	maxCurvePoints = 2000 // of a line; of longer runs an even sample is drawn
	maxDots        = 80   // lines of more points have no dots
	maxLinearMoved = 50   // larger numbers of moved points get a logarithmic axis
)

// Objective draws the objective value over the iterations, above a small panel of moved points.
// Values that are not finite leave a gap.
func Objective(w io.Writer, o ObjectivePlot) error {
	if len(o.Iterations) != len(o.Values) {
		return fmt.Errorf("draw the objective: %d iterations but %d values", len(o.Iterations), len(o.Values))
	}
	if len(o.Moved) != 0 && len(o.Moved) != len(o.Iterations) {
		return fmt.Errorf("draw the objective: %d iterations but %d counts of moved points", len(o.Iterations), len(o.Moved))
	}
	s := newSheet(sheetWidth, 480)
	title := o.Title
	if title == "" {
		title = o.Name
	}
	top := s.heading(title, o.summary())
	if len(o.Values) == 0 {
		s.write(subtitleText, alignCenter, s.Max.X/2, s.Max.Y/2, "No iteration was recorded.")
		return s.writeTo(w)
	}
	course, moves := o.frames(s, top)
	s.drawFrame(course)
	o.drawShifts(s, course)
	o.drawCurve(s, course)
	if len(o.Moved) > 0 {
		s.drawFrame(moves)
		o.drawMoves(s, moves)
	}
	return s.writeTo(w)
}

// summary is the line below the title.
func (o ObjectivePlot) summary() string {
	last := len(o.Values) - 1
	if last < 0 {
		return ""
	}
	line := fmt.Sprintf("%s at %s %s", formatValue(o.Values[last]), o.step(), formatCount(o.Iterations[last]))
	if last > 0 {
		line += fmt.Sprintf(", from %s at %s %s", formatValue(o.Values[0]), o.step(), formatCount(o.Iterations[0]))
	}
	switch len(o.Shifts) {
	case 0:
	case 1:
		line += " · dashed: a shift of the diagonal"
	default:
		line += fmt.Sprintf(" · dashed: %d shifts of the diagonal", len(o.Shifts))
	}
	return line
}

// step is what iterations are called.
func (o ObjectivePlot) step() string { return cmp.Or(o.Step, "iteration") }

// frames places the two panels one above the other, with the same axis of iterations.
func (o ObjectivePlot) frames(s *sheet, top vg.Length) (course, moves frame) {
	var shown, iterations []float64
	for at, v := range o.Values {
		iterations = append(iterations, float64(o.Iterations[at]))
		if isFinite(v) {
			shown = append(shown, v)
		}
	}
	for _, at := range o.Shifts {
		iterations = append(iterations, float64(at))
	}
	first, last := rangeOf(iterations...)
	if spread := last - first; len(o.Values) == 1 || spread < 1 {
		center := float64(o.Iterations[0])
		first, last = math.Min(first, center-1), math.Max(last, center+1)
	}
	x := axis{}
	x.lo, x.hi = widened(first, last, 0.02)
	x.ticks = linearTicks(x.lo, x.hi, 12, 1)
	if len(o.Values) == 1 && len(o.Shifts) == 0 {
		x.ticks = []tick{{at: float64(o.Iterations[0]), label: formatCount(o.Iterations[0])}}
	}

	y := axis{name: o.Name}
	y.lo, y.hi = rangeOf(shown...)
	y.lo, y.hi = widened(y.lo, y.hi, 0.08)
	y.ticks = linearTicks(y.lo, y.hi, 7, 0)

	m := axis{name: "moved"}
	most := 1
	for _, moved := range o.Moved {
		most = max(most, moved)
	}
	m.hi = float64(most) * 1.1
	if most > maxLinearMoved {
		m.warp, m.hi = math.Log1p, float64(most)*1.5
		m.ticks = everySecond(decadeTicks(m.hi), 5)
	} else {
		m.ticks = linearTicks(0, m.hi, 4, 1)
	}

	left := margin + max(s.room(y), s.room(m))
	right := s.Max.X - margin
	x.name = o.step()
	bottom := margin + roomBelow(x)
	moves = frame{x: x, y: m, Rectangle: vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: bottom + 72}}}
	if len(o.Moved) > 0 {
		x.name = ""
		bottom = moves.Max.Y + 16 + roomBelow(x)
	}
	course = frame{x: x, y: y, Rectangle: vg.Rectangle{Min: vg.Point{X: left, Y: bottom}, Max: vg.Point{X: right, Y: top - 20}}}
	return course, moves
}

// everySecond drops every second tick until at most want are left.
func everySecond(ticks []tick, want int) []tick {
	for len(ticks) > want {
		kept := ticks[:0]
		for at, t := range ticks {
			if at%2 == 0 {
				kept = append(kept, t)
			}
		}
		ticks = kept
	}
	return ticks
}

func (o ObjectivePlot) drawShifts(s *sheet, f frame) {
	style := draw.LineStyle{Color: shiftLine, Width: 1.1, Dashes: []vg.Length{4, 3}}
	text := textStyle{size: 9.5, color: shiftLine}
	for _, iteration := range o.Shifts {
		at := f.at(float64(iteration), f.y.lo)
		s.StrokeLine2(style, at.X, f.Min.Y, at.X, f.Max.Y)
		if len(o.Shifts) <= 6 {
			s.write(text, alignCenter, at.X, f.Max.Y+3, "shift")
		}
	}
}

func (o ObjectivePlot) drawCurve(s *sheet, f frame) {
	style := draw.LineStyle{Color: palette[0], Width: 1.8}
	var line []vg.Point
	var dots []vg.Point
	flush := func() {
		if len(line) > 1 {
			s.StrokeLines(style, line)
		}
		line = nil
	}
	for _, at := range evenSample(len(o.Values), maxCurvePoints) {
		if !isFinite(o.Values[at]) {
			flush()
			continue
		}
		point := f.at(float64(o.Iterations[at]), o.Values[at])
		line, dots = append(line, point), append(dots, point)
	}
	flush()
	outline := draw.LineStyle{Color: white, Width: 0.9}
	for at, dot := range dots {
		if len(dots) <= maxDots || at == len(dots)-1 {
			s.drawMarker(markerOf(0), dot, 3.4, &outline)
		}
	}
	if len(dots) > 0 && isFinite(o.Values[len(o.Values)-1]) {
		o.annotateLast(s, f, dots[len(dots)-1])
	}
}

// annotateLast writes the final value at its dot, above it if it is low and below it if it is high: the
// line comes from the other side.
func (o ObjectivePlot) annotateLast(s *sheet, f frame, dot vg.Point) {
	text := textStyle{size: 11, bold: true, color: palette[0]}
	label := formatValue(o.Values[len(o.Values)-1])
	half := s.textWidth(text, label) / 2
	x := min(dot.X, f.Max.X-half)
	y := dot.Y + 9
	if dot.Y > f.Min.Y+f.Size().Y*0.6 {
		y = dot.Y - 17
	}
	s.SetColor(white)
	s.Fill(vg.Rectangle{Min: vg.Point{X: x - half - 2, Y: y - 2}, Max: vg.Point{X: x + half + 2, Y: y + 9}}.Path())
	s.write(text, alignCenter, x, y, label)
}

// drawMoves draws a bar for each iteration, or a line if bars would be too thin.
func (o ObjectivePlot) drawMoves(s *sheet, f frame) {
	chosen := evenSample(len(o.Moved), maxCurvePoints)
	perIteration := f.Size().X / vg.Length(f.x.hi-f.x.lo)
	if perIteration < 3 {
		var line []vg.Point
		for _, at := range chosen {
			line = append(line, f.at(float64(o.Iterations[at]), float64(o.Moved[at])))
		}
		s.StrokeLines(draw.LineStyle{Color: palette[0], Width: 1.2}, line)
		return
	}
	half := min(perIteration*0.35, 9)
	for _, at := range chosen {
		end := f.at(float64(o.Iterations[at]), float64(max(0, o.Moved[at])))
		if o.Moved[at] <= 0 {
			continue
		}
		s.SetColor(palette[4])
		s.Fill(vg.Rectangle{Min: vg.Point{X: end.X - half, Y: f.Min.Y}, Max: vg.Point{X: end.X + half, Y: end.Y}}.Path())
	}
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
