package jobflags

import (
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format"
)

// inputFlags say where points are read from: files, a folder of them, or standard input.
type inputFlags struct {
	files         []string // as they are given
	format, array string

	// Stdin is what a path - stands for.
	Stdin io.Reader
	kind  *format.InputKind // once it is known
}

// add declares --data, which may be given several times, and what goes with it. name becomes what the data are called.
func (f *inputFlags) add(set *pflag.FlagSet, name *string, usage string) {
	set.Var(&pathList{&f.files, name}, "data", usage)
	set.StringVar(&f.format, "format", "", "the format of the data: "+strings.Join(format.Formats(), ", ")+" (default: as the bytes or the name tell)")
	set.StringVar(&f.array, "array", "", "the `NAME` of the array in an .npz file (default: the only one of two dimensions)")
}

// pathList is a flag that may be given several times.
type pathList struct {
	paths *[]string
	name  *string
}

var _ pflag.SliceValue = (*pathList)(nil)

func (l *pathList) Set(path string) error { return l.Append(path) }

// Append implements pflag.SliceValue, as do Replace and GetSlice.
func (l *pathList) Append(path string) error { return l.Replace(append(*l.paths, path)) }

// Replace takes other paths. The first one is what the data are called.
func (l *pathList) Replace(paths []string) error {
	*l.paths, *l.name = paths, ""
	if len(paths) > 0 {
		if *l.name = paths[0]; paths[0] == StandardInput {
			*l.name = "standard input"
		}
	}
	return nil
}

// GetSlice are the paths.
func (l *pathList) GetSlice() []string { return *l.paths }

func (l *pathList) Type() string { return "string" }

func (l *pathList) String() string {
	if l.paths == nil {
		return ""
	}
	return strings.Join(*l.paths, " ")
}

// check refuses flags that say nothing about the data.
func (f *inputFlags) check(source string) error {
	switch {
	case f.format != "" && source == "":
		return shell.Usage("--format goes with --data, --graph or --kernel-matrix only")
	case f.array != "" && source != "data" && source != "kernel-matrix":
		return shell.Usage("--array goes with --data or --kernel-matrix only, an .npz file")
	case f.format == "":
		return nil
	case source == "graph":
		return format.CheckGraphFormat(f.format)
	case source == "kernel-matrix":
		return format.CheckKernelFormat(f.format)
	}
	return format.CheckFormat(f.format)
}

// holds tells whether the data are of a kind. A file that cannot be read is what its name says; parts says what is wrong.
func (f *inputFlags) holds(kind format.InputKind) bool {
	if len(f.files) == 0 {
		return false
	}
	if f.kind == nil {
		found, err := format.KindOf(f.files, f.input())
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

func (f *inputFlags) input() format.Input { return f.inputOf(f.files[0]) }

// inputOf is the file of the data by its path, in the format that is given.
func (f *inputFlags) inputOf(path string) format.Input {
	return format.Input{Path: path, Format: f.format, Array: f.array, Stdin: f.Stdin}
}

// parts are the files of points that are no table.
func (f *inputFlags) parts() (format.PointParts, error) {
	if _, err := format.KindOf(f.files, f.input()); err != nil {
		return nil, err
	}
	return format.PointPartsOf(f.files, f.input())
}

// loadPoints reads points that are no table; sparse ones have so many columns, or with 0 as many as they need.
func (f *inputFlags) loadPoints(columns int) (dataset.Dataset, []string, error) {
	parts, err := f.parts()
	if err != nil {
		return nil, nil, err
	}
	if f.holds(format.InputSparse) {
		data, err := asDataset(parts.LoadSparsePoints(columns))
		return data, nil, err
	}
	points, header, err := parts.LoadPoints()
	data, err := asDataset(points, err)
	return data, header, err
}

// loadComplete reads points that are no table, without those rows that have missing values.
func (f *inputFlags) loadComplete() (data dataset.Dataset, header []string, incomplete []int32, err error) {
	parts, err := f.parts()
	if err != nil {
		return nil, nil, nil, err
	}
	if f.holds(format.InputSparse) {
		points, incomplete, err := parts.LoadCompleteSparsePoints()
		data, err := asDataset(points, err)
		return data, nil, incomplete, err
	}
	points, header, incomplete, err := parts.LoadCompletePoints()
	data, err = asDataset(points, err)
	return data, header, incomplete, err
}

// readingFlags say how the text of a table is divided into cells.
type readingFlags struct {
	delimiter string
	header    *OptionFlag
}

// add declares the flags.
func (f *readingFlags) add(set *pflag.FlagSet) {
	f.header = NewChoice("auto", "auto", "yes", "no")
	set.StringVar(&f.delimiter, "delimiter", "", "what separates the cells of a table: comma, semicolon, tab, space, pipe or a `CHARACTER` (default: found out)")
	set.Var(f.header, "header", "whether the first line of a table names its columns")
}

// apply tells the reader of a table what the flags say.
func (f *readingFlags) apply(o *format.TableOptions) error {
	o.Header = f.header.text
	switch f.delimiter {
	case "":
	case "comma":
		o.Delimiter = ','
	case "semicolon":
		o.Delimiter = ';'
	case "tab", `\t`:
		o.Delimiter = '\t'
	case "space":
		o.Delimiter = ' '
	case "pipe":
		o.Delimiter = '|'
	default:
		if len(f.delimiter) != 1 || strings.ContainsAny(f.delimiter, "\"\r\n.-+") || f.delimiter[0] >= '0' && f.delimiter[0] <= '9' {
			return shell.Usage("--delimiter %q separates no cells; use comma, semicolon, tab, space, pipe or one character", f.delimiter)
		}
		o.Delimiter = f.delimiter[0]
	}
	return nil
}
