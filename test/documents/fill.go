package documents

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cleave-project/cleave/internal/format"
)

// FillFile puts content into a document that people write, between the lines <!-- NAME --> and <!-- end of NAME -->.
func FillFile(path, name, content string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	filled, err := fill(string(old), name, content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return format.WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, filled)
		return err
	})
}

// fill does for a text what FillFile does for a file.
func fill(document, name, content string) (string, error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, found := strings.Cut(document, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the document has no line %s, or none %s after it", strings.TrimSpace(begin), end)
	}
	return before + begin + content + end + after, nil
}
