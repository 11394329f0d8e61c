package csv

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// reading is a notation of numbers. Readings are bits, so that a column can rule out several.
type reading uint16

const (
	asInteger     reading = 1 << iota
	asPoint               // 1234.5, also 1e3
	asComma               // 1234,5
	asCommaGroups         // 1,234.5
	asPointGroups         // 1.234,5
	asSpacePoint          // 1 234.5
	asSpaceComma          // 1 234,5
	asApostrophes         // 1'234.5
	allReadings   = asApostrophes<<1 - 1
)

// grouped holds the readings with a thousands separator.
var grouped = map[reading]struct{ group, point byte }{
	asCommaGroups: {',', '.'}, asPointGroups: {'.', ','}, asSpacePoint: {' ', '.'}, asSpaceComma: {' ', ','}, asApostrophes: {'\'', '.'},
}

// Readings by their decimal separator.
const (
	withPoint = asPoint | asCommaGroups | asSpacePoint | asApostrophes
	withComma = asComma | asPointGroups | asSpaceComma
)

// preferred lists the readings of a column in the order in which they are tried. decimals is the decimal separator of
// the table, if known: 1.234 is a thousand where other numbers are like 5,6. If it is unknown, 1,234 has decimals,
// unless commas also separate cells.
func (d dialect) preferred(decimals string) []reading {
	switch {
	case decimals == ",":
		return []reading{asInteger, asComma, asPointGroups, asSpaceComma, asPoint, asCommaGroups, asSpacePoint, asApostrophes}
	case decimals == "." || d.separator == ',':
		return []reading{asInteger, asPoint, asCommaGroups, asComma, asPointGroups, asSpacePoint, asSpaceComma, asApostrophes}
	}
	return []reading{asInteger, asPoint, asComma, asCommaGroups, asPointGroups, asSpacePoint, asSpaceComma, asApostrophes}
}

// decimalsOf returns the decimal separator of the unambiguous columns, "" if there are none or they differ.
func decimalsOf(columns []csvColumn) string {
	marks := ""
	for _, c := range columns {
		possible := allReadings &^ reading(c.seen&isText)
		switch {
		case c.asText || c.isID || c.seen&sawCell == 0 || possible&asInteger != 0:
		case possible&withPoint != 0 && possible&withComma == 0:
			marks += "."
		case possible&withComma != 0 && possible&withPoint == 0:
			marks += ","
		}
	}
	return Same(marks)
}

// Same returns the character that marks consists of, "" if there are several or none.
func Same(marks string) string {
	if marks == "" || strings.Trim(marks, marks[:1]) != "" {
		return ""
	}
	return marks[:1]
}

// decimals returns the decimal separator by which the columns were read, including ambiguous ones.
func (l *csvLayout) decimals() string {
	marks := ""
	for at, k := range l.kinds {
		possible := allReadings &^ reading(l.columns[at].seen&isText)
		switch eitherSpace := asSpacePoint | asSpaceComma; {
		case k.Type != table.Number || possible&asPoint != 0 && possible&asComma != 0: // no number has decimals
		case k.reading&eitherSpace != 0 && possible&eitherSpace == eitherSpace: // 1 234 has no decimals either
		case k.reading&withComma != 0:
			marks += ","
		default:
			marks += "."
		}
	}
	return Same(marks)
}

// readingsOf returns the readings by which a cell is a number.
func readingsOf(cell []byte) reading {
	if decimals := bytes.IndexByte(cell, '.'); decimals > 0 && onlyDigits(cell[:decimals]) && onlyDigits(cell[decimals+1:]) && len(cell)-decimals != 4 {
		return asPoint | asCommaGroups | asSpacePoint | asApostrophes // 12.5 cannot be 125
	}
	found := reading(0)
	if _, _, ok := integerCell(cell); ok {
		found |= asInteger
	}
	for _, r := range []reading{asPoint, asComma, asCommaGroups, asPointGroups, asSpacePoint, asSpaceComma, asApostrophes} {
		if _, ok := r.parse(cell); ok {
			found |= r
		}
	}
	return found
}

func onlyDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// parse parses a number in this notation.
func (r reading) parse(cell []byte) (float64, bool) {
	if how, ok := grouped[r]; ok {
		return parseGrouped(cell, how.group, how.point)
	}
	if r == asComma {
		return parseNumber(cell, ',')
	}
	return scan.ParseFloat(cell)
}

