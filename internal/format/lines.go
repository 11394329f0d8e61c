package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
)

// maxLine is the longest line of text in bytes. Without a limit, a file without line ends would be read
// into memory as a whole.
const maxLine = 64 << 20

// lines reads text line by line, without line ends (LF or CRLF), a byte order mark or blank lines.
type lines struct {
	*source
	lineNumber      int    // of the current line, from 1
	allowBlankLines bool   // everywhere; otherwise only at the end
	comments        string // the characters that start a comment
	longLine        []byte // collects lines longer than the buffer

	separator byte     // of cells: ',', '\t' or anyWhiteSpace
	cells     [][]byte // of the current line, see split
}

func newLines(s *source, separator byte) *lines { return &lines{source: s, separator: separator} }

// eachRow calls a function with the cells of every remaining line.
func (l *lines) eachRow(visit func(cells [][]byte) error) error {
	for {
		cells, err := l.nextRow()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(cells); err != nil {
			return err
		}
	}
}

// nextRow is next, split into cells.
func (l *lines) nextRow() ([][]byte, error) {
	line, err := l.next()
	if err != nil {
		return nil, err
	}
	return l.split(line)
}

// next is the next line that is neither blank nor a comment; it is valid until the following call. At
// the end of the file it returns io.EOF.
func (l *lines) next() ([]byte, error) {
	blankAt := 0
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		blank, comment := l.classify(line)
		switch {
		case blank:
			blankAt = l.lineNumber
		case comment:
		case blankAt > 0 && !l.allowBlankLines:
			l.lineNumber = blankAt
			return nil, l.invalid("BLANK_LINE", "the line is blank, but the file goes on after it; remove it or fill it in")
		default:
			return line, nil
		}
	}
}

// classify tells whether a line has nothing in it, or a comment.
func (l *lines) classify(line []byte) (blank, comment bool) {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return true, false
	}
	return false, strings.IndexByte(l.comments, text[0]) >= 0
}

// read is the next line of the file, whatever it contains.
func (l *lines) read() ([]byte, error) {
	line, err := l.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.longLine = l.longLine[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			l.longLine = append(l.longLine, line...)
			if len(l.longLine) > maxLine {
				l.lineNumber++
				return nil, l.tooLong()
			}
			line, err = l.ReadSlice('\n')
		}
		l.longLine = append(l.longLine, line...)
		line = l.longLine
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, l.readError(err)
	}
	l.lineNumber++
	if l.lineNumber == 1 {
		if bytes.HasPrefix(line, []byte{0xFF, 0xFE}) || bytes.HasPrefix(line, []byte{0xFE, 0xFF}) {
			return nil, l.invalid("NOT_UTF8", "the file is in UTF-16; save it as UTF-8")
		}
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	return withoutEnd(line), nil
}

// withoutEnd is a line without its LF or CRLF.
func withoutEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

func (l *lines) tooLong() *fault.Error {
	return l.invalid("LINE_TOO_LONG", "the line is longer than %d MiB; is this a text file?", maxLine>>20)
}

// invalid is a fault on the current line.
func (l *lines) invalid(reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s, line %d: %s", l.name, l.lineNumber, fmt.Sprintf(format, args...)).
		With("line", strconv.Itoa(l.lineNumber))
}
