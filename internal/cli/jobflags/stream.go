package jobflags

import (
	"errors"
	"math"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"
)

// streamFrom is the size of the files from which on a table is sent to a coordinator as it is read, in constant memory. Smaller
// ones are read first: then what is wrong with them is said before anything is sent. Tests have a flag for it.
const streamFrom = 256 << 20

// addStreamFlags declares what no help shows.
func (f *Flags) addStreamFlags(set *pflag.FlagSet) {
	f.streamFrom = NewWhole(streamFrom, 0, math.MaxInt64)
	set.Var(f.streamFrom, "stream-from", "the `BYTES` from which on a table is sent as it is read")
	_ = set.MarkHidden("stream-from") // it was just declared
}

// needRows are flags that need the rows of the data before they are sent: matrices of beliefs are about all pairs of them.
var needRows = []string{"beliefs", "source-graph", "source-data"}

// streams tells whether the table is sent as it is read.
func (f *Flags) streams() bool {
	if !f.Stream || !f.IsTable() || slices.ContainsFunc(needRows, f.Given) {
		return false
	}
	// Constraints are drawn among rows that are clustered; which ones are dropped, and the numbers of rows that a truth names, only
	// the coordinator would know.
	if f.Given("sample-constraints") && (f.DropsRows() || f.TruthFile != "") {
		return false
	}
	size := int64(0)
	for _, path := range f.files {
		if path == StandardInput {
			return true
		}
		if about, err := os.Stat(path); err == nil {
			size += about.Size()
		}
	}
	return size >= int64(f.streamFrom.Whole())
}

// Stream is a table that is sent as it is read. The coordinator finds out what its rows are called.
type Stream struct {
	open  func() (*format.TableReader, error)
	label string            // the column of classes, "" for none
	found *classColumn      // what it says; nil: there is none
	table *table.Table      // without rows
	marks string            // before decimals in it; "": unknown
	files map[string]string // the files of the tables of the spec
	seeds *table.Table      // those of a file, by the names of rows; nil: there are none
	sent  func() error      // what is to be done once the number of rows is known
}

// Stream is the table of a job that is sent as it is read; nil: it was read.
func (j *Job) Stream() *Stream {
	if j.Table == nil {
		return nil
	}
	return j.Table.stream
}

// openLater leaves the table to be read when it is sent.
func (f *Flags) openLater(j *Job) error {
	o, err := f.reading()
	if err != nil {
		return err
	}
	o.Format = f.format
	if slices.Contains(f.files, StandardInput) {
		o.Stdin = format.NewSpool(f.Stdin) // in case that it has to be sent again
	}
	s := &Stream{label: f.label, files: map[string]string{}, open: func() (*format.TableReader, error) { return format.OpenTable(f.files, o) }}
	for _, name := range []string{"constraints", "seeds", "weights"} {
		if f.Given(name) {
			s.files[name] = f.small(name).Name()
		}
	}
	if start := f.options["init"]; start.text == "labels" {
		s.files["labels"] = start.path
	}
	s.sent = func() error {
		if err := f.useLabels(j); err != nil {
			return err
		}
		f.forgetFarthest(j)
		return nil
	}
	j.Table = &Rows{wishes: f.wishes(), stream: s}
	return f.loadFiles(j)
}

// Read reads the table from its first row. It calls send with what gives the next rows; send is called again where the end of
// a table shows that its beginning was misread. Notices are what there is to say about how it was read.
func (s *Stream) Read(send func(next func() (*table.Table, error)) error) (notices []string, err error) {
	r, err := s.open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		column := s.begin(r.Columns())
		err := send(func() (*table.Table, error) {
			t, err := r.Next()
			if err == nil && column >= 0 {
				err = s.found.add(&t.Columns[column])
			}
			return t, err
		})
		if errors.Is(err, format.ErrRestarted) {
			continue
		}
		notices, s.marks = r.Notices(), r.Decimals()
		if hint := edgeListHint(s.table); hint != "" {
			notices = append(notices, hint)
		}
		return notices, err
	}
}

// begin is the place of the column of classes, -1 where there is none: what is wrong with its name the coordinator says.
func (s *Stream) begin(columns []table.Column) int {
	s.table, s.found = &table.Table{Columns: columns}, nil
	at, err := recipe.Find(s.table, s.label)
	if s.label == "" || err != nil {
		return -1
	}
	s.found = newClassColumn(columns[at].Name)
	return at
}

// Sent completes the spec of a job whose table of so many rows was sent: classes become what they are used as, which the notices
// tell.
func (j *Job) Sent(rows int) (notices []string, err error) {
	j.Rows, j.Notices = rows, nil
	j.Table.classes, j.Table.wishes.Decimals = j.Table.stream.found, j.Table.stream.marks
	err = j.Table.stream.sent()
	return slices.Concat(j.Table.Notices, j.Notices), err
}

// Clustered says what the rows of a table are called that was sent as it was read, which of them were clustered, and how points were
// made of them.
func (j *Job) Clustered(rows *recipe.Rows, made *recipe.Recipe) error {
	if names := made.Names(); !unnamed(j.Table.stream.table, names) {
		j.Header = names
	}
	j.Table.IDs, j.Filter = table.NewIDs(rows.IDs), nil
	if rows.Kept != nil {
		j.Filter = FilterOf(rows.Kept, rows.Count)
	}
	j.Rows = rows.Points()
	if t := j.Table.stream.seeds; t != nil {
		numbered, err := t.Number(j.Table.IDs)
		if err != nil {
			return err
		}
		if err := j.rememberSeeds(numbered, nil); err != nil {
			return err
		}
	}
	var err error
	j.Constraints, err = wire.ReadTableOfRows(j.Spec.GetSupervision().GetConstraints(), "constraints", rows, wire.NoTables, table.Constraints)
	return err
}
