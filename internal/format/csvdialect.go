package format

import (
	"bytes"
	"errors"
)

// dialect is how a text separates its cells.
type dialect struct {
	separator byte
}

// errUnclosed is about a quoted cell that does not end; errAfterQuote about one with text after its end.
var (
	errUnclosed   = errors.New("a quoted cell does not end; a quote within it is written twice")
	errAfterQuote = errors.New("there is text after a quoted cell; a quote within it is written twice")
)

// split appends the cells of the row that starts at a place, without the space around them, and returns the place after
// the row. The text has the end of the row, unless a quoted cell does not end.
func (d dialect) split(text []byte, at int, cells [][]byte) ([][]byte, int, error) {
	for {
		for text[at] == ' ' {
			at++
		}
		if d.separator == ' ' && len(cells) > 0 && isBlank(text[at:at+1+bytes.IndexByte(text[at:], '\n')]) {
			return cells, at + 1 + bytes.IndexByte(text[at:], '\n'), nil // spaces after the last cell
		}
		if text[at] != '"' {
			end := at + d.cellEnd(text[at:])
			cells = append(cells, bytes.TrimSpace(text[at:end]))
			if at = end + 1; text[end] == '\n' {
				return cells, at, nil
			}
			continue
		}
		content, end := unquote(text, at)
		if end < 0 {
			return cells, len(text), errUnclosed
		}
		cells = append(cells, bytes.TrimSpace(content))
		for at = end; at < len(text) && (text[at] == ' ' || text[at] == '\r'); at++ {
		}
		switch {
		case at == len(text) || text[at] == '\n':
			return cells, min(at+1, len(text)), nil
		case d.separator == ' ' && at > end:
			continue
		case text[at] != d.separator:
			return cells, at, errAfterQuote
		}
		at++
	}
}

// cellEnd is the place of the next separator or line end.
func (d dialect) cellEnd(text []byte) int {
	for at, c := range text {
		if c == d.separator || c == '\n' {
			return at
		}
	}
	return len(text)
}

// unquote is the content of the quoted cell at a place, and the place after it, negative if it does not end.
func unquote(text []byte, at int) (content []byte, end int) {
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

// lastRowEnd is the place after the last row that ends in a text; line ends in quoted cells are no ends of rows.
func (d dialect) lastRowEnd(text []byte) int {
	end, at := 0, 0
	for {
		quote := bytes.IndexByte(text[at:], '"')
		plain := text[at:]
		if quote >= 0 {
			plain = plain[:quote]
		}
		if last := bytes.LastIndexByte(plain, '\n'); last >= 0 {
			end = at + last + 1
		}
		if quote < 0 {
			return end
		}
		quote += at
		if at = quote + 1; d.opens(text, quote) {
			if _, at = unquote(text, quote); at < 0 {
				return end
			}
		}
	}
}

// opens tells whether a quote is the beginning of a cell.
func (d dialect) opens(text []byte, quote int) bool {
	for before := quote - 1; before >= 0; before-- {
		switch text[before] {
		case ' ':
			if d.separator == ' ' {
				return true
			}
		case d.separator, '\n':
			return true
		default:
			return false
		}
	}
	return true
}

// eachSniffedRow visits rows of the beginning of a text, up to so many, that are not blank. The last may be cut, and is
// left out unless it is the only one.
func eachSniffedRow(prefix []byte, d dialect, most int, visit func(cells [][]byte)) {
	if end := d.lastRowEnd(prefix); end > 0 {
		prefix = prefix[:end]
	} else {
		prefix = append(bytes.Clone(prefix), '\n')
	}
	var cells [][]byte
	for at := 0; at < len(prefix) && most > 0; {
		var err error
		if cells, at, err = d.split(prefix, at, cells[:0]); err != nil {
			return
		}
		if len(cells) > 1 || len(cells[0]) > 0 {
			visit(cells)
			most--
		}
	}
}
