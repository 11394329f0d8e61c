package picture

import (
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colors of everything but clusters.
var (
	white          = color.NRGBA{R: 255, G: 255, B: 255, A: 255}
	ink            = color.NRGBA{R: 0x22, G: 0x26, B: 0x2B, A: 255}
	quiet          = color.NRGBA{R: 0x6B, G: 0x72, B: 0x7B, A: 255}
	gridGray       = color.NRGBA{R: 0xE6, G: 0xE8, B: 0xEB, A: 255}
	axisGray       = color.NRGBA{R: 0xB4, G: 0xB9, B: 0xBF, A: 255}
	fewEdgesColor  = color.NRGBA{R: 0x9A, G: 0xA1, B: 0xA9, A: 115}
	manyEdgesColor = color.NRGBA{R: 0x9A, G: 0xA1, B: 0xA9, A: 90}
	faint          = color.NRGBA{R: 0x3A, G: 0x40, B: 0x48, A: 110}
	violation      = color.NRGBA{R: 0xD6, G: 0x27, B: 0x28, A: 255}
	shiftLine      = color.NRGBA{R: 0xC7, G: 0x6A, B: 0x00, A: 255}
)

// The styles of texts.
var (
	titleText    = textStyle{size: 15, bold: true, color: ink}
	labelText    = textStyle{size: 11, color: ink}
	subtitleText = textStyle{size: 10.5, color: quiet}
	tickText     = textStyle{size: 9.5, color: quiet}
	legendText   = textStyle{size: 10, color: ink}
	countText    = textStyle{size: 10, color: quiet}
)

// palette has twelve colors, none of them close to the red of violations. The first six stay
// distinguishable under simulated protanopia and deuteranopia. The others are chosen to be as far from
// each other as possible, and come with another marker, so that two clusters with similar colors have
// different markers.
var palette = [...]color.NRGBA{
	{R: 0x00, G: 0x72, B: 0xB2, A: 255}, // blue
	{R: 0xE6, G: 0x9F, B: 0x00, A: 255}, // amber
	{R: 0x44, G: 0xAA, B: 0x99, A: 255}, // teal
	{R: 0x88, G: 0x22, B: 0x55, A: 255}, // wine
	{R: 0x56, G: 0xB4, B: 0xE9, A: 255}, // sky
	{R: 0x33, G: 0x22, B: 0x88, A: 255}, // indigo
	{R: 0x22, G: 0x88, B: 0x33, A: 255}, // green
	{R: 0xDD, G: 0xCC, B: 0x77, A: 255}, // sand
	{R: 0x9C, G: 0x75, B: 0x5F, A: 255}, // brown
	{R: 0xCC, G: 0x79, B: 0xA7, A: 255}, // pink
	{R: 0x66, G: 0x66, B: 0x66, A: 255}, // gray
	{R: 0x99, G: 0x99, B: 0x33, A: 255}, // olive
}

// colorsPerMarker is how many clusters share a marker before the next one is taken.
const colorsPerMarker = len(palette) / 2

// marker is the look of a cluster's points. With 12 colors and 6 shapes, in steps of 6, the first
// 36 clusters look different; after that they repeat.
type marker struct {
	color color.NRGBA
	shape shape
}

func markerOf(cluster int) marker {
	return marker{
		color: palette[cluster%len(palette)],
		shape: shapes[cluster/colorsPerMarker%len(shapes)],
	}
}

// shape is a regular polygon, or a circle if it has no corners.
type shape struct {
	corners int
	turn    float64 // angle of the first corner
	spread  float64 // factor of the radius: polygons of few corners have a smaller area
}

var shapes = [...]shape{
	{}, // circle
	{corners: 4, turn: math.Pi / 4, spread: 1.25}, // square
	{corners: 3, turn: math.Pi / 2, spread: 1.4},  // triangle
	{corners: 4, turn: math.Pi / 2, spread: 1.25}, // diamond
	{corners: 3, turn: -math.Pi / 2, spread: 1.4}, // triangle, point down
	{corners: 6, turn: 0, spread: 1.1},            // hexagon
}

func (h shape) path(at vg.Point, radius vg.Length) vg.Path {
	var path vg.Path
	if h.corners == 0 {
		path.Move(vg.Point{X: at.X + radius, Y: at.Y})
		path.Arc(at, radius, 0, 2*math.Pi)
		path.Close()
		return path
	}
	for corner := range h.corners {
		sin, cos := math.Sincos(h.turn + 2*math.Pi*float64(corner)/float64(h.corners))
		to := vg.Point{X: at.X + radius*vg.Length(h.spread*cos), Y: at.Y + radius*vg.Length(h.spread*sin)}
		if corner == 0 {
			path.Move(to)
		} else {
			path.Line(to)
		}
	}
	path.Close()
	return path
}

// drawMarker draws a marker, with a thin outline unless that is nil, to separate it from its neighbors.
func (s *sheet) drawMarker(m marker, at vg.Point, radius vg.Length, outline *draw.LineStyle) {
	path := m.shape.path(at, radius)
	s.SetColor(m.color)
	s.Fill(path)
	if outline != nil {
		s.SetLineStyle(*outline)
		s.Stroke(path)
	}
}

// formatCount writes a whole number with separators of thousands: 12,345.
func formatCount(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for at, digit := range digits {
		if at > 0 && (len(digits)-at)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return sign + b.String()
}
