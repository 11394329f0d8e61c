package picture

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// maxDrawn is the largest coordinate that is drawn, so that the difference of two stays finite.
const maxDrawn = 1e300

func clampDrawn(v float64) float64 { return math.Max(-maxDrawn, math.Min(maxDrawn, v)) }

// axis maps values from lo..hi to 0..1. An axis without ticks is not drawn: its values mean nothing, as
// in the layout of a graph.
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

// rangeOf is the range of values. If they are all the same, but for rounding, it is wider, so that
// constant data lies in the middle of its axis.
func rangeOf(values ...float64) (lo, hi float64) {
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

// widened widens a range by a share of itself on both sides.
func widened(lo, hi, share float64) (float64, float64) {
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

// linearTicks are round values within lo..hi, about want of them at most, at distances of at least
// smallest.
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

// decadeTicks are 1, 10, 100 and so on up to hi, for the axis that maps v to log(1 + v).
func decadeTicks(hi float64) []tick {
	var ticks []tick
	for v := 1.0; v <= hi; v *= 10 {
		ticks = append(ticks, tick{at: v, label: formatCount(int(v))})
	}
	return ticks
}

// formatTick writes v with as many digits as a step of the axis needs. If the largest value of the axis
// is a million or more, or less than 0.001, the number has an exponent.
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

// formatValue writes a number with six digits, or more if it has more before the decimal point.
func formatValue(v float64) string {
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

// room is the width that the y axis needs left of the frame.
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

// roomBelow is the height that the x axis needs below the frame.
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
		s.writeVertical(labelText, margin+10, f.Min.Y+size.Y/2, name)
	}
}
