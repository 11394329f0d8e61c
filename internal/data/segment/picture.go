// Package segment turns pictures into clustering problems, as Wang2014 7.1 does: a graph whose
// vertices are the pixels and whose edges weigh how similar two pixels are in position and gray value,
// and constraints from rectangles that a person labeled.
//
// Pixels are numbered row by row from the top left, from 0. The package reads no files: package format
// decodes pictures, and package picture draws results.
package segment

import (
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/fault"
)

// MaxPixels is the largest number of pixels of a picture, 2048 x 2048. Within a radius of 5 such a picture
// has 168 million edges, which take about 34 GB of memory to cluster on one machine.
const MaxPixels = 1 << 22

// grayLevel is the 16-bit equivalent of one step on the 8-bit scale from 0 (black) to 255 (white).
const grayLevel = 257

// Picture holds the gray values of an image, row by row: 0 is black, 65535 white.
type Picture struct {
	Width, Height int
	Gray          []uint16
}

// CheckSize returns an error if a picture is empty or too large. Callers check the header of a file
// before they allocate memory for its pixels.
func CheckSize(width, height int) error {
	if width < 1 || height < 1 {
		return fault.Invalid("EMPTY_PICTURE", "the picture is %d x %d pixels; it needs at least one", width, height)
	}
	if width > MaxPixels/height {
		return fault.Invalid("PICTURE_TOO_LARGE",
			"the picture is %d x %d pixels; at most %d in all (such as 2048 x 2048) are supported; make it "+
				"smaller first",
			width, height, MaxPixels)
	}
	return nil
}

// Pixels returns the number of pixels.
func (p *Picture) Pixels() int { return p.Width * p.Height }

// Contrast returns the standard deviation of the gray values, on the scale from 0 to 255.
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

// Scene is a drawn picture whose segments are known.
type Scene struct {
	Picture *Picture
	Truth   []int32 // 0 left, 1 right
	Boxes   []Box   // a few pixels of each half, labeled as a person would
}

// The gray values of a scene, from 0 to 255, without the noise: each half is brighter at its bottom than
// at its top by sceneFade, and the right half is brighter than the left one by sceneStep. As sceneFade is
// larger, no threshold separates the halves: the bottom of the left one is brighter than the top of the
// right one.
const (
	sceneTop  = 40 // at the top left
	sceneFade = 100
	sceneStep = 70
)

// minSide is the smallest width or height of a scene; boxSide is the side of its boxes, as in
// Wang2014 7.1.
const (
	minSide = 8
	boxSide = 5
)

// DrawHalves draws two halves, each a gradient from top to bottom, with normal noise whose standard
// deviation is in gray levels from 0 to 255.
func DrawHalves(width, height int, noise float64, rng *rand.Rand) (*Scene, error) {
	if width < minSide || height < minSide {
		return nil, fault.Invalid("PICTURE_TOO_SMALL", "the picture is %d x %d pixels; each side needs at least %d",
			width, height, minSide)
	}
	if err := CheckSize(width, height); err != nil {
		return nil, err
	}
	if !(noise >= 0) || math.IsInf(noise, 0) {
		return nil, fault.Invalid("BAD_NUMBER", "the noise is %v; it must be 0 or more, and finite", noise)
	}
	s := &Scene{Picture: &Picture{Width: width, Height: height, Gray: make([]uint16, width*height)},
		Truth: make([]int32, width*height)}
	for i := range s.Truth {
		x, y := i%width, i/width
		gray := sceneTop + float64(sceneFade*float64(y))/float64(height-1)
		if 2*x >= width {
			s.Truth[i] = 1
			gray += sceneStep
		}
		gray += float64(noise * rng.NormFloat64())
		s.Picture.Gray[i] = uint16(math.Round(min(max(gray, 0), 255))) * grayLevel
	}
	side := min(boxSide, width/4, height/4)
	y := height/2 - side/2
	s.Boxes = []Box{
		{X: width/4 - side/2, Y: y, Width: side, Height: side, Label: 0},
		{X: width - width/4 - side/2 - 1, Y: y, Width: side, Height: side, Label: 1},
	}
	return s, nil
}
