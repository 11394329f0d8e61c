package jobflags

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// plainFiles are the flags that name files to be read and are no options of the catalog.
var plainFiles = []string{"data", "graph", "kernel-matrix", "file", "truth", "score-on", "vertex-list"}

// NamedFile is a file that a flag names.
type NamedFile struct{ Flag, Path string }

// NamedFiles are the files that the flags which were given name, for reading, by the names of the flags. A folder stands
// for the files in it, and paths that are not absolute start from a directory.
func NamedFiles(set *pflag.FlagSet, directory string) []NamedFile {
	var files []NamedFile
	visitPaths(set, func(flag, path string) string {
		entries, err := os.ReadDir(Within(directory, path))
		if err != nil { // it is no folder
			files = append(files, NamedFile{flag, path})
			return path
		}
		for _, entry := range entries {
			if !entry.IsDir() {
				files = append(files, NamedFile{flag, filepath.Join(path, entry.Name())})
			}
		}
		return path
	})
	return files
}

// ResolveFiles makes the paths of files that flags name absolute: they start from a directory.
func ResolveFiles(set *pflag.FlagSet, directory string) {
	visitPaths(set, func(_, path string) string { return Within(directory, path) })
}

// StandardInput stands for a file that is read from there.
const StandardInput = "-"

// Within is a path that starts from a directory unless it is absolute.
func Within(directory, path string) string {
	if path == StandardInput || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(directory, path)
}

// visitPaths replaces every path that a given flag names for reading.
func visitPaths(set *pflag.FlagSet, replace func(flag, path string) string) {
	set.Visit(func(flag *pflag.Flag) {
		switch value := flag.Value.(type) {
		case *OptionFlag:
			switch {
			case value.option.Type == catalog.File:
				value.text = replace(flag.Name, value.text)
			case value.path != "":
				value.path = replace(flag.Name, value.path)
			}
		case pflag.SliceValue:
			if slices.Contains(plainFiles, flag.Name) {
				paths := value.GetSlice()
				for at, path := range paths {
					paths[at] = replace(flag.Name, path)
				}
				_ = value.Replace(paths) // they were given before
			}
		default:
			if slices.Contains(plainFiles, flag.Name) {
				_ = value.Set(replace(flag.Name, value.String()))
			}
		}
	})
}
