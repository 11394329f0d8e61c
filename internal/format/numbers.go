package format

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// parseFloat reads a number; ok is false when the cell is no number at all. Numbers beyond
// float64 are infinite.
func parseFloat(cell []byte) (value float64, ok bool) {
	value, err := strconv.ParseFloat(string(cell), 64)
	return value, err == nil || errors.Is(err, strconv.ErrRange)
}

// parseInteger reads an integer, also one written as a float ("3.0", "1e3": some tools write
// whole tables so).
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

// missing tells whether a cell says that its value is not known.
func missing(cell []byte) bool {
	switch strings.ToLower(string(cell)) {
	case "", "?", "na", "n/a", "null", "none":
		return true
	}
	return false
}

// gap tells whether a cell is to be read as NaN: it is missing, and the reader is told to bear that.
func (s *source) gap(cell []byte) bool {
	return s.gaps && (missing(cell) || strings.EqualFold(string(cell), "nan"))
}

// shown is a cell as errors quote it: not too long.
func shown(cell []byte) string {
	const most = 40
	if len(cell) > most {
		return strconv.Quote(string(cell[:most]) + "...")
	}
	return strconv.Quote(string(cell))
}

// rowKind is what the first line of a file that may have a header turns out to be.
type rowKind int

const (
	rowOfNumbers rowKind = iota // or of missing values
	rowOfNames
	rowOfBoth
)

func kindOfRow(cells [][]byte) rowKind {
	numbers, names := 0, 0
	for _, cell := range cells {
		if _, ok := parseFloat(cell); ok {
			numbers++
		} else if !missing(cell) {
			names++
		}
	}
	switch {
	case names == 0:
		return rowOfNumbers
	case numbers == 0:
		return rowOfNames
	}
	return rowOfBoth
}
