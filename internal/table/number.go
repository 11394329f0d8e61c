package table

import (
	"strconv"

	"github.com/cleave-project/cleave/internal/text"
)

// Names are the ids of the points 0, 1, 2, ...: all different.
type Names struct {
	list   []string
	number map[string]int32
}

// NewNames makes Names of ids, nil where there are none.
func NewNames(ids []string) *Names {
	if ids == nil {
		return nil
	}
	n := &Names{list: ids, number: make(map[string]int32, len(ids))}
	for at, id := range ids {
		n.number[id] = int32(at)
	}
	return n
}

// Number is the table with texts that name points replaced by their numbers: by their ids, or, where points have none, by the
// numbers that the texts are. Integers are numbers of points already.
func (t *Table) Number(names *Names) (*Table, error) {
	numbered := *t
	numbered.Columns = append([]Column(nil), t.Columns...)
	for at := range numbered.Columns {
		c := &numbered.Columns[at]
		if !pointColumns[c.Name] || c.Type != Text {
			continue
		}
		numbers := make([]int64, t.rows)
		for row := range numbers {
			if c.IsEmpty(row) {
				continue // whoever reads the table decides about that
			}
			var err error
			if numbers[row], err = names.find(t, c, row); err != nil {
				return nil, err
			}
		}
		c.Type, c.Integers, c.Texts = Integer, numbers, nil
	}
	return &numbered, nil
}

// find is the number of the point that a cell names.
func (n *Names) find(t *Table, c *Column, row int) (int64, error) {
	id := c.Texts[row]
	if n == nil {
		number, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return 0, t.Fault(c, row, "UNKNOWN_ID", "%.40q is no number, and the data have no column of ids: rows are numbered from 0", id).With("id", id)
		}
		return number, nil
	}
	number, known := n.number[id]
	if !known {
		return 0, t.Fault(c, row, "UNKNOWN_ID", "the data have no row %.40q, and rows go by their ids here; did you mean %.40q?", id, n.nearest(id)).With("id", id)
	}
	return int64(number), nil
}

// nearest is the id that is most like a mistaken one, of the first hundred thousand.
func (n *Names) nearest(mistaken string) string {
	return text.Nearest(mistaken, n.list[:min(len(n.list), 100_000)])
}
