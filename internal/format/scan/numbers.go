package scan

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// ParseFloat parses a number. ok is false if the cell is not a number. Numbers too large for float64 are infinite.
func ParseFloat(cell []byte) (value float64, ok bool) {
	value, err := strconv.ParseFloat(string(cell), 64)
	return value, err == nil || errors.Is(err, strconv.ErrRange)
}

// ParseInteger parses an integer, also when it is written as a float: some tools write every number as "3.0" or "1e3".
func ParseInteger(cell []byte) (value int64, ok bool) {
	value, err := strconv.ParseInt(string(cell), 10, 64)
	if err == nil {
		return value, true
	}
	float, ok := ParseFloat(cell)
	const exact = 1 << 53
	if !ok || float != math.Trunc(float) || math.Abs(float) > exact {
		return 0, false
	}
	return int64(float), true
}

// IsFinite reports whether a number is neither infinite nor NaN.
func IsFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// IsMissing reports whether a cell stands for a missing value.
func IsMissing(cell []byte) bool {
	switch strings.ToLower(string(cell)) {
	case "", "?", "na", "n/a", "null", "none":
		return true
	}
	return false
}

// ReadsAsNaN reports whether the cell is a missing value and AllowMissing is set.
func (s *Source) ReadsAsNaN(cell []byte) bool {
	return s.AllowMissing && (IsMissing(cell) || strings.EqualFold(string(cell), "nan"))
}

// Quote returns a cell for error messages, quoted and shortened.
func Quote(cell []byte) string {
	const maxLength = 40
	if len(cell) > maxLength {
		return strconv.Quote(string(cell[:maxLength]) + "...")
	}
	return strconv.Quote(string(cell))
}

// RowKind classifies the cells of the first line of a file.
type RowKind int

// Kinds of first lines. A row of names is a header.
const (
	RowOfNumbers RowKind = iota // or of missing values
	RowOfNames
	RowOfNumbersAndNames
)

// KindOfRow reports whether the cells of a first line are numbers, names or both.
func KindOfRow(cells [][]byte) RowKind {
	numbers, names := 0, 0
	for _, cell := range cells {
		if _, ok := ParseFloat(cell); ok {
			numbers++
		} else if !IsMissing(cell) {
			names++
		}
	}
	switch {
	case names == 0:
		return RowOfNumbers
	case numbers == 0:
		return RowOfNames
	}
	return RowOfNumbersAndNames
}

// Half converts an IEEE 754 half-precision number: 1 sign bit, 5 exponent bits (bias 15), 10 fraction bits. The Arrow
// library's own conversion is wrong below 2^-14.
func Half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1F), float64(bits&0x3FF)
	var value float64
	switch exponent {
	case 0:
		value = math.Ldexp(fraction, -24)
	case 0x1F:
		if fraction != 0 {
			return math.NaN()
		}
		value = math.Inf(1)
	default:
		value = math.Ldexp(1024+fraction, exponent-25)
	}
	return math.Copysign(value, 1-2*float64(bits>>15))
}

// ShortDecimal parses a number of few digits without an exponent, with the given decimal separator. If its digits are
// an integer m < 2^53 with f of them after the separator, m and 10^f are exact, so one division rounds correctly. It
// returns after = at for anything else. The text must end in a character that no number has, such as a line feed.
func ShortDecimal(text []byte, at int, point byte) (value float64, after int) {
	start := at
	if text[at] == '-' {
		at++
	}
	whole, count := int64(0), at
	for ; text[at]-'0' <= 9; at++ {
		whole = 10*whole + int64(text[at]-'0')
	}
	count, fraction := at-count, 0
	if text[at] == point {
		before := at
		for at++; text[at]-'0' <= 9; at++ {
			whole = 10*whole + int64(text[at]-'0')
		}
		fraction = at - before - 1
	}
	count += fraction
	if count == 0 || count > 18 || whole >= 1<<53 {
		return 0, start
	}
	value = float64(whole) / powersOfTen[fraction]
	if text[start] == '-' {
		value = math.Copysign(value, -1)
	}
	return value, at
}
