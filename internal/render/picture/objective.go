package picture

import (
	"cmp"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/text"
)

// ObjectivePlot shows the objective during a run: one entry for each recorded iteration, in order.
type ObjectivePlot struct {
	Name       string    // of the axis of values; also the title if Title is empty
	Step       string    // of the axis of iterations; "": iteration
	Iterations []int     // at least one, ascending
	Values     []float64 // as many as iterations
	Moved      []int     // points that changed cluster, as many as iterations; nil: not drawn
	Shifts     []int     // iterations at which the diagonal was shifted
	Title      string
	Label      string // describes the figure to those who cannot see it
}

const (
	maxCurvePoints = 2000 // of a line; of longer runs an even sample is drawn
	maxDots        = 80   // lines of more points have no dots
	maxShiftNames  = 6
	maxLinearMoved = 50 // larger numbers of moved points get a logarithmic axis
)

// Figure draws the objective value over the iterations, above a small panel of moved points. Values that are not
// finite leave a gap.
func (o ObjectivePlot) Figure() *Figure {
	figure := &Figure{Title: cmp.Or(o.Title, o.Name), Subtitle: o.summary(), id: "course", label: o.Label,
		width: figureWidth, height: 320}
	if len(o.Moved) > 0 {
		figure.height += movedHeight + 44
	}
	course, moves := o.frames(figure.height)
	figure.drawFrame(course)
	for _, iteration := range o.Shifts {
		x := course.at(float64(iteration), course.y.lo).x
		figure.grid.line("shift", point{x, course.top}, point{x, course.bottom})
		if len(o.Shifts) <= maxShiftNames {
			figure.names.text("tick middle", point{x, course.top - 3}, "shift")
		}
	}
	o.drawCurve(figure, course)
	if len(o.Moved) > 0 {
		figure.drawFrame(moves)
		o.drawMoves(figure, moves)
	}
	return figure
}

// summary returns the line below the title: the last and the first value, and the shifts.
func (o ObjectivePlot) summary() string {
	last := len(o.Values) - 1
	line := fmt.Sprintf("%s at %s %s", withMinus(formatValue(o.Values[last])), o.step(),
		text.Grouped(o.Iterations[last]))
	if last > 0 {
		line += fmt.Sprintf(", from %s at %s %s", withMinus(formatValue(o.Values[0])), o.step(),
			text.Grouped(o.Iterations[0]))
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

// step returns the word for an iteration.
func (o ObjectivePlot) step() string { return cmp.Or(o.Step, "iteration") }

const movedHeight = 72

// frames places the two panels one above the other, with the same axis of iterations.
func (o ObjectivePlot) frames(height float64) (course, moves frame) {
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
	x := axis{}
	x.lo, x.hi = rangeOf(iterations...)
	if len(o.Values) == 1 || x.hi-x.lo < 1 {
		center := float64(o.Iterations[0])
		x.lo = math.Min(x.lo, center-1)
		x.hi = math.Max(x.hi, center+1)
	}
	x.lo, x.hi = widened(x.lo, x.hi, 0.02)
	x.ticks = linearTicks(x.lo, x.hi, 12, 1)
	if len(o.Values) == 1 && len(o.Shifts) == 0 {
		x.ticks = []tick{{at: float64(o.Iterations[0]), label: text.Grouped(o.Iterations[0])}}
	}
	y := axisOf(o.Name, 0.08, shown)
	y.ticks = linearTicks(y.lo, y.hi, 6, 0)

	m := axis{name: "moved"}
	most := 1.0
	for _, moved := range o.Moved {
		most = max(most, float64(moved))
	}
	m.hi = most * 1.1
	if most > maxLinearMoved {
		m.warp, m.hi = math.Log1p, most*1.5
		step := 1 + (math.Floor(math.Log10(m.hi)))/4
		for v := 1.0; v <= m.hi; v *= math.Pow(10, math.Floor(step)) {
			m.ticks = append(m.ticks, tick{at: v, label: text.Grouped(int(v))})
		}
	} else {
		m.ticks = linearTicks(0, m.hi, 3, 1)
	}

	left := max(roomLeft(y), roomLeft(m))
	x.name = o.step()
	moves = frame{left: left, right: figureWidth - 14, bottom: height - 8 - roomBelow(x), x: x, y: m}
	moves.top = moves.bottom - movedHeight
	course = moves
	course.y, course.top = y, 14
	if len(o.Moved) > 0 {
		course.x.name = ""
		course.bottom = moves.top - 16 - roomBelow(course.x)
	}
	return course, moves
}

// drawn returns the recorded iterations that lines show: an even sample, and always the last.
func (o ObjectivePlot) drawn() []int {
	drawn := choose.Even[int](len(o.Iterations), maxCurvePoints)
	drawn[len(drawn)-1] = len(o.Iterations) - 1
	return drawn
}

// drawCurve draws the values as a line with dots, if there are few, and writes the last value at its dot.
func (o ObjectivePlot) drawCurve(figure *Figure, frame frame) {
	var line, dots []point
	flush := func() {
		if len(line) > 1 {
			figure.data.line("curve", line...)
		}
		line = nil
	}
	var titles []string
	for _, at := range o.drawn() {
		if !isFinite(o.Values[at]) {
			flush()
			continue
		}
		p := frame.at(float64(o.Iterations[at]), o.Values[at])
		line = append(line, p)
		dots = append(dots, p)
		titles = append(titles, fmt.Sprintf("%s %s: %s", o.step(), text.Grouped(o.Iterations[at]),
			formatValue(o.Values[at])))
	}
	flush()
	last := len(dots) - 1
	for at, p := range dots {
		if len(dots) <= maxDots || at == last {
			figure.data.printf("<circle class=\"dot\" cx=\"%v\" cy=\"%v\" r=\"3.5\"%s\n", number(p.x), number(p.y),
				ending("circle", titles[at]))
		}
	}
	if last >= 0 && isFinite(o.Values[len(o.Values)-1]) {
		o.annotateLast(figure, frame, dots[last])
	}
}

// annotateLast writes the final value at its dot, on the side that the line does not come from: below the dot if the
// value has fallen.
func (o ObjectivePlot) annotateLast(figure *Figure, frame frame, dot point) {
	last, y := o.Values[len(o.Values)-1], dot.y-9
	if last < o.Values[0] {
		y = dot.y + 17
	}
	figure.names.text("final end", point{min(dot.x+20, frame.right), y}, withMinus(formatValue(last)))
}

// drawMoves draws a bar for each iteration, or a line if bars would be too thin.
func (o ObjectivePlot) drawMoves(figure *Figure, f frame) {
	perIteration := f.width() / (f.x.hi - f.x.lo)
	half := min(perIteration*0.35, 9)
	var line []point
	for _, at := range o.drawn() {
		p := f.at(float64(o.Iterations[at]), float64(max(0, o.Moved[at])))
		line = append(line, p)
		if perIteration >= 3 && o.Moved[at] > 0 {
			figure.data.rect("moved", p.x-half, p.y, p.x+half, f.bottom)
		}
	}
	if perIteration < 3 {
		figure.data.line("curve", line...)
	}
}
