package table

import (
	"slices"
	"strconv"
)

// Number is the table with texts that name points replaced by their numbers: by their ids, or, where points have none, by the
// numbers that the texts are. Integers are numbers of points already.
func (t *Table) Number(ids *IDs) (*Table, error) {
	numbered := *t
	numbered.Columns = slices.Clone(t.Columns)
	for at := range numbered.Columns {
		c := &numbered.Columns[at]
		if !pointColumns[c.Name] || c.Type != Text {
			continue
		}
		resolve := numbered.parsePoints
		if ids != nil {
			resolve = func(c *Column) error { return numbered.resolvePoints(c, ids) }
		}
		if err := resolve(c); err != nil {
			return nil, err
		}
	}
	return &numbered, nil
}

// parsePoints reads numbers of points that are texts.
func (t *Table) parsePoints(c *Column) error {
	numbers := make([]int64, t.rows)
	for row, name := range c.Texts {
		if c.IsEmpty(row) {
			continue // whoever reads the table decides about that
		}
		var err error
		if numbers[row], err = strconv.ParseInt(name, 10, 64); err != nil {
			return t.Fault(c, row, "UNKNOWN_ID", "%.40q is no number, and the data have no column of ids: rows are numbered from 0", name).With("id", name)
		}
	}
	c.Type, c.Integers, c.Texts = Integer, numbers, nil
	return nil
}
