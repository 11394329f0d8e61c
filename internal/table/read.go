package table

import (
	"math"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// want is a column that a reader knows.
type want struct {
	name     string
	kind     Type
	optional bool // the column may be missing, and its cells empty
}

// pick finds the columns that a reader knows, in its order; nil for an optional one that is missing.
// Columns may stand in any order, but there are no others.
func (t *Table) pick(wants ...want) ([]*Column, error) {
	found := make([]*Column, len(wants))
	for at := range t.Columns {
		c := &t.Columns[at]
		known := false
		for w, want := range wants {
			if want.name == c.Name {
				known, found[w] = true, c
			}
		}
		if !known {
			return nil, fault.Invalid("UNKNOWN_COLUMN", "the table has a column %q; the columns here are %s", c.Name, header(wants)).With("column", c.Name)
		}
	}
	for w, want := range wants {
		c := found[w]
		switch {
		case c == nil && !want.optional:
			return nil, fault.Invalid("MISSING_COLUMN", "the table has no column %q; the columns here are %s", want.name, header(wants)).With("column", want.name)
		case c == nil:
		case c.Type != want.kind && !(want.kind == Number && c.Type == Integer):
			return nil, fault.Invalid("BAD_COLUMN_TYPE", "column %q holds %v; it must hold %v", c.Name, c.Type, want.kind).With("column", c.Name)
		case c.Empty != nil && !want.optional:
			for row, empty := range c.Empty {
				if empty {
					return nil, c.fault(row, "EMPTY_CELL", "the cell is empty")
				}
			}
		}
	}
	return found, nil
}

// header is the columns as errors show them: "i,j,kind[,weight]".
func header(wants []want) string {
	var names strings.Builder
	for at, w := range wants {
		comma := map[bool]string{true: ","}[at > 0]
		if w.optional {
			names.WriteString("[" + comma + w.name + "]")
		} else {
			names.WriteString(comma + w.name)
		}
	}
	return names.String()
}

// index is the number of a point, out of so many.
func (c *Column) index(row, points int) (int32, error) {
	v := c.Integers[row]
	if v < 0 || v >= int64(points) {
		return 0, c.fault(row, "INDEX_OUT_OF_RANGE", "point %d is outside 0..%d", v, points-1)
	}
	return int32(v), nil
}

// number is a cell of numbers, or of integers that stand for numbers.
func (c *Column) number(row int) float64 {
	if c.Type == Integer {
		return float64(c.Integers[row])
	}
	return c.Numbers[row]
}

// weight is a positive number.
func (c *Column) weight(row int) (float64, error) {
	if v := c.number(row); v > 0 {
		return v, nil
	}
	return 0, c.fault(row, "BAD_WEIGHT", "the weight is %v; weights must be positive", c.number(row))
}

// Constraints reads i, j, kind ("must" or "cannot") and optionally weight, about so many points.
func Constraints(t *Table, points int) ([]constraint.Constraint, error) {
	columns, err := t.pick(want{name: "i", kind: Integer}, want{name: "j", kind: Integer}, want{name: "kind", kind: Text},
		want{name: "weight", kind: Number, optional: true})
	if err != nil || t.rows == 0 {
		return nil, err
	}
	i, j, kind, weight := columns[0], columns[1], columns[2], columns[3]
	list := make([]constraint.Constraint, t.rows)
	for row := range list {
		c := &list[row]
		if c.I, err = i.index(row, points); err != nil {
			return nil, err
		}
		if c.J, err = j.index(row, points); err != nil {
			return nil, err
		}
		switch strings.ToLower(kind.Texts[row]) {
		case "must", "must-link":
			c.Kind = constraint.MustLink
		case "cannot", "cannot-link":
			c.Kind = constraint.CannotLink
		default:
			return nil, kind.fault(row, "UNKNOWN_CONSTRAINT_KIND", "the kind is %.60q; use must or cannot", kind.Texts[row])
		}
		if c.I == c.J && c.Kind == constraint.CannotLink {
			return nil, j.fault(row, "SELF_CANNOT_LINK", "point %d cannot be apart from itself", c.I)
		}
		if weight == nil || weight.empty(row) {
			continue
		}
		c.Weighted = true
		if c.Weight, err = weight.weight(row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Seeds reads index, label and optionally probability, about so many points.
func Seeds(t *Table, points int) ([]clustering.Seed, error) {
	columns, err := t.pick(want{name: "index", kind: Integer}, want{name: "label", kind: Integer},
		want{name: "probability", kind: Number, optional: true})
	if err != nil || t.rows == 0 {
		return nil, err
	}
	index, label, probability := columns[0], columns[1], columns[2]
	list := make([]clustering.Seed, t.rows)
	for row := range list {
		s := &list[row]
		if s.Index, err = index.index(row, points); err != nil {
			return nil, err
		}
		if v := label.Integers[row]; v < 0 || v > math.MaxInt32 {
			return nil, label.fault(row, "BAD_SEED_LABEL", "the label is %d; seeds name clusters, which are numbered from 0", v)
		}
		s.Label = int32(label.Integers[row])
		if probability == nil || probability.empty(row) {
			continue
		}
		if s.Probability = probability.number(row); !(s.Probability > 0 && s.Probability <= 1) {
			return nil, probability.fault(row, "BAD_PROBABILITY", "the probability is %v; it must be above 0 and at most 1, or the cell empty for certain", s.Probability)
		}
	}
	return list, nil
}

// Weights reads index and weight; a point that is not listed weighs 1.
func Weights(t *Table, points int) ([]float64, error) {
	columns, err := t.pick(want{name: "index", kind: Integer}, want{name: "weight", kind: Number})
	if err != nil {
		return nil, err
	}
	weights := make([]float64, points)
	for i := range weights {
		weights[i] = 1
	}
	err = eachOnce(columns[0], points, func(row int, index int32) (err error) {
		weights[index], err = columns[1].weight(row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return weights, nil
}

// Labels reads a label for each of so many points: index and label, or label alone in the order of the
// points. Labels are any integers.
func Labels(t *Table, points int) ([]int64, error) {
	columns, err := t.pick(want{name: "index", kind: Integer, optional: true}, want{name: "label", kind: Integer})
	if err != nil {
		return nil, err
	}
	if t.rows != points {
		return nil, fault.Invalid("SIZE_MISMATCH", "the table has %d labels for %d points; each needs one", t.rows, points)
	}
	index, label := columns[0], columns[1]
	if index == nil {
		return label.Integers, nil
	}
	if index.Empty != nil {
		return nil, fault.Invalid("EMPTY_CELL", "column %q has empty cells; give all of it, or none", index.Name).With("column", index.Name)
	}
	labels := make([]int64, points)
	err = eachOnce(index, points, func(row int, index int32) error {
		labels[index] = label.Integers[row]
		return nil
	})
	if err != nil {
		return nil, err
	}
	return labels, nil
}

// Clusters is Labels whose labels are numbers of clusters.
func Clusters(t *Table, points int) ([]int32, error) {
	labels, err := Labels(t, points)
	if err != nil {
		return nil, err
	}
	clusters := make([]int32, len(labels))
	for i, label := range labels {
		if label < 0 || label > math.MaxInt32 {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "point %d has the label %d; labels here are clusters, which are numbered from 0", i, label).
				With("index", strconv.Itoa(i))
		}
		clusters[i] = int32(label)
	}
	return clusters, nil
}

// Beliefs reads i, j and belief, about so many points.
func Beliefs(t *Table, points int) ([]cut.Belief, error) {
	columns, err := t.pick(want{name: "i", kind: Integer}, want{name: "j", kind: Integer}, want{name: "belief", kind: Number})
	if err != nil || t.rows == 0 {
		return nil, err
	}
	list := make([]cut.Belief, t.rows)
	for row := range list {
		if list[row].I, err = columns[0].index(row, points); err != nil {
			return nil, err
		}
		if list[row].J, err = columns[1].index(row, points); err != nil {
			return nil, err
		}
		list[row].Value = columns[2].number(row)
	}
	return list, nil
}

// Indices reads index: distinct points, in the order of the rows.
func Indices(t *Table, points int) ([]int32, error) {
	columns, err := t.pick(want{name: "index", kind: Integer})
	if err != nil {
		return nil, err
	}
	list := make([]int32, 0, t.rows)
	err = eachOnce(columns[0], points, func(_ int, index int32) error {
		list = append(list, index)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// eachOnce visits the points of a column, and refuses the second mention of one.
func eachOnce(c *Column, points int, visit func(row int, index int32) error) error {
	first := make([]int32, points) // 1 + the row that has the point
	for row := range c.Len() {
		index, err := c.index(row, points)
		if err != nil {
			return err
		}
		if first[index] != 0 {
			return c.fault(row, "DUPLICATE_INDEX", "point %d stands here again; it was in row %d", index, first[index]-1).
				With("index", strconv.Itoa(int(index)))
		}
		first[index] = int32(row) + 1
		if err := visit(row, index); err != nil {
			return err
		}
	}
	return nil
}
