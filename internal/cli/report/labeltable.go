package report

import (
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
)

// Labels is how the labels are written besides labels.csv.
type Labels struct {
	Format string                                     // of format.TableFormats
	Join   func(yield func(*table.Table) error) error // calls yield with the rows of the data file, to be written with their labels, some at a time; nil: labels alone
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
func (r *Report) WriteLabels(w io.Writer, l Labels) error { return WriteLabelRows(w, l, r.labelRows()) }

// WriteLabelRows writes labels, or the rows of a table with them.
func WriteLabelRows(w io.Writer, l Labels, rows format.LabelRows) error {
	if l.Join == nil {
		return format.WriteLabelTable(w, l.Format, rows)
	}
	j := &joiner{w: w, format: l.Format, labels: rows}
	if err := l.Join(j.add); err != nil {
		return err
	}
	return j.end()
}

// joiner writes rows with their labels.
type joiner struct {
	w      io.Writer
	format string
	labels format.LabelRows
	at     int // the next row

	writer  format.TableWriter // nil: there were no rows yet
	waiting []*table.Table
	bytes   int64 // that wait
}

// joinedBytes is how much is written together: in Parquet each portion has an entry in a directory.
const joinedBytes = 8 << 20

func (j *joiner) add(t *table.Table) error {
	j.waiting = append(j.waiting, t)
	if j.bytes += t.EncodedSize(); j.bytes < joinedBytes {
		return nil
	}
	return j.flush()
}

func (j *joiner) flush() error {
	if len(j.waiting) == 0 {
		return nil
	}
	t, err := table.Join(j.waiting)
	if err != nil {
		return err
	}
	end := j.at + t.Rows()
	if end > len(j.labels.Labels) {
		return j.mismatch(end)
	}
	columns := joined(t.Columns, j.labels.Part(j.at, end).Columns()[1:]) // the first names the rows
	j.at, j.waiting, j.bytes = end, nil, 0
	if t, err = table.New(columns); err != nil {
		return err
	}
	if j.writer == nil {
		if j.writer, err = format.NewTableWriter(j.w, j.format, columns); err != nil {
			return err
		}
	}
	return j.writer.Write(t)
}

func (j *joiner) end() error {
	if err := j.flush(); err != nil {
		return err
	}
	if j.at != len(j.labels.Labels) || j.writer == nil {
		return j.mismatch(j.at)
	}
	return j.writer.Close()
}

func (j *joiner) mismatch(rows int) error {
	return fault.Invalid("SIZE_MISMATCH", "the table has %s, the job clustered %d", text.Plural(rows, "row"), len(j.labels.Labels))
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

// labelRows are the rows of labels.csv: those of the data file, also where some of them were not clustered.
func (r *Report) labelRows() format.LabelRows {
	rows := format.LabelRows{IDs: r.ids, Labels: r.FileLabels(), Classes: r.classes}
	if s := r.Rows; s != nil {
		rows.Distance, rows.Margin, rows.Confidence = r.filter.RestoreScores(s.Distance), r.filter.RestoreScores(s.Margin), r.filter.RestoreScores(s.Confidence)
	}
	return rows
}

// FileLabels are the labels of the rows of the data file; those that were not clustered have -1.
func (r *Report) FileLabels() []int32 { return r.filter.Restore(r.Labels) }
