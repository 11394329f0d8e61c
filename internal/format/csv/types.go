package csv

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// evidence records as bits what has been seen in the cells of a column. The kind of the column follows from it.
type evidence uint32

// The lowest bits are readings by which some cell is not a number. The marks of numbers follow.
const (
	isText             = evidence(allReadings)
	firstMark evidence = 1 << 8
	sawBare   evidence = 1 << 24 // a number without a mark
	sawPadded evidence = 1 << 25 // an integer that does not print as it was written: 007
	sawCell   evidence = 1 << 26 // a cell that is not missing
	allMarks           = sawBare - firstMark

	sawParentheses evidence = 1 << 27 // a negative number as (5)
	sawMinus       evidence = 1 << 28 // a negative number with U+2212 instead of a hyphen
	sawZeros       evidence = 1 << 29 // an integer with leading zeros
	sawLimit       evidence = 1 << 30 // a number with a sign such as < before it or * after it
	allSigns                = sawParentheses | sawMinus | sawLimit
	sawNonzero     evidence = 1 << 31 // a number other than 0 without a mark
)

// csvColumn describes a column.
type csvColumn struct {
	name   string
	seen   evidence
	unit   string // that follows the numbers, if the first rows have one
	asText bool   // the user asked for it
	isID   bool   // named like an id, whose values must be printed as they were written
	isCode bool   // named like a code, whose leading zeros matter
}

// kind returns how to parse the cells: by the first reading that fits all of them. decimals is the decimal separator of
// the table, "" if unknown.
func (c *csvColumn) kind(d dialect, decimals string) kind {
	marked := c.seen & allMarks
	switch {
	case c.asText, c.isCode && c.seen&(sawPadded|firstMark<<unitMark) != 0, c.isID && (c.seen&sawCell == 0 || c.seen&(evidence(asInteger)|sawPadded|allMarks) != 0):
		return kind{Type: table.Text}
	case c.seen&sawCell == 0:
		return plainNumbers('.')
	case marked&(marked-1) != 0, c.seen&sawNonzero != 0 && marked&(firstMark|firstMark<<unitMark) != 0:
		return kind{Type: table.Text} // several marks, or numbers without % or a unit other than 0
	}
	signs := c.seen & allSigns
	for _, r := range d.preferred(decimals) {
		switch {
		case c.seen&evidence(r) != 0, (marked != 0 || signs != 0) && r == asInteger:
		case marked != 0:
			k := kind{Type: table.Number, reading: r, mark: bits.TrailingZeros32(uint32(marked / firstMark)), bare: c.seen&sawBare != 0, signs: signs}
			if k.mark == unitMark {
				k.unit = c.unit
			}
			return k
		case signs != 0:
			return kind{Type: table.Number, reading: r, mark: noMark, signs: signs}
		case r == asInteger:
			return kind{Type: table.Integer}
		case r == asPoint:
			return plainNumbers('.')
		case r == asComma:
			return plainNumbers(',')
		default:
			return kind{Type: table.Number, reading: r, mark: noMark}
		}
	}
	return kind{Type: table.Text}
}

// classify returns the evidence that a cell gives about its column, none for a missing value.
func (d dialect) classify(cell []byte) evidence {
	if isMissingNumber(cell) {
		return 0
	}
	if v, padded, ok := integerCell(cell); ok { // the common case, which all readings agree on
		seen := sawCell | sawBare
		if v != 0 {
			seen |= sawNonzero
		}
		switch {
		case padded && cell[0] == '+':
			return seen | sawPadded
		case padded:
			return seen | sawPadded | sawZeros
		}
		return seen
	}
	bare, mark, signs := cutMark(cell)
	seen := sawCell | evidence(allReadings&^readingsOf(bare))
	switch {
	case seen&isText == isText:
		return seen
	case signs != 0:
		seen |= signs | evidence(asInteger)
	}
	if mark != noMark {
		return seen | firstMark<<mark
	}
	if bytes.ContainsAny(bare, "123456789") {
		seen |= sawNonzero
	}
	return seen | sawBare
}

