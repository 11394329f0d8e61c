package jobflags

import (
	"os"

	"github.com/cleave-project/cleave/internal/format"
)

// streamFrom is the size of the files from which on a table is sent to a coordinator as it is read, in constant memory. Smaller
// ones are read first: then what is wrong with them is said before anything is sent, and their clusters can be drawn.
const streamFrom = 256 << 20

// needRows are flags whose meaning depends on the rows of the data, which must be read for them.
var needRows = []string{"constraints", "seeds", "weights", "beliefs", "init", "label-column", "sample-constraints", "source-graph", "source-data", "source-kernel"}

// streams tells whether the table is sent as it is read.
func (f *Flags) streams() bool {
	if !f.Stream || !f.IsTable() {
		return false
	}
	for _, flag := range needRows {
		if f.set.Lookup(flag) != nil && f.Given(flag) {
			return false
		}
	}
	size := int64(0)
	for _, path := range f.files {
		if path == "-" {
			return true
		}
		if about, err := os.Stat(path); err == nil {
			size += about.Size()
		}
	}
	return size >= streamFrom
}

// Open opens the table of a job that is sent as it is read; nil: it is not.
func (j *Job) Open() func() (*format.TableReader, error) {
	if j.Table == nil {
		return nil
	}
	return j.Table.open
}

// openLater leaves the table to be read when it is sent.
func (f *Flags) openLater(j *Job) {
	j.Table = &Rows{wishes: f.wishes(), open: func() (*format.TableReader, error) {
		o, err := f.reading()
		if err != nil {
			return nil, err
		}
		o.Format, o.Ignore, o.Stdin = f.format, f.ignore, f.Stdin
		return format.OpenTable(f.files, o)
	}}
}
