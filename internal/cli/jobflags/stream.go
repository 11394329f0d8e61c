package jobflags

import (
	"errors"
	"math"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/objects"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/wire/reading"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// streamFrom is the size of the files from which a table is sent to a coordinator while it is read, in constant
// memory. Smaller tables are read first, so that errors are found before anything is sent. Tests have a flag for it.
const streamFrom = 256 << 20

// addStreamFlags declares a hidden flag for tests.
func (f *Flags) addStreamFlags(set *pflag.FlagSet) {
	f.streamFrom = shell.NewWhole(streamFrom, 0, math.MaxInt64).Declare(set, "stream-from", "send tables of at least this many `BYTES` while they are read")
	_ = set.MarkHidden("stream-from") // it was just declared
}

// needsAllRows returns the flags that need all rows of the data before they are sent, or "" if none does.
func (f *Flags) needsAllRows() string {
	for _, flag := range []string{"beliefs", "source-graph", "source-data"} { // they are about pairs of rows
		if f.Given(flag) {
			return "--" + flag
		}
	}
	// Constraints are sampled from clustered rows. Only the coordinator would know which rows are dropped, and which
	// rows a truth names.
	switch {
	case f.Given("sample-constraints") && f.DropsRows():
		return "--sample-constraints with --missing drop"
	case f.Given("sample-constraints") && f.truthFile() != "":
		return "--sample-constraints with --truth"
	}
	return ""
}

// streams reports whether the table is sent while it is read.
func (f *Flags) streams() bool {
	if !f.Stream || !f.IsTable() || f.needsAllRows() != "" {
		return false
	}
	if slices.Contains(f.files, StandardInput) {
		return true
	}
	size := int64(0)
	for _, file := range f.NamedFiles("") {
		if about, err := os.Stat(file.Path); err == nil && file.Flag == "data" {
			size += about.Size()
		}
	}
	return size >= int64(f.streamFrom.Whole())
}

// Stream is a table that is sent while it is read, or that workers read. The coordinator finds the ids of its rows. The
// order of calls is Read or Imported, Job.Sent, which completes the spec, and Job.Clustered once the job has ended.
type Stream struct {
	flags   *Flags
	options format.TableOptions
	spool   *format.Spool                // the copy of standard input; nil if that is not read
	from    *cleavev1.ImportTableRequest // the objects that workers read instead; nil for files
	found   *classColumn                 // the classes in the label column; nil if there is none
	table   *table.Table                 // the columns, without rows
	marks   string                       // the decimal mark; "" if unknown
	files   map[string]string            // the files of the tables of the spec, by name
	seeds   *table.Table                 // the seeds of a file, by ids of rows; nil if there are none

	clustered bool // Job.Clustered was called: the names of rows and columns are known
}

// Stream returns the table of a job that is sent while it is read, or nil if the table was read first.
func (j *Job) Stream() *Stream {
	if j.Table == nil {
		return nil
	}
	return j.Table.stream
}

// importsObjects reports whether workers read the data from an object store.
func (f *Flags) importsObjects() bool {
	return f.imports && slices.ContainsFunc(f.files, objects.IsURI)
}

// checkImport refuses flags that need rows of objects here.
func (f *Flags) checkImport() error {
	if at := slices.IndexFunc(f.files, func(file string) bool { return !objects.IsURI(file) }); at >= 0 {
		return shell.Usage("--data names objects in a store and the file %s; a table consists of one or the other", f.files[at])
	}
	if flags := f.needsAllRows(); flags != "" {
		return shell.Usage("%s needs all rows on this machine, but workers read the objects that --data names; copy the objects here first", flags)
	}
	return nil
}

// Import returns what workers read, or nil if the table is read here.
func (s *Stream) Import() *cleavev1.ImportTableRequest { return s.from }

// Imported notes the columns of a table that workers have read, and reads its label column by each.
func (s *Stream) Imported(t *cleavev1.ImportedTable, each func(column string, add func(*table.Table) error) error) error {
	s.marks = t.GetDecimals()
	if column := s.begin(wire.Columns(t.GetTable().GetColumns())); column >= 0 {
		return each(s.table.Columns[column].Name, func(rows *table.Table) error { return s.found.add(&rows.Columns[0]) })
	}
	return nil
}

// openLater prepares a job whose table is read when it is sent.
func (f *Flags) openLater(j *Job) error {
	o, err := f.reading()
	if err != nil {
		return err
	}
	o.Format = f.format
	s := &Stream{flags: f, files: map[string]string{}}
	if slices.Contains(f.files, StandardInput) {
		s.spool = format.NewSpool(f.Stdin) // it may have to be sent twice
		o.Stdin = s.spool
	}
	if s.options = o; f.importsObjects() {
		s.from = &cleavev1.ImportTableRequest{Uris: f.files, Reading: reading.Proto(o)}
	}
	for _, name := range []string{"constraints", "seeds", "weights"} {
		if f.Given(name) {
			s.files[name] = f.small(name).Name()
		}
	}
	if start := f.options["init"]; start.Text == "labels" {
		s.files["labels"] = start.path
	}
	j.Table = &TableInfo{options: f.recipeOptions(), stream: s}
	return f.loadFiles(j)
}

// Read reads the table from its first row. It calls send with a function that returns the next rows, and calls send
// again if a later row shows that the beginning was misread. Notices are for the user.
func (s *Stream) Read(send func(next func() (*table.Table, error)) error) (notices []string, err error) {
	reader, err := format.OpenTable(s.flags.files, s.options)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for {
		column := s.begin(reader.Columns())
		err := send(func() (*table.Table, error) {
			t, err := reader.Next()
			if err == nil && column >= 0 {
				err = s.found.add(&t.Columns[column])
			}
			return t, err
		})
		if errors.Is(err, format.ErrRestarted) {
			continue
		}
		s.marks = reader.Decimals()
		return reader.Notices(), err
	}
}

// Close releases the copy of standard input. The table cannot be read again after that.
func (s *Stream) Close() {
	if s.spool != nil {
		s.spool.Close()
	}
}

// begin returns the index of the label column, or -1 if there is none. The coordinator reports a wrong name.
func (s *Stream) begin(columns []table.Column) int {
	s.table, s.found = &table.Table{Columns: columns}, nil
	label := s.flags.columns.Label
	at, err := recipe.Find(s.table, label)
	if label == "" || err != nil {
		return -1
	}
	s.found = newClassColumn(columns[at].Name)
	return at
}

// Sent completes the spec of a job whose table was sent, given its number of rows: classes become seeds, constraints
// or the truth. Notices are for the user.
func (j *Job) Sent(rows int) (notices []string, err error) {
	s := j.Table.stream
	j.Rows, j.Notices = rows, nil
	j.Table.classes, j.Table.options.Decimals = s.found, s.marks
	if hint := edgeListHint(s.table); hint != "" {
		notices = append(notices, hint)
	}
	s.flags.forgetFarthest(j)
	err = s.flags.useLabels(j)
	return slices.Concat(notices, j.Table.Notices, j.Notices), err
}

// Clustered sets the ids of the rows of a table that was sent while it was read, which of them were clustered, and how
// they became points.
func (j *Job) Clustered(rows *recipe.Rows, made *recipe.Recipe) error {
	if names := made.Names(); !unnamed(j.Table.stream.table, names) {
		j.Header = names
	}
	j.Table.IDs, j.Filter, j.Table.stream.clustered = table.NewIDs(rows.IDs), nil, true
	if rows.Kept != nil {
		j.Filter = FilterOf(rows.Kept, rows.Count)
	}
	j.Rows = rows.Points()
	if seeds := j.Table.stream.seeds; seeds != nil {
		numbered, err := seeds.ResolveIDs(j.Table.IDs)
		if err != nil {
			return err
		}
		if err := j.rememberSeeds(numbered, nil); err != nil {
			return err
		}
	}
	var err error
	j.Constraints, err = wire.ReadTable(j.Spec.GetSupervision().GetConstraints(), "constraints", rows, wire.NoTables, table.Constraints)
	return err
}
