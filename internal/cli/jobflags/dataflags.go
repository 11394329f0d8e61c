package jobflags

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/objects"
)

// DataFlags are the flags that name a file of data.
type DataFlags struct {
	set *pflag.FlagSet // all flags of the command, to know which were given

	graph, kernelMatrix string // paths; at most one of them and of input.files is set
	input               inputFlags
	table               tableFlags

	vertices      *shell.Value // the number of vertices of the graph; 0 if the edges tell
	vertexList    string       // a path
	namedVertices bool

	// MayStream allows a large table to be sent while it is read.
	MayStream bool
}

// newDataFlags returns flags that are not declared yet. stdin is read for the path "-".
func newDataFlags(set *pflag.FlagSet, stdin io.Reader) DataFlags {
	return DataFlags{set: set, input: inputFlags{stdin: stdin}, vertices: shell.NewWhole(0, 0, dataset.MaxRows)}
}

// AddDataFlags declares the flags for the data of a job that has ended, to draw them. stdin is read for the path "-".
func AddDataFlags(set *pflag.FlagSet, stdin io.Reader) *DataFlags {
	f := newDataFlags(set, stdin)
	f.input.add(set, "the points of the job in this `FILE`, to draw clusters.svg")
	set.StringVar(&f.graph, "graph", "", "the graph of the job in this `FILE`, to draw clusters.svg")
	MarkStdin(set, "graph")
	f.addGraphFlags(set)
	set.StringVar(&f.kernelMatrix, "kernel-matrix", "",
		"the kernel matrix of the job in this `FILE`, to draw clusters.svg")
	MarkStdin(set, "kernel-matrix")
	f.table.add(set)
	return &f
}

// addGraphFlags declares the flags about the vertices of a graph.
func (f *DataFlags) addGraphFlags(set *pflag.FlagSet) {
	set.Var(f.vertices, "vertices", "number of vertices of the graph, if some of the last have no edge")
	set.StringVar(&f.vertexList, "vertex-list", "",
		"names of all vertices in this `FILE`, one per line, including those without an edge")
	MarkInput(set, "vertex-list")
	set.BoolVar(&f.namedVertices, "named-vertices", false,
		"treat vertex numbers as names: for numbers that start at 1 or have gaps")
}

// checkGraph refuses flags about vertices if the data is not a graph.
func (f *DataFlags) checkGraph(source string) error {
	for _, flag := range []string{"vertices", "vertex-list", "named-vertices"} {
		if f.Given(flag) && source != "graph" {
			return shell.Usage("--%s requires --graph", flag)
		}
	}
	if f.Given("vertices") && f.Given("vertex-list") {
		return shell.Usage("--vertices and --vertex-list both say how many vertices there are; give one of them")
	}
	return nil
}

// Given reports whether a flag is on the command line.
func (f *DataFlags) Given(flag string) bool { return f.set.Changed(flag) }

// source returns the flag that names the data, or "" if none does.
func (f *DataFlags) source() (flag string, err error) {
	var given []string
	for _, name := range []string{"data", "graph", "kernel-matrix"} {
		if f.Given(name) {
			given = append(given, name)
		}
	}
	switch len(given) {
	case 0:
		return "", nil
	case 1:
		return given[0], nil
	}
	return "", shell.Usage("--%s and --%s were both given; a job clusters one data set", given[0], given[1])
}

// kindOf returns the kind of data that a source flag names.
func (f *DataFlags) kindOf(flag string) dataset.Kind {
	switch {
	case flag == "graph":
		return dataset.KindGraph
	case flag == "kernel-matrix":
		return dataset.KindKernel
	case f.input.holds(format.InputSparse):
		return dataset.KindSparsePoints
	}
	return dataset.KindPoints
}

// Reading says how data is read.
type Reading struct {
	Recipe     *recipe.Recipe // how an earlier job made points of the rows of a table; nil if no job has yet
	AllColumns bool           // reads all columns of a table, not only those of the recipe
	Columns    int            // the number of columns of sparse points; 0 for as many as the files need
	Drop       bool           // drops rows with missing values, unless a recipe decides
	Directions bool           // also drops all-zero rows where such rows are dropped, for jobs that compare directions
}

// Load reads the data that the flags name, as a job on it does. Without a recipe for a table, it makes one.
func (f *DataFlags) Load(ctx context.Context, how Reading) (*Loaded, error) {
	flag, err := f.source()
	if err != nil {
		return nil, err
	}
	if err := f.checkTable(flag); err != nil {
		return nil, err
	}
	if err := f.checkGraph(flag); err != nil {
		return nil, err
	}
	switch {
	case f.IsTable() && how.Recipe == nil:
		return f.loadTable(ctx, how)
	case flag == "data":
		return f.LoadPoints(ctx, how)
	case flag == "graph":
		return f.loadGraph()
	case flag == "kernel-matrix":
		kernel, err := f.input.of(f.kernelMatrix).LoadKernel()
		return &Loaded{Data: kernel}, err
	}
	return &Loaded{}, nil
}

