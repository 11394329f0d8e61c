package jobflags

import (
	"io"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// FreshFlags name the files of new points, which a job that is done is asked about.
type FreshFlags struct {
	Whole bool // reads all columns of a table, also those that the model does not use

	inputFlags
	readingFlags
	Name string // what errors call the files

	set *pflag.FlagSet
}

// AddFreshFlags declares the flags.
func AddFreshFlags(set *pflag.FlagSet) *FreshFlags {
	f := &FreshFlags{set: set}
	f.inputFlags.add(set, &f.Name, "new points in this `FILE`, in the columns of the old ones; or a folder of parts, or - for standard input; several are read one after the other")
	f.readingFlags.add(set)
	return f
}

// Check refuses flags that say nothing.
func (f *FreshFlags) Check() error {
	if len(f.files) == 0 {
		return shell.Usage("what is to be assigned? Give the points by --data FILE")
	}
	if err := f.check("data"); err != nil {
		return err
	}
	return f.apply(&format.TableOptions{})
}

// Load reads the new points. Of a table, the recipe of the job makes them, where it has one; else points have so many columns, if
// that is known. directions is as in LoadRows.
func (f *FreshFlags) Load(stdin io.Reader, r *recipe.Recipe, columns int, directions bool) (*MadeRows, error) {
	f.Stdin = stdin
	for _, flag := range []string{"delimiter", "header"} {
		switch {
		case !f.set.Changed(flag):
		case !f.holds(format.InputTable):
			return nil, shell.Usage("--%s goes with a table as --data only, such as a .csv file", flag)
		case r == nil:
			return nil, shell.Usage("--%s goes with a model that was made of a table; this one was made of points without one", flag)
		}
	}
	if r == nil || !f.holds(format.InputTable) {
		data, header, err := f.loadPoints(columns)
		return &MadeRows{Points: data, Header: header}, err
	}
	made, err := loadRows(f.Name, r, directions, func(o format.TableOptions) (*table.Table, *format.TableReader, error) {
		o.Format, o.Stdin = f.format, f.Stdin
		if f.Whole {
			o.Only = nil
		}
		if err := f.apply(&o); err != nil {
			return nil, nil, err
		}
		return readAll(f.files, o)
	})
	if err == nil {
		made.Header = nil // the recipe found them by their names
	}
	return made, err
}
