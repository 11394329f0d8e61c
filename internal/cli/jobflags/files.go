package jobflags

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/objects"
)

// plainFiles lists the flags that name input files and are not options of the catalog.
var plainFiles = []string{"data", "graph", "kernel-matrix", "file", "truth", "score-on", "vertex-list"}

// NamedFile is an input file and the flag that names it. The path is as the user wrote it.
type NamedFile struct{ Flag, Path string }

// NamedFiles returns the input files that flags name. A folder stands for its parts. Relative paths start from
// directory.
func (f *DataFlags) NamedFiles(directory string) []NamedFile { return namedFiles(f.set, directory) }

// NamedFiles returns the files of new points, as DataFlags.NamedFiles does.
func (f *NewPointsFlags) NamedFiles(directory string) []NamedFile {
	return namedFiles(f.set, directory)
}

func namedFiles(set *pflag.FlagSet, directory string) []NamedFile {
	var files []NamedFile
	visitPaths(set, func(flag, path string) string {
		entries, err := os.ReadDir(ResolvePath(directory, path))
		if err != nil { // not a folder
			files = append(files, NamedFile{flag, path})
			return path
		}
		for _, entry := range entries {
			if format.IsPart(entry) {
				files = append(files, NamedFile{flag, filepath.Join(path, entry.Name())})
			}
		}
		return path
	})
	return files
}

// RefuseInput refuses an output file that is one of the input files, under whatever name. flag names the output.
// Relative paths of inputs start from directory.
func RefuseInput(flag, out, directory string, inputs []NamedFile, more ...string) error {
	info, err := os.Stat(out)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	for _, file := range inputs {
		more = append(more, ResolvePath(directory, file.Path))
	}
	for _, path := range more {
		if input, err := os.Stat(path); err == nil && os.SameFile(info, input) {
			return fault.Invalid("BAD_OUTPUT", "%s is an input, which would be overwritten; choose another file with %s", out, flag)
		}
	}
	return nil
}

// ResolveFiles replaces relative paths of input files in flags by paths within directory.
func (f *DataFlags) ResolveFiles(directory string) {
	visitPaths(f.set, func(_, path string) string { return ResolvePath(directory, path) })
}

// StandardInput is the path that stands for standard input.
const StandardInput = "-"

// ResolvePath returns a path within directory, unless the path is absolute, standard input or a URI.
func ResolvePath(directory, path string) string {
	if path == StandardInput || filepath.IsAbs(path) || objects.IsURI(path) {
		return path
	}
	return filepath.Join(directory, path)
}

// visitPaths replaces every path of an input file in the flags that were given.
func visitPaths(set *pflag.FlagSet, replace func(flag, path string) string) {
	set.Visit(func(flag *pflag.Flag) {
		switch value := flag.Value.(type) {
		case *OptionFlag:
			switch {
			case value.Option.Type == catalog.File:
				value.Text = replace(flag.Name, value.Text)
			case value.path != "":
				value.path = replace(flag.Name, value.path)
			}
		case pflag.SliceValue:
			if slices.Contains(plainFiles, flag.Name) {
				paths := value.GetSlice()
				for at, path := range paths {
					paths[at] = replace(flag.Name, path)
				}
				_ = value.Replace(paths) // never fails
			}
		default:
			if slices.Contains(plainFiles, flag.Name) {
				_ = value.Set(replace(flag.Name, value.String()))
			}
		}
	})
}

// fromStdin lists the flags whose file may be standard input.
var fromStdin = []string{"data", "graph", "kernel-matrix", "constraints", "seeds", "weights", "truth"}

// CheckStandardInput refuses empty paths, and standard input for flags that do not support it or for more than one
// flag.
func (f *DataFlags) CheckStandardInput() error {
	var users []string
	var err error
	visitPaths(f.set, func(flag, path string) string {
		if path == "" {
			err = shell.Usage("--%s names no file", flag)
		}
		if path == StandardInput {
			users = append(users, "--"+flag+" -")
			if !slices.Contains(fromStdin, flag) {
				err = shell.Usage("--%s is not read from standard input; --%s and --%s are", flag,
					strings.Join(fromStdin[:len(fromStdin)-1], ", --"), fromStdin[len(fromStdin)-1])
			}
		}
		return path
	})
	switch {
	case err != nil:
		return err
	case len(users) > 1:
		return shell.Usage("standard input is one file, but %s both name it; give one of them as a file", strings.Join(users[:2], " and "))
	case f.Given("sample-constraints") && slices.Contains(users, "--truth -"):
		return shell.Usage("--sample-constraints reads the truth a second time; give --truth as a file")
	}
	return nil
}

// small returns the input of an option that names a table about the data.
func (f *Flags) small(option string) format.Input {
	return format.Input{Path: f.path(option), Stdin: f.Stdin}
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
