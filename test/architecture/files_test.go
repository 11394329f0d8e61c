package architecture

import (
	"bytes"
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	maxPackageFiles = 25 // of a package, without tests and generated code: split it by purpose
	maxMainLines    = 60 // of a file of a main, which reads flags and calls Run
)

// leftovers must not occur in any file. Here they are in two parts, so that this file passes the test.
var leftovers = []string{"TO" + "DO", "FIX" + "ME", ".." + "/shared"}

func TestPackagesHaveFewFiles(t *testing.T) {
	files := map[string]int{}
	for _, f := range goFiles(t) {
		if !f.isTest() && !ast.IsGenerated(f.syntax) {
			files[path.Dir(f.path)]++
		}
	}
	for dir, n := range files {
		if n > maxPackageFiles {
			t.Errorf("%s has %d files, more than %d: split the package by purpose, or join files of one subject", dir,
				n, maxPackageFiles)
		}
	}
}

func TestMainsAreSmall(t *testing.T) {
	for _, f := range goFiles(t) {
		if n := f.lines(); strings.HasPrefix(f.path, "cmd/") && !f.isTest() && n > maxMainLines {
			t.Errorf("%s has %d lines, more than %d: move what it does to a package", f.path, n, maxMainLines)
		}
	}
}

func TestPackagesHaveComments(t *testing.T) {
	said := map[string]bool{}
	for _, f := range goFiles(t) {
		dir := path.Dir(f.path)
		if f.isTest() || !strings.HasPrefix(dir, "internal/") && !strings.HasPrefix(dir, "cmd/") {
			continue
		}
		said[dir] = said[dir] || hasPackageComment(f)
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("%s has no package comment: say in its main file what the package is for", dir)
		}
	}
}

// hasPackageComment tells whether a file has its package's comment, in the form that go doc expects.
func hasPackageComment(f goFile) bool {
	start := "Package " + f.syntax.Name.Name + " "
	if f.syntax.Name.Name == "main" {
		start = "Command " + path.Base(path.Dir(f.path)) + " "
	}
	return strings.HasPrefix(f.syntax.Doc.Text(), start)
}

func TestNoLeftoverMarkers(t *testing.T) {
	for _, f := range textFiles(t) {
		for _, problem := range leftoverProblems(f.text) {
			t.Errorf("%s:%s", f.path, problem)
		}
	}
}

func leftoverProblems(text []byte) []string {
	var problems []string
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, word := range leftovers {
			if bytes.Contains(line, []byte(word)) {
				problems = append(problems, fmt.Sprintf("%d: %q must not be left in the text", i+1, word))
			}
		}
	}
	return problems
}

func TestLeftoverProblems(t *testing.T) {
	for text, want := range map[string]int{
		"a finished sentence\n":       0,
		"one\n// TO" + "DO: later\n":  1,
		"context.TO" + "DO()":         1,
		"see .." + "/shared/NOTES.md": 1,
		"FIX" + "ME TO" + "DO":        2,
	} {
		if got := leftoverProblems([]byte(text)); len(got) != want {
			t.Errorf("%q: %d problems (%q), want %d", text, len(got), got, want)
		}
	}
}

func TestHasPackageComment(t *testing.T) {
	for source, want := range map[string]bool{
		"// Package p is for tests.\npackage p":            true,
		"// It is for tests.\npackage p":                   false,
		"// Package p is far away.\n\npackage p":           false,
		"package p":                                        false,
		"// Command worker computes.\npackage main":        true,
		"// Package main is nothing to say.\npackage main": false,
	} {
		if got := hasPackageComment(parse(t, "cmd/worker/main.go", source)); got != want {
			t.Errorf("%q: %v, want %v", source, got, want)
		}
	}
}

func TestTextFilesOfTheProject(t *testing.T) {
	var seen []string
	for _, f := range textFiles(t) {
		seen = append(seen, f.path)
	}
	for _, want := range []string{"go.mod", "Makefile", ".ci/run", "internal/fault/fault.go",
		"test/architecture/doc.go"} {
		if !slices.Contains(seen, want) {
			t.Errorf("the walk did not see %s", want)
		}
	}
	if slices.Contains(seen, "go.sum") {
		t.Error("the walk reads go.sum, whose hashes may spell anything")
	}
}
