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
	mostLines     = 500 // a file holds one idea: about 300 lines
	mostMainLines = 60  // a main reads flags and calls Run
)

// leftovers must not stand anywhere in the text. They are spelled in two parts here, so that this
// file passes its own test.
var leftovers = []string{"TO" + "DO", "FIX" + "ME", ".." + "/shared"}

func TestFilesAreShort(t *testing.T) {
	mains := map[string]int{}
	for _, f := range goFiles(t) {
		if f.isTest() || ast.IsGenerated(f.syntax) {
			continue
		}
		if n := f.lines(); n > mostLines {
			t.Errorf("%s has %d lines, more than %d: split it by ideas", f.path, n, mostLines)
		}
		if strings.HasPrefix(f.path, "cmd/") {
			mains[path.Dir(f.path)] += f.lines()
		}
	}
	for dir, n := range mains {
		if n > mostMainLines {
			t.Errorf("%s has %d lines, more than %d: move the work to an internal package", dir, n, mostMainLines)
		}
	}
}

func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	said := map[string]bool{}
	for _, f := range goFiles(t) {
		dir := path.Dir(f.path)
		if f.isTest() || !strings.HasPrefix(dir, "internal/") && !strings.HasPrefix(dir, "cmd/") {
			continue
		}
		said[dir] = said[dir] || saysWhatItIsFor(f)
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("%s has no package comment: say in its main file what the package is for", dir)
		}
	}
}

// saysWhatItIsFor tells whether a file carries its package's comment in the form that go doc shows.
func saysWhatItIsFor(f goFile) bool {
	start := "Package " + f.syntax.Name.Name + " "
	if f.syntax.Name.Name == "main" {
		start = "Command " + path.Base(path.Dir(f.path)) + " "
	}
	return strings.HasPrefix(f.syntax.Doc.Text(), start)
}

func TestNothingIsLeftOver(t *testing.T) {
	for _, f := range textFiles(t) {
		for _, complaint := range leftoverComplaints(f.text) {
			t.Errorf("%s:%s", f.path, complaint)
		}
	}
}

func leftoverComplaints(text []byte) []string {
	var complaints []string
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, word := range leftovers {
			if bytes.Contains(line, []byte(word)) {
				complaints = append(complaints, fmt.Sprintf("%d: %q must not be left in the text", i+1, word))
			}
		}
	}
	return complaints
}

func TestLeftoverComplaints(t *testing.T) {
	for text, want := range map[string]int{
		"a finished sentence\n":       0,
		"one\n// TO" + "DO: later\n":  1,
		"context.TO" + "DO()":         1,
		"see .." + "/shared/NOTES.md": 1,
		"FIX" + "ME TO" + "DO":        2,
	} {
		if got := leftoverComplaints([]byte(text)); len(got) != want {
			t.Errorf("%q: %d complaints (%q), want %d", text, len(got), got, want)
		}
	}
}

func TestSaysWhatItIsFor(t *testing.T) {
	for source, want := range map[string]bool{
		"// Package p is for tests.\npackage p":            true,
		"// It is for tests.\npackage p":                   false,
		"// Package p is far away.\n\npackage p":           false,
		"package p":                                        false,
		"// Command worker computes.\npackage main":        true,
		"// Package main is nothing to say.\npackage main": false,
	} {
		if got := saysWhatItIsFor(parse(t, "cmd/worker/main.go", source)); got != want {
			t.Errorf("%q: %v, want %v", source, got, want)
		}
	}
}

func TestTheWalkSeesTheTree(t *testing.T) {
	var seen []string
	for _, f := range textFiles(t) {
		seen = append(seen, f.path)
	}
	for _, want := range []string{"go.mod", "Makefile", ".ci/run", "internal/fault/fault.go", "internal/architecture/doc.go"} {
		if !slices.Contains(seen, want) {
			t.Errorf("the walk did not see %s", want)
		}
	}
	if slices.Contains(seen, "go.sum") {
		t.Error("the walk reads go.sum, whose hashes may spell anything")
	}
}
