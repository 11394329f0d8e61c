package format

import (
	"io"
	"math"
	"strings"

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/fault"
)

// ReadConstraints reads the columns i, j, kind and optionally weight. Indices must be below points, unless
// that is 0, for not known. A constraint whose cell is empty has no weight.
func ReadConstraints(r io.Reader, name string, points int) ([]constraint.Constraint, error) {
	const i, j, kind, weight = 0, 1, 2, 3
	t, err := openTable(r, name, column{name: "i"}, column{name: "j"}, column{name: "kind"}, column{name: "weight", optional: true})
	if err != nil {
		return nil, err
	}
	var constraints []constraint.Constraint
	err = t.each(func() (err error) {
		var c constraint.Constraint
		if c.I, err = t.index(i, points); err != nil {
			return err
		}
		if c.J, err = t.index(j, points); err != nil {
			return err
		}
		if c.Kind, err = t.kind(kind); err != nil {
			return err
		}
		if c.I == c.J && c.Kind == constraint.CannotLink {
			return t.invalid("SELF_CANNOT_LINK", "point %d cannot be apart from itself", c.I)
		}
		if len(t.cell(weight)) > 0 {
			c.Weighted = true
			if c.Weight, err = t.weight(weight); err != nil {
				return err
			}
		}
		constraints = append(constraints, c)
		return nil
	})
	return emptyNotNil(constraints, err)
}

// LoadConstraints is ReadConstraints of a path.
func LoadConstraints(path string, points int) ([]constraint.Constraint, error) {
	return loadSized(path, points, ReadConstraints)
}

func (t *table) kind(column int) (constraint.Kind, error) {
	switch strings.ToLower(string(t.cell(column))) {
	case "must", "must-link":
		return constraint.MustLink, nil
	case "cannot", "cannot-link":
		return constraint.CannotLink, nil
	}
	return 0, t.invalid("UNKNOWN_CONSTRAINT_KIND", "the kind is %s; use must or cannot", quoted(t.cell(column)))
}

// ReadWeights reads the columns index and weight; a point that is not listed has the weight 1.
func ReadWeights(r io.Reader, name string, points int) ([]float64, error) {
	if points < 1 {
		return nil, fault.Invalid("EMPTY_DATA", "%s: there are no points to weigh", name)
	}
	t, err := openTable(r, name, column{name: "index"}, column{name: "weight"})
	if err != nil {
		return nil, err
	}
	weights := make([]float64, points)
	for i := range weights {
		weights[i] = 1
	}
	seen := seenIndices{}
	err = t.each(func() error {
		index, err := t.index(0, points)
		if err != nil {
			return err
		}
		if weights[index], err = t.weight(1); err != nil {
			return err
		}
		return seen.add(t, index)
	})
	return emptyNotNil(weights, err)
}

// LoadWeights is ReadWeights of a path.
func LoadWeights(path string, points int) ([]float64, error) {
	return loadSized(path, points, ReadWeights)
}

// ReadIndices reads the column index: distinct points, in the order of the file. They must be below
// points, unless that is 0, for not known.
func ReadIndices(r io.Reader, name string, points int) ([]int32, error) {
	t, err := openTable(r, name, column{name: "index"})
	if err != nil {
		return nil, err
	}
	var indices []int32
	seen := seenIndices{}
	err = t.each(func() error {
		index, err := t.index(0, points)
		if err != nil {
			return err
		}
		indices = append(indices, index)
		return seen.add(t, index)
	})
	return emptyNotNil(indices, err)
}

// LoadIndices is ReadIndices of a path.
func LoadIndices(path string, points int) ([]int32, error) {
	return loadSized(path, points, ReadIndices)
}

// ReadLabels reads one label, any integer, for each point: columns index and label with the rows in any
// order, or the column label alone in the order of the points. With points 0 the file tells their number.
func ReadLabels(r io.Reader, name string, points int) ([]int64, error) {
	const index, label = 0, 1
	t, err := openTable(r, name, column{name: "index", optional: true}, column{name: "label"})
	if err != nil {
		return nil, err
	}
	var rows []pointLabel
	seen := seenIndices{}
	err = t.each(func() (err error) {
		if len(rows) == math.MaxInt32 {
			return t.invalid("TOO_MANY_ROWS", "more than %d labels are not supported", math.MaxInt32)
		}
		row := pointLabel{index: int32(len(rows))}
		if t.has(index) {
			if row.index, err = t.index(index, points); err != nil {
				return err
			}
			if err := seen.add(t, row.index); err != nil {
				return err
			}
		}
		row.label, err = t.integer(label)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return orderLabels(t, rows, points)
}

// LoadLabels is ReadLabels of a path.
func LoadLabels(path string, points int) ([]int64, error) {
	return loadSized(path, points, ReadLabels)
}

// pointLabel is a point and its label.
type pointLabel struct {
	index int32
	label int64
}

// orderLabels puts the labels in the order of the points. The indices are distinct, so there is one for
// every point if none of them is too large.
func orderLabels(t *table, rows []pointLabel, points int) ([]int64, error) {
	if points > 0 && len(rows) != points {
		return nil, t.source.invalid("SIZE_MISMATCH", "the file has %d labels for %d points; each needs one", len(rows), points)
	}
	labels := make([]int64, len(rows))
	for _, row := range rows {
		if int(row.index) >= len(rows) {
			return nil, t.source.invalid("INDEX_OUT_OF_RANGE", "point %d is listed, but the file has only %d labels; every point from 0 on needs one",
				row.index, len(rows))
		}
		labels[row.index] = row.label
	}
	return labels, nil
}

// emptyNotNil returns either rows or an error. Rows that were read but are none become an empty slice:
// to some callers nil means that no file was given.
func emptyNotNil[T any](rows []T, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	if rows == nil {
		rows = []T{}
	}
	return rows, nil
}
