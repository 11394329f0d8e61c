package table

// Sample is so many of the rows, evenly spaced: of n rows, the rows i * n / count, rounded down. A table without so many stays as
// it is.
func (t *Table) Sample(count int) *Table {
	if count >= t.rows {
		return t
	}
	rows := make([]int, count)
	for at := range rows {
		rows[at] = at * t.rows / count
	}
	return t.Take(rows)
}

// Take is some of the rows, in the order given.
func (t *Table) Take(rows []int) *Table {
	taken := &Table{Columns: make([]Column, len(t.Columns)), rows: len(rows)}
	for at := range t.Columns {
		c := &t.Columns[at]
		taken.Columns[at] = Column{
			Name: c.Name, Type: c.Type,
			Integers: pickRows(c.Integers, rows), Numbers: pickRows(c.Numbers, rows), Texts: pickRows(c.Texts, rows), Empty: pickRows(c.Empty, rows),
		}
	}
	return taken
}
