package measure

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/cleave-project/cleave/internal/format"
)

// Page is a document that a suite writes whole. Every part has a section between two lines, so that a run of some parts
// keeps the sections of the others:
//
//	<!-- bench: sweep -->
//	<!-- end of sweep -->
type Page struct {
	Suite string
	Parts []string                     // all of them, in the order of the page
	Head  func(sections string) string // returns the text before the sections, which may count what is in them
	Tail  string                       // the text after them
}

func (p Page) marks(part string) (begin, end string) {
	return "<!-- " + p.Suite + ": " + part + " -->\n", "<!-- end of " + part + " -->\n"
}

// Update returns the page with new sections by the names of their parts. Sections that are not new stay as the old page
// has them; an old page may be empty.
func (p Page) Update(old string, sections map[string]string) (string, error) {
	var text strings.Builder
	kept := 0
	for _, part := range p.Parts {
		begin, end := p.marks(part)
		_, rest, found := strings.Cut(old, begin)
		section, _, closed := strings.Cut(rest, end)
		if found && closed {
			kept++
		}
		if fresh, is := sections[part]; is {
			section, found, closed = fresh, true, true
		}
		if found && closed {
			text.WriteString("\n" + begin + section + end)
		}
	}
	if old != "" && kept == 0 {
		return "", fmt.Errorf("the page has no section that make %s has written: remove it to begin anew", p.Suite)
	}
	return fmt.Sprintf("<!-- Written by make %s. Do not edit: change tools/%s and run it again. -->\n%s%s%s", p.Suite,
		p.Suite, p.Head(text.String()), &text, p.Tail), nil
}

// Write updates the page in a file. Without a path it prints a page of the new sections.
func (p Page) Write(path string, sections map[string]string) error {
	if path == "" {
		p.Tail = ""
		text, err := p.Update("", sections)
		if err == nil {
			_, err = io.WriteString(os.Stdout, text)
		}
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := p.Update(string(old), sections)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return write(path, text)
}

func write(path, text string) error {
	return format.WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// FillFile puts content into a document that people write, between the lines <!-- NAME --> and <!-- end of NAME -->.
func FillFile(path, name, content string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	filled, err := Fill(string(old), name, content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return write(path, filled)
}

// Fill does for a text what FillFile does for a file.
func Fill(document, name, content string) (string, error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, found := strings.Cut(document, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the document has no line %s, or none %s after it", strings.TrimSpace(begin), end)
	}
	return before + begin + content + end + after, nil
}

// Row writes one row of a table in Markdown.
func Row(w io.Writer, cells ...string) {
	for _, cell := range cells {
		fmt.Fprintf(w, "| %s ", strings.ReplaceAll(cell, "|", "\\|"))
	}
	fmt.Fprintln(w, "|")
}

// Head writes an empty line and the head of a table.
func Head(w io.Writer, names ...string) {
	fmt.Fprintln(w)
	Row(w, names...)
	fmt.Fprintln(w, strings.Repeat("|---", len(names))+"|")
}
