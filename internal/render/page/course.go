package page

import (
	"math"
	"strings"
)

// Course is the objective during a run.
type Course struct {
	Text   string
	Name   string // of the values
	Step   string // what they are numbered by: "iteration"
	Steps  []int
	Values []float64 // what is not finite leaves a gap
	Shifts []int     // steps at which the diagonal was shifted
	Table  *Table
}

// maxDots is how many steps have a dot of their own.
const maxDots = 80

func (c *Course) draw() *drawing {
	d := &drawing{ID: "course", Label: c.Text, Width: 800, Height: 320, Left: 90, Top: 14, Right: 786, Bottom: 268}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range c.Values {
		if finite(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if math.IsInf(lo, 1) || len(c.Steps) < 2 {
		return nil
	}
	x, y := axis{from: d.Left, to: d.Right}, axis{from: d.Bottom, to: d.Top}
	x.lo, x.hi = float64(c.Steps[0]), float64(c.Steps[len(c.Steps)-1])
	if x.lo == x.hi {
		x.lo, x.hi = x.lo-1, x.hi+1
	}
	x.lo, x.hi = widen(x.lo, x.hi, 0.02)
	y.lo, y.hi = widen(lo, hi, 0.08)
	d.addTicks(&x, &y, true)
	d.addAxes(c.Step, c.Name)
	for _, at := range c.Shifts {
		d.Lines = append(d.Lines, line{"shift", x.at(float64(at)), d.Top, x.at(float64(at)), d.Bottom})
	}
	var b strings.Builder
	pen := "M"
	for at, v := range c.Values {
		if !finite(v) {
			pen = "M"
			continue
		}
		px, py := x.at(float64(c.Steps[at])), y.at(v)
		b.WriteString(pen + px.String() + " " + py.String())
		pen = "L"
		if len(c.Values) <= maxDots {
			d.Dots = append(d.Dots, mark{Class: "dot", Radius: 3.5, X: px, Y: py, Title: c.Step + " " + Count(c.Steps[at]) + ": " + Number(v)})
		}
	}
	d.Paths = append(d.Paths, path{Class: "curve", D: b.String()})
	return d
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
