package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/cleave-project/cleave/internal/fault"
)

// maxLine bounds one line of text, so that a file without line ends is an error and not a slurp.
const maxLine = 64 << 20

// lines reads text line by line, without line ends (LF or CRLF), a byte order mark or blank lines.
type lines struct {
	*source
	number   int  // of the current line, from 1
	skipping bool // blank lines may stand anywhere, and not only at the end
	comments string
	long     []byte // collects lines longer than the buffer
}

func newLines(s *source) *lines { return &lines{source: s} }

// next is the next line that says something; it is valid until the following call. At the end it
// returns io.EOF.
func (l *lines) next() ([]byte, error) {
	blankAt := 0
	for {
		line, err := l.read()
		if err != nil {
			return nil, err
		}
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0:
			blankAt = l.number
		case bytes.IndexByte([]byte(l.comments), text[0]) >= 0:
		case blankAt > 0 && !l.skipping:
			l.number = blankAt
			return nil, l.invalid("BLANK_LINE", "the line is blank, but the file goes on after it; remove it or fill it in")
		default:
			return line, nil
		}
	}
}

// read is the next line of the file, whatever it holds.
func (l *lines) read() ([]byte, error) {
	line, err := l.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			l.long = append(l.long, line...)
			if len(l.long) > maxLine {
				l.number++
				return nil, l.invalid("LINE_TOO_LONG", "the line is longer than %d MiB; is this a text file?", maxLine>>20)
			}
			line, err = l.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, l.readError(err)
	}
	l.number++
	if l.number == 1 {
		if bytes.HasPrefix(line, []byte{0xFF, 0xFE}) || bytes.HasPrefix(line, []byte{0xFE, 0xFF}) {
			return nil, l.invalid("NOT_UTF8", "the file is in UTF-16; save it as UTF-8")
		}
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), nil
}

// invalid is a fault on the current line.
func (l *lines) invalid(reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s, line %d: %s", l.name, l.number, fmt.Sprintf(format, args...)).
		With("line", strconv.Itoa(l.number))
}

// anyWhiteSpace separates cells by any run of spaces, tabs and commas.
const anyWhiteSpace = 0

// splitter cuts lines into cells, which it reuses.
type splitter struct {
	separator byte // ',', '\t' or anyWhiteSpace
	cells     [][]byte
}

// split cuts one line; the cells alias it and have no space around them.
func (s *splitter) split(l *lines, line []byte) ([][]byte, error) {
	s.cells = s.cells[:0]
	if s.separator == anyWhiteSpace {
		s.splitLoose(line)
		return s.cells, nil
	}
	if bytes.IndexByte(line, '"') >= 0 {
		return s.cells, s.splitQuoted(l, line)
	}
	for {
		at := bytes.IndexByte(line, s.separator)
		if at < 0 {
			s.cells = append(s.cells, bytes.TrimSpace(line))
			return s.cells, nil
		}
		s.cells = append(s.cells, bytes.TrimSpace(line[:at]))
		line = line[at+1:]
	}
}

func (s *splitter) splitLoose(line []byte) {
	start := -1
	for at, c := range line {
		gap := c == ' ' || c == '\t' || c == ',' || c == '\r'
		if gap && start >= 0 {
			s.cells = append(s.cells, line[start:at])
			start = -1
		} else if !gap && start < 0 {
			start = at
		}
	}
	if start >= 0 {
		s.cells = append(s.cells, line[start:])
	}
}

// splitQuoted handles cells in double quotes, where "" stands for one quote. A quoted cell ends on
// its line.
func (s *splitter) splitQuoted(l *lines, line []byte) error {
	for {
		cell := bytes.TrimLeft(line, " ")
		if len(cell) == 0 || cell[0] != '"' {
			at := bytes.IndexByte(line, s.separator)
			if at < 0 {
				s.cells = append(s.cells, bytes.TrimSpace(line))
				return nil
			}
			s.cells = append(s.cells, bytes.TrimSpace(line[:at]))
			line = line[at+1:]
			continue
		}
		var content []byte
		rest := cell[1:]
		for {
			at := bytes.IndexByte(rest, '"')
			if at < 0 {
				return l.invalid("UNCLOSED_QUOTE", "a quoted cell does not end on its line")
			}
			content = append(content, rest[:at]...)
			rest = rest[at+1:]
			if len(rest) == 0 || rest[0] != '"' {
				break
			}
			content = append(content, '"')
			rest = rest[1:]
		}
		s.cells = append(s.cells, bytes.TrimSpace(content))
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) == 0 {
			return nil
		}
		if rest[0] != s.separator {
			return l.invalid("UNCLOSED_QUOTE", "there is text after a quoted cell")
		}
		line = rest[1:]
	}
}
