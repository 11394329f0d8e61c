package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sourceFile matches the name of a file of Go, with or without its folder.
var sourceFile = regexp.MustCompile(`[a-z0-9_/]+\.go\b`)

// TestNamedFilesExist: the files that the pages about the design name exist.
func TestNamedFilesExist(t *testing.T) {
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && name == ".git" {
			return fs.SkipDir
		}
		if strings.HasSuffix(name, ".go") {
			files = append(files, "/"+name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs/adr/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	design, err := filepath.Glob(filepath.Join(root, "docs/design/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := "\n" + strings.Join(files, "\n") + "\n"
	found := 0
	for _, page := range slices.Concat(pages, design, []string{filepath.Join(root, "docs/ARCHITECTURE.md")}) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range sourceFile.FindAllString(string(text), -1) {
			found++
			if !strings.Contains(all, "/"+name+"\n") {
				t.Errorf("%s: there is no file %s", page, name)
			}
		}
	}
	if found < 30 {
		t.Errorf("the pages name %d files: does the pattern still match?", found)
	}
}
