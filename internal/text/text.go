// Package text writes numbers for messages: counted nouns, sizes in bytes, and the beginnings of lists. It also fills
// documents.
package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Plural is a count and its noun: "1 row", "2 rows".
func Plural(count int, noun string) string { return Count(count, noun, noun+"s") }

// Count is a count with the words that go with one or with more: "1 row has", "2 rows have".
func Count(count int, one, more string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, more)
}

// First is the beginning of a list, up to a limit, and how many more there are.
func First[T any](list []T, limit int) string {
	var b strings.Builder
	for at, v := range list {
		if at == limit {
			fmt.Fprintf(&b, " and %d more", len(list)-limit)
			break
		}
		if at > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}

// Bytes is a number of bytes with the unit that fits: "1.5 GiB".
func Bytes[N int64 | uint64](bytes N) string {
	value, units := float64(bytes), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && value >= 1024 {
		value, units = value/1024, units[1:]
	}
	if value >= 1000 {
		return fmt.Sprintf("%.0f %s", value, units[0])
	}
	return fmt.Sprintf("%.3g %s", value, units[0])
}

// Roughly writes a predicted time, the longer the coarser.
func Roughly(seconds float64) string {
	switch tens := 10 * int64(math.Round(seconds/10)); {
	case seconds < 1:
		return "a second or less"
	case seconds < 10:
		return fmt.Sprintf("%.0fs", seconds)
	case tens < 60:
		return fmt.Sprintf("%ds", tens)
	case seconds < 600:
		return fmt.Sprintf("%dm%ds", tens/60, tens%60)
	case seconds < 36000:
		return fmt.Sprintf("%.0f minutes", seconds/60)
	}
	return fmt.Sprintf("%.0f hours", seconds/3600)
}

// Grouped writes a whole number with separators of thousands: 12,345.
func Grouped(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
