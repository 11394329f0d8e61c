package format

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/table"
)

// evidence is what has been seen in the cells of a column, as bits. The type of the column follows from it.
type evidence uint8

const (
	sawInteger evidence = 1 << iota
	sawNumber           // with a point or an exponent
	sawComma            // with a comma in place of the point
	sawPadded           // an integer that would change if it were written again: 007
	sawText
)

// csvColumn is a column of a text.
type csvColumn struct {
	name   string
	seen   evidence
	asText bool // it was asked for
	isID   bool // its name says that it names the rows, which must come back as they were written
}

// kind is how the cells of a column are read: its type, and the character before the decimals.
type kind struct {
	table.Type
	point byte
}

func (c *csvColumn) kind() kind {
	switch seen := c.seen; {
	case c.asText, seen&sawText != 0, c.isID && seen != sawInteger, seen&sawNumber != 0 && seen&sawComma != 0:
		return kind{Type: table.Text}
	case seen&sawComma != 0:
		return kind{table.Number, ','}
	case seen&sawNumber != 0 || seen == 0:
		return kind{table.Number, '.'}
	}
	return kind{Type: table.Integer}
}

// classify is what a cell tells about its column; one that is missing tells nothing. A comma for a point is known only
// where it does not separate cells.
func (d dialect) classify(cell []byte) evidence {
	if isMissingNumber(cell) {
		return 0
	}
	if _, padded, ok := integerCell(cell); ok {
		if padded {
			return sawInteger | sawPadded
		}
		return sawInteger
	}
	if _, ok := parseFloat(cell); ok {
		return sawNumber
	}
	if _, ok := parseComma(cell); ok && d.separator != ',' {
		return sawComma
	}
	return sawText
}

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
	return parseFloat(bytes.Replace(cell, []byte(","), []byte("."), 1))
}

// parseNumber reads a number whose decimals follow a point, or a comma.
func parseNumber(cell []byte, point byte) (float64, bool) {
	if point == '.' {
		return parseFloat(cell)
	}
	if v, _, ok := integerCell(cell); ok {
		return float64(v), true
	}
	return parseComma(cell)
}

// isMissingNumber tells whether a cell in a column of numbers says that its value is not known.
func isMissingNumber(cell []byte) bool {
	if len(cell) > 4 {
		return false
	}
	return isMissing(cell) || strings.EqualFold(string(cell), "nan") || strings.EqualFold(string(cell), "#n/a")
}

// isMissingText is isMissingNumber for texts, among which none may be a word as others are.
func isMissingText(cell []byte) bool {
	return isMissingNumber(cell) && !strings.EqualFold(string(cell), "none")
}