// parseGrouped parses a number that may have thousands separators.
func parseGrouped(cell []byte, group, point byte) (float64, bool) {
	text := make([]byte, 0, len(cell))
	at := 0
	if len(cell) > 0 && (cell[0] == '-' || cell[0] == '+') {
		text, at = append(text, cell[0]), 1
	}
	digits, groups := 0, 0 // digits in the current group, and completed groups
	for ; at < len(cell); at++ {
		c := cell[at]
		switch {
		case c >= '0' && c <= '9':
			digits++
			text = append(text, c)
			continue
		case c == group && digits > 0 && digits <= 3 && (groups == 0 || digits == 3 || digits == 2 && group == ','): // also 12,34,567
			groups++
			digits = 0
			continue
		case c == point:
		default:
			return 0, false
		}
		break
	}
	if groups > 0 && (digits != 3 || bytes.TrimLeft(cell, "+-")[0] == '0') { // 0.123 is not a group of thousands
		return 0, false
	}
	if at < len(cell) {
		text = append(text, '.')
		for _, c := range cell[at+1:] {
			if c < '0' || c > '9' {
				return 0, false
			}
			text = append(text, c)
		}
	}
	return scan.ParseFloat(text)
}

// marks lists the units that may precede or follow numbers.
var marks = [][]byte{[]byte("%"), []byte("$"), []byte("€"), []byte("£"), []byte("¥"), []byte("EUR"), []byte("USD"), []byte("GBP"), []byte("CHF")}

// noMark is the index of numbers without a mark, unitMark that of numbers with a unit that is not in marks, such as 12 kg.
const noMark, unitMark = -1, 15

// unitOf returns the unit of a cell like 12 kg, and "" for other cells. A unit has no digits and begins with a letter or °.
func unitOf(cell []byte) string {
	number := bytes.TrimRightFunc(cell, func(r rune) bool { return r < '0' || r > '9' })
	unit := strings.TrimSpace(string(cell[len(number):]))
	first, _ := utf8.DecodeRuneInString(unit)
	const longest = 16
	if len(number) == 0 || len(unit) > longest || !unicode.IsLetter(first) && first != '°' {
		return ""
	}
	if _, mark := cutOneMark(cell); mark != noMark || readingsOf(number) == 0 {
		return ""
	}
	return singular(unit)
}

// cutUnit returns a cell without its unit, and whether it is a number with this one. A unit alone is a word.
func cutUnit(cell []byte, unit string) (bare []byte, found bool) {
	bare = bytes.TrimRightFunc(cell, func(r rune) bool { return r < '0' || r > '9' })
	return bare, len(bare) > 0 && singular(strings.TrimSpace(string(cell[len(bare):]))) == unit
}

// singular returns a unit without the s of its plural: 1 day, 2 days.
func singular(unit string) string {
	if len(unit) > 2 {
		return strings.TrimSuffix(unit, "s")
	}
	return unit
}

// cutMark returns a cell without its mark, and the index of the mark. It also normalizes non-breaking spaces,
// apostrophes and the signs of negative numbers; signs reports which unusual signs it found.
func cutMark(cell []byte) (bare []byte, mark int, signs evidence) {
	if len(cell) > 0 && onlyDigits(cell[len(cell)-1:]) && (onlyDigits(cell[:1]) || cell[0] == '-' && len(cell) > 1 && onlyDigits(cell[1:2])) {
		if bytes.IndexByte(cell, 0xC2) < 0 && bytes.IndexByte(cell, 0xE2) < 0 {
			return cell, noMark, 0 // neither a mark at an end, nor spaces of other kinds
		}
	}
	for _, s := range [][2]string{{"\u00a0", " "}, {"\u202f", " "}, {"\u2019", "'"}} {
		cell = bytes.ReplaceAll(cell, []byte(s[0]), []byte(s[1]))
	}
	if rest, found := cutLimit(cell); found {
		cell, signs = rest, sawLimit
	}
	if rest, found := bytes.CutPrefix(cell, []byte("\u2212")); found {
		cell, signs = append([]byte("-"), rest...), signs|sawMinus
	}
	cell, inside := cutParentheses(cell)
	bare, mark = cutOneMark(cell)
	bare, outside := cutParentheses(bare)
	if inside || outside {
		signs |= sawParentheses
	}
	return bare, mark, signs
}

