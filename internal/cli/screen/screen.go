// Package screen fits what is printed to a width: lines, messages and tables.
package screen

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/cleave-project/cleave/internal/text"
)

// Width returns the number of characters that fit on a line of w: $COLUMNS, or the width of the terminal, but at least
// 20. It returns 0 if lines may have any length, as in a file or a pipe.
func Width(w io.Writer, env func(string) string) int {
	if columns, err := strconv.Atoi(env("COLUMNS")); err == nil && columns > 0 {
		return max(columns, 20)
	}
	return Terminal(w)
}

// Terminal returns the width of the terminal that w is, at least 20, or 0 if w is none. Logs use it rather than Width,
// so that $COLUMNS does not change them.
func Terminal(w io.Writer) int {
	if guarded, is := w.(*Guarded); is {
		w = guarded.W
	}
	if file, is := w.(*os.File); is {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			return max(columns, 20)
		}
	}
	return 0
}

// Guarded writes to W until that fails: then it calls Failed, once, and refuses the rest.
type Guarded struct {
	W      io.Writer
	Failed func()
	Err    error // why W failed, or nil
}

// Write implements io.Writer.
func (g *Guarded) Write(content []byte) (written int, err error) {
	if g.Err != nil {
		return 0, g.Err
	}
	if written, g.Err = g.W.Write(content); g.Err != nil {
		g.Failed()
	}
	return written, g.Err
}

// Folded returns a writer that wraps lines of names and values ("clusters     2 of 600 points") to a width: the rest
// of a long value goes below its beginning. A width of 0 returns w. The writer holds an unfinished line back until it
// ends.
func Folded(w io.Writer, width int) io.Writer {
	if width == 0 {
		return w
	}
	return &folded{w: w, width: width}
}

// folded is the writer of Folded.
type folded struct {
	w     io.Writer
	width int
	begun []byte // the unfinished line
}

// Write implements io.Writer.
func (f *folded) Write(content []byte) (int, error) {
	f.begun = append(f.begun, content...)
	for {
		line, rest, ends := bytes.Cut(f.begun, []byte("\n"))
		if !ends {
			return len(content), nil
		}
		if _, err := io.WriteString(f.w, f.fold(string(line))+"\n"); err != nil {
			return 0, err
		}
		f.begun = rest
	}
}

func (f *folded) fold(line string) string {
	indent := valueAt(line)
	if utf8.RuneCountInString(line) <= f.width || indent >= f.width/2 {
		return line
	}
	return line[:indent] + strings.Join(text.Wrap(line[indent:], f.width-indent), "\n"+strings.Repeat(" ", indent))
}

// Hanging breaks a message at words into lines of a width, and indents all but the first. A width of 0 means no limit.
func Hanging(message string, width int) string {
	const indent = "  "
	if utf8.RuneCountInString(message) <= width || width == 0 {
		return message
	}
	return strings.Join(text.Wrap(message, width-len(indent)), "\n"+indent)
}

// valueAt returns where the value of a line begins: after its indentation, or after the first gap of two spaces or
// more.
func valueAt(line string) int {
	gap := 0
	if !strings.HasPrefix(line, " ") {
		gap = max(strings.Index(line, "  "), 0)
	}
	return gap + len(line[gap:]) - len(strings.TrimLeft(line[gap:], " "))
}

// Table formats a list: a header, and rows whose first cell is an id.
type Table struct {
	Header []string
	rows   [][]string
}

// Add adds a row. Cells are escaped by text.OneLine, because other users choose names.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for at, cell := range cells {
		row[at] = text.OneLine(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// between is the number of spaces between columns.
const between = 2

// Write writes the table. If it is wider than width, ids are shortened as far as they stay distinct, then the column
// NAME; if that is not enough, every row becomes a paragraph. A width of 0 means no limit.
func (t *Table) Write(w io.Writer, width int) error {
	var out strings.Builder
	if short := t.shortened(); !t.columns(&out, width) && !short.columns(&out, width) {
		if short.cutNames(width); !short.columns(&out, width) {
			t.paragraphs(&out, width)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// columns writes a line for each row, and reports whether they fit a width. It writes nothing if they do not.
func (t *Table) columns(out *strings.Builder, width int) bool {
	var aligned strings.Builder
	w := tabwriter.NewWriter(&aligned, 0, 0, between, ' ', 0)
	for _, row := range append([][]string{t.Header}, t.rows...) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // a builder accepts everything
	var lines strings.Builder
	for line := range strings.Lines(aligned.String()) {
		line = strings.TrimRight(line, " \n")
		if width > 0 && utf8.RuneCountInString(line) > width {
			return false
		}
		fmt.Fprintln(&lines, line)
	}
	out.WriteString(lines.String())
	return true
}

// paragraphs writes a line or more for every cell that is not empty, with an empty line between rows.
func (t *Table) paragraphs(out *strings.Builder, width int) {
	indent := between
	for _, name := range t.Header {
		indent = max(indent, len(name)+between)
	}
	for number, row := range t.rows {
		if number > 0 {
			fmt.Fprintln(out)
		}
		for at, cell := range row {
			if cell == "" {
				continue
			}
			for line, part := range text.Wrap(cell, max(width-indent, 1)) {
				name := ""
				if line == 0 {
					name = strings.ToLower(t.Header[at])
				}
				fmt.Fprintf(out, "%-*s%s\n", indent, name, part)
			}
		}
	}
}

// shortestID is the minimum length of a shortened id.
const shortestID = 8

// shortened returns the table with ids cut to the shortest length that keeps them distinct.
func (t *Table) shortened() *Table {
	var ids []string
	for _, row := range t.rows {
		ids = append(ids, row[0])
	}
	sorted := slices.Sorted(slices.Values(ids))
	length := shortestID
	for at := 1; at < len(sorted); at++ {
		length = max(length, common(sorted[at-1], sorted[at])+1)
	}
	short := &Table{Header: t.Header}
	for _, row := range t.rows {
		row = slices.Clone(row)
		row[0] = row[0][:min(length, len(row[0]))]
		short.rows = append(short.rows, row)
	}
	return short
}

// shortestName is the minimum length of a shortened name.
const shortestName = 8

// cutNames cuts names as far as a width requires.
func (t *Table) cutNames(width int) {
	column := slices.Index(t.Header, "NAME")
	length := width - between*(len(t.Header)-1)
	for at, header := range t.Header {
		widest := len(header)
		for _, row := range t.rows {
			widest = max(widest, utf8.RuneCountInString(row[at]))
		}
		if at != column {
			length -= widest
		}
	}
	length = max(length, shortestName)
	for _, row := range t.rows {
		if column >= 0 && utf8.RuneCountInString(row[column]) > length {
			row[column] = string([]rune(row[column])[:length-1]) + "…"
		}
	}
}

// common returns the length of the common prefix of two strings.
func common(a, b string) int {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return at
}
