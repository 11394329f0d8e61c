package format

import (
	"bytes"
	"slices"
)

// excelSeparator is the separator that a first line such as sep=; tells Excel, with the length of that line; 0 where there is none.
func excelSeparator(text []byte) (separator byte, length int) {
	length = 1 + bytes.IndexByte(text, '\n')
	line := bytes.Trim(text[:length], "\"\r\n")
	if rest, found := bytes.CutPrefix(bytes.ToLower(line), []byte("sep=")); found && len(rest) == 1 {
		return rest[0], length
	}
	return 0, 0
}

// skipComments is the length of the lines that a text begins with and that begin with #.
func skipComments(text []byte) (length int) {
	for line := range bytes.Lines(text) {
		if line[0] != '#' {
			return length
		}
		length += len(line)
	}
	return 0 // there is nothing else
}

// skipTitle is the length and the number of the lines before the table: comments, which begin with # and have other cells than
// the rows have, and titles, of a single cell where the rows that follow have more than two. A header may have one cell less than
// rows that have names. Spreadsheets put separators after a title: then names have to follow.
func skipTitle(text []byte, d dialect) (length, lines int) {
	const most = 20
	var cells [][]byte
	titles, comments, padded := 0, 0, false
	for at := 0; at < len(text) && lines < most; {
		end := bytes.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		end += at + 1
		if !isBlank(text[at:end]) {
			var err error
			if cells, _, err = d.split(text[:end], at, cells[:0]); err != nil {
				break
			}
			filled := len(cells) - emptyCells(cells)
			switch {
			case text[at] == '#' && len(cells) != d.usualCells(text[end:]):
				comments++
			case len(cells) == 1:
				titles++
			case filled <= 1:
				padded = true
			case titles+comments == 0 && !padded, titles > 0 && len(cells) == 2, evenness(text[at:], d) < 0.5, padded && !d.startsWithNames(text[at:]):
				return 0, 0
			default:
				return at, lines
			}
		}
		at = end
		lines++
	}
	return 0, 0
}

func emptyCells(cells [][]byte) (count int) {
	for _, cell := range cells {
		if len(cell) == 0 {
			count++
		}
	}
	return count
}

// usualCells is how many cells most rows of the beginning of a text have.
func (d dialect) usualCells(text []byte) (usual int) {
	const rows = 200
	count := map[int]int{}
	eachSniffedRow(text, d, rows, func(cells [][]byte) {
		if count[len(cells)]++; count[len(cells)] > count[usual] {
			usual = len(cells)
		}
	})
	return usual
}

// startsWithNames tells whether the first row names all columns, with numbers below.
func (d dialect) startsWithNames(text []byte) bool {
	b := sniffRows(text, d)
	return b.hasNumbers() && !slices.ContainsFunc(b.first, func(cell []byte) bool { return !d.classify(cell).isWord() })
}

// skipBlank is the length and the number of the blank lines that a text begins with.
func skipBlank(text []byte) (length, lines int) {
	for line := range bytes.Lines(text) {
		if !isBlank(line) {
			break
		}
		length += len(line)
		lines++
	}
	return length, lines
}