// limits lists what may stand before a number that is a limit or an estimate, notes what may follow a number with a footnote.
var (
	limits = [][]byte{[]byte("<="), []byte(">="), []byte("<"), []byte(">"), []byte("\u2264"), []byte("\u2265"), []byte("~"), []byte("\u2248"), []byte("ca.")}
	notes  = [][]byte{[]byte("*"), []byte("\u2020"), []byte("\u2021")}
)

// cutLimit returns a number without the signs in limits and notes.
func cutLimit(cell []byte) (bare []byte, found bool) {
	bare = cell
	for _, sign := range limits {
		if rest, has := bytes.CutPrefix(bare, sign); has {
			bare, found = bytes.TrimSpace(rest), true
			break
		}
	}
	for _, sign := range notes {
		for bytes.HasSuffix(bare, sign) {
			bare, found = bytes.TrimSpace(bare[:len(bare)-len(sign)]), true
		}
	}
	return bare, found
}

// cutParentheses converts (5), the accounting notation, to -5.
func cutParentheses(cell []byte) (bare []byte, found bool) {
	if len(cell) < 3 || cell[0] != '(' || cell[len(cell)-1] != ')' || cell[1] == '-' || cell[1] == '+' {
		return cell, false
	}
	return append([]byte("-"), bytes.TrimSpace(cell[1:len(cell)-1])...), true
}

// cutOneMark returns a cell without its mark, and the index of the mark.
func cutOneMark(cell []byte) (bare []byte, mark int) {
	for mark, text := range marks {
		if rest, found := bytes.CutSuffix(cell, text); found {
			return bytes.TrimSpace(rest), mark
		}
		rest, negative := bytes.CutPrefix(cell, []byte("-"))
		if rest, found := bytes.CutPrefix(rest, text); found {
			rest = bytes.TrimSpace(rest)
			if negative {
				rest = append([]byte("-"), rest...)
			}
			return rest, mark
		}
	}
	return bytes.TrimSpace(cell), noMark
}

// kind describes how the cells of a column are parsed.
type kind struct {
	table.Type
	point   byte // the decimal separator of plain numbers; 0 for other notations
	reading reading
	mark    int
	unit    string   // if mark is unitMark
	bare    bool     // some cells have no mark
	signs   evidence // unusual notations of negative numbers
}

// plainNumbers returns the kind of numbers without marks and thousands separators.
func plainNumbers(point byte) kind {
	if point == ',' {
		return kind{Type: table.Number, point: point, reading: asComma, mark: noMark}
	}
	return kind{Type: table.Number, point: point, reading: asPoint, mark: noMark}
}

// plain reports whether the fast parser applies to the cells.
func (k kind) plain() bool { return k.Type != table.Number || k.point != 0 }

// parse parses a number in the notation of the column.
func (k kind) parse(cell []byte) (float64, bool) {
	if k.plain() {
		return parseNumber(cell, k.point)
	}
	if k.mark == unitMark {
		bare, found := cutUnit(cell, k.unit)
		if !found && !(k.bare && len(bare) == len(cell)) {
			return 0, false
		}
		cell = bare
	}
	bare, mark, signs := cutMark(cell)
	if k.mark == unitMark && mark == noMark {
		mark = unitMark // cut already, or absent
	}
	if mark != k.mark && !(k.bare && mark == noMark) || signs&^k.signs != 0 {
		return 0, false
	}
	return k.reading.parse(bare)
}

// notice describes how the numbers of a column are read if their notation is unusual, otherwise it returns "".
func (k kind) notice(column string) string {
	if k.plain() {
		return ""
	}
	var how []string
	switch k.mark {
	case noMark:
	case unitMark:
		how = append(how, "without "+strconv.Quote(k.unit))
	default:
		how = append(how, "without "+strconv.Quote(string(marks[k.mark])))
	}
	if k.bare && k.mark != noMark {
		how[0] += " (which some cells lack)"
	}
	if g, ok := grouped[k.reading]; ok {
		how = append(how, fmt.Sprintf("with %q between thousands", string(g.group)))
	}
	if k.signs&sawParentheses != 0 {
		how = append(how, "with (5) for -5")
	}
	if k.signs&sawLimit != 0 {
		how = append(how, "without signs such as < and *")
	}
	if k.signs&sawMinus != 0 {
		how = append(how, "with \u22125 for -5")
	}
	return fmt.Sprintf("column %q is read as numbers, %s", column, strings.Join(how, " and "))
}
