package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/text"
)

const minus = "\u2212"

// Number formats a number with four significant digits, or with all digits before the decimal point if there are more.
// It omits trailing zeros, and uses a power of ten from 1e9 on and below 1e-4. NaN is "none".
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

// trimmed returns a decimal without trailing zeros.
func trimmed(digits string) string {
	if !strings.Contains(digits, ".") {
		return digits
	}
	return strings.TrimRight(strings.TrimRight(digits, "0"), ".")
}

// superscript writes an exponent with small raised digits.
func superscript(power int) string {
	raised := strings.NewReplacer("-", "\u207b", "0", "\u2070", "1", "\u00b9", "2", "\u00b2", "3", "\u00b3",
		"4", "\u2074",
		"5", "\u2075", "6", "\u2076", "7", "\u2077", "8", "\u2078", "9", "\u2079")
	return raised.Replace(strconv.Itoa(power))
}

// Signed formats a difference with its sign, or "0" if it rounds to zero.
func Signed(v float64, decimals int) string {
	text := Fixed(v, decimals)
	switch {
	case strings.Trim(text, "0.") == "":
		return "0"
	case v > 0:
		return "+" + text
	}
	return text
}

// Fixed formats a number with the given number of decimals.
func Fixed(v float64, decimals int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	if v < 0 && strings.Trim(text, "0.") != "" {
		return minus + text
	}
	return text
}

// Isolated wraps a name in Unicode isolates, so that a right-to-left name does not reorder the text around it.
func Isolated(name string) string { return "\u2068" + name + "\u2069" }

// Percent formats a share from 0 to 1 as a percentage.
func Percent(share float64) string {
	switch percent := 100 * share; {
	case percent > 0 && percent < 0.1:
		return "< 0.1%"
	case percent > 0 && percent < 9.95:
		return fmt.Sprintf("%.1f%%", percent)
	default:
		return fmt.Sprintf("%.0f%%", percent)
	}
}

// Short truncates a text to at most limit characters, the last of which is then an ellipsis.
func Short(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "\u2026"
}
