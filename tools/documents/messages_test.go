package documents

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// quotedMessage matches what an operator looks for in a log: a message in backquotes and italics, or after "log" and a
// colon.
var quotedMessage = regexp.MustCompile("(?:\\*|[Ll]og[^`.]*: )`([A-Za-z][^`\n]+)`")

// TestQuotedMessagesExist: the program writes the messages that the page for operators tells them to look for. An N in
// the page stands for a number, of one thing or of several.
func TestQuotedMessagesExist(t *testing.T) {
	var code strings.Builder
	for _, folder := range []string{"cmd", "internal"} {
		tree := os.DirFS(root + "/" + folder)
		err := fs.WalkDir(tree, ".", func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(tree, name)
			code.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found := quotedMessage.FindAllStringSubmatch(readDocument(t, "docs/OPERATIONS.md"), -1)
	for _, match := range found {
		for part := range strings.SplitSeq(match[1], " N times ") {
			if !strings.Contains(code.String(), part) {
				t.Errorf("nothing writes %q", match[1])
			}
		}
	}
	if len(found) < 12 {
		t.Errorf("the page quotes %d messages: does the pattern still match?", len(found))
	}
}
