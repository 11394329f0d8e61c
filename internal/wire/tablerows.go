package wire

import (
	"slices"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// rowsOfTable collects the rows that have arrived. Cells stay as they arrived and are joined once, column by column,
// so that a large table takes its own size and one more column.
type rowsOfTable struct {
	columns []columnParts
	rows    int
	owned   bool // nobody else uses the messages, so equal texts may be replaced by one
}

// columnParts is a column whose cells are in parts.
type columnParts struct {
	name     string
	kind     table.Type
	integers [][]int64
	numbers  [][]float64
	texts    [][]string
	seen     map[string]string // texts that may come again, each kept once; nil if texts are not shared
	empty    []bool            // one for each row so far; nil if no cell is empty
}

// maxSeen is how many texts of a column are remembered. Categories are fewer, and names of rows are all different.
const maxSeen = 1024

// RowsIn returns the number of rows of a message.
func RowsIn(p *cleavev1.TableRows) int {
	if len(p.GetColumns()) == 0 {
		return 0
	}
	return lengthOf(p.GetColumns()[0])
}

// add adds the next rows. The first ones define the columns.
func (r *rowsOfTable) add(p *cleavev1.TableRows) error {
	if r.columns == nil {
		if len(p.GetColumns()) == 0 || len(p.GetColumns()) > table.MaxColumns {
			return fault.Invalid("BAD_COLUMNS", "the table has %d columns; it must have 1 to %d", len(p.GetColumns()),
				table.MaxColumns)
		}
		for _, c := range p.GetColumns() {
			r.columns = append(r.columns, columnParts{name: c.GetName(), kind: typeOf(c)})
			if r.owned {
				r.columns[len(r.columns)-1].seen = map[string]string{}
			}
		}
	}
	if len(p.GetColumns()) != len(r.columns) {
		return fault.Invalid("COLUMNS_DIFFER", "the rows from %d on have %d columns; those before have %d", r.rows,
			len(p.GetColumns()), len(r.columns))
	}
	count := lengthOf(p.GetColumns()[0])
	for at, c := range p.GetColumns() {
		into := &r.columns[at]
		if c.GetName() != into.name || typeOf(c) != into.kind {
			return fault.Invalid("COLUMNS_DIFFER",
				"column %d of the rows from %d on is %.60q with %v; before it was %.60q with %v: all parts have the "+
					"same columns in the same order",
				at, r.rows, c.GetName(), typeOf(c), into.name, into.kind)
		}
		if lengthOf(c) != count {
			return fault.Invalid("COLUMN_LENGTHS_DIFFER",
				"the columns have different numbers of rows: %q has %d and %q has %d",
				r.columns[0].name, r.rows+count, into.name, r.rows+lengthOf(c))
		}
		into.add(c)
		if err := into.markEmpty(c.GetEmptyRows(), r.rows, count); err != nil {
			return err
		}
	}
	r.rows += count
	return nil
}

// add keeps the cells of the next rows. If texts are shared, equal ones are kept once, up to maxSeen.
func (c *columnParts) add(p *cleavev1.Column) {
	switch c.kind {
	case table.Integer:
		c.integers = append(c.integers, p.GetIntegers().GetValues())
	case table.Number:
		c.numbers = append(c.numbers, p.GetNumbers().GetValues())
	case table.Text:
		texts := p.GetTexts().GetValues()
		for at := 0; at < len(texts) && c.seen != nil; at++ {
			if known, is := c.seen[texts[at]]; is {
				texts[at] = known
			} else if len(c.seen) < maxSeen {
				c.seen[texts[at]] = texts[at]
			}
		}
		c.texts = append(c.texts, texts)
	}
}

// markEmpty marks the empty cells of the next count rows, which follow the rows before.
func (c *columnParts) markEmpty(rows []uint32, before, count int) error {
	if c.empty == nil && len(rows) == 0 {
		return nil
	}
	c.empty = append(c.empty, make([]bool, before+count-len(c.empty))...)
	for _, row := range rows {
		if int64(row) >= int64(count) {
			return fault.Invalid("INDEX_OUT_OF_RANGE", "column %q says that row %d of %d is empty", c.name, row, count)
		}
		c.empty[before+int(row)] = true
	}
	return nil
}

// table joins what has arrived. r must not be used afterward.
func (r *rowsOfTable) table() (*table.Table, error) {
	columns := make([]table.Column, len(r.columns))
	for at, c := range r.columns {
		columns[at] = table.Column{
			Name: c.name, Type: c.kind, Empty: c.empty,
			Integers: slices.Concat(c.integers...), Numbers: slices.Concat(c.numbers...),
			Texts: slices.Concat(c.texts...),
		}
		r.columns[at] = columnParts{}
	}
	return table.New(columns)
}

func lengthOf(c *cleavev1.Column) int {
	return len(c.GetIntegers().GetValues()) + len(c.GetNumbers().GetValues()) + len(c.GetTexts().GetValues())
}

// typeOf returns the type of a column's cells, or 0 if it has none.
func typeOf(c *cleavev1.Column) table.Type {
	switch c.GetCells().(type) {
	case *cleavev1.Column_Integers:
		return table.Integer
	case *cleavev1.Column_Numbers:
		return table.Number
	case *cleavev1.Column_Texts:
		return table.Text
	}
	return 0
}
