package format

import (
	"io"
	"math"
)

// LabelRows are the rows of labels.csv. A column that is nil is not written; a score that is NaN is an empty cell.
type LabelRows struct {
	IDs                          []string // nil: rows go by their numbers
	Labels                       []int32
	Distance, Margin, Confidence []float64
}

// header names the columns. The first one is index where it has the numbers of rows, as tables of labels are read, and id
// where it has names.
func (r LabelRows) header() []string {
	names := []string{"index", "label"}
	if r.IDs != nil {
		names[0] = "id"
	}
	for _, column := range r.scores() {
		names = append(names, column.name)
	}
	return names
}

type scoreColumn struct {
	name   string
	values []float64
}

// scores are the columns of scores that there are.
func (r LabelRows) scores() []scoreColumn {
	var columns []scoreColumn
	for _, column := range []scoreColumn{{"distance", r.Distance}, {"margin", r.Margin}, {"confidence", r.Confidence}} {
		if column.values != nil {
			columns = append(columns, column)
		}
	}
	return columns
}

// WriteLabelRows writes a line for each row.
func WriteLabelRows(w io.Writer, r LabelRows) error {
	scores := r.scores()
	return writeTable(w, r.header(), numbered(len(r.Labels)), func(c *csvWriter, i int) {
		if r.IDs != nil {
			c.text(r.IDs[i])
		} else {
			c.integer(int64(i))
		}
		c.integer(int64(r.Labels[i]))
		for _, column := range scores {
			if v := column.values[i]; math.IsNaN(v) {
				c.emptyCell()
			} else {
				c.float(v)
			}
		}
	})
}
