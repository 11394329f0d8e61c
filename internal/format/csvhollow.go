package format

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Spreadsheets export rows below the table in which there once was something, or a color: lines of nothing but separators. Such
// rows are held back, and are part of the table only if others follow.

// isHollow tells whether a line is a row in which all cells are empty.
func (l *csvLayout) isHollow(line []byte) bool {
	found := 0
	for _, c := range line {
		switch c {
		case l.separator:
			found++
		case ' ', '\r', '\n':
		default:
			return false
		}
	}
	return found == len(l.columns)-1 && l.separator != ' '
}

// hollow are rows in which all cells are empty, one a line.
type hollow struct {
	rows, firstLine int
}

// appendTo adds the rows to those that are parsed.
func (h *hollow) appendTo(p *csvRows, kinds []kind) {
	for ; h.rows > 0; h.rows-- {
		for at := range p.columns {
			c := &p.columns[at]
			switch kinds[at].Type {
			case table.Integer:
				c.integers = append(c.integers, 0)
			case table.Number:
				c.numbers = append(c.numbers, 0)
			default:
				c.ends = append(c.ends, len(c.texts))
			}
			c.empty = append(c.empty, p.rows)
		}
		p.rows++
	}
}

// take returns the rows as a table.
func (h *hollow) take(l *csvLayout) (*table.Table, error) {
	p := &csvRows{columns: make([]csvCells, len(l.columns))}
	h.appendTo(p, l.kinds)
	err := p.makeTable(l, h.firstLine)
	return p.table, err
}

// notice says that there are no others after them.
func (h *hollow) notice(name string) string {
	if h.rows == 0 {
		return ""
	}
	return fmt.Sprintf("%s: nothing stands in the cells of the lines from %d on, which are left out", name, h.firstLine)
}
