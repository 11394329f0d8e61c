package format

import (
	"io"
	"math"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/csv"
)

// LabelRows holds rows of labels.csv. Nil columns are not written; a score of NaN is written as an empty cell.
type LabelRows struct {
	First                        int      // the number of the first row
	IDs                          []string // nil if rows are identified by their numbers
	Labels                       []int32
	Classes                      []string // of each cluster; "" if it has none
	Distance, Margin, Confidence []float64
}

// Columns returns the columns to write. The first is called index if it holds row numbers, which is how tables of
// labels are read back, and id if it holds names.
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

// classColumn returns the column of class names, with an empty cell where a row has no class.
func (r LabelRows) classColumn() table.Column {
	class := table.Column{Name: "class", Type: table.Text, Texts: make([]string, len(r.Labels)),
		Empty: make([]bool, len(r.Labels))}
	for row, v := range r.Labels {
		if v >= 0 && int(v) < len(r.Classes) {
			class.Texts[row] = r.Classes[v]
		}
		class.Empty[row] = class.Texts[row] == ""
	}
	return class
}

func scoreColumn(name string, values []float64) table.Column {
	c := table.Column{Name: name, Type: table.Number, Numbers: make([]float64, len(values)),
		Empty: make([]bool, len(values))}
	for row, v := range values {
		c.Empty[row] = math.IsNaN(v)
		if !c.Empty[row] {
			c.Numbers[row] = v
		}
	}
	return c
}

// writtenRows is the number of rows converted at a time.
const writtenRows = 1 << 16

// WriteLabelTable writes the rows in one of TableFormats, converting a bounded number at a time.
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

// Part returns the rows [from, to). It shares memory with r.
func (r LabelRows) Part(from, to int) LabelRows {
	return LabelRows{
		First: r.First + from, IDs: part(r.IDs, from, to), Labels: r.Labels[from:to], Classes: r.Classes,
		Distance: part(r.Distance, from, to), Margin: part(r.Margin, from, to),
		Confidence: part(r.Confidence, from, to),
	}
}

// part returns list[from:to], or nil for nil.
func part[T any](list []T, from, to int) []T {
	if list == nil {
		return nil
	}
	return list[from:to]
}

// readWritten reads a table that an earlier run wrote as CSV. texts are the columns that hold texts, if there are such.
func readWritten(path string, texts ...string) (*table.Table, error) {
	r, err := OpenTable([]string{path}, csv.Options{Format: "csv", Delimiter: ',', Header: "yes", Texts: texts})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.ReadAll()
}

// LoadEmbedding reads a file that WriteEmbedding wrote: the coordinates of all rows in row-major order, without the
// index or ids.
func LoadEmbedding(path string) (rows, columns int, values []float64, err error) {
	t, err := readWritten(path, "index", "id")
	if err != nil {
		return 0, 0, nil, err
	}
	rows = t.Rows()
	columns = len(t.Columns) - 1
	values = make([]float64, rows*columns)
	for at := range columns {
		c := &t.Columns[at+1]
		for row := range rows {
			if c.IsEmpty(row) || c.Type == table.Text {
				return 0, 0, nil, t.Fault(c, row, "NOT_A_NUMBER", "%.40q is not a coordinate", c.CellText(row))
			}
			values[row*columns+at] = c.Number(row)
		}
	}
	return rows, columns, values, nil
}

// LoadLabelRows reads a file that WriteLabelTable wrote as CSV. Columns that the file lacks are nil.
func LoadLabelRows(path string) (*LabelRows, error) {
	t, err := readWritten(path, "id", "class")
	if err != nil {
		return nil, err
	}
	rows := &LabelRows{}
	scores := map[string]*[]float64{"distance": &rows.Distance, "margin": &rows.Margin, "confidence": &rows.Confidence}
	var classes []string
	for at := range t.Columns {
		c := &t.Columns[at]
		switch c.Name {
		case "id":
			rows.IDs = c.Texts
		case "label":
			rows.Labels, err = labelsOf(path, c)
			if err != nil {
				return nil, err
			}
		case "class":
			classes = c.Texts
		case "distance", "margin", "confidence":
			*scores[c.Name] = scoresOf(c)
		}
	}
	if rows.Labels == nil {
		return nil, fault.Invalid("MISSING_COLUMN",
			"%s: the column label is missing; use a file that cleave run --out wrote", path)
	}
	rows.Classes = classesOf(rows.Labels, classes)
	return rows, nil
}

// labelsOf returns the labels in a column; -1 marks a row that was not clustered.
func labelsOf(path string, c *table.Column) ([]int32, error) {
	if c.Type != table.Integer {
		return nil, fault.Invalid("NOT_AN_INTEGER", "%s: the column label must hold cluster numbers", path)
	}
	labels := make([]int32, c.Len())
	for row, v := range c.Integers {
		if v < -1 || v > math.MaxInt32 || c.Empty != nil && c.Empty[row] {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE",
				"%s: the label of row %d is out of range; labels are cluster numbers from 0, or -1 for a row that "+
					"was not clustered", path, row)
		}
		labels[row] = int32(v)
	}
	return labels, nil
}

// scoresOf returns the numbers in a column, with NaN for empty cells.
func scoresOf(c *table.Column) []float64 {
	scores := make([]float64, c.Len())
	for row := range scores {
		scores[row] = math.NaN()
		if c.Type != table.Text && !c.IsEmpty(row) {
			scores[row] = c.Number(row)
		}
	}
	return scores
}

// classesOf returns the class of each cluster, given the class of each row; nil if there are none.
func classesOf(labels []int32, rowClasses []string) (classes []string) {
	for row, class := range rowClasses {
		if label := int(labels[row]); label >= 0 && class != "" && label < len(rowClasses) {
			for len(classes) <= label {
				classes = append(classes, "")
			}
			classes[label] = class
		}
	}
	return classes
}
