package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
)

// LabelOutput says how the labels are written besides labels.csv.
type LabelOutput struct {
	Format string // one of format.TableFormats
	// Join calls yield with the rows of the data file, some at a time, to be written with their labels; nil writes the
	// labels alone.
	Join func(yield func(*table.Table) error) error
}

// LabelFiles returns what --labels-format and --join add to an output folder.
func (r *Report) LabelFiles(l LabelOutput) []File {
	name := joinedFile
	if l.Join == nil {
		name = formattedFile
	}
	if name = fmt.Sprintf(name, l.Format); name == LabelsFile {
		return nil // it is written anyway
	}
	return []File{{name, func(w io.Writer) error { return r.WriteLabels(w, l) }}}
}

// WriteLabels writes the labels, or the rows of the data file with them.
func (r *Report) WriteLabels(w io.Writer, l LabelOutput) error {
	return WriteLabelRows(w, l, r.labelRows())
}

// WriteLabelRows writes labels, or the rows of a table with them.
func WriteLabelRows(w io.Writer, l LabelOutput, rows format.LabelRows) error {
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
	format string           // one of format.TableFormats
	labels format.LabelRows // of all rows of the file
	at     int              // how many rows were written

	writer  format.TableWriter // nil before the first rows
	waiting []*table.Table     // rows to be written together
	bytes   int64              // of the waiting tables
}

// joinedBytes is how much is written at a time: in Parquet each portion has an entry in a directory.
const joinedBytes = 8 << 20

// add takes the next rows.
func (j *joiner) add(t *table.Table) error {
	j.waiting = append(j.waiting, t)
	if j.bytes += t.EncodedSize(); j.bytes < joinedBytes {
		return nil
	}
	return j.flush()
}

// flush writes the waiting rows with their labels. It fails if there are more rows than labels.
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

// end writes what waits. It fails if there are fewer rows than labels.
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
	return fault.Invalid("SIZE_MISMATCH", "the table has %s, the job clustered %d", text.Plural(rows, "row"),
		len(j.labels.Labels))
}

// joined appends columns; one whose name is taken gets the prefix cleave_.
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

// labelRows returns the rows of labels.csv: all rows of the data file, including those that were not clustered.
func (r *Report) labelRows() format.LabelRows {
	rows := format.LabelRows{IDs: r.RowIDs, Labels: r.FileLabels(), Classes: r.Classes}
	if s := r.Rows; s != nil {
		rows.Distance = r.Filter.RestoreScores(s.Distance)
		rows.Margin = r.Filter.RestoreScores(s.Margin)
		rows.Confidence = r.Filter.RestoreScores(s.Confidence)
	}
	return rows
}

// FileLabels returns the labels of all rows of the data file, -1 for those that were not clustered.
func (r *Report) FileLabels() []int32 { return r.Filter.Restore(r.Labels) }

// kLabelFiles returns the labels for the numbers of clusters that are not proposed.
func (r *Report) kLabelFiles() (files []File) {
	for _, s := range r.Result.GetKSelection().GetScores() {
		labels, fetched := r.KLabels[int(s.GetK())]
		if !fetched || s.GetK() == r.Result.GetKSelection().GetProposed() {
			continue
		}
		files = append(files, File{fmt.Sprintf(kLabelsFile, s.GetK()), func(w io.Writer) error {
			rows := format.LabelRows{IDs: r.RowIDs, Labels: r.Filter.Restore(labels)}
			if r.ClassesFor != nil {
				rows.Classes = r.ClassesFor(labels)
			}
			return format.WriteLabelTable(w, "csv", rows)
		}})
	}
	return files
}
