package jobflags

import (
	"io"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/recipe"
	"github.com/cleave-project/cleave/internal/table"
)

// FreshFlags name the files of new points, which a job that is done is asked about.
type FreshFlags struct {
	inputFlags
	Name string // what errors call the files
}

// AddFreshFlags declares the flags.
func AddFreshFlags(set *pflag.FlagSet) *FreshFlags {
	f := &FreshFlags{}
	f.add(set, &f.Name, "new points in this `FILE`, in the columns of the old ones; or a folder of parts, or - for standard input; several are read one after the other")
	return f
}

// Check refuses flags that say nothing.
func (f *FreshFlags) Check() error {
	if len(f.files) == 0 {
		return shell.Usage("what is to be assigned? Give the points by --data FILE")
	}
	return f.check("data")
}

// Load reads the new points. Of a table, the recipe of the job makes them, where it has one; else points have so many columns, if
// that is known. directions is as in LoadRows.
func (f *FreshFlags) Load(stdin io.Reader, r *recipe.Recipe, columns int, directions bool) (*MadeRows, error) {
	f.Stdin = stdin
	if r == nil || !f.holds(format.InputTable) {
		data, header, err := f.loadPoints(columns)
		return &MadeRows{Points: data, Header: header}, err
	}
	made, err := loadRows(f.Name, r, directions, func(o format.TableOptions) (*table.Table, []string, error) {
		o.Format, o.Stdin = f.format, f.Stdin
		return readAll(f.files, o)
	})
	if err == nil {
		made.Header = nil // the recipe found them by their names
	}
	return made, err
}
