package jobflags

import (
	"errors"
	"math"
	"os"
	"slices"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

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
	f.streamFrom = shell.NewWhole(streamFrom, 0, math.MaxInt64).Declare(set, "stream-from",
		"send tables of at least this many `BYTES` while they are read")
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
	if !f.MayStream || !f.IsTable() || f.needsAllRows() != "" {
		return false
	}
	if slices.Contains(f.input.files, StandardInput) {
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

// Stream is the table of a job that is sent while it is read, or that workers read. Read and Imported return the table
// that was sent.
type Stream struct {
	job     *Job
	flags   *Flags
	options format.TableOptions
	spool   *format.Spool                // the copy of standard input; nil if that is not read
	from    *cleavev1.ImportTableRequest // the objects that workers read instead; nil for files
	files   map[string]string            // the files of the tables of the spec, by name
	seeds   *table.Table                 // the seeds of a file, by ids of rows; nil if there are none
}

// SentTable is a streamed table that the coordinator has. Only the coordinator knows the ids of its rows.
type SentTable struct {
	stream  *Stream
	columns *table.Table // without rows
	classes *classColumn // of all rows; nil if there are none
	marks   string       // the decimal mark; "" if unknown
}

// importsObjects reports whether workers read the data from an object store.
func (f *Flags) importsObjects() bool {
	return slices.ContainsFunc(f.input.files, objects.IsURI)
}

// checkImport refuses flags that need rows of objects here.
func (f *Flags) checkImport() error {
	if at := slices.IndexFunc(f.input.files, func(file string) bool { return !objects.IsURI(file) }); at >= 0 {
		return shell.Usage("--data names objects in a store and the file %s; a table consists of one or the other",
			f.input.files[at])
	}
	if flags := f.needsAllRows(); flags != "" {
		return shell.Usage("%s needs all rows on this machine, but workers read the objects that --data names; copy "+
			"the objects here first", flags)
	}
	return nil
}

// Import returns what workers read, or nil if the table is read here.
func (s *Stream) Import() *cleavev1.ImportTableRequest { return s.from }

// Imported returns a table that workers have read. It reads the label column by each.
func (s *Stream) Imported(
	t *cleavev1.ImportedTable, each func(column string, add func(*table.Table) error) error,
) (sent *SentTable, err error) {
	sent, column := s.begin(wire.Columns(t.GetTable().GetColumns()))
	if sent.marks = t.GetDecimals(); column >= 0 {
		name := sent.columns.Columns[column].Name
		err = each(name, func(rows *table.Table) error { return sent.classes.add(&rows.Columns[0]) })
	}
	return sent, err
}

// openLater prepares a job whose table is read when it is sent.
func (f *Flags) openLater(j *Job) error {
	o, err := f.table.readerOptions()
	if err != nil {
		return err
	}
	o.Format = f.input.format
	s := &Stream{job: j, flags: f, files: map[string]string{}}
	if slices.Contains(f.input.files, StandardInput) {
		s.spool = format.NewSpool(f.input.stdin) // it may have to be sent twice
		o.Stdin = s.spool
	}
	if s.options = o; f.importsObjects() {
		s.from = &cleavev1.ImportTableRequest{Uris: f.input.files, Reading: reading.Proto(o), DisplayName: j.Name}
	}
	for _, name := range []string{"constraints", "seeds", "weights"} {
		if f.Given(name) {
			s.files[name] = f.small(name).Name()
		}
	}
	if start := f.options["init"]; start.Text == "labels" {
		s.files["labels"] = start.path
	}
	j.Table = &TableInfo{options: f.table.recipeOptions()}
	j.Stream = s
	return f.loadFiles(j)
}

// Read reads the table from its first row. It calls send with a function that returns the next rows, and calls send
// again if a later row shows that the beginning was misread. Notices are for the user, even if Read fails.
func (s *Stream) Read(send func(next func() (*table.Table, error)) error) (sent *SentTable, notices []string,
	err error) {
	reader, err := format.OpenTable(s.flags.input.files, s.options)
	if err != nil {
		return nil, nil, err
	}
	defer reader.Close()
	for {
		sent, column := s.begin(reader.Columns())
		err := send(func() (*table.Table, error) {
			t, err := reader.Next()
			if err == nil && column >= 0 {
				err = sent.classes.add(&t.Columns[column])
			}
			return t, err
		})
		if errors.Is(err, format.ErrRestarted) {
			continue
		}
		sent.marks = reader.Decimals()
		return sent, reader.Notices(), err
	}
}

// Close releases the copy of standard input. The table cannot be read again after that.
func (s *Stream) Close() {
	if s.spool != nil {
		s.spool.Close()
	}
}

// begin returns a table with these columns, of which no row was read, and the index of its label column, or -1 if
// there is none. The coordinator reports a wrong name.
func (s *Stream) begin(columns []table.Column) (*SentTable, int) {
	sent := &SentTable{stream: s, columns: &table.Table{Columns: columns}}
	label := s.flags.table.columns.Label
	at, err := recipe.Find(sent.columns, label)
	if label == "" || err != nil {
		return sent, -1
	}
	sent.classes = newClassColumn(columns[at].Name)
	return sent, at
}

// Complete returns the job with what the coordinator says about the table: its number of rows is known, and classes
// have become seeds, constraints or the truth. Notices are for the user, even if Complete fails.
func (t *SentTable) Complete(stored *cleavev1.Table) (_ *Job, notices []string, err error) {
	j, about := *t.stream.job, *t.stream.job.Table
	j.Spec = proto.CloneOf(j.Spec)
	j.Table = &about
	j.Points = int(stored.GetRows())
	j.Notices = nil
	about.classes, about.options.Decimals = t.classes, t.marks
	if hint := edgeListHint(t.columns); hint != "" {
		notices = append(notices, hint)
	}
	f := t.stream.flags
	f.forgetFarthest(&j)
	err = f.useLabels(&j)
	return &j, slices.Concat(notices, about.Notices, j.Notices), err
}

// Named returns a job that Complete returned, as if its table had been read before it was sent, but without the points:
// it knows the ids of the rows, which of them were clustered, and the columns of the points that they became.
func (t *SentTable) Named(completed *Job, rows *recipe.Rows, made *recipe.Recipe) (*Job, error) {
	j := *completed
	j.Stream = nil
	j.Points = rows.Points()
	j.Rows = Rows{IDs: table.NewIDs(rows.IDs)}
	if names := made.Names(); !unnamed(t.columns, names) {
		j.Header = names
	}
	if rows.Kept != nil {
		j.Filter = FilterOf(rows.Kept, rows.Count)
	}
	if seeds := t.stream.seeds; seeds != nil {
		numbered, err := seeds.ResolveIDs(j.IDs)
		if err != nil {
			return nil, err
		}
		if err := j.rememberSeeds(numbered, nil); err != nil {
			return nil, err
		}
	}
	var err error
	j.Constraints, err = wire.ReadTable(j.Spec.GetSupervision().GetConstraints(), "constraints", rows, wire.NoTables,
		table.Constraints)
	return &j, err
}
