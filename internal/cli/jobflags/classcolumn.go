package jobflags

import (
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// classColumn is a column of classes, in 4 bytes a row.
type classColumn struct {
	column string
	names  []string // of the classes, in the order in which they come
	of     []int32  // of each row, unknownClass where it is empty
	known  int      // rows that have a class

	number map[string]int32
}

const unknownClass = -1

// maxClasses limits what is kept of a column that names each row.
const maxClasses = 1 << 20

func newClassColumn(column string) *classColumn {
	return &classColumn{column: column, number: map[string]int32{}}
}

// classesOf is a column of classes whose cells are texts; nil if there is none.
func classesOf(column string, cells []string) (*classColumn, error) {
	if cells == nil {
		return nil, nil
	}
	c := newClassColumn(column)
	return c, c.add(&table.Column{Type: table.Text, Texts: cells})
}

// add takes the cells of the next rows.
func (c *classColumn) add(cells *table.Column) error {
	for row := range cells.Len() {
		if cells.IsEmpty(row) {
			c.of = append(c.of, unknownClass)
			continue
		}
		name := cells.CellText(row)
		number, known := c.number[name]
		if !known {
			if len(c.names) == maxClasses {
				return fault.Invalid("TOO_MANY_CLASSES", "column %q has more than %d different values; that is too many for classes", c.column, maxClasses).With("column", c.column)
			}
			number = int32(len(c.names))
			c.names, c.number[name] = append(c.names, name), number
		}
		c.of = append(c.of, number)
		c.known++
	}
	return nil
}

// numbers are those that the classes have, in the order of names.
func (c *classColumn) numbers(classes *table.Classes) []int64 {
	numbers := make([]int64, len(c.names))
	for at, name := range c.names {
		numbers[at] = int64(classes.Number(name))
	}
	return numbers
}
