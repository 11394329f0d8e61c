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
	"github.com/cleave-project/cleave/internal/text"
)

// The marks of flags. They are annotations of pflag, set where a flag is declared.
const (
	inputMark = "input" // it names input files
	stdinMark = "stdin" // one of them may be standard input
	tableMark = "table" // it applies only to tables
)

// MarkInput says that a flag names an input file.
func MarkInput(set *pflag.FlagSet, flag string) { mark(set, flag, inputMark) }

// MarkStdin says that a flag names an input file, which may be standard input.
func MarkStdin(set *pflag.FlagSet, flag string) {
	mark(set, flag, inputMark)
	mark(set, flag, stdinMark)
}

// mark panics if the flag is not declared, which is a mistake in the program.
func mark(set *pflag.FlagSet, flag, with string) {
	if err := set.SetAnnotation(flag, with, []string{}); err != nil {
		panic(err)
	}
}

func hasMark(flag *pflag.Flag, mark string) bool {
	_, is := flag.Annotations[mark]
	return is
}

// firstGiven returns the first flag with a mark that was given, or "".
func firstGiven(set *pflag.FlagSet, mark string) (name string) {
	set.Visit(func(flag *pflag.Flag) {
		if name == "" && hasMark(flag, mark) {
			name = flag.Name
		}
	})
	return name
}

// givenInput is a flag that was given and names input files.
type givenInput struct {
	flag  *pflag.Flag
	paths []string
}

// inputs returns the flags that were given and name input files.
func inputs(set *pflag.FlagSet) (given []givenInput) {
	set.Visit(func(flag *pflag.Flag) {
		switch value := flag.Value.(type) {
		case *OptionFlag:
			if path := value.file(); path != nil {
				given = append(given, givenInput{flag, []string{*path}})
			}
		case pflag.SliceValue:
			if hasMark(flag, inputMark) {
				given = append(given, givenInput{flag, value.GetSlice()})
			}
		default:
			if hasMark(flag, inputMark) {
				given = append(given, givenInput{flag, []string{value.String()}})
			}
		}
	})
	return given
}

// setPaths replaces the paths.
func (g givenInput) setPaths(paths []string) {
	switch value := g.flag.Value.(type) {
	case *OptionFlag:
		*value.file() = paths[0]
	case pflag.SliceValue:
		_ = value.Replace(paths) // never fails
	default:
		_ = value.Set(paths[0])
	}
}

// file returns where the path is that the option names, or nil if it names none.
func (f *OptionFlag) file() *string {
	switch {
	case f.Option.Type == catalog.File:
		return &f.Text
	case f.path != "":
		return &f.path
	}
	return nil
}

// NamedFile is an input file and the flag that names it. The path is as the user wrote it.
type NamedFile struct{ Flag, Path string }

// NamedFiles returns the input files that flags name. A folder stands for its parts. Relative paths start from
// directory.
func (f *DataFlags) NamedFiles(directory string) []NamedFile {
	var files []NamedFile
	for _, input := range inputs(f.set) {
		for _, path := range input.paths {
			entries, err := os.ReadDir(ResolvePath(directory, path))
			if err != nil { // not a folder
				files = append(files, NamedFile{input.flag.Name, path})
				continue
			}
			for _, entry := range entries {
				if format.IsPart(entry) {
					files = append(files, NamedFile{input.flag.Name, filepath.Join(path, entry.Name())})
				}
			}
		}
	}
	return files
}

// ResolveFiles replaces relative paths of input files in flags by paths within directory.
func (f *DataFlags) ResolveFiles(directory string) {
	for _, input := range inputs(f.set) {
		resolved := make([]string, len(input.paths))
		for at, path := range input.paths {
			resolved[at] = ResolvePath(directory, path)
		}
		input.setPaths(resolved)
	}
}

// CheckStandardInput refuses empty paths, and standard input for flags that do not support it or for more than one
// flag.
func (f *DataFlags) CheckStandardInput() error {
	var users []string
	for _, input := range inputs(f.set) {
		name := input.flag.Name
		for _, path := range input.paths {
			switch {
			case path == "":
				return shell.Usage("--%s names no file", name)
			case path != StandardInput:
			case !hasMark(input.flag, stdinMark):
				return shell.Usage("--%s is not read from standard input; %s are", name,
					text.Join(readFromStdin(f.set), "and"))
			default:
				users = append(users, "--"+name+" -")
			}
		}
	}
	switch {
	case len(users) > 1:
		return shell.Usage("standard input is one file, but %s both name it; give one of them as a file",
			strings.Join(users[:2], " and "))
	case f.Given("sample-constraints") && slices.Contains(users, "--truth -"):
		return shell.Usage("--sample-constraints reads the truth a second time; give --truth as a file")
	}
	return nil
}

// readFromStdin returns the flags of a command whose file may be standard input.
func readFromStdin(set *pflag.FlagSet) (flags []string) {
	set.VisitAll(func(flag *pflag.Flag) {
		if hasMark(flag, stdinMark) {
			flags = append(flags, "--"+flag.Name)
		}
	})
	return flags
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
			return fault.Invalid("BAD_OUTPUT",
				"%s is an input, which would be overwritten; choose another file with %s", out, flag)
		}
	}
	return nil
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