// classifyIn is classify for a cell of a column whose numbers have a unit, "" for none.
func (d dialect) classifyIn(unit string, cell []byte) evidence {
	seen := d.classify(cell)
	if unit == "" || !seen.isWord() {
		return seen
	}
	if bare, found := cutUnit(cell, unit); found {
		if inside := d.classify(bare); !inside.isWord() && inside&allMarks == 0 {
			return inside&^(sawBare|sawNonzero) | firstMark<<unitMark
		}
	}
	return seen
}

// isWord reports whether a cell is not a number by any reading.
func (e evidence) isWord() bool { return e&isText == isText }

// integerCell parses an integer. It rejects -0, whose sign an integer cannot keep.
func integerCell(cell []byte) (value int64, padded, ok bool) {
	value, err := strconv.ParseInt(string(cell), 10, 64)
	if err != nil || value == 0 && cell[0] == '-' {
		return 0, false, false
	}
	digits := bytes.TrimPrefix(cell, []byte("-"))
	return value, cell[0] == '+' || len(digits) > 1 && digits[0] == '0', true
}

// parseNumber parses a number with a decimal point or comma.
func parseNumber(cell []byte, point byte) (float64, bool) {
	if point == '.' {
		return scan.ParseFloat(cell)
	}
	if v, _, ok := integerCell(cell); ok {
		return float64(v), true
	}
	if bytes.Count(cell, []byte(",")) != 1 || bytes.IndexByte(cell, '.') >= 0 {
		return 0, false
	}
	return scan.ParseFloat(bytes.Replace(cell, []byte(","), []byte("."), 1))
}

// isMissingNumber reports whether a cell in a column of numbers stands for a missing value.
func isMissingNumber(cell []byte) bool {
	if len(cell) > 4 {
		return isErrorOfExcel(cell)
	}
	switch string(cell) {
	case "-", "--", "–", "—", ".", "..": // used in reports, by SAS, and by statistical offices
		return true
	}
	return isMissingText(cell) || strings.EqualFold(string(cell), "none")
}

// isErrorOfExcel reports whether a cell is the error value of a formula, such as #DIV/0!, #NAME?, or in German #WERT!.
func isErrorOfExcel(cell []byte) bool {
	last := cell[len(cell)-1]
	return cell[0] == '#' && (last == '!' || last == '?') && len(cell) <= 9
}

// isMissingText is isMissingNumber for text, where "none" and dashes may be ordinary values.
func isMissingText(cell []byte) bool {
	if len(cell) > 4 {
		return false
	}
	switch strings.ToLower(string(cell)) {
	case "", "?", "na", "n/a", "n.a.", "null", "nan", "#n/a", "#nv", "<na>", `\n`: // \N is written by databases
		return true
	}
	return false
}

// lineCount counts lines of one kind.
type lineCount struct {
	count, first int // the number of lines, and the number of the first line; 0 if there is none
}

func (c *lineCount) add(line int) { c.merge(lineCount{1, line}) }

func (c *lineCount) merge(more lineCount) {
	if c.count == 0 || more.count > 0 && more.first < c.first {
		c.first = more.first
	}
	c.count += more.count
}

// oddLines counts lines that are not read as they are, for notices.
type oddLines struct {
	blank   lineCount // blank lines after the last row, which are no notice unless more rows follow
	notes   lineCount // lines after the last row that are not rows, see csvLayout.isNote
	skipped lineCount // blank lines before the last row, comments, and texts that are not rows
}

// endBlank records that a row follows the blank lines.
func (o *oddLines) endBlank() {
	o.skipped.merge(o.blank)
	o.blank = lineCount{}
}

// merge adds the lines of the next block, which has the given number of rows.
func (o *oddLines) merge(next *oddLines, rows int) {
	if rows > 0 {
		o.endBlank()
	}
	o.blank.merge(next.blank)
	o.notes.merge(next.notes)
	o.skipped.merge(next.skipped)
}

