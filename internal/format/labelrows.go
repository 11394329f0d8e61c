package format

import (
	"io"
	"math"

	"github.com/cleave-project/cleave/internal/data/table"
)

// LabelRows are the rows of labels.csv. A column that is nil is not written; a score that is NaN is an empty cell.
type LabelRows struct {
	First                        int      // the number of the first row
	IDs                          []string // nil: rows go by their numbers
	Labels                       []int32
	Classes                      []string // of the clusters, "" for none
	Distance, Margin, Confidence []float64
}

// Columns are the columns of the table. The first one is index where it has the numbers of rows, as tables of labels are read,
// and id where it has names.
func (r LabelRows) Columns() []table.Column {
	first := table.Column{Name: "index", Type: table.Integer, Integers: make([]int64, len(r.Labels))}
	label := table.Column{Name: "label", Type: table.Integer, Integers: make([]int64, len(r.Labels))}
	for row, v := range r.Labels {
		first.Integers[row], label.Integers[row] = int64(r.First+row), int64(v)
	}
	if r.IDs != nil {
		first = table.Column{Name: "id", Type: table.Text, Texts: r.IDs}
	}
	columns := []table.Column{first, label}
	if r.Classes != nil {
		columns = append(columns, r.classColumn())
	}
	for _, score := range []struct {
		name   string
		values []float64
	}{{"distance", r.Distance}, {"margin", r.Margin}, {"confidence", r.Confidence}} {
		if score.values != nil {
			columns = append(columns, scoreColumn(score.name, score.values))
		}
	}
	return columns
}

func (r LabelRows) classColumn() table.Column {
	class := table.Column{Name: "class", Type: table.Text, Texts: make([]string, len(r.Labels)), Empty: make([]bool, len(r.Labels))}
	for row, v := range r.Labels {
		if v >= 0 && int(v) < len(r.Classes) {
			class.Texts[row] = r.Classes[v]
		}
		class.Empty[row] = class.Texts[row] == ""
	}
	return class
}

func scoreColumn(name string, values []float64) table.Column {
	c := table.Column{Name: name, Type: table.Number, Numbers: make([]float64, len(values)), Empty: make([]bool, len(values))}
	for row, v := range values {
		if c.Empty[row] = math.IsNaN(v); !c.Empty[row] {
			c.Numbers[row] = v
		}
	}
	return c
}

// writtenRows is how many rows are made at a time.
const writtenRows = 1 << 16

// WriteLabelRows writes a line for each row.
func WriteLabelRows(w io.Writer, r LabelRows) error { return WriteLabelTable(w, "csv", r) }

// WriteLabelTable writes the rows in one of TableFormats, some at a time.
func WriteLabelTable(w io.Writer, format string, r LabelRows) error {
	writer, err := NewTableWriter(w, format, r.Part(0, 0).Columns())
	if err != nil {
		return err
	}
	for from := 0; from < len(r.Labels); from += writtenRows {
		t, err := table.New(r.Part(from, min(from+writtenRows, len(r.Labels))).Columns())
		if err == nil {
			err = writer.Write(t)
		}
		if err != nil {
			return err
		}
	}
	return writer.Close()
}

// Part is the rows [from, to).
func (r LabelRows) Part(from, to int) LabelRows {
	p := LabelRows{First: from, Labels: r.Labels[from:to], Classes: r.Classes}
	if r.IDs != nil {
		p.IDs = r.IDs[from:to]
	}
	for _, score := range []struct{ all, part *[]float64 }{{&r.Distance, &p.Distance}, {&r.Margin, &p.Margin}, {&r.Confidence, &p.Confidence}} {
		if *score.all != nil {
			*score.part = (*score.all)[from:to]
		}
	}
	return p
}
