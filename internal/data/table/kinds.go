package table

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

var index, label = ColumnSpec{Name: "index", Type: Integer}, ColumnSpec{Name: "label", Type: Integer}

// ignored returns an optional column of numbers that is not used.
func ignored(name string) ColumnSpec {
	return ColumnSpec{Name: name, Type: Number, Optional: true, Ignored: true}
}

// Constraints has the columns i, j, kind ("must" or "cannot") and optionally weight.
var Constraints = Kind[constraint.Constraint]{
	Columns{{Name: "i", Type: Integer}, {Name: "j", Type: Integer}, {Name: "kind", Type: Text},
		{Name: "weight", Type: Number, Optional: true}},
	func(r *reading) []constraint.Constraint {
		list := slices.Grow([]constraint.Constraint(nil), r.rows)
		for r.next() {
			c := constraint.Constraint{I: r.index(0), J: r.index(1), Weighted: r.has(3)}
			var known bool
			c.Kind, known = kindOf(r.columns[2].Texts[r.at])
			if !known {
				r.refuse(2, "UNKNOWN_CONSTRAINT_KIND", "the kind is %.60q; use must or cannot",
					r.columns[2].Texts[r.at])
			}
			if c.I == c.J && c.Kind == constraint.CannotLink {
				r.refuse(1, "SELF_CANNOT_LINK", "point %s has a cannot-link to itself", r.ids.Of(int(c.I)))
			}
			if c.Weighted {
				c.Weight = r.weight(3)
			}
			list = append(list, c)
		}
		return list
	},
}

// kindOf returns the kind of constraint that a word means.
func kindOf(word string) (k constraint.Kind, known bool) {
	switch strings.ToLower(word) {
	case "must", "must-link", "must_link", "mustlink", "ml", "same", "together", "yes", "true", "1", "+1":
		return constraint.MustLink, true
	case "cannot", "cannot-link", "cannot_link", "cannotlink", "cl", "different", "apart", "no", "false", "0", "-1":
		return constraint.CannotLink, true
	}
	return k, false
}

// Seeds has the columns index, label and optionally probability. A point occurs once, or with several labels that all
// have a probability. A label without a probability is certain.
var Seeds = Kind[constraint.Seed]{
	Columns{index, label, {Name: "probability", Type: Number, Optional: true}, ignored("distance"), ignored("margin"),
		ignored("confidence")},
	func(r *reading) []constraint.Seed {
		list := slices.Grow([]constraint.Seed(nil), r.rows)
		first, same := map[int32]int{}, map[[2]int32]int{} // the first row of a point, and of a point and label
		for r.next() {
			s := constraint.Seed{Index: r.index(0), Label: int32(r.integer(1))}
			if v := r.integer(1); v < 0 || v > math.MaxInt32 {
				r.refuse(1, "BAD_SEED_LABEL", "the label is %d; seeds name clusters, which are numbered from 0", v)
			}
			if r.has(2) {
				s.Probability = r.number(2)
				if !(s.Probability > 0 && s.Probability <= 1) {
					r.refuse(2, "BAD_PROBABILITY",
						"the probability is %v; it must be above 0 and at most 1, or empty for a certain label "+
							"(leave out labels that the point cannot have)", s.Probability)
				}
			}
			if row, again := same[[2]int32{s.Index, s.Label}]; again {
				r.refuse(0, "DUPLICATE_INDEX", "point %s has the label %d a second time; the first is %s",
					r.ids.Of(int(s.Index)), s.Label, r.Place(row))
			}
			same[[2]int32{s.Index, s.Label}] = r.at
			if row, again := first[s.Index]; !again {
				first[s.Index] = r.at
			} else if list[row].Probability == 0 || s.Probability == 0 {
				r.refuse(1, "CONTRADICTORY_SEEDS",
					"point %s has the label %d here and the label %d %s; if both are possible, give each a probability",
					r.ids.Of(int(s.Index)), s.Label, list[row].Label, r.Place(row))
			}
			list = append(list, s)
		}
		return list
	},
}

