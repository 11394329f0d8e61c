package documents

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
const root = "../.."

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is the part of a document below one heading of the second level.
type section struct {
	title  string
	text   string
	blocks []block
}

// block is a fenced block: its language and its lines, without the fences.
type block struct {
	language string
	lines    []string
}

// sections splits a document. Headings inside fenced blocks, such as comments of a shell, do not count.
func sections(document string) []section {
	var all []section
	fence := ""
	for line := range strings.Lines(document) {
		line = strings.TrimSuffix(line, "\n")
		if title, is := strings.CutPrefix(line, "## "); is && fence == "" {
			all = append(all, section{title: title})
			continue
		}
		if len(all) == 0 {
			continue // what comes before the first section
		}
		s := &all[len(all)-1]
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
			s.blocks = append(s.blocks, block{language: line[len(ticks):]})
		case fence != "" && line == fence:
			fence = ""
		case fence != "":
			b := &s.blocks[len(s.blocks)-1]
			b.lines = append(b.lines, line)
		default:
			s.text += line + "\n"
		}
	}
	return all
}

// hunk is a change of one file: lines with a mark in front, as in a diff. Those that are not added occur in this order
// exactly once in the file; a comment at their end may be left out. A hunk that only adds lines is the whole of a new
// file.
type hunk struct {
	path  string
	lines []string
}

// newFile matches the first line of a block that is a whole file.
var newFile = regexp.MustCompile(`^(?:// |<!-- )([a-z0-9/_-]+\.(?:go|md))(?: -->)?$`)

// hunks returns the changes that the blocks of a section show, in order.
func (s section) hunks() ([]hunk, error) {
	var all []hunk
	for _, b := range s.blocks {
		if b.language != "diff" {
			if match := newFile.FindStringSubmatch(b.lines[0]); match != nil {
				all = append(all, hunk{match[1], strings.Split("+"+strings.Join(b.lines[1:], "\n+"), "\n")})
			}
			continue
		}
		path := ""
		for _, line := range b.lines {
			switch name, isPath := strings.CutPrefix(line, "+++ "); {
			case isPath:
				path = name
			case line == "@@":
				all = append(all, hunk{path: path})
			case line == "":
				all[len(all)-1].lines = append(all[len(all)-1].lines, " ")
			case strings.Contains("+- ", line[:1]):
				all[len(all)-1].lines = append(all[len(all)-1].lines, line)
			default:
				return nil, fmt.Errorf("%q is not a line of a diff", line)
			}
		}
	}
	return all, nil
}

// paths returns the files that hunks touch, each once, in ascending order.
func paths(hunks []hunk) []string {
	var all []string
	for _, h := range hunks {
		all = append(all, h.path)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// apply changes the files of a repository.
func apply(folder string, hunks []hunk) error {
	for _, h := range hunks {
		name := filepath.Join(folder, h.path)
		text, err := os.ReadFile(name)
		isNew := !slices.ContainsFunc(h.lines, func(line string) bool { return line[0] != '+' })
		switch {
		case isNew && err == nil:
			return fmt.Errorf("%s exists, but the page shows it as a new file", h.path)
		case isNew:
			err = os.MkdirAll(filepath.Dir(name), 0o755)
		}
		if err != nil {
			return err
		}
		changed, err := h.change(strings.SplitAfter(string(text), "\n"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// change returns the text of the file after the change; its lines end in newlines.
func (h hunk) change(lines []string) (string, error) {
	var found []int
	for at := range lines {
		if _, is := h.changeAt(lines[at:]); is {
			found = append(found, at)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has these lines %d times, not once:\n%s", h.path, len(found),
			strings.Join(h.lines, "\n"))
	}
	changed, _ := h.changeAt(lines[found[0]:])
	return strings.Join(lines[:found[0]], "") + changed, nil
}

// changeAt changes the first lines of what is left of a file, if they are those of the hunk.
func (h hunk) changeAt(lines []string) (text string, is bool) {
	for _, line := range h.lines {
		if line[0] == '+' {
			text += line[1:] + "\n"
			continue
		}
		if len(lines) == 0 || !equalCode(lines[0], line[1:]) {
			return "", false
		}
		if line[0] == ' ' {
			text += lines[0]
		}
		lines = lines[1:]
	}
	return text + strings.Join(lines, ""), true
}

// equalCode tells whether a line of a file is the given one, with or without a comment at its end.
func equalCode(line, want string) bool {
	rest, begins := strings.CutPrefix(strings.TrimSuffix(line, "\n"), want)
	return begins && (rest == "" || strings.HasPrefix(strings.TrimLeft(rest, " \t"), "//"))
}

func TestChange(t *testing.T) {
	file := strings.SplitAfter("a // one\nb\nc\nb\n", "\n")
	for _, c := range []struct{ hunk, want string }{
		{" a\n+x", "a // one\nx\nb\nc\nb\n"},
		{"-a\n+x\n b", "x\nb\nc\nb\n"},
		{"+x\n c\n-b", "a // one\nb\nx\nc\n"},
		{" b\n+x", ""}, // twice
		{" d\n+x", ""},
		{" a // two\n+x", ""},
	} {
		got, err := hunk{lines: strings.Split(c.hunk, "\n")}.change(file)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q: %q, %v", c.hunk, got, err)
		}
	}
}
