package text

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a text into lines of at most so many letters, at spaces. A word that is longer has a line of its own.
func Wrap(text string, width int) []string {
	var lines []string
	line, letters := "", 0
	for _, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		if line != "" && letters+1+length > width {
			lines = append(lines, line)
			line = ""
		}
		if line == "" {
			line, letters = word, length
			continue
		}
		line += " " + word
		letters += 1 + length
	}
	return append(lines, line)
}
