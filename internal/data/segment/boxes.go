package segment

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// Box is a rectangle of pixels that share a label. Boxes of the same label belong to the same segment.
type Box struct {
	X, Y          int // of its top left pixel
	Width, Height int
	Label         int64
}

// Check returns an error if the box is empty or not entirely inside a picture of the given size.
func (b Box) Check(width, height int) error {
	if b.Width < 1 || b.Height < 1 {
		return fault.Invalid("EMPTY_BOX", "the box is %d x %d pixels; it needs at least one", b.Width, b.Height)
	}
	if b.X < 0 || b.Y < 0 || b.Width > width || b.Height > height || b.X > width-b.Width || b.Y > height-b.Height {
		return fault.Invalid("BOX_OUTSIDE",
			"the box of %d x %d pixels at (%d, %d) is not inside the picture of %d x %d; its first pixel is (0, 0), "+
				"at the top left",
			b.Width, b.Height, b.X, b.Y, width, height)
	}
	return nil
}

// maxAllPairs is the largest number of constraints that AllPairs returns.
const maxAllPairs = 1 << 20

// Labeled lists the labeled pixels of a picture: one ascending list for each label, in the order of the
// labels.
type Labeled [][]int32

// Label lists the pixels of the boxes by label, each pixel once. A pixel must not have two labels.
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
	const unlabeled = -1
	owner := slices.Repeat([]int32{unlabeled}, width*height)
	for at, b := range boxes {
		rank, _ := slices.BinarySearch(labels, b.Label)
		for y := b.Y; y < b.Y+b.Height; y++ {
			for x := b.X; x < b.X+b.Width; x++ {
				i := y*width + x
				if owner[i] != unlabeled && owner[i] != int32(rank) {
					return nil, fault.Invalid("CONTRADICTORY_BOXES",
						"box %d gives the pixel (%d, %d) the label %d, an earlier one the label %d; boxes of "+
							"different labels must not overlap",
						at, x, y, b.Label, labels[owner[i]])
				}
				owner[i] = int32(rank)
			}
		}
	}
	classes := make(Labeled, len(labels))
	for i, rank := range owner {
		if rank != unlabeled {
			classes[rank] = append(classes[rank], int32(i))
		}
	}
	return classes, nil
}

// UnitWeight is the usual weight of a constraint on pixels: the entries of Q are 1 and -1 in Wang2014 7.1,
// and the edge of two identical pixels has weight 1. The default weight of kernel k-means is many times
// as large; with it the best normalized cut separates a labeled box from its surroundings.
const UnitWeight = 1

// Chains returns a short list of constraints with the same closure as AllPairs: a chain of must-links through
// the pixels of each label, and cannot-links between any two labels such that every pixel has one (the
// pixels of the larger class in order, each with the next pixel of the smaller class, cyclically).
func (l Labeled) Chains(weight float64) []constraint.Constraint {
	var links []constraint.Constraint
	for _, class := range l {
		for at := 1; at < len(class); at++ {
			links = append(links, constraint.Constraint{I: class[at-1], J: class[at], Kind: constraint.MustLink,
				Weight: weight, Weighted: true})
		}
	}
	l.eachTwoLabels(func(a, b []int32) {
		for at := range max(len(a), len(b)) {
			links = append(links, constraint.Constraint{I: a[at%len(a)], J: b[at%len(b)], Kind: constraint.CannotLink,
				Weight: weight, Weighted: true})
		}
	})
	return links
}

// AllPairs returns a constraint between every two labeled pixels, as in Wang2014 7.1, or an error if there
// are too many.
func (l Labeled) AllPairs(weight float64) ([]constraint.Constraint, error) {
	pixels := 0
	for _, class := range l {
		pixels += len(class)
	}
	if pairs := pixels * (pixels - 1) / 2; pairs > maxAllPairs {
		return nil, fault.Invalid("TOO_MANY_CONSTRAINTS",
			"the %d labeled pixels have %d pairs; at most %d are listed: make the boxes smaller, or leave "+
				"--all-pairs off, which implies the same with fewer constraints",
			pixels, pairs, maxAllPairs)
	}
	var links []constraint.Constraint
	for _, class := range l {
		for at, i := range class {
			for _, j := range class[at+1:] {
				links = append(links, constraint.Constraint{I: i, J: j, Kind: constraint.MustLink, Weight: weight,
					Weighted: true})
			}
		}
	}
	l.eachTwoLabels(func(a, b []int32) {
		for _, i := range a {
			for _, j := range b {
				links = append(links, constraint.Constraint{I: i, J: j, Kind: constraint.CannotLink, Weight: weight,
					Weighted: true})
			}
		}
	})
	return links, nil
}

// eachTwoLabels calls visit with the pixels of every two labels.
func (l Labeled) eachTwoLabels(visit func(a, b []int32)) {
	for at, a := range l {
		for _, b := range l[at+1:] {
			visit(a, b)
		}
	}
}