// notices describes how these lines of a file were read.
func (o *oddLines) notices(name string) (notices []string) {
	skipped := o.skipped
	skipped.merge(o.notes)
	for _, kind := range []struct {
		lineCount
		one, more string // what is said about one line, and about several
	}{
		{skipped, "is skipped: it is blank or has text instead of a row", "are skipped: they are blank or have text instead of a row"},
	} {
		switch kind.count {
		case 0:
		case 1:
			notices = append(notices, fmt.Sprintf("%s: line %d %s", name, kind.first, kind.one))
		default:
			notices = append(notices, fmt.Sprintf("%s: %d lines (the first is line %d) %s", name, kind.count, kind.first, kind.more))
		}
	}
	return notices
}

// isAside reports whether the cells of a line are not a row of the table: an aside, or the header again.
func (l *csvLayout) isAside(cells [][]byte) bool {
	return l.dialect.isAside(cells, len(l.columns)) || sameCells(cells, l.header) || isLone(cells) && l.kinds[0].Type != table.Text
}

// isLone reports whether only the first of at least three cells has a value, and that is a word: spreadsheets write notes so.
func isLone(cells [][]byte) bool {
	return len(cells) > 2 && emptyCells(cells[1:]) == len(cells)-1 && !isMissingNumber(cells[0]) && (dialect{}).classify(cells[0]).isWord()
}

// isNote reports whether a line may be a note below the table: it has too few or too many cells, and begins with a word where the
// rows have a number.
func (l *csvLayout) isNote(cells [][]byte) bool {
	return len(cells) != len(l.columns) && l.separator != ' ' && l.kinds[0].Type != table.Text && !isMissingNumber(cells[0]) && l.classify(cells[0]).isWord()
}

// maxNotes is the largest number of lines that may be notes below a table. More are rows of another one.
const maxNotes = 20

// isOverNumbers reports whether the header has a word over a column of numbers.
func (l *csvLayout) isOverNumbers() bool {
	for at, cell := range l.header[:min(len(l.header), len(l.kinds))] {
		if l.kinds[at].Type != table.Text && l.classify(cell).isWord() {
			return true
		}
	}
	return false
}

// sameCells reports whether the rows have the same cells.
func sameCells(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// isAside reports whether the cells of a line are not a row of a table with the given number of columns: a comment, or a single
// text such as a footnote or the title of a section.
func (d dialect) isAside(cells [][]byte, columns int) bool {
	if d.separator == ' ' || len(cells) == columns || isMissingNumber(cells[0]) {
		return false
	}
	return cells[0][0] == '#' || len(cells) == 1 && columns > 2 && d.classify(cells[0]).isWord()
}

// Spreadsheets export formatted but empty rows below a table as lines of separators only. Such rows are held back and
// belong to the table only if other rows follow.

// isHollow reports whether all cells of a line are empty.
func (l *csvLayout) isHollow(line []byte) bool {
	found := 0
	for _, c := range line {
		switch c {
		case l.separator:
			found++
		case ' ', '\r', '\n':
		default:
			return false
		}
	}
	return found > 0 && l.separator != ' '
}

// hollow holds consecutive rows of empty cells, one per line.
type hollow struct {
	rows, firstLine int
}

// appendTo appends the rows to the parsed ones.
func (h *hollow) appendTo(p *csvRows, kinds []kind) {
	for ; h.rows > 0; h.rows-- {
		for at := range p.columns {
			c := &p.columns[at]
			switch kinds[at].Type {
			case table.Integer:
				c.integers = append(c.integers, 0)
			case table.Number:
				c.numbers = append(c.numbers, 0)
			default:
				c.ends = append(c.ends, len(c.texts))
			}
			c.empty = append(c.empty, p.rows)
		}
		p.rows++
	}
}

// take returns the rows as a table.
func (h *hollow) take(l *csvLayout) (*table.Table, error) {
	p := &csvRows{columns: make([]csvCells, len(l.columns))}
	h.appendTo(p, l.kinds)
	err := p.makeTable(l, h.firstLine)
	return p.table, err
}

// notice reports that the table ends with these rows.
func (h *hollow) notice(name string) string {
	if h.rows == 0 {
		return ""
	}
	return fmt.Sprintf("%s: all cells are empty from line %d on; these lines are skipped", name, h.firstLine)
}
