package segment

import (
	"slices"

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// Box is a rectangle of pixels that share a label: two boxes of one label are of one segment.
type Box struct {
	X, Y          int // of its top left pixel
	Width, Height int
	Label         int64
}

// Check refuses a box that is empty or reaches out of a picture.
func (b Box) Check(width, height int) error {
	if b.Width < 1 || b.Height < 1 {
		return fault.Invalid("EMPTY_BOX", "the box is %d x %d pixels; it needs at least one", b.Width, b.Height)
	}
	if b.X < 0 || b.Y < 0 || b.Width > width || b.Height > height || b.X > width-b.Width || b.Y > height-b.Height {
		return fault.Invalid("BOX_OUTSIDE", "the box of %d x %d pixels at (%d, %d) reaches out of the picture of %d x %d; its first pixel is (0, 0), at the top left",
			b.Width, b.Height, b.X, b.Y, width, height)
	}
	return nil
}

// maxAllPairs bounds what AllPairs lists: beyond that the chains say the same.
const maxAllPairs = 1 << 20

// Labeled are the pixels of some boxes by label, in ascending order of labels and of pixels.
type Labeled [][]int32

// Label sorts the pixels of boxes, each once. A pixel cannot have two labels.
func Label(width, height int, boxes []Box) (Labeled, error) {
	labels := make([]int64, 0, len(boxes))
	for at, b := range boxes {
		if err := b.Check(width, height); err != nil {
			return nil, fault.Wrap(err, "box %d", at)
		}
		labels = append(labels, b.Label)
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	const free = -1
	owner := slices.Repeat([]int32{free}, width*height)
	for at, b := range boxes {
		rank, _ := slices.BinarySearch(labels, b.Label)
		for y := b.Y; y < b.Y+b.Height; y++ {
			for x := b.X; x < b.X+b.Width; x++ {
				i := y*width + x
				if owner[i] != free && owner[i] != int32(rank) {
					return nil, fault.Invalid("CONTRADICTORY_BOXES", "box %d gives the pixel (%d, %d) the label %d, an earlier one the label %d; boxes of different labels must not overlap",
						at, x, y, b.Label, labels[owner[i]])
				}
				owner[i] = int32(rank)
			}
		}
	}
	classes := make(Labeled, len(labels))
	for i, rank := range owner {
		if rank != free {
			classes[rank] = append(classes[rank], int32(i))
		}
	}
	return classes, nil
}

// UnitWeight is the usual weight of a constraint: the entries of Q are 1 and -1 in Wang2014 7.1, and two
// pixels that are alike in everything have an edge of that weight. With the default of kernel k-means,
// which is many times as large, a normalized cut does best to cut a labeled box out of its surroundings.
const UnitWeight = 1

// Chains says what the labels say in few constraints. A chain of must-links runs through the pixels
// of each label, and between any two labels so many cannot-links that every pixel has one: the
// larger class's pixels in order, with those of the smaller again and again. Their closure is that
// of AllPairs.
func (l Labeled) Chains(weight float64) []constraint.Constraint {
	var links []constraint.Constraint
	for _, class := range l {
		for at := 1; at < len(class); at++ {
			links = append(links, constraint.Constraint{I: class[at-1], J: class[at], Kind: constraint.MustLink, Weight: weight, Weighted: true})
		}
	}
	l.acrossLabels(func(a, b []int32) {
		for at := range max(len(a), len(b)) {
			links = append(links, constraint.Constraint{I: a[at%len(a)], J: b[at%len(b)], Kind: constraint.CannotLink, Weight: weight, Weighted: true})
		}
	})
	return links
}

// AllPairs is a constraint between every two labeled pixels, as in Wang2014 7.1.
func (l Labeled) AllPairs(weight float64) ([]constraint.Constraint, error) {
	pixels := 0
	for _, class := range l {
		pixels += len(class)
	}
	if pairs := pixels * (pixels - 1) / 2; pairs > maxAllPairs {
		return nil, fault.Invalid("TOO_MANY_CONSTRAINTS", "the %d labeled pixels have %d pairs; at most %d are listed: make the boxes smaller, or do without all pairs, which says the same in fewer constraints",
			pixels, pairs, maxAllPairs)
	}
	var links []constraint.Constraint
	for _, class := range l {
		for at, i := range class {
			for _, j := range class[at+1:] {
				links = append(links, constraint.Constraint{I: i, J: j, Kind: constraint.MustLink, Weight: weight, Weighted: true})
			}
		}
	}
	l.acrossLabels(func(a, b []int32) {
		for _, i := range a {
			for _, j := range b {
				links = append(links, constraint.Constraint{I: i, J: j, Kind: constraint.CannotLink, Weight: weight, Weighted: true})
			}
		}
	})
	return links, nil
}

// acrossLabels visits every two labels.
func (l Labeled) acrossLabels(visit func(a, b []int32)) {
	for at, a := range l {
		for _, b := range l[at+1:] {
			visit(a, b)
		}
	}
}
