package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/text"
)

// Count writes a whole number with separators of thousands.
func Count(n int) string {
	return strings.Replace(text.Grouped(n), "-", minus, 1)
}

const minus = "\u2212"

// Number writes a number with four digits, or more if it has more before the point.
func Number(v float64) string {
	size := math.Abs(v)
	sign := ""
	if v < 0 {
		sign = minus
	}
	switch {
	case math.IsNaN(v):
		return "none"
	case math.IsInf(v, 0):
		return sign + "infinite"
	case size >= 1e9 || size < 1e-4 && size > 0:
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(size, 'e', 2, 64), "e")
		power, _ := strconv.Atoi(exponent)
		return sign + trimmed(mantissa) + " \u00d7 10" + superscript(power)
	}
	decimals := 3
	for limit := 10.0; size >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	for limit := 1.0; size < limit && size > 0 && decimals < 7; limit /= 10 {
		decimals++
	}
	digits := trimmed(strconv.FormatFloat(size, 'f', decimals, 64))
	whole, rest, _ := strings.Cut(digits, ".")
	if rest != "" {
		rest = "." + rest
	}
	if n, err := strconv.Atoi(whole); err == nil && len(whole) > 4 {
		whole = text.Grouped(n)
	}
	return sign + whole + rest
}

// trimmed is a decimal without zeros at its end.
func trimmed(digits string) string {
	if !strings.Contains(digits, ".") {
		return digits
	}
	return strings.TrimRight(strings.TrimRight(digits, "0"), ".")
}

func superscript(power int) string {
	const digits = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
	var b strings.Builder
	if power < 0 {
		b.WriteString("\u207b")
	}
	for _, digit := range strconv.Itoa(max(power, -power)) {
		b.WriteRune([]rune(digits)[digit-'0'])
	}
	return b.String()
}

// Signed writes a difference with its sign.
func Signed(v float64, decimals int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	switch {
	case strings.Trim(text, "0.") == "":
		return "0"
	case v < 0:
		return minus + text
	}
	return "+" + text
}

// Fixed writes a number with so many decimals.
func Fixed(v float64, decimals int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	if v < 0 && strings.Trim(text, "0.") != "" {
		return minus + text
	}
	return text
}

// Isolated sets a name off in a sentence, so that one of another direction of writing does not turn its neighbors around.
func Isolated(name string) string { return "\u2068" + name + "\u2069" }

// Percent writes a share.
func Percent(share float64) string {
	switch percent := 100 * share; {
	case percent > 0 && percent < 0.1:
		return "< 0.1 %"
	case percent > 0 && percent < 9.95:
		return fmt.Sprintf("%.1f %%", percent)
	default:
		return fmt.Sprintf("%.0f %%", percent)
	}
}

// Seconds writes a time.
func Seconds(seconds float64) string {
	switch {
	case seconds < 0.0005:
		return "< 1 ms"
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", 1000*seconds)
	case seconds < 10:
		return fmt.Sprintf("%.2f s", seconds)
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	}
	minutes := int(math.Round(seconds / 60))
	if minutes < 120 {
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// Short cuts a text that is too long for its place.
func Short(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "\u2026"
}
