package format

import (
	"io"
	"math"
)

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
