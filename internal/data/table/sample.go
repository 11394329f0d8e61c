package table

// Sample is so many of the rows, evenly spaced: of n rows, the rows i * n / count, rounded down. A table without so many stays as
// it is.
func (t *Table) Sample(count int) *Table {
	if count >= t.rows {
		return t
	}
	return t.Take(SampleRows(t.rows, count))
}

// SampleRows are the rows that Sample takes of so many.
func SampleRows(rows, count int) []int {
	sampled := make([]int, min(count, rows))
	for at := range sampled {
		sampled[at] = at * rows / len(sampled)
	}
	return sampled
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

// First is a table of its first rows. Cells are shared.
func (t *Table) First(rows int) *Table {
	first := *t
	first.Columns, first.rows = make([]Column, len(t.Columns)), rows
	for at := range t.Columns {
		c := &t.Columns[at]
		first.Columns[at] = Column{
			Name: c.Name, Type: c.Type,
			Integers: upTo(c.Integers, rows), Numbers: upTo(c.Numbers, rows), Texts: upTo(c.Texts, rows), Empty: upTo(c.Empty, rows),
		}
	}
	return &first
}

// upTo are the first cells; those of a list that is not used are none.
func upTo[T any](cells []T, rows int) []T {
	if cells == nil {
		return nil
	}
	return cells[:rows:rows]
}
