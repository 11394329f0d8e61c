package architecture

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// guides are the documents that send their readers to files and folders.
var guides = []string{"README.md", "CONTRIBUTING.md", "docs/ARCHITECTURE.md", "docs/HOWTO-ADD.md",
	"docs/design/internals.md", "docs/design/faults.md"}

// sourcePath matches a path to a Go file or a folder, in backquotes.
var sourcePath = regexp.MustCompile("`((?:[a-z0-9]+/)+(?:[a-z0-9_]+\\.(?:go|proto)|[a-z0-9]*))`")

// roots are the folders that such paths start from.
var roots = []string{".", "internal", "internal/clustering", "internal/coordinator", "internal/numeric",
	"internal/data", "internal/cli", "proto/cleave/v1"}

// TestDocumentsNameFilesThatExist: files move, and documents must follow.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	root := os.DirFS("../..")
	found := 0
	for _, guide := range guides {
		for _, match := range sourcePath.FindAllStringSubmatch(read(t, guide), -1) {
			name := strings.TrimSuffix(match[1], "/")
			if !strings.Contains(name, "/") || strings.HasPrefix(name, "testing/") {
				continue
			}
			found++
			exists := slices.ContainsFunc(roots, func(from string) bool {
				_, err := fs.Stat(root, path.Join(from, name))
				return err == nil
			})
			if !exists {
				t.Errorf("%s names %s, which does not exist", guide, name)
			}
		}
	}
	if found < 100 {
		t.Errorf("the documents name %d files: does the pattern still match?", found)
	}
}

// link matches a relative link of Markdown, to a file, to a heading of one, or to a heading of the same file.
var link = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^):]*))?\)`)

// fenced matches a block between fences of four backquotes, which may show a document of another folder.
var fenced = regexp.MustCompile("(?ms)^`{4,}.*?^`{4,}$")

// heading matches a heading; punctuation matches what GitHub leaves out of its anchor.
var (
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	punctuation = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLeadSomewhere: documents link to files and to headings that exist.
func TestLinksLeadSomewhere(t *testing.T) {
	root := os.DirFS("../..")
	anchors := map[string][]string{}
	var documents []textFile
	for _, f := range textFiles(t) {
		if path.Ext(f.path) != ".md" || strings.Contains(f.path, "testdata/") ||
			strings.HasSuffix(f.path, "-template.md") {
			continue
		}
		documents = append(documents, f)
		for _, match := range heading.FindAllStringSubmatch(string(f.text), -1) {
			anchor := punctuation.ReplaceAllString(strings.ToLower(match[1]), "")
			anchors[f.path] = append(anchors[f.path], strings.ReplaceAll(anchor, " ", "-"))
		}
	}
	for _, f := range documents {
		for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(f.text), ""), -1) {
			target := f.path
			if match[1] != "" {
				target = path.Join(path.Dir(f.path), match[1])
			}
			if _, err := fs.Stat(root, target); err != nil {
				t.Errorf("%s links to %s, which does not exist", f.path, match[1])
			} else if match[2] != "" && path.Ext(target) == ".md" && !slices.Contains(anchors[target], match[2]) {
				t.Errorf("%s links to #%s of %s, which has no such heading", f.path, match[2], target)
			}
		}
	}
}
