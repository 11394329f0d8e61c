// Package text formats numbers and names for messages, wraps lines, and finds the name that a mistyped one was meant
// to be.
package text

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Name returns the name of a value of an enumeration, given the names of 0, 1 and so on. It returns "" for a value that
// has none, such as one of a newer peer.
func Name[E ~int | ~uint8](value E, names ...string) string {
	if value < 0 || int(value) >= len(names) {
		return ""
	}
	return names[value]
}

// enumeration is a type whose names come from Name.
type enumeration interface {
	~int | ~uint8
	String() string
}

// Named returns the value of an enumeration that has the given name, or 0 if there is none.
func Named[E enumeration](name string) E {
	for value := E(1); value.String() != ""; value++ {
		if value.String() == name {
			return value
		}
	}
	return 0
}

// IsKnown reports whether a value of an enumeration is 0 or has a name.
func IsKnown[E enumeration](value E) bool { return value == 0 || value.String() != "" }

// Plural returns a count and its noun: "1 row", "2 rows".
func Plural(count int, noun string) string { return Count(count, noun, noun+"s") }

// Count returns a count with the words for one or for more: "1 row has", "2 rows have".
func Count(count int, one, more string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", count, more)
}

// First lists at most limit items, and says how many more there are: "2, 3, 5 and 2 more".
func First[T any](list []T, limit int) string {
	var items []string
	for _, v := range list[:min(len(list), limit)] {
		items = append(items, fmt.Sprint(v))
	}
	out := strings.Join(items, ", ")
	if more := len(list) - len(items); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// Join lists items with a word before the last one: "2, 3 and 5".
func Join[T any](list []T, word string) string {
	last := len(list) - 1
	if last < 1 {
		return First(list, 1)
	}
	return fmt.Sprintf("%s %s %v", First(list[:last], last), word, list[last])
}

// Or lists alternatives: "2, 3 or 5".
func Or[T any](list []T) string { return Join(list, "or") }

// Bytes formats a number of bytes with at most four digits and a binary unit: "1.5 GiB", "1000 KiB". Only the largest
// unit, TiB, has more.
func Bytes[N int64 | uint64](bytes N) string {
	value := float64(bytes)
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && value >= 1023.5 { // %.0f would write 1024
		value, units = value/1024, units[1:]
	}
	if value >= 999.5 { // %.3g would write 1e+03
		return fmt.Sprintf("%.0f %s", value, units[0])
	}
	return fmt.Sprintf("%.3g %s", value, units[0])
}

// Percent formats a share with two digits, or all before the point: "0.12%", "50%", "100%".
func Percent(share float64) string {
	if 100*share >= 99.5 { // %.2g would write 1e+02
		return fmt.Sprintf("%.0f%%", 100*share)
	}
	return fmt.Sprintf("%.2g%%", 100*share)
}

// Brief formats a number with at most six digits.
func Brief(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// Seconds formats a duration in the unit that suits it, from milliseconds to hours.
func Seconds(seconds float64) string {
	switch {
	case seconds < 0.0005:
		return "< 1 ms"
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", 1000*seconds)
	case seconds < 10:
		return fmt.Sprintf("%.3g s", seconds)
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	}
	minutes := int(math.Round(seconds / 60))
	if minutes < 120 {
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// Roughly formats an estimated time in seconds; the longer, the coarser.
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
	case seconds < 2*3600:
		return fmt.Sprintf("%.0f minutes", seconds/60)
	case seconds < 10*3600:
		return fmt.Sprintf("%.1f hours", seconds/3600)
	}
	return fmt.Sprintf("%.0f hours", seconds/3600)
}

// Wrap breaks text at spaces into lines of at most width characters. A longer word gets its own line.
func Wrap(text string, width int) []string {
	var lines []string
	line, length := "", 0
	for _, word := range strings.Fields(text) {
		more := utf8.RuneCountInString(word)
		switch {
		case line == "":
			line, length = word, more
		case length+1+more > width:
			lines = append(lines, line)
			line, length = word, more
		default:
			line, length = line+" "+word, length+1+more
		}
	}
	return append(lines, line)
}

// OneLine escapes everything in text that is not printable, such as line breaks and terminal control codes. Use it for
// text that other users chose.
func OneLine(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}

// maxComparedBytes is how many bytes of a name are compared, so that a whole file given as a name costs no time.
const maxComparedBytes = 100

// Similar returns the name that a mistyped one was probably meant to be: the first of the nearest, if few changes lead
// to it, or the only one that begins with it. It returns "" if there is none.
func Similar(mistyped string, names []string) string {
	given := mistyped[:min(len(mistyped), maxComparedBytes)]
	nearest, fewest := "", len(given)+maxComparedBytes
	for _, name := range names {
		if changes := editDistance(given, name[:min(len(name), maxComparedBytes)]); changes < fewest {
			nearest, fewest = name, changes
		}
	}
	if shorter := min(len(given), len(nearest)); fewest <= max(1, shorter/3) && fewest < shorter { // x is not like y
		return nearest
	}
	matches := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !strings.HasPrefix(name, mistyped)
	})
	if len(matches) == 1 && len(mistyped) > 1 {
		return matches[0]
	}
	return ""
}

// editDistance counts the bytes to add, remove, replace or swap with their neighbor to turn a into b.
func editDistance(a, b string) int {
	// Rows are prefixes of a, of which the last three are kept; columns are prefixes of b.
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// Grouped writes a whole number with separators of thousands: 12,345.
func Grouped(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// GroupedCount is Count with separators of thousands: "1 row has", "2,000 rows have".
func GroupedCount(count int, one, more string) string {
	if count == 1 {
		return "1 " + one
	}
	return Grouped(count) + " " + more
}
