package shell

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/text"
)

// Folded writes lines of names and values ("clusters     2 of 600 points") so that they fit a width: what is too long goes on
// under its value. A width of 0 leaves lines as they are. Only whole lines are written.
func Folded(w io.Writer, width int) io.Writer {
	if width == 0 {
		return w
	}
	return &folded{w: w, width: width}
}

type folded struct {
	w     io.Writer
	width int
	begun []byte // a line that has not ended
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

// valueAt is where the value of a line begins: after the first two spaces or more.
func valueAt(line string) int {
	if spaces := len(line) - len(strings.TrimLeft(line, " ")); spaces > 0 {
		return spaces
	}
	if gap := strings.Index(line, "  "); gap >= 0 {
		return gap + len(line[gap:]) - len(strings.TrimLeft(line[gap:], " "))
	}
	return 0
}
