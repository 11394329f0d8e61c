package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/resultpage"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// truthFlags name the true labels that results are scored against.
type truthFlags struct{ file, scoreOn string }

func (f *truthFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.file, "truth", "", "true labels in this `FILE` (index,label) to score the result against")
	jobflags.MarkStdin(set, "truth")
	set.StringVar(&f.scoreOn, "score-on", "", "score only the points listed in this `FILE` (index)")
	jobflags.MarkInput(set, "score-on")
}

// check refuses --score-on without a truth. It reads no file.
func (f *truthFlags) check() error {
	if f.scoreOn != "" && f.file == "" {
		return shell.Usage("--score-on requires --truth")
	}
	return nil
}

// input returns the file of true labels.
func (f *truthFlags) input(stdin io.Reader) format.Input {
	return format.Input{Path: f.file, Stdin: stdin}
}

// loadTruth reads the truth about the points of a result, or returns nil if no file is named. The filter tells which
// rows of the data file are points.
func (a *app) loadTruth(f truthFlags, filter *jobflags.RowFilter, points int,
	naming table.Naming) (*jobflags.Truth, error) {
	t, err := jobflags.ReadTruth(f.input(a.stdin), f.scoreOn, filter.FileRows(points), naming)
	if err != nil {
		return nil, err
	}
	return filter.Truth(t)
}

// outputFlags are the flags of run and result about what they write and print.
type outputFlags struct {
	out         string // a folder, onStdout, or "" for none
	format      *shell.Value
	join        bool
	saveGraph   string
	json, quiet bool
}

// onStdout is the value of --out that writes labels to standard output, and everything else to standard error.
const onStdout = "-"

// add declares the flags. quiet is the help of --quiet.
func (f *outputFlags) add(set *pflag.FlagSet, quiet string) {
	set.StringVar(&f.out, "out", "", "write labels.csv, report.html, result.json and the model into this `DIR`; - "+
		"writes only labels, to standard output")
	f.format = shell.NewChoice("csv", format.TableFormats...).Declare(set, "labels-format",
		"format of the labels in --out; labels.csv is always written")
	set.BoolVar(&f.join, "join", false,
		"also write the rows of the table with their labels, to joined.csv or to standard output")
	set.StringVar(&f.saveGraph, "save-graph", "",
		"write the neighbor graph of --knn to this `FILE` (.csv or .mtx), for use as --graph")
	set.BoolVar(&f.json, "json", false, "print result.json on standard output")
	set.BoolVar(&f.quiet, "quiet", false, quiet)
}

// check refuses flags that contradict each other or those of the data, before anything runs.
func (f *outputFlags) check(data *jobflags.DataFlags) error {
	switch {
	case f.out == onStdout && f.json:
		return shell.Usage("--json and --out - both write to standard output; give one of them")
	case f.out == "" && (f.join || data.Given("labels-format")):
		return shell.Usage("--join and --labels-format require --out; give --out DIR, or --out - for standard output")
	case f.join && !data.IsTable():
		return shell.Usage("--join requires a table as --data, such as a .csv or .parquet file")
	case f.saveGraph == "":
		return nil
	}
	_, err := format.GraphWriter(f.saveGraph)
	return err
}

// checkGraph refuses to save the graph of a job that builds none, where there is no folder for it, or over an input.
// The output folder exists by then.
func (a *app) checkGraph(f *outputFlags, spec *cleavev1.JobSpec, data *jobflags.DataFlags) error {
	if f.saveGraph == "" {
		return nil
	}
	if spec.GetNeighborGraph() == nil {
		return shell.Usage("--save-graph requires --knn, which builds the graph")
	}
	if _, err := os.Stat(filepath.Dir(f.saveGraph)); err != nil {
		return shell.Usage("--save-graph %s cannot be written: %v", f.saveGraph, err)
	}
	return jobflags.RefuseInput("--save-graph", f.saveGraph, a.command.directory, data.NamedFiles(a.command.directory))
}

// tableRows passes the rows of a table to yield, in parts. A table that only the coordinator has is read while the
// files are written, so the context is that of the writer. It is nil if the data is not a table.
type tableRows func(ctx context.Context, yield func(*table.Table) error) error

// rowsOfTable returns the rows of a table in memory, or nil for nil.
func rowsOfTable(t *table.Table) tableRows {
	if t == nil {
		return nil
	}
	return func(_ context.Context, yield func(*table.Table) error) error { return yield(t) }
}

// within returns the rows as report.LabelOutput takes them.
func (r tableRows) within(ctx context.Context) func(yield func(*table.Table) error) error {
	if r == nil {
		return nil
	}
	return func(yield func(*table.Table) error) error { return r(ctx, yield) }
}

