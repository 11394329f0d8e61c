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

// writtenFile matches the constants with the names of the files that a run writes.
var writtenFile = regexp.MustCompile(`\w+File\s+= "([^"]+)"`)

// TestWrittenFilesAreDocumented: the table of the files that a run writes has every name in the code, and no other.
func TestWrittenFilesAreDocumented(t *testing.T) {
	var written []string
	for _, source := range []string{"report/report.go", "report/outputdir.go", "resultpage/pictures.go"} {
		for _, name := range writtenFile.FindAllStringSubmatch(readDocument(t, "internal/cli/"+source), -1) {
			written = append(written, strings.NewReplacer("%d", "*", "%s", "*").Replace(name[1]))
		}
	}
	var listed []string
	page := sections(readDocument(t, "docs/guide/files.md"))
	if page[0].title != "What a run writes" {
		t.Fatalf("the first section is %q", page[0].title)
	}
	for line := range strings.Lines(page[0].text) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.Contains(cells[1], "`") {
			listed = append(listed, strings.Fields(strings.NewReplacer("`", "", ",", " ").Replace(cells[1]))...)
		}
	}
	for _, names := range []*[]string{&written, &listed} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
	if !slices.Equal(written, listed) {
		t.Errorf("a run writes\n%q, docs/guide/files.md lists\n%q", written, listed)
	}
}
