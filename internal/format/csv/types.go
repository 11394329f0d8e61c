package csv

import (
	"bytes"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
)

// evidence is what the cells of a column have shown, in bits. The kind of the column follows from it. Workers send it
// to each other as TextSurvey, so a bit keeps its meaning.
type evidence uint32

const (
	// Bits 0 to 7: some cell is not a number by the reading of this number, see reading.bit.
	isText evidence = 1<<len(readings) - 1 // not a number by any reading

	// Bits 8 to 23: some number has a mark, of which a column has at most one. Bits 8 to 16 are those of notations,
	// and 17 to 22 are free for others.
	firstMark evidence = 1 << 8
	percent            = firstMark
	sawUnit   evidence = 1 << 23 // a unit that is not among the marks, such as kg
	allMarks  evidence = 1<<24 - 1<<8

	// Bits 24 to 31: what else some cell shows.
	sawBare        evidence = 1 << 24 // a number without a mark
	sawPadded      evidence = 1 << 25 // an integer that does not print as it was written: 007
	sawCell        evidence = 1 << 26 // a cell that is not missing
	sawParentheses evidence = 1 << 27 // a negative number as (5)
	sawMinus       evidence = 1 << 28 // a negative number with U+2212 instead of a hyphen
	sawZeros       evidence = 1 << 29 // an integer with leading zeros
	sawLimit       evidence = 1 << 30 // a sign such as < before a number or * after it
	sawNonzero     evidence = 1 << 31 // a number other than 0 without a mark
	allSigns                = sawParentheses | sawMinus | sawLimit
)

// isWord reports whether a cell is not a number by any reading.
func (e evidence) isWord() bool { return e&isText == isText }

// classify returns the evidence that a cell gives about its column, none for a missing value. unit is that of the
// column, "" for none.
func classify(cell []byte, unit string) evidence {
	if table.IsMissingNumber(cell) {
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
	bare, found := strip(cell, unit, allMarks|allSigns)
	seen := sawCell | isText&^readingsOf(bare)
	if seen.isWord() {
		return seen
	}
	if found&allSigns != 0 {
		seen |= asInteger.bit()
	}
	if found&allMarks == 0 {
		found |= sawBare
		if bytes.ContainsAny(bare, "123456789") {
			found |= sawNonzero
		}
	}
	return seen | found
}

// sniffedColumn describes a column.
type sniffedColumn struct {
	name   string
	seen   evidence
	unit   string // that follows the numbers, if the first rows have one
	asText bool   // the user asked for it
	isID   bool   // named like an id, whose values must be printed as they were written
	isCode bool   // named like a code, whose leading zeros matter
}

// cellKind describes how the cells of a column are parsed.
type cellKind struct {
	table.Type
	point   byte     // the decimal separator of numbers without notations and thousands separators; 0 for others
	reading reading  // of numbers
	around  evidence // the notations of numbers, and sawBare
	unit    string   // of numbers, if around has sawUnit
}

// kind returns how to parse the cells: by the first reading that fits all of them. decimals is the decimal separator
// of the table, "" if unknown.
func (c *sniffedColumn) kind(d dialect, decimals string) cellKind {
	marked, notated := c.seen&allMarks, c.seen&(allMarks|allSigns)
	switch {
	case c.asText, c.isCode && c.seen&(sawPadded|sawUnit) != 0,
		c.isID && (c.seen&sawCell == 0 || c.seen&(asInteger.bit()|sawPadded|allMarks) != 0):
		return cellKind{Type: table.Text}
	case c.seen&sawCell == 0:
		return cellKind{Type: table.Number, point: '.', reading: asPoint}
	case bits.OnesCount32(uint32(marked)) > 1, c.seen&sawNonzero != 0 && marked&(percent|sawUnit) != 0:
		return cellKind{Type: table.Text} // several marks, or numbers without % or a unit other than 0
	}
	for _, r := range d.preferred(decimals) {
		switch {
		case c.seen&r.bit() != 0, r == asInteger && notated != 0:
		case r == asInteger:
			return cellKind{Type: table.Integer}
		case notated == 0 && readings[r].group == 0:
			return cellKind{Type: table.Number, point: readings[r].point, reading: r}
		default:
			return cellKind{Type: table.Number, reading: r, around: notated | c.seen&sawBare, unit: c.unit}
		}
	}
	return cellKind{Type: table.Text}
}

// plain reports whether the fast parser applies to the cells.
func (k *cellKind) plain() bool { return k.Type != table.Number || k.point != 0 }

// parse parses a number of the column.
func (k *cellKind) parse(cell []byte) (float64, bool) {
	if k.plain() {
		return parseNumber(cell, k.point)
	}
	bare, found := strip(cell, k.unit, k.around)
	if found&allMarks == 0 && k.around&sawBare == 0 {
		return 0, false
	}
	return k.reading.parse(bare)
}

// notice describes how the numbers of a column are read if their notation is unusual, otherwise it returns "".
func (k *cellKind) notice(column string) string {
	if k.plain() {
		return ""
	}
	how := descriptionsOf(k.around & allMarks)
	if k.around&sawUnit != 0 {
		how = append(how, "without "+strconv.Quote(k.unit))
	}
	if len(how) > 0 && k.around&sawBare != 0 {
		how[0] += " (which some cells lack)"
	}
	if group := readings[k.reading].group; group != 0 {
		how = append(how, fmt.Sprintf("with %q between thousands", string(group)))
	}
	how = append(how, descriptionsOf(k.around&allSigns)...)
	return fmt.Sprintf("column %q is read as numbers, %s", column, strings.Join(how, " and "))
}