// DataIn returns flags that name one file of points.
func DataIn(path string) *DataFlags {
	f := AddDataFlags(&pflag.FlagSet{}, nil)
	f.ReadFrom(path)
	return f
}

// ReadFrom replaces the files of points by one that is read in the same way. If it has another suffix, its format is
// detected.
func (f *DataFlags) ReadFrom(path string) {
	if suffix := filepath.Ext(path); suffix != "" && suffix != filepath.Ext(f.input.path()) {
		f.input.format, f.input.array = "", ""
	}
	f.input.files = []string{path}
	f.input.kind = nil
}

// Path returns the first file of points, for messages, or "" if there is none.
func (f *DataFlags) Path() string { return f.input.path() }

// Name returns the name of the data file without its folder, or "" if there is none.
func (f *DataFlags) Name() string {
	return baseName(cmp.Or(f.input.path(), f.graph, f.kernelMatrix))
}

// inputFlags name the files of points: files, a folder of them, or standard input.
type inputFlags struct {
	files         []string // paths, folders, "-", or URIs of objects
	format, array string   // "" to detect the format, and for the only array of an .npz file

	stdin io.Reader         // read for the path "-"
	kind  *format.InputKind // set by holds
}

// add declares --data, which may be repeated, --format and --array.
func (f *inputFlags) add(set *pflag.FlagSet, usage string) {
	set.StringArrayVar(&f.files, "data", nil, usage)
	MarkStdin(set, "data")
	set.StringVar(&f.format, "format", "", "the `FORMAT` of the data: "+strings.Join(format.Formats(), ", ")+
		" (default: detected by content or name)")
	set.StringVar(&f.array, "array", "",
		"`NAME` of the array in an .npz file (default: the only one with two dimensions)")
}

// path returns the first file, for messages, or "" if there is none.
func (f *inputFlags) path() string {
	switch {
	case len(f.files) == 0:
		return ""
	case f.files[0] == StandardInput:
		return "standard input"
	}
	return f.files[0]
}

// checkFormat refuses flags that do not apply to the data that a source flag names.
func (f *inputFlags) checkFormat(source string) error {
	switch {
	case f.format != "" && source == "":
		return shell.Usage("--format requires --data, --graph or --kernel-matrix")
	case f.array != "" && source != "data" && source != "kernel-matrix":
		return shell.Usage("--array requires --data or --kernel-matrix, an .npz file")
	case f.format == "":
		return nil
	case source == "graph":
		return format.CheckGraphFormat(f.format)
	case source == "kernel-matrix":
		return format.CheckKernelFormat(f.format)
	}
	return format.CheckFormat(f.format)
}

// holds reports whether the files are of a kind, by their content, or by their names if they cannot be read; parts
// then returns the error.
func (f *inputFlags) holds(kind format.InputKind) bool {
	if len(f.files) == 0 {
		return false
	}
	if objects.IsURI(f.files[0]) {
		return kind == format.InputTable
	}
	if f.kind == nil {
		found, err := format.KindOf(f.files, f.first())
		switch {
		case err != nil && format.IsTable(f.files[0]):
			found = format.InputTable
		case err != nil && format.IsSparse(f.files[0]):
			found = format.InputSparse
		case err != nil:
			found = format.InputDense
		}
		f.kind = &found
	}
	return *f.kind == kind
}

func (f *inputFlags) first() format.Input { return f.of(f.files[0]) }

// of returns the input at a path in the format that was given.
func (f *inputFlags) of(path string) format.Input {
	return format.Input{Path: path, Format: f.format, Array: f.array, Stdin: f.stdin}
}

// parts returns the files of points that are not in a table.
func (f *inputFlags) parts() (format.PointParts, error) {
	if _, err := format.KindOf(f.files, f.first()); err != nil {
		return nil, err
	}
	return format.PointPartsOf(f.files, f.first())
}

// textFlags tell how the text of a table is split into cells.
type textFlags struct {
	delimiter string
	header    *shell.Value
}

func (f *textFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.delimiter, "delimiter", "",
		"separator of the cells of a table: comma, semicolon, tab, space, pipe or a `CHARACTER` (default: detected)")
	f.header = shell.NewChoice("auto", "auto", "yes", "no").Declare(set, "header",
		"whether the first line of a table names its columns")
}

