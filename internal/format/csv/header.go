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

// beginning summarizes the first rows of a text.
type beginning struct {
	first  [][]byte   // the cells of the first row
	width  int        // the number of cells in the rows after it; 0 if there are none
	below  []evidence // evidence from these rows about each column
	units  []string   // the unit of the first cell of each column that has one
	second [][]byte   // the cells of the first of these rows
	again  bool       // a cell of the first row occurs again in its column
	trails bool       // the last cell of all these rows is empty

	hasUnits bool // the second row belongs to the header; below tells nothing about it
}

// sniffRows summarizes the first rows.
func sniffRows(prefix []byte, d dialect) *beginning {
	b := &beginning{}
	eachSniffedRow(prefix, d, len(prefix), func(cells [][]byte) {
		if b.first == nil {
			for _, cell := range cells {
				b.first = append(b.first, bytes.Clone(cell))
			}
			return
		}
		if d.isAside(cells, len(b.first)) || isLone(cells) {
			return
		}
		if sameCells(cells, b.first) { // the header again, or a row that counts as much as the first
			b.again = true
			return
		}
		if b.width == 0 {
			b.width = len(cells)
			b.below = make([]evidence, len(cells))
			b.units = make([]string, len(cells))
			b.trails = true
			for _, cell := range cells {
				b.second = append(b.second, bytes.Clone(cell))
			}
		} else if len(cells) == b.width || len(cells) == len(b.first) { // others may be notes below the table
			b.learn(cells)
		}
		b.trails = b.trails && len(cells) == b.width && len(cells[b.width-1]) == 0
		for at, cell := range cells[:min(len(cells), b.width)] {
			b.again = b.again || at < len(b.first) && len(cell) > 0 && bytes.Equal(cell, b.first[at])
		}
	})
	b.hasUnits = b.secondHasUnits()
	if b.width > 0 && !b.hasUnits {
		b.learn(b.second)
	}
	return b
}

// learn adds the evidence of a row below the first.
func (b *beginning) learn(cells [][]byte) {
	for at, cell := range cells[:min(len(cells), b.width)] {
		if b.units[at] == "" {
			b.units[at] = unitOf(cell)
		}
		b.below[at] |= classify(cell, b.units[at])
	}
}

// secondHasUnits reports whether the second row belongs to the header, such as a row of units. It does if there are at
// least two columns of numbers and both the first and the second row have a word in each of them.
func (b *beginning) secondHasUnits() bool {
	numbers := 0
	for at, seen := range b.below {
		if seen&sawCell == 0 || seen.isWord() {
			continue
		}
		if at >= len(b.first) || !classify(b.second[at], "").isWord() || !classify(b.first[at], "").isWord() {
			return false
		}
		numbers++
	}
	return numbers > 1
}

// hasNumbers reports whether there is a column of numbers.
func (b *beginning) hasNumbers() bool {
	return slices.ContainsFunc(b.below, func(seen evidence) bool { return seen&sawCell != 0 && !seen.isWord() })
}

// hasHeader reports whether the first row holds the column names. notice is not empty in ambiguous cases.
func (b *beginning) hasHeader(name string) (has bool, notice string) {
	numbers, names, overNumbers := 0, 0, 0
	for at, cell := range b.first {
		switch seen := classify(cell, ""); {
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
	case names == 0 && b.beginsAbove() && (years || b.countsUp(0, 1, 1)), names > 0 && numbers > 0 &&
		(overNumbers > 0 || years):
		return true, fmt.Sprintf("%s: the first line has numbers, but is read as the header; to read it as data, use "+
			"--header no", name)
	case names == 0 && (years || !b.again && b.countsUp(0, 1, 3)):
		return false,
			fmt.Sprintf("%s: the first line looks like a header of years or numbers, but is read as data; to read it "+
				"as the header, use --header yes", name)
	case names == 0:
		return false, ""
	case numbers == 0 && overNumbers == 0 && b.again:
		return false,
			fmt.Sprintf("%s: the first line is read as data, because other lines repeat some of its cells; to read "+
				"it as the header, use --header yes", name)
	}
	return numbers == 0, ""
}

// beginsAbove reports whether the first cell of the first row is empty and those below are not, as in headers that
// pandas writes above an index.
func (b *beginning) beginsAbove() bool {
	return len(b.first) > 1 && len(b.first[0]) == 0 && b.width > 0 && b.below[0]&sawCell != 0
}

// hasNames reports whether the first row contains all of names, of which there must be some.
func (b *beginning) hasNames(names []string) bool {
	first := make(map[string]bool, len(b.first))
	for _, cell := range b.first {
		first[shortName(string(cell))] = true
	}
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !first[name] })
}

