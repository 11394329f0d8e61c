package table

import (
	"strconv"

	"github.com/cleave-project/cleave/internal/text"
)

// Names are the ids of the points 0, 1, 2, ...: all different.
type Names struct {
	list     []string
	number   map[string]int32
	integers bool // all of them are
}

// NewNames makes Names of ids, nil where there are none.
func NewNames(ids []string) *Names {
	if ids == nil {
		return nil
	}
	n := &Names{list: ids, number: make(map[string]int32, len(ids)), integers: true}
	for at, id := range ids {
		n.number[id] = int32(at)
		if n.integers {
			v, err := strconv.ParseInt(id, 10, 64)
			n.integers = err == nil && strconv.FormatInt(v, 10) == id
		}
	}
	return n
}

// Number is the table with the ids of points replaced by their numbers. Texts are ids. Integers are ids where all ids are
// integers, and else they are numbers of points already.
func (t *Table) Number(names *Names) (*Table, error) {
	numbered := *t
	numbered.Columns = append([]Column(nil), t.Columns...)
	for at := range numbered.Columns {
		c := &numbered.Columns[at]
		if !pointColumns[c.Name] || c.Type == Number || c.Type == Integer && (names == nil || !names.integers) {
			continue
		}
		if names == nil {
			if c.Len() == 0 {
				continue
			}
			return nil, t.Fault(c, 0, "NO_IDS", "%.40q is no number, and the rows have no ids; number them from 0, or say which column has the ids", c.Texts[0])
		}
		numbers := make([]int64, t.rows)
		for row := range numbers {
			if c.Empty != nil && c.Empty[row] {
				continue // whoever reads the table decides about that
			}
			id := c.CellText(row)
			number, known := names.number[id]
			if !known {
				return nil, t.Fault(c, row, "UNKNOWN_ID", "no row has the id %.40q; the nearest is %.40q", id, text.Nearest(id, names.list)).With("id", id)
			}
			numbers[row] = int64(number)
		}
		c.Type, c.Integers, c.Texts = Integer, numbers, nil
	}
	return &numbered, nil
}
