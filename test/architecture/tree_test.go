package architecture

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// textFile is a file of the project; its path is relative to the root, with slashes.
type textFile struct {
	path string
	text []byte
}

func (f textFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f textFile) lines() int { return bytes.Count(f.text, []byte("\n")) }

// goFile is a parsed Go file, whatever its build constraints.
type goFile struct {
	textFile
	positions *token.FileSet
	syntax    *ast.File
}

func (f goFile) line(p token.Pos) int { return f.positions.Position(p).Line }

func (f goFile) imports() []string {
	var paths []string
	for _, spec := range f.syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // cannot fail: the parser has checked it
		paths = append(paths, imported)
	}
	return paths
}

// ignored are folders that are not in git.
var ignored = []string{".git", ".cleave", "bin", "demo-out", "answers-out", "clients/typescript/node_modules",
	"clients/typescript/dist"}

// textFiles returns all text of the project, except go.sum files.
func textFiles(t *testing.T) []textFile {
	t.Helper()
	files, err := readTextFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// readTextFiles reads the project once for all tests.
var readTextFiles = sync.OnceValues(func() (files []textFile, err error) {
	root := os.DirFS("../..")
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(ignored, name):
			return fs.SkipDir
		case !entry.Type().IsRegular() || path.Base(name) == "go.sum":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if !bytes.ContainsRune(text, 0) { // files with a NUL byte are not text
			files = append(files, textFile{name, text})
		}
		return nil
	})
	return files, err
})

// goFiles returns all Go files of the project.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := parseGoFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// parseGoFiles parses the project once for all tests.
var parseGoFiles = sync.OnceValues(func() (files []goFile, err error) {
	texts, err := readTextFiles()
	if err != nil {
		return nil, err
	}
	for _, f := range texts {
		if path.Ext(f.path) == ".go" {
			parsed, err := parseFile(f.path, string(f.text))
			if err != nil {
				return nil, err
			}
			files = append(files, parsed)
		}
	}
	return files, nil
})

func parse(t *testing.T, name, source string) goFile {
	t.Helper()
	file, err := parseFile(name, source)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func parseFile(name, source string) (goFile, error) {
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, name, source, parser.ParseComments|parser.SkipObjectResolution)
	return goFile{textFile{name, []byte(source)}, positions, syntax}, err
}
