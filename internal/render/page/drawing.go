package page

import (
	"math"
	"strconv"
)

// drawing is a picture in layers, from the bottom to the top, in units of which it is Width wide.
type drawing struct {
	ID, Label     string
	Class         string // "": as it is
	Width, Height number
	Left, Top     number // the frame that data is drawn into
	Right, Bottom number
	Domain        string // of data coordinates: those of the left, right, bottom and top edge of the frame, for the script
	Numbered      string // "x", "y" or both: axes with ticks

	Grid  []line
	Ticks []label
	Lines []line
	Paths []path
	Over  []line
	Dots  []mark
	Names []label
	Axes  []label
}

type line struct {
	Class          string
	X1, Y1, X2, Y2 number
}

type path struct{ Class, D, Title string }

type mark struct {
	Class, Shape string
	Cluster      int
	X, Y         number
	Radius       number // 0: of the usual size
	Title        string
}

type label struct {
	Class, Text string
	X, Y        number
	Turned      bool // read from below
	Cluster     int
}

// colors is how many clusters differ by color alone. They are those of page.css.
const colors = 12

// Shape is the outline of a marker, about 10 wide.
type Shape struct{ Name, Path string }

// shapes are combined with colors in steps of six, so that the first 36 clusters look different, and clusters of similar
// colors differ in shape.
var shapes = [...]Shape{
	{"s0", "M4.3 0A4.3 4.3 0 1 1-4.3 0A4.3 4.3 0 1 1 4.3 0Z"},
	{"s1", "M-3.8-3.8H3.8V3.8H-3.8Z"},
	{"s2", "M0-5.6L5.1 3.4H-5.1Z"},
	{"s3", "M0-5.5L5.5 0L0 5.5L-5.5 0Z"},
	{"s4", "M0 5.6L5.1-3.4H-5.1Z"},
	{"s5", "M-1.7-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z"},
}

// colorClass gives what it is on the color of a cluster.
func colorClass(cluster int) string { return "c" + strconv.Itoa(cluster%colors) }

func shapeOf(cluster int) Shape { return shapes[cluster/(colors/2)%len(shapes)] }

// axis maps values to a side of the frame.
type axis struct {
	lo, hi   float64
	from, to number
}

func (a axis) at(v float64) number {
	return a.from + number((v-a.lo)/(a.hi-a.lo))*(a.to-a.from)
}

// widen adds a share to both ends of a range, and makes one of a single value.
func widen(lo, hi, share float64) (float64, float64) {
	if !(hi > lo) {
		by := max(math.Abs(lo), 1) / 2
		return lo - by, hi + by
	}
	by := share * (hi - lo)
	return lo - by, hi + by
}

// ticks are round values in a range, about so many; the script has the same rule.
func ticks(lo, hi float64, about int, whole bool) []float64 {
	step := (hi - lo) / float64(about)
	power := math.Pow(10, math.Floor(math.Log10(step)))
	switch rest := step / power; {
	case rest > 5:
		step = 10 * power
	case rest > 2:
		step = 5 * power
	case rest > 1:
		step = 2 * power
	default:
		step = power
	}
	if whole {
		step = max(1, math.Round(step))
	}
	var values []float64
	for at := math.Ceil(lo / step); at*step <= hi && len(values) < 4*about; at++ {
		values = append(values, at*step)
	}
	return values
}

// addTicks draws the grid and its numbers.
func (d *drawing) addTicks(x, y *axis, wholeX bool) {
	if x != nil {
		d.Numbered += "x"
		for _, v := range ticks(x.lo, x.hi, 8, wholeX) {
			at := x.at(v)
			d.Grid = append(d.Grid, line{"grid", at, d.Top, at, d.Bottom})
			d.Ticks = append(d.Ticks, label{Class: "tick middle", Text: Number(v), X: at, Y: d.Bottom + 18})
		}
	}
	if y != nil {
		d.Numbered += "y"
		for _, v := range ticks(y.lo, y.hi, 6, false) {
			at := y.at(v)
			d.Grid = append(d.Grid, line{"grid", d.Left, at, d.Right, at})
			d.Ticks = append(d.Ticks, label{Class: "tick end", Text: Number(v), X: d.Left - 8, Y: at + 4})
		}
	}
}

// addAxes names the axes.
func (d *drawing) addAxes(x, y string) {
	if x != "" {
		d.Axes = append(d.Axes, label{Class: "axis middle", Text: Short(x, 80), X: (d.Left + d.Right) / 2, Y: d.Height - 6})
	}
	if y != "" {
		d.Axes = append(d.Axes, label{Class: "axis middle", Text: Short(y, 60), X: 14, Y: (d.Top + d.Bottom) / 2, Turned: true})
	}
}

// FrameWidth and FrameHeight are what can be drawn into.
func (d *drawing) FrameWidth() number { return d.Right - d.Left }

// FrameHeight is its height.
func (d *drawing) FrameHeight() number { return d.Bottom - d.Top }

// InFrame are the marks that move with the view.
func (d *drawing) InFrame() []mark { return d.marks(true) }

// Beside are those that stand beside the frame.
func (d *drawing) Beside() []mark { return d.marks(false) }

func (d *drawing) marks(inside bool) (list []mark) {
	for _, m := range d.Dots {
		if (m.X >= d.Left) == inside {
			list = append(list, m)
		}
	}
	return list
}
