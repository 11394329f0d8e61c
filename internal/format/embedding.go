package format

import "github.com/cleave-project/cleave/internal/data/table"

// LoadEmbedding reads what WriteEmbedding wrote: the coordinates of all rows, without what the rows are called.
func LoadEmbedding(path string) (rows, columns int, values []float64, err error) {
	r, err := OpenTable([]string{path}, TableOptions{Header: "yes", Delimiter: ',', Texts: []string{"1"}})
	if err != nil {
		return 0, 0, nil, err
	}
	defer r.Close()
	t, err := r.ReadAll()
	if err != nil {
		return 0, 0, nil, err
	}
	rows, columns = t.Rows(), len(t.Columns)-1
	values = make([]float64, rows*columns)
	for at := range columns {
		c := &t.Columns[at+1]
		for row := range rows {
			switch {
			case c.IsEmpty(row) || c.Type == table.Text:
				return 0, 0, nil, t.Fault(c, row, "NOT_A_NUMBER", "%.40q is no coordinate", c.CellText(row))
			case c.Type == table.Integer:
				values[row*columns+at] = float64(c.Integers[row])
			default:
				values[row*columns+at] = c.Numbers[row]
			}
		}
	}
	return rows, columns, values, nil
}
