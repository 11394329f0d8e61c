package picture

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// largestDrawn bounds what is drawn, so that the difference of two coordinates stays finite.
const largestDrawn = 1e300

func clampDrawn(v float64) float64 { return math.Max(-largestDrawn, math.Min(largestDrawn, v)) }

// axis maps values from lo..hi to 0..1. An axis without ticks has no meaning of its own (the
// layout of a graph) and is not drawn.
type axis struct {
	name   string
	lo, hi float64
	warp   func(float64) float64 // nil: linear
	ticks  []tick
}

type tick struct {
	at    float64
	label string
}

func (a axis) share(v float64) float64 {
	lo, hi, v := a.lo, a.hi, clampDrawn(v)
	if a.warp != nil {
		lo, hi, v = a.warp(lo), a.warp(hi), a.warp(v)
	}
	return (v - lo) / (hi - lo)
}

// span is the range of values, widened where they are all (but for rounding) the same, so that
// constant data lies in the middle of its axis.
func span(values ...float64) (lo, hi float64) {
	if len(values) == 0 {
		return 0, 1
	}
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		v = clampDrawn(v)
		lo, hi = math.Min(lo, v), math.Max(hi, v)
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

// padded widens a range by a share of itself on both sides.
func padded(lo, hi, share float64) (float64, float64) {
	by := share * (hi - lo)
	return lo - by, hi + by
}

// niceStep is the smallest of 1, 2, 5 times a power of ten that is at least raw.
func niceStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= raw*(1-1e-9) {
			return times * power
		}
	}
	return 10 * power
}

// linearTicks are round values within lo..hi, at most about want of them, no closer than smallest.
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
		ticks = append(ticks, tick{at: v, label: number(v, step, largest)})
	}
	return ticks
}

// decadeTicks are 1, 10, 100 ... up to hi, for the axis that grows as log(1 + v) from 0.
func decadeTicks(hi float64) []tick {
	var ticks []tick
	for v := 1.0; v <= hi; v *= 10 {
		ticks = append(ticks, tick{at: v, label: count(int(v))})
	}
	return ticks
}

// number writes v with the digits that a step of the axis tells apart; numbers of an axis that
// reaches beyond a million, or nowhere near one, get an exponent.
func number(v, step, largest float64) string {
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

// value writes one number for reading, to six digits, or all digits before the point.
func value(v float64) string {
	size := math.Abs(v)
	if size >= 1e9 || (size < 1e-4 && v != 0) || !isFinite(v) {
		return shortExponent(strconv.FormatFloat(v, 'g', 6, 64))
	}
	decimals := 5
	for limit := 10.0; size >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	digits := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits
}

// frame is the area that data is drawn into.
type frame struct {
	vg.Rectangle
	x, y axis
}

func (f frame) at(x, y float64) vg.Point {
	size := f.Size()
	return vg.Point{
		X: f.Min.X + size.X*vg.Length(f.x.share(x)),
		Y: f.Min.Y + size.Y*vg.Length(f.y.share(y)),
	}
}

// room is what the y axis needs left of the frame.
func (s *sheet) room(y axis) vg.Length {
	var widest vg.Length
	for _, t := range y.ticks {
		widest = max(widest, s.textWidth(tickText, t.label))
	}
	if widest > 0 {
		widest += 7
	}
	if y.name != "" {
		widest += 20
	}
	return widest
}

// roomBelow is what the x axis needs under the frame.
func roomBelow(x axis) vg.Length {
	below := vg.Length(0)
	if len(x.ticks) > 0 {
		below += 17
	}
	if x.name != "" {
		below += 18
	}
	return below
}

// drawFrame draws the light grid, the tick labels and the axis names: no box, no tick marks.
func (s *sheet) drawFrame(f frame) {
	grid := draw.LineStyle{Color: gridGray, Width: 0.7}
	base := draw.LineStyle{Color: axisGray, Width: 0.9}
	for _, t := range f.x.ticks {
		at := f.at(t.at, f.y.lo)
		s.StrokeLine2(grid, at.X, f.Min.Y, at.X, f.Max.Y)
		s.write(tickText, alignCenter, at.X, f.Min.Y-13, t.label)
	}
	for _, t := range f.y.ticks {
		at := f.at(f.x.lo, t.at)
		s.StrokeLine2(grid, f.Min.X, at.Y, f.Max.X, at.Y)
		s.write(tickText, alignRight, f.Min.X-6, at.Y-3.3, t.label)
	}
	if len(f.x.ticks) > 0 {
		s.StrokeLine2(base, f.Min.X, f.Min.Y, f.Max.X, f.Min.Y)
	}
	size := f.Size()
	name := s.fit(labelText, f.x.name, size.X)
	s.write(labelText, alignCenter, f.Min.X+size.X/2, f.Min.Y-roomBelow(f.x)+3, name)
	if f.y.name != "" {
		name := s.fit(labelText, f.y.name, size.Y)
		s.writeUp(labelText, margin+10, f.Min.Y+size.Y/2, name)
	}
}
