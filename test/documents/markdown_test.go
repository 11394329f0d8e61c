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

// hunk is a change of one file: old, which must occur once, becomes new. A hunk without old is the whole of a new file.
type hunk struct{ path, old, new string }

// newFile matches the first line of a block that is a whole file.
var newFile = regexp.MustCompile(`^(?:// |<!-- )([a-z0-9/_-]+\.(?:go|md))(?: -->)?$`)

// hunks returns the changes that the blocks of a section show, in order.
func (s section) hunks() ([]hunk, error) {
	var all []hunk
	for _, b := range s.blocks {
		if b.language != "diff" {
			if match := newFile.FindStringSubmatch(b.lines[0]); match != nil {
				all = append(all, hunk{path: match[1], new: strings.Join(b.lines[1:], "\n") + "\n"})
			}
			continue
		}
		path := ""
		for _, line := range b.lines {
			at := len(all) - 1
			switch name, isPath := strings.CutPrefix(line, "+++ "); {
			case isPath:
				path = name
			case line == "@@":
				all = append(all, hunk{path: path})
			case strings.HasPrefix(line, "+"):
				all[at].new += line[1:] + "\n"
			case strings.HasPrefix(line, "-"):
				all[at].old += line[1:] + "\n"
			case strings.HasPrefix(line, " "):
				all[at].old += line[1:] + "\n"
				all[at].new += line[1:] + "\n"
			case line == "":
				all[at].old += "\n"
				all[at].new += "\n"
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
		switch {
		case h.old == "" && err == nil:
			return fmt.Errorf("%s exists, but the page shows it as a new file", h.path)
		case h.old == "":
			text, err = []byte(h.new), os.MkdirAll(filepath.Dir(name), 0o755)
		case err == nil:
			if n := strings.Count(string(text), h.old); n != 1 {
				return fmt.Errorf("%s has these lines %d times, not once:\n%s", h.path, n, h.old)
			}
			text = []byte(strings.Replace(string(text), h.old, h.new, 1))
		}
		if err == nil {
			err = os.WriteFile(name, text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
