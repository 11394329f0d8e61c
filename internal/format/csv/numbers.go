package csv

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// reading is a way to write the digits of a number: what stands between thousands and before decimals. Evidence about a
// column has a bit for each; see reading.bit.
type reading uint8

const (
	asInteger     reading = iota
	asPoint               // 1234.5, also 1e3
	asComma               // 1234,5
	asCommaGroups         // 1,234.5, also 12,34,567
	asPointGroups         // 1.234,5
	asSpacePoint          // 1 234.5
	asSpaceComma          // 1 234,5
	asApostrophes         // 1'234.5
)

// readings has the characters between thousands and before decimals, 0 for none.
var readings = [...]struct{ group, point byte }{
	asInteger: {}, asPoint: {0, '.'}, asComma: {0, ','}, asCommaGroups: {',', '.'}, asPointGroups: {'.', ','},
	asSpacePoint: {' ', '.'}, asSpaceComma: {' ', ','}, asApostrophes: {'\'', '.'},
}

// Readings by their decimal separator.
const (
	withPoint evidence = 1<<asPoint | 1<<asCommaGroups | 1<<asSpacePoint | 1<<asApostrophes
	withComma evidence = 1<<asComma | 1<<asPointGroups | 1<<asSpaceComma
)

// bit returns the evidence that a cell is not a number by this reading.
func (r reading) bit() evidence { return 1 << r }

// preferred lists the readings of a column in the order in which they are tried. decimals is the decimal separator of
// the table, if known: 1.234 is a thousand where other numbers are like 5,6. If it is unknown, 1,234 has decimals,
// unless commas also separate cells.
func (d dialect) preferred(decimals string) []reading {
	switch {
	case decimals == ",":
		return []reading{asInteger, asComma, asPointGroups, asSpaceComma, asPoint, asCommaGroups, asSpacePoint,
			asApostrophes}
	case decimals == "." || d.separator == ',':
		return []reading{asInteger, asPoint, asCommaGroups, asComma, asPointGroups, asSpacePoint, asSpaceComma,
			asApostrophes}
	}
	return []reading{asInteger, asPoint, asComma, asCommaGroups, asPointGroups, asSpacePoint, asSpaceComma,
		asApostrophes}
}

// decimalsOf returns the decimal separator of the unambiguous columns, "" if there are none or they differ.
func decimalsOf(columns []sniffedColumn) string {
	marks := ""
	for _, c := range columns {
		possible := isText &^ c.seen
		switch {
		case c.asText || c.isID || c.seen&sawCell == 0 || possible&asInteger.bit() != 0:
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
func (l *layout) decimals() string {
	marks := ""
	for at := range l.kinds {
		k := &l.kinds[at]
		possible := isText &^ l.columns[at].seen
		switch eitherSpace := asSpacePoint.bit() | asSpaceComma.bit(); {
		case k.Type != table.Number || possible&asPoint.bit() != 0 && possible&asComma.bit() != 0:
			// no number has decimals
		case k.reading.bit()&eitherSpace != 0 && possible&eitherSpace == eitherSpace: // 1 234 has no decimals either
		default:
			marks += string(readings[k.reading].point)
		}
	}
	return Same(marks)
}

// readingsOf returns the bits of the readings by which a cell is a number.
func readingsOf(cell []byte) evidence {
	if decimals := bytes.IndexByte(cell, '.'); decimals > 0 && onlyDigits(cell[:decimals]) &&
		onlyDigits(cell[decimals+1:]) && len(cell)-decimals != 4 {
		return withPoint // 12.5 cannot be 125
	}
	found := evidence(0)
	if _, _, ok := integerCell(cell); ok {
		found |= asInteger.bit()
	}
	for r := asPoint; r <= asApostrophes; r++ {
		if _, ok := r.parse(cell); ok {
			found |= r.bit()
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
	how := readings[r]
	if how.group != 0 {
		return parseGrouped(cell, how.group, how.point)
	}
	return parseNumber(cell, how.point)
}

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
	if point != ',' {
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

// parseGrouped parses a number that may have thousands separators.
func parseGrouped(cell []byte, group, point byte) (float64, bool) {
	text := make([]byte, 0, len(cell))
	at := 0
	if len(cell) > 0 && (cell[0] == '-' || cell[0] == '+') {
		text = append(text, cell[0])
		at = 1
	}
	digits, groups := 0, 0 // digits in the current group, and completed groups
	for ; at < len(cell); at++ {
		c := cell[at]
		switch {
		case c >= '0' && c <= '9':
			digits++
			text = append(text, c)
			continue
		case c == group && digits > 0 && digits <= 3 && (groups == 0 || digits == 3 || digits == 2 && group == ','):
			// also 12,34,567
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
