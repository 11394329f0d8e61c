package shell

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/cleave-project/cleave/internal/text"
)

// Width returns the number of characters that fit on a line of w: $COLUMNS, or the width of the terminal, but at least 20. It
// returns 0 if lines may have any length, as in a file or a pipe.
func Width(w io.Writer, env func(string) string) int {
	if columns, err := strconv.Atoi(env("COLUMNS")); err == nil && columns > 0 {
		return max(columns, 20)
	}
	if file, is := w.(*os.File); is {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			return max(columns, 20)
		}
	}
	return 0
}

// Folded returns a writer that wraps lines of names and values ("clusters     2 of 600 points") to a width: the rest of a long
// value goes below its beginning. A width of 0 returns w. The writer holds an unfinished line back until it ends.
func Folded(w io.Writer, width int) io.Writer {
	if width == 0 {
		return w
	}
	return &folded{w: w, width: width}
}

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

// valueAt returns where the value of a line begins: after its indentation, or after the first gap of two spaces or more.
func valueAt(line string) int {
	gap := 0
	if !strings.HasPrefix(line, " ") {
		gap = max(strings.Index(line, "  "), 0)
	}
	return gap + len(line[gap:]) - len(strings.TrimLeft(line[gap:], " "))
}
