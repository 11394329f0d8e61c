package jobflags

import (
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/format"
)

// inputFlags say where points are read from: files, a folder of them, or standard input.
type inputFlags struct {
	files         []string // as they are given
	format, array string

	// Stdin is what --data - stands for.
	Stdin io.Reader
	kind  *format.InputKind // once it is known
}

// add declares --data, which may be given several times, and what goes with it. name becomes what the data are called.
func (f *inputFlags) add(set *pflag.FlagSet, name *string, usage string) {
	set.Var(&pathList{&f.files, name}, "data", usage)
	set.StringVar(&f.format, "format", "", "the format of --data: "+strings.Join(format.Formats(), ", ")+" (default: as the bytes or the name tell)")
	set.StringVar(&f.array, "array", "", "the `NAME` of the array in an .npz file (default: the only one of two dimensions)")
}

// pathList is a flag that may be given several times.
type pathList struct {
	paths *[]string
	name  *string
}

func (l *pathList) Set(path string) error {
	*l.paths = append(*l.paths, path)
	if *l.name == "" {
		if *l.name = path; path == "-" {
			*l.name = "standard input"
		}
	}
	return nil
}

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
	case f.format != "" && source != "data":
		return shell.Usage("--format goes with --data only")
	case f.array != "" && source != "data":
		return shell.Usage("--array goes with --data only, an .npz file")
	case f.format != "":
		return format.CheckFormat(f.format)
	}
	return nil
}

// holds tells whether the data are of a kind. A file that cannot be read is what its name says, until it is opened.
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

func (f *inputFlags) input() format.Input {
	return format.Input{Path: f.files[0], Format: f.format, Array: f.array, Stdin: f.Stdin}
}

// one refuses several files of points that are no tables.
func (f *inputFlags) one() error {
	if len(f.files) > 1 {
		return shell.Usage("--data %s is no table: only tables are read from several files", f.files[0])
	}
	return nil
}

// loadPoints reads points that are no table; sparse ones have so many columns, or with 0 as many as they need.
func (f *inputFlags) loadPoints(columns int) (dataset.Dataset, []string, error) {
	if err := f.one(); err != nil {
		return nil, nil, err
	}
	if f.holds(format.InputSparse) {
		data, err := asDataset(f.input().LoadSparsePoints(columns))
		return data, nil, err
	}
	points, header, err := f.input().LoadPoints()
	data, err := asDataset(points, err)
	return data, header, err
}

// loadComplete reads points that are no table, without those rows that have missing values.
func (f *inputFlags) loadComplete() (data dataset.Dataset, header []string, incomplete []int32, err error) {
	if err := f.one(); err != nil {
		return nil, nil, nil, err
	}
	if f.holds(format.InputSparse) {
		points, incomplete, err := f.input().LoadCompleteSparsePoints()
		data, err := asDataset(points, err)
		return data, nil, incomplete, err
	}
	points, header, incomplete, err := f.input().LoadCompletePoints()
	data, err = asDataset(points, err)
	return data, header, incomplete, err
}
