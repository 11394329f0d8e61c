package csv

import (
	"bytes"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// evidence is what has been seen in the cells of a column, as bits. The type of the column follows from it.
type evidence uint32

// The lowest bits are the readings by which some cell is not a number, and then come the marks of numbers.
const (
	isText             = evidence(allReadings)
	firstMark evidence = 1 << 8
	sawBare   evidence = 1 << 24 // a number without a mark
	sawPadded evidence = 1 << 25 // an integer that would change if it were written again: 007
	sawCell   evidence = 1 << 26 // one that is not missing
	allMarks           = sawBare - firstMark

	sawParentheses evidence = 1 << 27 // a negative number as (5)
	sawMinus       evidence = 1 << 28 // one with the minus of typesetters, which is no hyphen
	allSigns                = sawParentheses | sawMinus
	sawZeros       evidence = 1 << 29 // an integer with zeros in front
)

// csvColumn is a column of a text.
type csvColumn struct {
	name   string
	seen   evidence
	asText bool // it was asked for
	isID   bool // its name says that it names the rows, which must come back as they were written
	isCode bool // its name says that it holds codes, whose zeros in front matter
}

// kind is how the cells are read: by the first way to write numbers that all of them follow, in a table with this character before
// decimals, if it is known.
func (c *csvColumn) kind(d dialect, decimals string) kind {
	marked := c.seen & allMarks
	switch {
	case c.asText, c.isCode && c.seen&sawPadded != 0, c.isID && (c.seen&sawCell == 0 || c.seen&(evidence(asInteger)|sawPadded|allMarks) != 0):
		return kind{Type: table.Text}
	case c.seen&sawCell == 0:
		return plainNumbers('.')
	case marked != 0 && (marked&(marked-1) != 0 || c.seen&sawBare != 0):
		return kind{Type: table.Text} // of several currencies, or some without a mark
	}
	signs := c.seen & allSigns
	for _, r := range d.preferred(decimals) {
		switch {
		case c.seen&evidence(r) != 0, (marked != 0 || signs != 0) && r == asInteger:
		case marked != 0:
			return kind{Type: table.Number, reading: r, mark: bits.TrailingZeros32(uint32(marked / firstMark)), signs: signs}
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

// classify is what a cell tells about its column; one that is missing tells nothing.
func (d dialect) classify(cell []byte) evidence {
	if isMissingNumber(cell) {
		return 0
	}
	if _, padded, ok := integerCell(cell); ok { // as most are, which all readings take for the same
		switch {
		case padded && cell[0] == '+':
			return sawCell | sawBare | sawPadded
		case padded:
			return sawCell | sawBare | sawPadded | sawZeros
		}
		return sawCell | sawBare
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
	return seen | sawBare
}

// isWord reports whether a cell is not a number.
func (e evidence) isWord() bool { return e&isText == isText }

// integerCell reads an integer. -0 is none: the zero of a number has a sign, which integers do not keep.
func integerCell(cell []byte) (value int64, padded, ok bool) {
	value, err := strconv.ParseInt(string(cell), 10, 64)
	if err != nil || value == 0 && cell[0] == '-' {
		return 0, false, false
	}
	digits := bytes.TrimPrefix(cell, []byte("-"))
	return value, cell[0] == '+' || len(digits) > 1 && digits[0] == '0', true
}

// parseComma reads a number with a comma in place of the point.
func parseComma(cell []byte) (float64, bool) {
	if bytes.Count(cell, []byte(",")) != 1 || bytes.IndexByte(cell, '.') >= 0 {
		return 0, false
	}
	return scan.ParseFloat(bytes.Replace(cell, []byte(","), []byte("."), 1))
}

// parseNumber reads a number whose decimals follow a point, or a comma.
func parseNumber(cell []byte, point byte) (float64, bool) {
	if point == '.' {
		return scan.ParseFloat(cell)
	}
	if v, _, ok := integerCell(cell); ok {
		return float64(v), true
	}
	return parseComma(cell)
}

// isMissingNumber reports whether a cell in a column of numbers says that its value is not known.
func isMissingNumber(cell []byte) bool {
	if len(cell) > 4 {
		return isErrorOfExcel(cell)
	}
	switch string(cell) {
	case "-", "--", ".", "..": // as in reports, in files of SAS, and of offices of statistics
		return true
	}
	return isMissingText(cell) || strings.EqualFold(string(cell), "none")
}

// isErrorOfExcel reports whether a cell is what formulas become that have no value: #DIV/0!, #NAME?, and in German #WERT!.
func isErrorOfExcel(cell []byte) bool {
	last := cell[len(cell)-1]
	return cell[0] == '#' && (last == '!' || last == '?') && len(cell) <= 9
}

// isMissingText is isMissingNumber for texts, among which none and a dash may be words as others are.
func isMissingText(cell []byte) bool {
	if len(cell) > 4 {
		return false
	}
	switch strings.ToLower(string(cell)) {
	case "", "?", "na", "n/a", "n.a.", "null", "nan", "#n/a", "#nv", "<na>", `\n`: // the last as databases write it
		return true
	}
	return false
}

// Spreadsheets export rows below the table in which there once was something, or a color: lines of nothing but separators. Such
// rows are held back, and are part of the table only if others follow.

// isHollow reports whether a line is a row in which all cells are empty.
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
	return found == len(l.columns)-1 && l.separator != ' '
}

// hollow are rows in which all cells are empty, one a line.
type hollow struct {
	rows, firstLine int
}

// appendTo adds the rows to those that are parsed.
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

// notice says that there are no others after them.
func (h *hollow) notice(name string) string {
	if h.rows == 0 {
		return ""
	}
	return fmt.Sprintf("%s: nothing stands in the cells of the lines from %d on, which are left out", name, h.firstLine)
}