// apply sets the options of a table reader.
func (f *textFlags) apply(o *format.TableOptions) error {
	o.Header = f.header.Text
	names := map[string]string{"comma": ",", "semicolon": ";", "tab": "\t", `\t`: "\t", "space": " ", "pipe": "|"}
	switch d := cmp.Or(names[f.delimiter], f.delimiter); {
	case d == "":
	case len(d) != 1 || strings.ContainsAny(d, "\"\r\n.-+0123456789"):
		return shell.Usage("--delimiter %q cannot separate cells; use comma, semicolon, tab, space, pipe or one "+
			"ASCII character that is not a digit, quote, sign or point", d)
	default:
		o.Delimiter = d[0]
	}
	return nil
}

// tableFlags tell how a table is read and how its rows become points.
type tableFlags struct {
	text           textFlags
	columns        recipe.Options // without Missing and Dates
	missing, dates *shell.Value
}

// The values of --dates.
const datesIgnored, datesAsNumbers = "ignore", "numbers"

// add declares the flags. All but --missing are refused for data that is not a table.
func (f *tableFlags) add(set *pflag.FlagSet) {
	only := pflag.NewFlagSet("tables", pflag.ContinueOnError)
	f.text.add(only)
	only.StringVar(&f.columns.ID, "id-column", "",
		"the `COLUMN` with the ids of the rows, by name or by number from 1 (default: a column named id or the like)")
	only.StringVar(&f.columns.Label, "label-column", "", "the `COLUMN` with known classes, empty if unknown")
	only.StringSliceVar(&f.columns.Ignore, "ignore", nil, "`COLUMNS` of a table to leave out, separated by commas")
	only.StringSliceVar(&f.columns.Only, "columns", nil,
		"the only `COLUMNS` of a table to cluster by, separated by commas")
	only.StringSliceVar(&f.columns.Categorical, "categorical", nil,
		"`COLUMNS` whose values are categories even if they are numbers (default: text columns with few values)")
	only.StringSliceVar(&f.columns.Keep, "keep", nil,
		"`COLUMNS` to use as they are, even if they look like ids, codes, constants or copies, are mostly empty, or "+
			"contain numbers such as -999")
	f.dates = shell.NewChoice(datesIgnored, datesIgnored, datesAsNumbers).Declare(only, "dates",
		"dates in a table: ignore them, or use them as numbers of days since 1970")
	only.BoolVar(&f.columns.KeepLastRow, "keep-last-row", false,
		"use the last row of a table even if it looks like a row of totals")
	only.VisitAll(func(flag *pflag.Flag) {
		set.AddFlag(flag)
		mark(set, flag.Name, tableMark)
	})
	f.missing = shell.NewChoice(string(recipe.Auto), recipe.MissingMethods()...).Declare(set, "missing",
		"missing values: auto (fill from similar rows; leave out mostly empty columns), mean, median (or the most "+
			"frequent category), "+
			"error (the default for .npy, .mtx and sparse files), or drop (these rows get the label -1, as do "+
			"all-zero rows if rows are compared by direction)")
}

// readerOptions returns the options of the table reader.
func (f *tableFlags) readerOptions() (format.TableOptions, error) {
	c := f.columns
	o := format.TableOptions{Texts: slices.Concat([]string{c.ID, c.Label}, c.Categorical, c.Ignore), Ignore: c.Ignore}
	if len(c.Only) > 0 {
		o.Only = slices.Concat([]string{c.ID, c.Label}, c.Only, c.Categorical, c.Keep)
	}
	return o, f.text.apply(&o)
}

// recipeOptions returns what the flags say about the columns of a table.
func (f *tableFlags) recipeOptions() recipe.Options {
	o := f.columns
	o.Missing = recipe.Missing(f.missing.Text)
	o.Dates = f.dates.Text == datesAsNumbers
	return o
}

// IsTable reports whether the data is a table.
func (f *DataFlags) IsTable() bool { return f.input.holds(format.InputTable) }

// checkTable refuses flags about tables if the data is not one.
func (f *DataFlags) checkTable(source string) error {
	if err := f.input.checkFormat(source); err != nil {
		return err
	}
	if f.IsTable() {
		return nil
	}
	if flag := firstGiven(f.set, tableMark); flag != "" {
		return shell.Usage("--%s requires a table as --data, such as a .csv file", flag)
	}
	switch {
	case f.Given("missing") && source != "data":
		return shell.Usage("--missing requires --data: it is about rows of a file of points")
	case f.table.missing.Text == string(recipe.Mean) || f.table.missing.Text == string(recipe.Median):
		return shell.Usage("--missing %s requires a table as --data; in this format use --missing drop",
			f.table.missing.Text)
	}
	return nil
}

// small returns the input of an option that names a table about the data.
func (f *Flags) small(option string) format.Input {
	return format.Input{Path: f.path(option), Stdin: f.input.stdin}
}

// baseName returns the name of a file without its folder.
func baseName(path string) string {
	switch path {
	case "":
		return ""
	case StandardInput:
		return "standard input"
	}
	return filepath.Base(path)
}