// Weights has the columns index and weight. It reads a weight for each point, 1 for points that are not listed.
var Weights = Kind[float64]{
	Columns{index, {Name: "weight", Type: Number}},
	func(r *reading) []float64 {
		weights := slices.Repeat([]float64{1}, r.points)
		for r.next() {
			if at, weight := r.once(0), r.weight(1); r.err == nil {
				weights[at] = weight
			}
		}
		return weights
	},
}

// Labels has the columns index and label, any integer, for each point; or label alone, in the order of the points. If
// the number of points is 0, it is the number of rows. The other columns that a run writes are ignored.
var Labels = Kind[int64]{
	Columns{{Name: "index", Type: Integer, Optional: true}, label, {Name: "class", Type: Text, Optional: true,
		Ignored: true}, ignored("distance"), ignored("margin"), ignored("confidence")},
	func(r *reading) []int64 {
		if r.points == 0 {
			r.points = r.rows
		}
		labels := make([]int64, r.points)
		for r.next() {
			at := r.at
			if r.columns[0] != nil {
				at = int(r.once(0))
			}
			if at < r.points {
				labels[at] = r.integer(1)
			}
		}
		if r.err == nil && r.rows != r.points {
			r.err = r.invalid("SIZE_MISMATCH", "the table has %s for %s; it needs one label per point",
				text.Plural(r.rows, "label"), text.Plural(r.points, "point"))
		}
		return labels
	},
}

// Clusters reads Labels that must be cluster numbers.
var Clusters = Kind[int32]{
	Labels.Columns,
	func(r *reading) []int32 {
		labels := Labels.read(r)
		clusters := make([]int32, len(labels))
		for i, label := range labels {
			if r.err == nil && (label < 0 || label > math.MaxInt32) {
				r.err = fault.Invalid("LABEL_OUT_OF_RANGE",
					"point %s has the label %d; labels here are clusters, which are numbered from 0",
					r.ids.Of(i), label).
					With("index", strconv.Itoa(i))
			}
			clusters[i] = int32(label)
		}
		return clusters
	},
}

// Beliefs has the columns i, j and belief: an entry of a symmetric matrix, positive if the points belong together and
// negative if not. A pair occurs once, in either order; i and j may be equal.
var Beliefs = Kind[constraint.Belief]{
	Columns{{Name: "i", Type: Integer}, {Name: "j", Type: Integer}, {Name: "belief", Type: Number}},
	func(r *reading) []constraint.Belief {
		list := slices.Grow([]constraint.Belief(nil), r.rows)
		rows := make([]int, 0, r.rows)
		for r.next() {
			list = append(list, constraint.Belief{I: r.index(0), J: r.index(1), Value: r.number(2)})
			rows = append(rows, r.at)
		}
		// Sorting finds repeated pairs. Most tables are sorted already, and for whole matrices a map is slow.
		pair := func(row int) int64 {
			return int64(min(list[row].I, list[row].J))<<32 | int64(max(list[row].I, list[row].J))
		}
		slices.SortFunc(rows, func(a, b int) int { return cmp.Or(cmp.Compare(pair(a), pair(b)), a-b) })
		for at := 1; at < len(rows) && r.err == nil; at++ {
			if first := rows[at-1]; pair(first) == pair(rows[at]) {
				r.at = rows[at]
				r.refuse(1, "DUPLICATE_PAIR",
					"the pair %s, %s is listed a second time; the first is %s, and a belief applies to both orders",
					r.ids.Of(int(list[r.at].I)), r.ids.Of(int(list[r.at].J)), r.Place(first))
			}
		}
		return list
	},
}

// Indices has the column index, with distinct points.
var Indices = Kind[int32]{
	Columns{index},
	func(r *reading) []int32 {
		list := make([]int32, 0, r.rows)
		for r.next() {
			list = append(list, r.once(0))
		}
		return list
	},
}
