package format

import "bytes"

// anyWhiteSpace separates cells by any run of spaces, tabs and commas.
const anyWhiteSpace = 0

// split splits a line into cells, without the space around them. They are parts of the line, and the
// slice of them is reused for the next line.
func (l *lines) split(line []byte) ([][]byte, error) {
	l.cells = l.cells[:0]
	if l.separator == anyWhiteSpace {
		l.splitAtWhiteSpace(line)
		return l.cells, nil
	}
	if bytes.IndexByte(line, '"') >= 0 {
		err := l.splitQuoted(line)
		return l.cells, err
	}
	for {
		at := bytes.IndexByte(line, l.separator)
		if at < 0 {
			l.cells = append(l.cells, bytes.TrimSpace(line))
			return l.cells, nil
		}
		l.cells = append(l.cells, bytes.TrimSpace(line[:at]))
		line = line[at+1:]
	}
}

func (l *lines) splitAtWhiteSpace(line []byte) {
	start := -1
	for at, c := range line {
		gap := c == ' ' || c == '\t' || c == ',' || c == '\r'
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
}

// splitQuoted handles cells in double quotes, where "" stands for one quote. A quoted cell ends on
// its line.
func (l *lines) splitQuoted(line []byte) error {
	for {
		cell := bytes.TrimLeft(line, " ")
		if len(cell) == 0 || cell[0] != '"' {
			at := bytes.IndexByte(line, l.separator)
			if at < 0 {
				l.cells = append(l.cells, bytes.TrimSpace(line))
				return nil
			}
			l.cells = append(l.cells, bytes.TrimSpace(line[:at]))
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
		l.cells = append(l.cells, bytes.TrimSpace(content))
		rest = bytes.TrimLeft(rest, " ")
		if len(rest) == 0 {
			return nil
		}
		if rest[0] != l.separator {
			return l.invalid("UNCLOSED_QUOTE", "there is text after a quoted cell")
		}
		line = rest[1:]
	}
}
