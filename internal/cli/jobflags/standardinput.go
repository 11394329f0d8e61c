package jobflags

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/format"
)

// fromStdin are the flags whose file may be standard input.
var fromStdin = []string{"data", "graph", "kernel-matrix", "constraints", "seeds", "weights", "truth"}

// checkStandardInput refuses to read several files from standard input, those that are not read from there, and empty names.
func (f *Flags) checkStandardInput() error {
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
	case f.Given("sample-constraints") && f.TruthFile == StandardInput:
		return shell.Usage("--sample-constraints reads the truth once more; give --truth as a file")
	}
	return nil
}

// small is the file of a table about the data.
func (f *Flags) small(option string) format.Input {
	return format.Input{Path: f.path(option), Stdin: f.Stdin}
}

// baseName is what a file is called, without its folder.
func baseName(path string) string {
	if path == StandardInput {
		return "standard input"
	}
	return filepath.Base(path)
}
