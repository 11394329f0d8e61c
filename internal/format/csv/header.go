package csv

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/data/table"
)

// beginning is what the first rows of a text tell.
type beginning struct {
	first  [][]byte   // the cells of the first row
	width  int        // the number of cells of the rows after it; 0 when there are none
	below  []evidence // what these rows tell about each column
	again  bool       // a cell of the first row stands in the same column of another
	trails bool       // nothing stands in the last cell of all of these rows
}

// sniffRows reads the first rows.
func sniffRows(prefix []byte, d dialect) *beginning {
	b := &beginning{}
	eachSniffedRow(prefix, d, len(prefix), func(cells [][]byte) {
		if b.first == nil {
			for _, cell := range cells {
				b.first = append(b.first, bytes.Clone(cell))
			}
			return
		}
		if b.width == 0 {
			b.width, b.below, b.trails = len(cells), make([]evidence, len(cells)), true
		}
		b.trails = b.trails && len(cells) == b.width && len(cells[b.width-1]) == 0
		for at, cell := range cells[:min(len(cells), b.width)] {
			b.below[at] |= d.classify(cell)
			b.again = b.again || at < len(b.first) && len(cell) > 0 && bytes.Equal(cell, b.first[at])
		}
	})
	return b
}

// hasNumbers reports whether there is a column of numbers.
func (b *beginning) hasNumbers() bool {
	return slices.ContainsFunc(b.below, func(seen evidence) bool { return seen&sawCell != 0 && !seen.isWord() })
}

// hasHeader decides whether the first row names the columns. The notice, if any, asks about a case of doubt.
func (b *beginning) hasHeader(d dialect, name string) (has bool, notice string) {
	numbers, names, overNumbers := 0, 0, 0
	for at, cell := range b.first {
		switch seen := d.classify(cell); {
		case seen.isWord():
			names++
			if at < len(b.below) && b.below[at] != 0 && !b.below[at].isWord() {
				overNumbers++
			}
		case seen != 0:
			numbers++
		}
	}
	years := !b.again && b.countsUp(1500, 2200, 2)
	switch {
	case names == 0 && b.beginsAbove() && (years || b.countsUp(0, 1, 1)), names > 0 && numbers > 0 && (overNumbers > 0 || years):
		return true, fmt.Sprintf("%s: the first line has numbers, but is read as the header; --header no makes it data", name)
	case names == 0 && (years || !b.again && b.countsUp(0, 1, 3)):
		return false, fmt.Sprintf("%s: the first line looks like a header of years or numbers, but is read as data; --header yes makes it the header", name)
	case names == 0:
		return false, ""
	case numbers == 0 && overNumbers == 0 && b.again:
		return false, fmt.Sprintf("%s: the first line is read as data, because other lines repeat it in part; --header yes makes it the header", name)
	}
	return numbers == 0, ""
}

// beginsAbove reports whether the first row has no cell where others have one in front, as the names of columns that pandas writes
// above an index.
func (b *beginning) beginsAbove() bool {
	return len(b.first) > 1 && len(b.first[0]) == 0 && b.width > 0 && b.below[0]&sawCell != 0
}

// hasNames reports whether all of these names, if there are any, stand in the first row.
func (b *beginning) hasNames(names []string) bool {
	first := make(map[string]bool, len(b.first))
	for _, cell := range b.first {
		first[shortName(string(cell))] = true
	}
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !first[name] })
}

// hasNoNames reports whether these names, if there are any, are those of columns without names.
func (b *beginning) hasNoNames(names []string) bool {
	unnamed := make(map[string]bool, len(b.first))
	for at := range b.first {
		unnamed[table.Unnamed(at)] = true
	}
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !unnamed[name] })
}

// has reports whether these are names of the first row, or of columns without names.
func (b *beginning) has(names []string) bool { return b.hasNames(names) || b.hasNoNames(names) }

// countsUp reports whether the numbers of the first row are so many at least, and each is one more than the one before, from low to
// high for the first.
func (b *beginning) countsUp(low, high, least int) bool {
	last, count := 0, 0
	for _, cell := range b.first {
		number, err := strconv.Atoi(string(cell))
		if err != nil {
			continue
		}
		if count == 0 && (number < low || number > high) || count > 0 && number != last+1 {
			return false
		}
		last = number
		count++
	}
	return count >= least
}

// nameColumns names the columns: by the cells of a header, made distinct, or by their places. Rows may have a cell more
// than the header, as those of R do: a name in front that has no name itself.
func nameColumns(header [][]byte, width int) (columns []csvColumn, notices []string) {
	if header != nil && width == len(header)+1 {
		header = slices.Insert(slices.Clone(header), 0, []byte(nil))
	}
	if header != nil {
		width = len(header)
	}
	names := make([]string, width)
	for at := range names {
		name := ""
		if header != nil {
			name = shortName(string(header[at]))
			if rest := strings.TrimSpace(strings.TrimLeft(name, "#")); at == 0 && rest != "" {
				name = rest // a header in the form of a comment: #id,x,y
			}
		}
		if name == "" {
			name = table.Unnamed(at)
		}
		names[at] = name
	}
	notices = table.Distinct(names)
	columns = make([]csvColumn, width)
	for at, name := range names {
		columns[at] = csvColumn{name: name, isCode: table.IsCodeName(name), isID: table.IsIDName(name) || at == 0 && header != nil && name == table.Unnamed(0)}
	}
	return columns, notices
}

// shortName is a name that is not too long, on one line.
func shortName(name string) string {
	name = strings.Join(strings.Fields(name), " ")
	for cut := table.MaxNameBytes - 10; len(name) > table.MaxNameBytes-10; cut-- {
		if utf8.RuneStart(name[cut]) {
			name = name[:cut]
		}
	}
	return name
}

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

// startsWithNames reports whether the first row names all columns, with numbers below.
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
