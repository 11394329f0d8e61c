package clustering

import (
	"slices"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// Labeling holds the labels that one run found, in one byte per row if k allows it. A row may have no label.
type Labeling struct {
	small []uint8
	large []int32 // set instead of small if there are more than 255 clusters
}

// noSmallLabel marks a row without a label in Labeling.small.
const noSmallLabel = 0xff

// NewLabeling packs labels from 0 to k-1; -1 means no label. It does not retain labels.
func NewLabeling(labels []int32, k int) Labeling {
	if k > noSmallLabel {
		return Labeling{large: slices.Clone(labels)}
	}
	l := Labeling{small: make([]uint8, len(labels))}
	for i, c := range labels {
		l.small[i] = uint8(c) // -1 becomes noSmallLabel
	}
	return l
}

func (l Labeling) rows() int { return len(l.small) + len(l.large) }

// labels returns the labels of all rows, -1 for a row without one. The caller must not modify them.
func (l Labeling) labels() []int32 {
	if l.small == nil {
		return l.large
	}
	labels := make([]int32, len(l.small))
	for i, c := range l.small {
		labels[i] = int32(c)
		if c == noSmallLabel {
			labels[i] = -1
		}
	}
	return labels
}

// Among returns the labeling of n rows whose rows kept, in ascending order, have the labels of l. All other rows have
// no label. It returns l itself if kept holds all n rows. It also returns l if the numbers of rows differ, which
// happens only with a foreign snapshot. Vote ignores such a labeling.
func (l Labeling) Among(n int, kept []int32) Labeling {
	if len(kept) == n || len(kept) != l.rows() {
		return l
	}
	if l.small == nil {
		all := Unassigned(n)
		for row, i := range kept {
			all[i] = l.large[row]
		}
		return Labeling{large: all}
	}
	all := slices.Repeat([]uint8{noSmallLabel}, n)
	for row, i := range kept {
		all[i] = l.small[row]
	}
	return Labeling{small: all}
}

// LabelingsAmong applies Among to each of several labelings.
func LabelingsAmong(n int, kept []int32, runs []Labeling) []Labeling {
	all := make([]Labeling, len(runs))
	for i, run := range runs {
		all[i] = run.Among(n, kept)
	}
	return all
}

// save writes l, which may be nil.
func (l *Labeling) save(w *snapshot.Writer) {
	if w.Bool(l != nil); l != nil {
		w.Int32s(l.labels())
	}
}

// readLabeling reads what save wrote. It returns nil if save wrote nil or r is damaged; r.Err tells which.
func readLabeling(r *snapshot.Reader, k int) *Labeling {
	if !r.Bool() {
		return nil
	}
	labels := r.Int32s()
	r.Check(!slices.ContainsFunc(labels, func(c int32) bool { return c < -1 || int(c) >= k }))
	if r.Err() != nil {
		return nil
	}
	l := NewLabeling(labels, k)
	return &l
}

// Unassigned returns n labels of -1, which means that the points have no labels yet.
func Unassigned(n int) []int32 {
	return slices.Repeat([]int32{-1}, n)
}

// Ones returns n ones, the weights of points that all count the same.
func Ones(n int) []float64 {
	return slices.Repeat([]float64{1}, n)
}
