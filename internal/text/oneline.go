package text

import (
	"strconv"
	"strings"
	"unicode"
)

// OneLine is text that others chose, as it can be shown: line breaks, codes that steer terminals and other letters that
// cannot be seen are written out, such as \n.
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
