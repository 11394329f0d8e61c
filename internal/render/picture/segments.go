package picture

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/segment"
)

// Overlay draws results over a picture. Each pixel becomes a square of Scale x Scale pixels; Scale must be from 1 to
// MaxScale. Results have one value for each pixel.
type Overlay struct {
	Picture *segment.Picture
	Scale   int
	Boxes   []segment.Box // drawn as outlines on top; they lie within the picture
}

// targetSide is the longer side that AutoScale aims at, and maxAutoScale its largest scale.
const (
	targetSide   = 720
	maxAutoScale = 16
)

// AutoScale returns a scale that makes a small picture large enough to see, 1 for a large picture.
func AutoScale(p *segment.Picture) int {
	return min(max(targetSide/max(p.Width, p.Height), 1), maxAutoScale)
}

// Segments draws the picture in gray, tints each pixel with the color of its cluster, and draws white
// lines between clusters. A pixel with a negative label has no tint. It writes a PNG.
func (o Overlay) Segments(w io.Writer, labels []int64) error {
	tints := palette()
	drawn := o.paint(func(pixel int) color.NRGBA {
		gray := grayColor(o.Picture.Gray[pixel])
		if labels[pixel] < 0 {
			return gray
		}
		return mix(gray, tints[labels[pixel]%colors], 1, 2)
	})
	o.drawBoundaries(drawn, labels)
	o.drawBoxes(drawn)
	return png.Encode(w, drawn)
}

// The colors of a heat map, as in Wang2014 Fig. 5: one segment is red, the other blue, and pixels that
// belong to neither are pale.
var (
	heatLow  = color.NRGBA{R: 0x21, G: 0x4E, B: 0xB5, A: 255}
	heatZero = color.NRGBA{R: 0xF4, G: 0xF2, B: 0xEE, A: 255}
	heatHigh = color.NRGBA{R: 0xC2, G: 0x1F, B: 0x2E, A: 255}
)

// HeatMap draws one finite number for each pixel, the relaxed indicator of a segment: 0 is pale, and the
// largest absolute value is full red if positive or full blue if negative. It writes a PNG.
func (o Overlay) HeatMap(w io.Writer, values []float64) error {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v))
	}
	drawn := o.paint(func(pixel int) color.NRGBA {
		if largest == 0 {
			return heatZero
		}
		end := heatHigh
		if values[pixel] < 0 {
			end = heatLow
		}
		const steps = 1 << 10
		return mix(heatZero, end, int(math.Round(steps*(math.Abs(values[pixel])/largest))), steps)
	})
	o.drawBoxes(drawn)
	return png.Encode(w, drawn)
}

// MaxScale returns the largest scale at which the drawing has at most four times as many pixels as the
// largest picture (64 MB in memory), at least 1.
func MaxScale(p *segment.Picture) int {
	return max(int(math.Sqrt(4*segment.MaxPixels/float64(p.Pixels()))), 1)
}

// paint returns a drawing in which the square of each pixel has the given color.
func (o Overlay) paint(colorOf func(pixel int) color.NRGBA) *image.NRGBA {
	drawn := image.NewNRGBA(image.Rect(0, 0, o.Picture.Width*o.Scale, o.Picture.Height*o.Scale))
	for pixel := range o.Picture.Pixels() {
		left, top := pixel%o.Picture.Width*o.Scale, pixel/o.Picture.Width*o.Scale
		fill(drawn, image.Rect(left, top, left+o.Scale, top+o.Scale), colorOf(pixel))
	}
	return drawn
}

// drawBoundaries makes the last column or row of a pixel's square white if the pixel to the right or
// below has another label.
func (o Overlay) drawBoundaries(drawn *image.NRGBA, labels []int64) {
	width := o.Picture.Width
	for pixel, label := range labels {
		x, y := pixel%width, pixel/width
		left, top := x*o.Scale, y*o.Scale
		right, bottom := left+o.Scale-1, top+o.Scale-1
		if x+1 < width && labels[pixel+1] != label {
			fill(drawn, image.Rect(right, top, right+1, bottom+1), white)
		}
		if y+1 < o.Picture.Height && labels[pixel+width] != label {
			fill(drawn, image.Rect(left, bottom, right+1, bottom+1), white)
		}
	}
}

// drawBoxes outlines the boxes, inside their pixels: black for the first label and white for the second,
// as in Wang2014 Fig. 5, then black again and so on. If there is room, a thin line of the other color
// runs along the inside, so that boxes are visible on any background.
func (o Overlay) drawBoxes(drawn *image.NRGBA) {
	labels := make([]int64, 0, len(o.Boxes))
	for _, b := range o.Boxes {
		labels = append(labels, b.Label)
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	lineColors := [...]color.NRGBA{{A: 255}, white}
	line := max(1, o.Scale/5)
	for _, b := range o.Boxes {
		rank, _ := slices.BinarySearch(labels, b.Label)
		outer := image.Rect(b.X*o.Scale, b.Y*o.Scale, (b.X+b.Width)*o.Scale, (b.Y+b.Height)*o.Scale)
		outline(drawn, outer, line, lineColors[rank%2])
		if o.Scale > 2 {
			outline(drawn, outer.Inset(line), 1, lineColors[1-rank%2])
		}
	}
}

// outline draws a frame inside a rectangle; line is its width.
func outline(drawn *image.NRGBA, r image.Rectangle, line int, c color.NRGBA) {
	fill(drawn, image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+line), c)
	fill(drawn, image.Rect(r.Min.X, r.Max.Y-line, r.Max.X, r.Max.Y), c)
	fill(drawn, image.Rect(r.Min.X, r.Min.Y, r.Min.X+line, r.Max.Y), c)
	fill(drawn, image.Rect(r.Max.X-line, r.Min.Y, r.Max.X, r.Max.Y), c)
}

func fill(drawn *image.NRGBA, r image.Rectangle, c color.NRGBA) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			drawn.SetNRGBA(x, y, c)
		}
	}
}

func grayColor(gray uint16) color.NRGBA {
	level := uint8(gray >> 8)
	return color.NRGBA{R: level, G: level, B: level, A: 255}
}

// mix returns the color at part/whole of the way between two colors.
func mix(from, to color.NRGBA, part, whole int) color.NRGBA {
	between := func(a, b uint8) uint8 { return uint8((int(a)*(whole-part) + int(b)*part + whole/2) / whole) }
	return color.NRGBA{R: between(from.R, to.R), G: between(from.G, to.G), B: between(from.B, to.B), A: 255}
}
