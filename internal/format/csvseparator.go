package format

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// separators are those that tables use, the ones first that stand in few cells.
var separators = []byte{'\t', ';', '|', ','}

// sniffSeparator finds what separates the cells of a text, by the rows of its beginning: the first separator that
// makes the same number of cells in all of them, or else the one that does so in most. Rows without any are of one cell.
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

// separatorOfNames is what separates the cells of a text whose header has these names, if there are any, or whose columns have so
// many places where they are no names: another character than was found, where that one makes other columns.
func separatorOfNames(prefix []byte, found byte, names []string) byte {
	if len(names) == 0 || sniffRows(prefix, dialect{found}).has(names) {
		return found
	}
	for _, c := range firstLine(prefix) {
		isPart := c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
		if !isPart && !bytes.ContainsRune([]byte("\".-+_\r"), rune(c)) && sniffRows(prefix, dialect{c}).has(names) {
			return c
		}
	}
	return found
}

// evenness is the share of rows that have the most frequent number of cells, if that is more than 1; else it is 0. A first row of
// several cells may have one less, as a header has where rows have names.
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

// hasDecimalCommas tells whether a text is a single column of numbers with decimal commas: below a name, all lines are like 12,5,
// and what stands before the comma does not count the lines, as a name of the row would.
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
