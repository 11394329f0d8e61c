package text

import (
	"fmt"
	"strings"
)

// Fill replaces what is between two lines of a document, its marks, and keeps everything else.
func Fill(document, begin, end, content string) (string, error) {
	before, rest, found := strings.Cut(document, begin+"\n")
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the document has no line %s, or none %s after it", begin, end)
	}
	return before + begin + "\n" + content + end + after, nil
}
