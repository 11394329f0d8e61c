package format

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// parseFloat reads a number; ok is false if the cell is not a number. Numbers too large for float64 are
// infinite.
func parseFloat(cell []byte) (value float64, ok bool) {
	value, err := strconv.ParseFloat(string(cell), 64)
	return value, err == nil || errors.Is(err, strconv.ErrRange)
}

// parseInteger reads an integer, also in the form of a float: some tools write every number as "3.0" or
// "1e3".
func parseInteger(cell []byte) (value int64, ok bool) {
	value, err := strconv.ParseInt(string(cell), 10, 64)
	if err == nil {
		return value, true
	}
	float, ok := parseFloat(cell)
	const exact = 1 << 53
	if !ok || float != math.Trunc(float) || math.Abs(float) > exact {
		return 0, false
	}
	return int64(float), true
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// isMissing tells whether a cell says that its value is not known.
func isMissing(cell []byte) bool {
	switch strings.ToLower(string(cell)) {
	case "", "?", "na", "n/a", "null", "none":
		return true
	}
	return false
}

// readsAsNaN tells whether a cell is missing in a file whose missing values are read as NaN.
func (s *source) readsAsNaN(cell []byte) bool {
	return s.allowMissing && (isMissing(cell) || strings.EqualFold(string(cell), "nan"))
}

// quoted is a cell as errors show it, in quotes and shortened.
func quoted(cell []byte) string {
	const maxLength = 40
	if len(cell) > maxLength {
		return strconv.Quote(string(cell[:maxLength]) + "...")
	}
	return strconv.Quote(string(cell))
}

// rowKind is what the first line of a file consists of; names are a header.
type rowKind int

const (
	rowOfNumbers rowKind = iota // or of missing values
	rowOfNames
	rowOfNumbersAndNames
)

func kindOfRow(cells [][]byte) rowKind {
	numbers, names := 0, 0
	for _, cell := range cells {
		if _, ok := parseFloat(cell); ok {
			numbers++
		} else if !isMissing(cell) {
			names++
		}
	}
	switch {
	case names == 0:
		return rowOfNumbers
	case numbers == 0:
		return rowOfNames
	}
	return rowOfNumbersAndNames
}
