package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	stdio "io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const gonum = "gonum.org/v1/gonum/"

// TestGonumCallsAreInTheTable compares the functions and methods of gonum that the product calls with the table of
// those that are allowed, gonumCalls. Others may be fast and right, and yet have other bits on another processor.
func TestGonumCallsAreInTheTable(t *testing.T) {
	called := map[string]string{} // and a place where it is
	var users []string
	for _, p := range listPackages(t, "./client/...", "./cmd/...", "./internal/...") {
		if importsGonum(p.Imports) {
			users = append(users, p.ImportPath)
		}
	}
	packages := listPackages(t, append([]string{"-export", "-deps"}, users...)...)
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	for _, p := range packages {
		if !slices.Contains(users, p.ImportPath) {
			continue
		}
		for name, at := range gonumUses(t, p, exports) {
			called[name] = at
		}
	}
	if len(called) == 0 {
		t.Fatal("nothing calls gonum: the packages were not understood")
	}
	for name, at := range called {
		if _, allowed := gonumCalls[name]; !allowed {
			t.Errorf("%s: %s is not in the table gonumCalls: see there what is allowed", at, name)
		}
	}
	for name := range gonumCalls {
		if called[name] == "" {
			t.Errorf("the table names %s, which nothing calls", name)
		}
	}
}

type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

// listPackages returns the packages that go list lists.
func listPackages(t *testing.T, arguments ...string) (packages []listedPackage) {
	t.Helper()
	fields := "-json=ImportPath,Dir,GoFiles,Imports"
	if slices.Contains(arguments, "-export") {
		fields += ",Export" // which compiles
	}
	list := exec.Command("go", append([]string{"list", fields}, arguments...)...)
	list.Dir = "../.."
	var stderr bytes.Buffer
	list.Stderr = &stderr
	output, err := list.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var p listedPackage
		err := decoder.Decode(&p)
		if errors.Is(err, stdio.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func importsGonum(imports []string) bool {
	for _, name := range imports {
		if strings.HasPrefix(name, gonum) {
			return true
		}
	}
	return false
}

// gonumUses returns the functions and methods of gonum that a package names, each with a place.
func gonumUses(t *testing.T, p listedPackage, exports map[string]string) map[string]string {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	open := func(path string) (stdio.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", open)}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	if _, err := config.Check(p.ImportPath, fset, files, info); err != nil {
		t.Fatal(err)
	}
	uses := map[string]string{}
	for ident, object := range info.Uses {
		called, isFunc := object.(*types.Func)
		if isFunc && object.Pkg() != nil && strings.HasPrefix(object.Pkg().Path(), gonum) {
			uses[gonumName(called)] = fset.Position(ident.Pos()).String()
		}
	}
	return uses
}

// gonumName returns the name of a function or method as in mat.NewDense and mat.Dense.Mul.
func gonumName(f *types.Func) string {
	receiver := f.Signature().Recv()
	if receiver == nil {
		return f.Pkg().Name() + "." + f.Name()
	}
	of := receiver.Type()
	if pointer, is := of.(*types.Pointer); is {
		of = pointer.Elem()
	}
	return f.Pkg().Name() + "." + of.(*types.Named).Obj().Name() + "." + f.Name()
}
