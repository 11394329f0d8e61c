package documents

import (
	"bytes"
	"cmp"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/cleave-project/cleave/test/testscale"
)

const howto = "docs/HOWTO-ADD.md"

// promise matches a heading that says how many files are touched: "A kernel function: 4 files", "A file format: 2 or 3
// files".
var promise = regexp.MustCompile(`: (\d+)(?: or (\d+))? files$`)

// TestExamplesApply applies the example of each section to the files as they are now. It compares the files that the
// example touches with the number in the heading and with the table, and checks that the result is formatted Go.
func TestExamplesApply(t *testing.T) {
	examples := 0
	for _, s := range sections(readDocument(t, howto)) {
		hunks, err := s.hunks()
		if err != nil {
			t.Fatalf("%s: %v", s.title, err)
		}
		match := promise.FindStringSubmatch(s.title)
		if (match == nil) != (len(hunks) == 0) {
			t.Errorf("%s: a heading that counts files needs an example, and an example needs such a heading", s.title)
		}
		if match == nil {
			continue
		}
		examples++
		touched := paths(hunks)
		if n := strconv.Itoa(len(touched)); n != match[1] && n != match[2] {
			t.Errorf("%s: the example touches %s: %v", s.title, n, touched)
		}
		if rows := strings.Count(s.text, "\n| ") - 1; strconv.Itoa(rows) != cmp.Or(match[2], match[1]) {
			t.Errorf("%s: the table has %d files", s.title, rows)
		}
		folder := t.TempDir()
		for _, name := range touched {
			if text, err := os.ReadFile(filepath.Join(root, name)); err == nil {
				write(t, filepath.Join(folder, name), text)
			}
		}
		if err := apply(folder, hunks); err != nil {
			t.Errorf("%s: %v", s.title, err)
			continue
		}
		for _, name := range touched {
			if path.Ext(name) != ".go" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			if formatted, err := format.Source(text); err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("%s: %s is not formatted: %v", s.title, name, err)
			}
		}
	}
	if examples < 6 {
		t.Errorf("%d examples: do the patterns still match?", examples)
	}
}

// namedThing matches an identifier in backquotes, with or without what it belongs to.
var namedThing = regexp.MustCompile("`(?:[A-Za-z]+\\.)*([A-Za-z_]+)`")

// TestNamedThingsExist: the tests, functions, types, fields and targets that the page names exist.
func TestNamedThingsExist(t *testing.T) {
	known := map[string]bool{}
	learn := func(text string) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			known[word] = true
		}
	}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules"}, entry.Name()) {
			return fs.SkipDir
		}
		if !slices.Contains([]string{".go", ".proto"}, path.Ext(name)) && name != "Makefile" {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		learn(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, s := range sections(readDocument(t, howto)) {
		for _, b := range s.blocks { // what the example adds exists too
			learn(strings.Join(b.lines, "\n"))
		}
		for _, match := range namedThing.FindAllStringSubmatch(s.text, -1) {
			found++
			if !known[match[1]] {
				t.Errorf("%s: %s does not exist", s.title, match[0])
			}
		}
	}
	if found < 100 {
		t.Errorf("the page names %d things: does the pattern still match?", found)
	}
}

// TestExamplesRun applies all examples to one copy of the repository, generates what they need, runs the tests of the
// packages that they touch, and then the commands of the page. In a short run it only builds the packages.
func TestExamplesRun(t *testing.T) {
	folder := copyRepository(t)
	var all []hunk
	var commands []block
	for _, s := range sections(readDocument(t, howto)) {
		hunks, err := s.hunks()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, hunks...)
		for _, b := range s.blocks {
			if b.language == "console" {
				commands = append(commands, b)
			}
		}
	}
	if err := apply(folder, all); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "go", "tool", "-modfile=tools/build/go.mod", "buf", "generate")
	run(t, folder, "go", "tool", "-modfile=tools/build/go.mod", "buf", "lint")
	run(t, folder, "go", "tool", "-modfile=tools/build/go.mod", "buf", "format", "--diff", "--exit-code")
	run(t, folder, "go", "tool", "-modfile=tools/build/go.mod", "buf", "breaking", "--against", "proto/accepted.binpb")
	packages := []string{"./internal/wire", "./internal/clustering/catalog"}
	for _, name := range paths(all) {
		if path.Ext(name) == ".go" && !slices.Contains(packages, "./"+path.Dir(name)) {
			packages = append(packages, "./"+path.Dir(name))
		}
	}
	if !testscale.Long {
		run(t, folder, "go", slices.Concat([]string{"vet"}, packages)...)
		return
	}
	run(t, folder, "sh", "-c", "make -s generate-tables && CLEAVE_RECORD_ANSWERS=1 go test ./internal/cli/report "+
		"-run ResultJSON")
	run(t, folder, "go", slices.Concat([]string{"test", "-vet=off"}, packages, []string{"./internal/cli/report"})...)
	run(t, folder, "go", "test", "-C", "tools", "-vet=off", "-run", "TestEveryAlgorithmHasAPage", "./documents")
	run(t, folder, "make", "-s", "build")
	work := t.TempDir()
	for _, b := range commands {
		runCommands(t, work, filepath.Join(folder, "bin"), b)
	}
}

// spaces matches what aligns columns.
var spaces = regexp.MustCompile(` +`)

// commands returns the commands of a block, the lines that begin with $, and what they print, the lines below them.
func (b block) commands() (lines, outputs []string) {
	for _, part := range strings.Split("\n"+strings.Join(b.lines, "\n"), "\n$ ")[1:] {
		line, output, _ := strings.Cut(part, "\n")
		lines = append(lines, line)
		outputs = append(outputs, output)
	}
	return lines, outputs
}

// runCommand runs a line of a shell in a folder, and returns what it prints.
func runCommand(folder, bin, line string) (string, error) {
	c := exec.Command("bash", "-o", "pipefail", "-c", line)
	c.Dir = folder
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	output, err := c.CombinedOutput()
	return string(output), err
}

// runCommands runs the commands of a block and compares what they print. A line of three dots stands for any lines, and
// a command with such a line, or without any output, must succeed. Several spaces count as one.
func runCommands(t *testing.T, folder, bin string, b block) {
	t.Helper()
	lines, outputs := b.commands()
	for at, line := range lines {
		want := outputs[at]
		output, err := runCommand(folder, bin, line)
		pattern := regexp.QuoteMeta(spaces.ReplaceAllString(want, " "))
		pattern = "^" + strings.ReplaceAll(pattern+"\n", `\.\.\.`+"\n", `(.*\n)*`) + "$"
		matched := want == "" || regexp.MustCompile(pattern).MatchString(spaces.ReplaceAllString(output, " "))
		if mustSucceed := want == "" || strings.Contains(want, "..."); !matched || mustSucceed && err != nil {
			t.Errorf("$ %s\n%s%v\nwant:\n%s", line, output, err, want)
		}
	}
}

// notCopied are folders that git ignores.
var notCopied = []string{".git", ".cleave", "bin", "demo-out", "bench-out", "answers-out", "fuzz-out",
	"clients/typescript/node_modules", "clients/typescript/dist"}

// copyRepository copies the repository to a temporary folder.
func copyRepository(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	source := os.DirFS(root)
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(notCopied, name):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(source, name)
		write(t, filepath.Join(folder, name), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in a folder, which must succeed, and returns its output. Builds are trimmed, so that they find in
// the cache what a build of the repository itself left there if it has the flags of make test.
func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = folder
	c.Env = append(os.Environ(), "GOFLAGS=-trimpath "+os.Getenv("GOFLAGS"))
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, output)
	}
	return string(output)
}
