package cli

import (
	"io"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// onStdout as --out writes labels to standard output, and everything else to standard error.
const onStdout = "-"

// extentFor is what is fetched of a job's outcome for --out.
func extentFor(out string) client.Extent {
	switch out {
	case "":
		return client.Labels
	case onStdout:
		return client.Scores
	}
	return client.Everything
}

// labelFlags say in which form labels are written.
type labelFlags struct {
	format *jobflags.OptionFlag
	join   bool
}

func (f *labelFlags) add(set *pflag.FlagSet) {
	f.format = jobflags.NewChoice("csv", format.TableFormats...)
	set.Var(f.format, "labels-format", "the form of labels in --out; others than csv are written besides it")
	set.BoolVar(&f.join, "join", false, "write the rows of the table of --data with their labels: to joined.csv in --out, or to standard output by --out -")
}

// check refuses what makes no sense, before anything runs.
func (f *labelFlags) check(out string, json, given, isTable bool) error {
	switch {
	case out == onStdout && json:
		return shell.Usage("--json and --out - both write to standard output; give one of them")
	case out == "" && (f.join || given):
		return shell.Usage("--join and --labels-format are about what --out writes; give --out DIR, or --out - for standard output")
	case f.join && !isTable:
		return shell.Usage("--join goes with a table as --data only, such as a .csv or .parquet file")
	}
	return nil
}

// labels are how labels are written.
func (f *labelFlags) labels(rows *jobflags.Rows) report.Labels {
	l := report.Labels{Format: f.format.String()}
	if f.join && rows != nil && rows.Data != nil {
		l.Join = func(yield func(*table.Table) error) error { return yield(rows.Data) }
	}
	return l
}

// summaryTo is where people read what was found.
func (a *app) summaryTo(out string) io.Writer {
	if out == onStdout {
		return a.stderr
	}
	return a.folded()
}
