// Package segment turns pictures into clustering problems, as Wang2014 7.1 does: a graph whose
// vertices are the pixels and whose edges say how alike two pixels are in position and gray value, and
// constraints from rectangles that a person labeled.
//
// Pixels are numbered row by row from the top left, from 0. The package reads no files: package format
// decodes pictures, and package picture draws results.
package segment

import (
	"math"

	"github.com/cleave-project/cleave/internal/fault"
)

// MaxPixels is the largest number of pixels of a picture, 2048 x 2048. Within a radius of 5 such a picture
// has 168 million edges, which take about 34 GB of memory to cluster on one machine.
const MaxPixels = 1 << 22

// grayLevel is what one step of the usual scale from 0 (black) to 255 (white) is in 16 bits.
const grayLevel = 257

// Picture is the gray values of an image, row by row: 0 is black, 65535 white.
type Picture struct {
	Width, Height int
	Gray          []uint16
}

// CheckSize refuses pictures that are empty or too large. Call it on a header, before memory is
// allocated.
func CheckSize(width, height int) error {
	if width < 1 || height < 1 {
		return fault.Invalid("EMPTY_PICTURE", "the picture is %d x %d pixels; it needs at least one", width, height)
	}
	if width > MaxPixels/height {
		return fault.Invalid("PICTURE_TOO_LARGE", "the picture is %d x %d pixels; at most %d in all (such as 2048 x 2048) are supported; make it smaller first",
			width, height, MaxPixels)
	}
	return nil
}

// Pixels is the number of pixels.
func (p *Picture) Pixels() int { return p.Width * p.Height }

// Contrast is the standard deviation of the gray values, on the scale from 0 to 255.
func (p *Picture) Contrast() float64 {
	var sum uint64 // no overflow: 2^22 values of 16 bits
	for _, gray := range p.Gray {
		sum += uint64(gray)
	}
	mean := float64(sum) / float64(len(p.Gray))
	var squares float64
	for _, gray := range p.Gray {
		d := float64(gray) - mean
		squares += float64(d * d)
	}
	return math.Sqrt(squares/float64(len(p.Gray))) / grayLevel
}
