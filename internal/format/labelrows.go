package format

import (
	"io"
	"math"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/csv"
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

// LoadEmbedding reads what WriteEmbedding wrote: the coordinates of all rows, without what the rows are called.
func LoadEmbedding(path string) (rows, columns int, values []float64, err error) {
	r, err := OpenTable([]string{path}, csv.Options{Header: "yes", Delimiter: ',', Texts: []string{"1"}})
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
				return 0, 0, nil, t.Fault(c, row, "NOT_A_NUMBER", "%.40q is not a coordinate", c.CellText(row))
			case c.Type == table.Integer:
				values[row*columns+at] = float64(c.Integers[row])
			default:
				values[row*columns+at] = c.Numbers[row]
			}
		}
	}
	return rows, columns, values, nil
}

// LoadLabelRows reads what WriteLabelRows wrote. Tables of labels without scores, ids or classes have none.
func LoadLabelRows(path string) (*LabelRows, error) {
	r, err := OpenTable([]string{path}, csv.Options{Format: "csv", Delimiter: ',', Header: "yes", Texts: []string{"id", "class"}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	rows := &LabelRows{}
	var classes []string
	for at := range t.Columns {
		c := &t.Columns[at]
		switch c.Name {
		case "id":
			rows.IDs = c.Texts
		case "label":
			if rows.Labels, err = labelsOf(path, c); err != nil {
				return nil, err
			}
		case "class":
			classes = c.Texts
		case "distance":
			rows.Distance = scoresOf(c)
		case "margin":
			rows.Margin = scoresOf(c)
		case "confidence":
			rows.Confidence = scoresOf(c)
		}
	}
	if rows.Labels == nil {
		return nil, fault.Invalid("MISSING_COLUMN", "%s: there is no column label; a file that cleave run --out wrote has it", path)
	}
	rows.Classes = classesOf(rows.Labels, classes)
	return rows, nil
}

// labelsOf are the labels of a column; -1 is a row that was not clustered.
func labelsOf(path string, c *table.Column) ([]int32, error) {
	if c.Type != table.Integer {
		return nil, fault.Invalid("NOT_AN_INTEGER", "%s: the column label must have the numbers of clusters", path)
	}
	labels := make([]int32, c.Len())
	for row, v := range c.Integers {
		if v < -1 || v > math.MaxInt32 || c.Empty != nil && c.Empty[row] {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: row %d has no label from -1 on", path, row)
		}
		labels[row] = int32(v)
	}
	return labels, nil
}

// scoresOf are the numbers of a column, NaN where a cell is empty.
func scoresOf(c *table.Column) []float64 {
	scores := make([]float64, c.Len())
	for row := range scores {
		switch {
		case c.Empty != nil && c.Empty[row] || c.Type == table.Text:
			scores[row] = math.NaN()
		case c.Type == table.Integer:
			scores[row] = float64(c.Integers[row])
		default:
			scores[row] = c.Numbers[row]
		}
	}
	return scores
}

// classesOf are the classes of the clusters, given those of rows; nil: there are none.
func classesOf(labels []int32, of []string) (classes []string) {
	for row, class := range of {
		if label := int(labels[row]); label >= 0 && class != "" && label < len(of) {
			for len(classes) <= label {
				classes = append(classes, "")
			}
			classes[label] = class
		}
	}
	return classes
}
