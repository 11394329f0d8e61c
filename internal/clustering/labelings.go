package clustering

import (
	"slices"

	"github.com/cleave-project/cleave/internal/snapshot"
)

// Labeling is the labels that one run found, in a byte each where that is enough. Rows without a label are possible.
type Labeling struct {
	small []uint8
	large []int32 // where there are more clusters than a byte has room for
}

const noSmallLabel = 0xff

// NewLabeling packs labels of k clusters; -1 is none.
func NewLabeling(labels []int32, k int) Labeling {
	if k > noSmallLabel {
		return Labeling{large: slices.Clone(labels)}
	}
	l := Labeling{small: make([]uint8, len(labels))}
	for i, c := range labels {
		l.small[i] = uint8(c) // -1 is noSmallLabel
	}
	return l
}

func (l Labeling) rows() int { return len(l.small) + len(l.large) }

// labels are those of all rows.
func (l Labeling) labels() []int32 {
	if l.small == nil {
		return l.large
	}
	labels := make([]int32, len(l.small))
	for i, c := range l.small {
		if labels[i] = int32(c); c == noSmallLabel {
			labels[i] = -1
		}
	}
	return labels
}

// Among is the labeling of n rows of which only some, in ascending order, were labeled.
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

// LabelingsAmong is Among of several labelings.
func LabelingsAmong(n int, kept []int32, runs []Labeling) []Labeling {
	all := make([]Labeling, len(runs))
	for at, run := range runs {
		all[at] = run.Among(n, kept)
	}
	return all
}

// save writes a labeling, which may be missing.
func (l *Labeling) save(w *snapshot.Writer) {
	if w.Bool(l != nil); l != nil {
		w.Int32s(l.labels())
	}
}

// readLabeling reads what save wrote.
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
