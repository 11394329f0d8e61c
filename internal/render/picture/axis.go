package picture

import (
	"math"
	"strconv"
	"strings"
)

// maxDrawn is the largest coordinate that is drawn, so that the difference of two stays finite.
const maxDrawn = 1e300

func clampDrawn(v float64) float64 { return math.Max(-maxDrawn, math.Min(maxDrawn, v)) }

// axis maps values from lo..hi to 0..1. An axis without ticks is not drawn: its values have no meaning, as in the
// layout of a graph.
type axis struct {
	name   string                // "" for none
	lo, hi float64               // lo < hi
	warp   func(float64) float64 // increasing; nil means linear
	ticks  []tick
}

// tick is a value of an axis with a line and a label, "" for a line alone.
type tick struct {
	at    float64
	label string
}

// share returns where a value lies: 0 at lo, 1 at hi, and beyond that for values outside.
func (a axis) share(v float64) float64 {
	lo, hi, v := a.lo, a.hi, clampDrawn(v)
	if a.warp != nil {
		lo = a.warp(lo)
		hi = a.warp(hi)
		v = a.warp(v)
	}
	return (v - lo) / (hi - lo)
}

// rangeOf returns the range of the values. If they are equal, up to rounding, it returns a wider range with them in
// the middle.
func rangeOf(values ...float64) (lo, hi float64) {
	if len(values) == 0 {
		return 0, 1
	}
	lo = math.Inf(1)
	hi = math.Inf(-1)
	for _, v := range values {
		v = clampDrawn(v)
		lo = math.Min(lo, v)
		hi = math.Max(hi, v)
	}
	size := math.Max(math.Abs(lo), math.Abs(hi))
	if hi-lo > 1e-12*size && hi-lo > 1e-300 {
		return lo, hi
	}
	half := size / 10
	if half < 1e-290 {
		half = 1
	}
	center := lo/2 + hi/2
	return center - half, center + half
}

// widened extends a range on both sides by a share of its length.
func widened(lo, hi, share float64) (float64, float64) {
	by := share * (hi - lo)
	return lo - by, hi + by
}

// axisOf returns an axis for the values, with some room on both sides.
func axisOf(name string, room float64, values []float64) axis {
	a := axis{name: name}
	a.lo, a.hi = rangeOf(values...)
	a.lo, a.hi = widened(a.lo, a.hi, room)
	return a
}

// niceStep returns the smallest of 1, 2, 5 times a power of ten that is at least raw.
func niceStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= raw*(1-1e-9) {
			return times * power
		}
	}
	return 10 * power
}

// linearTicks returns about want round values within lo..hi, at least smallest apart. page.js has the same rule.
func linearTicks(lo, hi float64, want int, smallest float64) []tick {
	step := math.Max(niceStep((hi-lo)/float64(want)), smallest)
	first := math.Ceil(lo/step - 1e-9)
	largest := math.Max(math.Abs(lo), math.Abs(hi))
	var ticks []tick
	for i := range want + 2 {
		v := (first + float64(i)) * step
		if v > hi+1e-9*step {
			break
		}
		ticks = append(ticks, tick{at: v, label: formatTick(v, step, largest)})
	}
	return ticks
}

// formatTick writes v with as many digits as a step of the axis needs, and with an exponent if the largest value of
// the axis is a million or more, or less than 0.001.
func formatTick(v, step, largest float64) string {
	if math.Abs(v) < step/2 {
		return "0"
	}
	decimal := int(math.Floor(math.Log10(step) + 1e-9))
	if largest < 1e6 && largest >= 1e-3 {
		return strconv.FormatFloat(v, 'f', max(0, -decimal), 64)
	}
	digits := max(0, int(math.Floor(math.Log10(math.Abs(v))+1e-9))-decimal)
	return shortExponent(strconv.FormatFloat(v, 'e', min(digits, 15), 64))
}

// shortExponent turns 1.5e+06 into 1.5e6.
func shortExponent(s string) string {
	mantissa, exponent, found := strings.Cut(s, "e")
	if !found {
		return s
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	exponent = strings.TrimLeft(exponent, "+-0")
	if exponent == "" {
		return mantissa
	}
	return mantissa + "e" + sign + exponent
}

// formatValue writes a number with six digits, or all digits before the point of a number below 1e9.
func formatValue(v float64) string {
	if size := math.Abs(v); size >= 1e6 && size < 1e9 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return shortExponent(strconv.FormatFloat(v, 'g', 6, 64))
}

// withMinus writes the hyphens of a number as minus signs, which are as wide as digits.
func withMinus(number string) string { return strings.ReplaceAll(number, "-", "\u2212") }

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// frame is the area that data is drawn into, in units of the figure, and what its two sides measure.
type frame struct {
	left, top, right, bottom float64 // top < bottom: figures count downward
	x, y                     axis
}

func (f frame) width() float64  { return f.right - f.left }
func (f frame) height() float64 { return f.bottom - f.top }

// at returns the place of a value in the figure.
func (f frame) at(x, y float64) point {
	return point{f.left + f.width()*f.x.share(x), f.bottom - f.height()*f.y.share(y)}
}

// roomLeft returns the width that the labels and the name of a y axis need.
func roomLeft(y axis) float64 {
	widest := 0.0
	for _, t := range y.ticks {
		widest = max(widest, textWidth(t.label, fontSize)+12)
	}
	if y.name != "" {
		widest += 40 // the text of a page is larger on a phone
	}
	return widest
}

// roomBelow returns the height that the labels and the name of an x axis need.
func roomBelow(x axis) float64 {
	below := 0.0
	if len(x.ticks) > 0 {
		below += 24
	}
	if x.name != "" {
		below += 20
	}
	return below
}

// drawFrame draws the grid, the tick labels and the names of the axes.
func (g *Figure) drawFrame(f frame) {
	for _, t := range f.x.ticks {
		x := f.at(t.at, f.y.lo).x
		g.grid.line("grid", point{x, f.top}, point{x, f.bottom})
		g.ticks.text("tick middle", point{x, f.bottom + 18}, withMinus(t.label))
	}
	for _, t := range f.y.ticks {
		y := f.at(f.x.lo, t.at).y
		g.grid.line("grid", point{f.left, y}, point{f.right, y})
		g.ticks.text("tick end", point{f.left - 8, y + 4}, withMinus(t.label))
	}
	g.names.text("axis middle", point{f.left + f.width()/2, f.bottom + roomBelow(f.x) - 4},
		fit(f.x.name, fontSize, f.width()))
	if f.y.name != "" {
		name := fit(f.y.name, fontSize, f.height())
		at := point{max(14, f.left-roomLeft(f.y)+14), f.top + f.height()/2}
		g.names.printf(`<text class="axis middle" x="%v" y="%v" transform="rotate(-90 %v %v)">%s</text>`, number(at.x),
			number(at.y), number(at.x), number(at.y), escape(name))
	}
}
