package csv

import (
	"bytes"
	"errors"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// dialect holds the character between cells.
type dialect struct {
	separator byte
}

// errUnclosed reports a quoted cell without an end, errAfterQuote one with text after its end, and errTooWide a row of
// more cells than a table may have.
var (
	errUnclosed   = errors.New("a quoted cell is not closed; write a quote inside a cell twice")
	errAfterQuote = errors.New("there is text after a quoted cell; write a quote inside a cell twice")
	errTooWide    = errors.New("the row is too wide")
)

// split appends the cells of the row at position at, without surrounding space, and returns the position after the row.
// The text must contain the end of the row, unless a quoted cell is not closed. With errTooWide it returns the first
// table.MaxColumns + 1 cells.
func (d dialect) split(text []byte, at int, cells [][]byte) ([][]byte, int, error) {
	seen := -1 // the row is known to have a cell at this position, so its end is not looked for before
	for {
		for text[at] == ' ' {
			at++
		}
		if d.separator == ' ' && len(cells) > 0 && at > seen {
			end := at
			for end < len(text) && (text[end] == ' ' || text[end] == '\r') {
				end++
			}
			if end == len(text) || text[end] == '\n' {
				return cells, min(end+1, len(text)), nil // spaces after the last cell
			}
			seen = end
		}
		if len(cells) > table.MaxColumns {
			return cells, at, errTooWide
		}
		if text[at] != '"' {
			end := at + d.cellEnd(text[at:])
			cells = append(cells, bytes.TrimSpace(text[at:end]))
			at = end + 1
			if text[end] == '\n' {
				return cells, at, nil
			}
			continue
		}
		content, end := scan.Unquote(text, at)
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

// cellEnd returns the position of the next separator or line end.
func (d dialect) cellEnd(text []byte) int {
	for at, c := range text {
		if c == d.separator || c == '\n' {
			return at
		}
	}
	return len(text)
}

// lastRowEnd returns the position after the last complete row. Line ends in quoted cells do not end a row.
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
		at = quote + 1
		if d.opens(text, quote) {
			_, at = scan.Unquote(text, quote)
			if at < 0 {
				return end
			}
		}
	}
}

// opens reports whether a quote is the start of a cell.
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

// eachSniffedRow visits at most most non-blank rows of the beginning of a text, up to one that is too wide. It skips
// the last row, which may be incomplete, unless it is the only one.
func eachSniffedRow(prefix []byte, d dialect, most int, visit func(cells [][]byte)) {
	if end := d.lastRowEnd(prefix); end > 0 {
		prefix = prefix[:end]
	} else {
		prefix = withEnd(prefix)
	}
	var cells [][]byte
	for at := 0; at < len(prefix) && most > 0; {
		var err error
		cells, at, err = d.split(prefix, at, cells[:0])
		if err != nil && !errors.Is(err, errTooWide) {
			return
		}
		if len(cells) > 1 || len(cells[0]) > 0 {
			visit(cells)
			most--
		}
		if err != nil {
			return
		}
	}
}

// withEnd returns a text that ends with a line end, a copy if it has none.
func withEnd(text []byte) []byte {
	if bytes.HasSuffix(text, []byte("\n")) {
		return text
	}
	return append(text[:len(text):len(text)], '\n')
}

// separators lists the separators to try. Those that rarely occur inside cells come first.
var separators = []byte{'\t', ';', '|', ','}

// sniffSeparator guesses the cell separator from the beginning of a text: the first separator that gives all rows the
// same number of cells, or else the one that does so for most rows. It returns usual if no separator occurs.
func sniffSeparator(prefix []byte, usual byte) byte {
	if hasDecimalCommas(prefix) {
		return ';'
	}
	best, most := usual, 0.0
	for _, separator := range separators {
		share := evenness(prefix, dialect{separator})
		if share == 1 {
			return separator
		}
		if share > most || share == most && separator == usual {
			best, most = separator, share
		}
	}
	if spaces := (dialect{' '}); most == 0 && evenness(prefix, spaces) == 1 && sniffRows(prefix, spaces).hasNumbers() {
		return ' '
	}
	return best
}

// separatorOfNames corrects the separator found for a text whose column names are known: if found yields other columns,
// and another character of the first line yields these, it returns that one. For columns without names, only their
// number is compared.
func separatorOfNames(prefix []byte, found byte, names []string) byte {
	if len(names) == 0 || sniffRows(prefix, dialect{found}).has(names) {
		return found
	}
	var tried [256]bool
	tried[found] = true
	for _, c := range scan.FirstLine(prefix) {
		if tried[c] {
			continue
		}
		tried[c] = true
		isPart := c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
		if !isPart && !bytes.ContainsRune([]byte("\".-+_\r"), rune(c)) && sniffRows(prefix, dialect{c}).has(names) {
			return c
		}
	}
	return found
}

// evenness returns the share of rows that have the most frequent number of cells, or 0 if that number is 1. The first
// row may have one cell less, like a header above rows with row names.
func evenness(prefix []byte, d dialect) float64 {
	const rows = 200
	count := map[int]int{}
	first, all := 0, 0
	eachSniffedRow(prefix, d, rows, func(cells [][]byte) {
		if all == 0 {
			first = len(cells)
		}
		count[len(cells)]++
		all++
	})
	most := 0
	for cells, rows := range count {
		if cells > 2 && first == cells-1 {
			rows++
		}
		if cells > 1 {
			most = max(most, rows)
		}
	}
	return float64(most) / float64(max(all, 1))
}

// hasDecimalCommas reports whether a text is a single column of numbers with decimal commas: a name, and below it lines
// like 12,5, where the part before the comma does not number the lines as a row name would.
func hasDecimalCommas(prefix []byte) bool {
	if bytes.IndexByte(prefix, '"') >= 0 {
		return false
	}
	row, commas, decimals, counts := 0, 0, true, true
	eachSniffedRow(prefix, dialect{','}, len(prefix), func(cells [][]byte) {
		switch whole, _, ok := integerCell(bytes.TrimLeft(cells[0], "-")); {
		case row == 0:
			decimals = len(cells) == 1 && !ok
		case !ok || len(cells) > 2 || len(cells) == 2 && (len(cells[1]) == 0 || !onlyDigits(cells[1])):
			decimals = false
		default:
			counts = counts && len(cells) == 2 && (whole == int64(row) || whole == int64(row-1))
		}
		row++
		commas += len(cells) - 1
	})
	return decimals && commas > 0 && !counts
}