// summarizes reports whether a summary is printed at the end.
func (f *outputFlags) summarizes() bool { return !f.json && !(f.quiet && f.out == onStdout) }

// folder returns the output folder, or "" for none.
func (f *outputFlags) folder() string {
	if f.out == onStdout {
		return ""
	}
	return f.out
}

// extentFor returns what to fetch for --out.
func extentFor(out string) client.Extent {
	switch out {
	case "":
		return client.LabelsOnly
	case onStdout:
		return client.Scores
	}
	return client.Everything
}

// intoFolder calls do with the output folder at a path. It refuses a folder in which one of the tables would overwrite
// an input. It marks the folder as complete if do succeeds, and removes it if do fails before it has written anything.
func (a *app) intoFolder(
	ctx context.Context, path string, inputs []jobflags.NamedFile, do func(out *report.OutputDir) error,
) error {
	out, err := report.OpenOutput(ctx, path)
	if err != nil {
		return err
	}
	if err = out.ProtectInputs(ctx, inputs, a.command.directory); err == nil {
		err = do(out)
	}
	if err != nil {
		out.Abandon()
		return err
	}
	return out.Succeed()
}

// printout is what is printed about a result after its files are written, so that a failed print loses no file.
type printout struct {
	report  *report.Report
	notices []*cleavev1.Notice // those that were not printed during the run
	files   []string           // what was written into the output folder
}

// delivery is a result that was fetched, and what its files show.
type delivery struct {
	printout
	scene report.Scene
	join  tableRows
}

// deliver writes the result that fetch returns: into the output folder, or its labels to standard output. It opens the
// folder before it calls fetch, so that a wrong one is refused before the work begins. An error of fetch that comes
// with a result concerns a part of it: the rest is written, and deliver returns both, too.
func (a *app) deliver(ctx context.Context, f *outputFlags, data *jobflags.DataFlags,
	fetch func() (*delivery, error)) (p *printout, err error) {
	write := func(out *report.OutputDir) error {
		d, partial := fetch()
		if d == nil {
			return partial
		}
		if err := a.writeFiles(ctx, d, out, f); err != nil {
			return errors.Join(err, partial)
		}
		p = &d.printout
		return partial
	}
	if f.folder() == "" {
		err = write(nil)
	} else {
		err = a.intoFolder(ctx, f.folder(), data.NamedFiles(a.command.directory), write)
	}
	return p, err
}

// writeFiles writes the files of a result into the output folder, if there is one, or its labels to standard output.
func (a *app) writeFiles(ctx context.Context, d *delivery, out *report.OutputDir, f *outputFlags) error {
	labels := report.LabelOutput{Format: f.format.String()}
	if f.join {
		labels.Join = d.join.within(ctx)
	}
	if f.out == onStdout {
		return d.report.WriteLabels(a.stdout, labels)
	}
	if out == nil {
		return nil
	}
	drawn := resultpage.Files(d.report, d.scene, a.warn)
	files := append(d.report.LabelFiles(labels), d.report.Files(d.scene, drawn, a.warn)...)
	for _, file := range files {
		d.files = append(d.files, filepath.Join(out.Path, file.Name))
	}
	return out.Write(ctx, files)
}

// printResult prints what the flags ask for: result.json, a summary or nothing.
func (a *app) printResult(p *printout, f *outputFlags) error {
	if f.json {
		return report.WriteResult(a.stdout, p.report.Result, p.report.Run)
	}
	if !f.summarizes() {
		return nil
	}
	to := a.folded()
	if f.out == onStdout {
		to = a.stderr
	}
	if err := p.report.Summarize(to, p.notices, p.files); err != nil {
		return err
	}
	if f.out == "" && !f.quiet {
		a.notify("nothing was written; --out DIR writes the label of each row, a report, and a model for " +
			"cleave predict")
	}
	return nil
}

// saveNeighborGraph writes the neighbor graph of a job to a file, unless path is "".
func (a *app) saveNeighborGraph(ctx context.Context, c *client.Client, jobID, path string) error {
	if path == "" {
		return nil
	}
	write, err := format.GraphWriter(path)
	if err != nil {
		return err
	}
	graph, err := c.FetchNeighborGraph(ctx, jobID)
	if err != nil {
		return err
	}
	if err := format.WriteFile(path, func(w io.Writer) error { return write(w, graph) }); err != nil {
		return err
	}
	hint := ""
	if last, _ := graph.Row(graph.N - 1); len(last) == 0 {
		hint = fmt.Sprintf("; the last rows have no neighbors, so use it with --vertices %d", graph.N)
	}
	a.warn("wrote the graph to %s%s", path, hint)
	return nil
}
