package scan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
)

// MaxLine is the length of the longest supported line in bytes. Without a limit, a file without line ends would be read
// into memory as a whole.
const MaxLine = 64 << 20

// maxCells is the largest number of cells of a line, which may hold all neighbors of a vertex or a row of a kernel
// matrix. A cell takes up to 12 times the memory of its text.
const maxCells = 1 << 24

// Lines reads text line by line, without line ends (LF or CRLF), a byte order mark or blank lines.
type Lines struct {
	*Source
	LineNumber      int    // of the current line, from 1
	AllowBlankLines bool   // anywhere; otherwise only at the end
	Comments        string // the characters that start a comment
	longLine        []byte // collects lines longer than the buffer

	Separator byte     // between cells: ',', '\t' or AnyWhiteSpace
	cells     [][]byte // of the current line; see Split
}

// NewLines returns a reader of the lines of s, whose cells are separated by a character or AnyWhiteSpace.
func NewLines(s *Source, separator byte) *Lines { return &Lines{Source: s, Separator: separator} }

// EachRow calls visit with the cells of every remaining line. The cells are valid until visit returns.
func (l *Lines) EachRow(visit func(cells [][]byte) error) error {
	for {
		cells, err := l.NextRow()
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

// NextRow splits the line that Next returns into cells.
func (l *Lines) NextRow() ([][]byte, error) {
	line, err := l.Next()
	if err != nil {
		return nil, err
	}
	return l.Split(line)
}

// Next returns the next line that is neither blank nor a comment, io.EOF at the end of the file. The line is valid
// until the following call.
func (l *Lines) Next() ([]byte, error) {
	blankAt := 0
	for {
		line, err := l.ReadLine()
		if err != nil {
			return nil, err
		}
		blank, comment := l.Classify(line)
		switch {
		case blank:
			blankAt = l.LineNumber
		case comment:
		case blankAt > 0 && !l.AllowBlankLines:
			l.LineNumber = blankAt
			return nil, l.Invalid("BLANK_LINE", "the line is blank, but more rows follow; remove it or fill it in")
		default:
			return line, nil
		}
	}
}

// Classify reports whether a line is blank, or a comment.
func (l *Lines) Classify(line []byte) (blank, comment bool) {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return true, false
	}
	return false, strings.IndexByte(l.Comments, text[0]) >= 0
}

// ReadLine returns the next line of the file, including blank lines and comments.
func (l *Lines) ReadLine() ([]byte, error) {
	line, err := l.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.longLine = l.longLine[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			l.longLine = append(l.longLine, line...)
			if len(l.longLine) > MaxLine {
				l.LineNumber++
				return nil, l.TooLong()
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
		return nil, l.ReadError(err)
	}
	l.LineNumber++
	if l.LineNumber == 1 {
		if bytes.HasPrefix(line, []byte{0xFF, 0xFE}) || bytes.HasPrefix(line, []byte{0xFE, 0xFF}) {
			return nil, l.Invalid("NOT_UTF8", "the file is in UTF-16; save it as UTF-8")
		}
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	}
	return withoutEnd(line), nil
}

// withoutEnd returns a line without its LF or CRLF.
func withoutEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// TooLong returns the fault for a current line of more than MaxLine bytes.
func (l *Lines) TooLong() *fault.Error {
	return l.Invalid("LINE_TOO_LONG", "the line is longer than %d MiB; check that this is a text file", MaxLine>>20)
}

// Invalid returns a fault that names the file and the current line.
func (l *Lines) Invalid(reason, format string, args ...any) *fault.Error {
	return InLine(l.Name, l.LineNumber, reason, format, args...)
}

// InLine returns a fault that names a file and one of its lines.
func InLine(file string, line int, reason, format string, args ...any) *fault.Error {
	return fault.Invalid(reason, "%s, line %d: %s", file, line, fmt.Sprintf(format, args...)).With("line",
		strconv.Itoa(line))
}

// AnyWhiteSpace separates cells by any run of spaces, tabs and commas.
const AnyWhiteSpace = 0

// Split splits a line into cells, without surrounding space. The cells share memory with the line, and the slice is
// reused by the next call. Package csv splits tables itself, because their quoted cells may have line breaks.
func (l *Lines) Split(line []byte) ([][]byte, error) {
	l.cells = l.cells[:0]
	if l.Separator == AnyWhiteSpace {
		return l.splitAtWhiteSpace(line)
	}
	count := 1 + bytes.Count(line, []byte{l.Separator})
	if count > maxCells {
		return nil, TooWide(l.Name, l.LineNumber, maxCells)
	}
	l.cells = slices.Grow(l.cells, count)
	for {
		cell, rest, more := bytes.Cut(line, []byte{l.Separator})
		if text := bytes.TrimLeft(line, " "); len(text) > 0 && text[0] == '"' {
			content, end := Unquote(text, 0)
			if end < 0 {
				return nil, l.Invalid("UNCLOSED_QUOTE",
					"a quoted cell does not end on its line; cells of this file cannot have line breaks")
			}
			cell = content
			rest, more = bytes.CutPrefix(bytes.TrimLeft(text[end:], " "), []byte{l.Separator})
			if !more &&
				len(rest) > 0 {
				return nil, l.Invalid("UNCLOSED_QUOTE",
					"there is text after a quoted cell; write a quote inside a cell twice")
			}
		}
		l.cells = append(l.cells, bytes.TrimSpace(cell))
		if !more {
			return l.cells, nil
		}
		line = rest
	}
}

// TooWide returns the fault for a line of more cells than are supported in its format.
func TooWide(file string, line, most int) *fault.Error {
	return InLine(file, line, "TOO_MANY_COLUMNS",
		"the line has more than %d cells; check the format of the file and --delimiter; so many columns must be an "+
			"array (.npy) or sparse points (.svm, .npz)", most)
}

// splitAtWhiteSpace splits a line at runs of spaces, tabs and commas. Quotes mean nothing.
func (l *Lines) splitAtWhiteSpace(line []byte) ([][]byte, error) {
	isGap := func(c rune) bool { return c == ' ' || c == '\t' || c == ',' || c == '\r' }
	if len(line) > BufferSize { // count its cells, because appending them would take four times their memory
		count := 0
		for range bytes.FieldsFuncSeq(line, isGap) {
			count++
		}
		if count > maxCells {
			return nil, TooWide(l.Name, l.LineNumber, maxCells)
		}
		l.cells = slices.Grow(l.cells, count)
	}
	start := -1
	for at, c := range line {
		gap := isGap(rune(c))
		if gap && start >= 0 {
			l.cells = append(l.cells, line[start:at])
			start = -1
		} else if !gap && start < 0 {
			start = at
		}
	}
	if start >= 0 {
		l.cells = append(l.cells, line[start:])
	}
	return l.cells, nil
}

// Unquote returns the content of the quoted cell at a position, where "" stands for one quote, and the position after
// it, negative if the cell is not closed.
func Unquote(text []byte, at int) (content []byte, end int) {
	start := at + 1
	for {
		quote := bytes.IndexByte(text[start:], '"')
		if quote < 0 {
			return nil, -1
		}
		end = start + quote + 1
		if end == len(text) || text[end] != '"' {
			if content == nil {
				return text[start : end-1], end
			}
			return append(content, text[start:end-1]...), end
		}
		content = append(content, text[start:end]...)
		start = end + 1
	}
}

// FirstLine returns a text up to its first line end.
func FirstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.TrimSpace(line)
}