// hasNoNames reports whether names are those that nameColumns gives to columns without a header.
func (b *beginning) hasNoNames(names []string) bool {
	unnamed := make(map[string]bool, len(b.first))
	for at := range b.first {
		unnamed[table.Unnamed(at)] = true
	}
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !unnamed[name] })
}

// has reports whether names are those of the first row, or of columns without names.
func (b *beginning) has(names []string) bool { return b.hasNames(names) || b.hasNoNames(names) }

// countsUp reports whether the first row contains at least least integers, each one more than the one before, the first
// between low and high.
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

// nameColumns names the columns after the cells of the header, made distinct, or after their positions. Rows may have
// one cell more than the header, as R writes them: a row name in front, whose column has no name.
func nameColumns(header [][]byte, width int) (names, notices []string) {
	if header != nil && width == len(header)+1 {
		header = slices.Insert(slices.Clone(header), 0, []byte(nil))
	}
	if header != nil {
		width = len(header)
	}
	names = make([]string, width)
	for at := range names {
		name := ""
		if header != nil {
			name = shortName(string(header[at]))
			if rest := strings.TrimSpace(strings.TrimLeft(name, "#")); at == 0 && rest != "" {
				name = rest // a header written as a comment: #id,x,y
			}
		}
		if name == "" {
			name = table.Unnamed(at)
		}
		names[at] = name
	}
	return names, table.Distinct(names)
}

// shortName shortens a name and puts it on one line.
func shortName(name string) string {
	name = strings.Join(strings.Fields(name), " ")
	for cut := table.MaxNameBytes - 10; len(name) > table.MaxNameBytes-10; cut-- {
		if utf8.RuneStart(name[cut]) {
			name = name[:cut]
		}
	}
	return name
}

// excelSeparator returns the separator from a first line like sep=; that Excel writes, and the length of that line; 0
// if there is none.
func excelSeparator(text []byte) (separator byte, length int) {
	length = 1 + bytes.IndexByte(text, '\n')
	line := bytes.Trim(text[:length], "\"\r\n")
	if rest, found := bytes.CutPrefix(bytes.ToLower(line), []byte("sep=")); found && len(rest) == 1 {
		return rest[0], length
	}
	return 0, 0
}

// skipComments returns the length of the leading lines that begin with #.
func skipComments(text []byte) (length int) {
	for line := range bytes.Lines(text) {
		if line[0] != '#' {
			return length
		}
		length += len(line)
	}
	return 0 // only comments
}

// skipTitle returns the length and number of the lines above the table: comments, which begin with # and do not have as
// many cells as the rows, and titles, which have one cell where the rows below have more than two. (A header may have
// one cell less than rows with row names.) Spreadsheets pad titles with separators; then a header must follow.
func skipTitle(text []byte, d dialect) (length, lines int) {
	const most = 20
	var cells [][]byte
	titles, comments, padded := 0, 0, false
	for start := 0; start < len(text) && lines < most; {
		end := bytes.IndexByte(text[start:], '\n')
		if end < 0 {
			break
		}
		end += start + 1
		if !isBlank(text[start:end]) {
			var err error
			cells, _, err = d.split(text[:end], start, cells[:0])
			if err != nil {
				break
			}
			filled := len(cells) - emptyCells(cells)
			switch {
			case text[start] == '#' && len(cells) != d.usualCells(text[end:]):
				comments++
			case len(cells) == 1:
				titles++
			case filled <= 1:
				padded = true
			case titles+comments == 0 && !padded, titles > 0 && len(cells) == 2, evenness(text[start:], d) < 0.5,
				padded && !d.startsWithNames(text[start:]):
				return 0, 0
			default:
				return start, lines
			}
		}
		start = end
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

// usualCells returns the most frequent number of cells in the first rows.
func (d dialect) usualCells(text []byte) (usual int) {
	const rows = 200
	count := map[int]int{}
	eachSniffedRow(text, d, rows, func(cells [][]byte) {
		count[len(cells)]++
		if count[len(cells)] > count[usual] {
			usual = len(cells)
		}
	})
	return usual
}

// startsWithNames reports whether the first row names all columns and numbers follow below.
func (d dialect) startsWithNames(text []byte) bool {
	b := sniffRows(text, d)
	return b.hasNumbers() && !slices.ContainsFunc(b.first, func(cell []byte) bool {
		return !classify(cell, "").isWord()
	})
}

// skipBlank returns the length and number of the leading lines that are blank or have only empty cells.
func (d dialect) skipBlank(text []byte) (length, lines int) {
	for line := range bytes.Lines(text) {
		if len(bytes.Trim(line, " \r\n"+string(d.separator))) > 0 {
			break
		}
		length += len(line)
		lines++
	}
	return length, lines
}
