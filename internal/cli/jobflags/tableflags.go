package jobflags

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/format"
)

// tableFlags say how an ordinary table is read, and how its rows become points.
type tableFlags struct {
	readingFlags
	id, label                    string
	ignore, columns, categorical []string
	keep                         []string
	missing, dates               *OptionFlag
	keepLastRow                  bool
}

// onlyForTables are the flags that have no use for other data.
var onlyForTables = []string{"delimiter", "header", "id-column", "label-column", "ignore", "columns", "categorical", "keep", "dates", "keep-last-row"}

// What becomes of dates.
const datesIgnored, datesAsNumbers = "ignore", "numbers"

// add declares the flags.
func (f *tableFlags) add(set *pflag.FlagSet) {
	f.readingFlags.add(set)
	f.missing = NewChoice(string(recipe.Auto), recipe.MissingMethods()...)
	set.StringVar(&f.id, "id-column", "", "the `COLUMN` of a table that names its rows, by name or number from 1 (default: one that is called so)")
	set.StringVar(&f.label, "label-column", "", "the `COLUMN` of known classes, empty where unknown; it is no feature")
	set.StringSliceVar(&f.ignore, "ignore", nil, "`COLUMNS` of a table to leave out, separated by commas")
	set.StringSliceVar(&f.columns, "columns", nil, "the only `COLUMNS` of a table to cluster by, separated by commas")
	set.StringSliceVar(&f.categorical, "categorical", nil, "`COLUMNS` whose values are categories, also where they are numbers (default: texts of few values)")
	set.StringSliceVar(&f.keep, "keep", nil, "`COLUMNS` to use as they are, although they look like running ids, codes, constants or copies, are mostly empty or have numbers such as -999")
	f.dates = NewChoice(datesIgnored, datesIgnored, datesAsNumbers)
	set.Var(f.dates, "dates", "dates in a table: left out, or used as numbers, in days since 1970")
	set.BoolVar(&f.keepLastRow, "keep-last-row", false, "use the last row of a table also where it looks like the totals of those before")
	set.Var(f.missing, "missing", "missing values: filled from similar rows (auto; without columns that are mostly empty), by the mean, or by the median and the most frequent category; an error (so in .npy, .mtx and sparse files); or their rows are dropped (label -1), and those of zeros where directions are compared")
}

// reading is what the reader of a table is told.
func (f *tableFlags) reading() (format.TableOptions, error) {
	o := format.TableOptions{Texts: slices.Concat([]string{f.id, f.label}, f.categorical, f.ignore), Ignore: f.ignore}
	if len(f.columns) > 0 {
		o.Only = slices.Concat([]string{f.id, f.label}, f.columns, f.categorical, f.keep)
	}
	return o, f.apply(&o)
}

// wishes are what the flags say about the columns.
func (f *tableFlags) wishes() recipe.Wishes {
	return recipe.Wishes{ID: f.id, Label: f.label, Ignore: f.ignore, Only: f.columns, Categorical: f.categorical, Missing: recipe.Missing(f.missing.text),
		Keep: f.keep, Dates: f.dates.text == datesAsNumbers, KeepLastRow: f.keepLastRow}
}

// IsTable tells whether the data are an ordinary table.
func (f *DataFlags) IsTable() bool { return f.holds(format.InputTable) }

// checkTable refuses flags about tables where there is none.
func (f *DataFlags) checkTable(source string) error {
	if err := f.inputFlags.check(source); err != nil {
		return err
	}
	if f.IsTable() {
		return nil
	}
	for _, flag := range onlyForTables {
		if f.Given(flag) {
			return shell.Usage("--%s goes with a table as --data only, such as a .csv file", flag)
		}
	}
	switch {
	case f.Given("missing") && source != "data":
		return shell.Usage("--missing goes with --data only: it is about rows of a file of points")
	case f.missing.text == string(recipe.Mean) || f.missing.text == string(recipe.Median):
		return shell.Usage("--missing %s goes with a table as --data only; in this format use --missing drop", f.missing.text)
	}
	return nil
}
