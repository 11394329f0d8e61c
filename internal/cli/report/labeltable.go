package report

import (
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/text"
)

// Labels is how the labels are written besides labels.csv.
type Labels struct {
	Format string       // of format.TableFormats
	Join   *table.Table // the rows of the data file, to be written with their labels; nil: labels alone
}

// name is that of the file in an output folder.
func (l Labels) name() string {
	if l.Join != nil {
		return "joined." + l.Format
	}
	return "labels." + l.Format
}

// LabelFiles is what --labels-format and --join add to the files of an output folder.
func (r *Report) LabelFiles(l Labels) []File {
	if l.Join == nil && l.Format == "csv" {
		return nil // there is labels.csv anyway
	}
	return []File{{l.name(), func(w io.Writer) error { return r.WriteLabels(w, l) }}}
}

// WriteLabels writes the labels, or the rows of the data file with them.
func (r *Report) WriteLabels(w io.Writer, l Labels) error {
	columns := r.labelColumns()
	if l.Join == nil {
		return writeColumns(w, l.Format, columns)
	}
	if l.Join.Rows() != columns[0].Len() {
		return fault.Invalid("SIZE_MISMATCH", "the table has %s, the job clustered %d", text.Plural(l.Join.Rows(), "row"), columns[0].Len())
	}
	return writeColumns(w, l.Format, joined(l.Join.Columns, columns[1:])) // the first names the rows
}

func writeColumns(w io.Writer, as string, columns []table.Column) error {
	t, err := table.New(columns)
	if err != nil {
		return err
	}
	return format.WriteTable(w, as, t)
}

// joined are columns with more of them. What is called like one that was there before is called cleave_ and so.
func joined(columns, more []table.Column) []table.Column {
	all := slices.Clone(columns)
	for _, c := range more {
		for slices.ContainsFunc(columns, func(old table.Column) bool { return old.Name == c.Name }) {
			c.Name = "cleave_" + c.Name
		}
		all = append(all, c)
	}
	return all
}

// labelColumns are the columns of labels.csv: what names the rows, their labels, and what else is known about them.
func (r *Report) labelColumns() []table.Column {
	labels := r.filter.Restore(r.Labels)
	first := table.Column{Name: "index", Type: table.Integer}
	if r.ids != nil {
		first = table.Column{Name: "id", Type: table.Text, Texts: r.ids}
	}
	label := table.Column{Name: "label", Type: table.Integer, Integers: make([]int64, len(labels))}
	for row, v := range labels {
		label.Integers[row] = int64(v)
		if r.ids == nil {
			first.Integers = append(first.Integers, int64(row))
		}
	}
	columns := []table.Column{first, label}
	if r.classes != nil {
		class := table.Column{Name: "class", Type: table.Text, Texts: make([]string, len(labels)), Empty: make([]bool, len(labels))}
		for row, v := range labels {
			if v >= 0 && int(v) < len(r.classes) {
				class.Texts[row] = r.classes[v]
			}
			class.Empty[row] = class.Texts[row] == ""
		}
		columns = append(columns, class)
	}
	return columns
}
