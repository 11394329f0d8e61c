package architecture

import (
	"go/ast"
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// askingOption are the methods of package catalog whose first argument is the name of an option.
var askingOption = map[string]bool{
	"Is": true, "Number": true, "NumberOr": true, "WholeOr": true, "given": true, "Takes": true, "Has": true,
}

// A name of an option is text: what asks for one that the catalog does not have would always get its default. The same
// holds for a value that an option cannot have.
func TestNamesOfOptionsAreInTheCatalog(t *testing.T) {
	literal := func(e ast.Expr) string {
		if l, is := e.(*ast.BasicLit); is {
			text, _ := strconv.Unquote(l.Value)
			return text
		}
		return ""
	}
	found := 0
	for _, f := range goFiles(t) {
		if !strings.HasPrefix(f.path, "internal/clustering/") || f.isTest() {
			continue
		}
		check := func(at ast.Node, name, value string) {
			if name == "" {
				return
			}
			found++
			o, known := catalog.FindOption(name, catalog.Algorithm{})
			if !known {
				t.Errorf("%s:%d: the catalog has no option %q", f.path, f.line(at.Pos()), name)
			} else if value != "" {
				if _, err := o.Parse(value); err != nil {
					t.Errorf("%s:%d: %s is never %q: %v", f.path, f.line(at.Pos()), name, value, err)
				}
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if method, is := n.Fun.(*ast.SelectorExpr); is && askingOption[method.Sel.Name] && len(n.Args) > 0 {
					value := ""
					if method.Sel.Name == "Is" && len(n.Args) == 2 {
						value = literal(n.Args[1])
					}
					check(n, literal(n.Args[0]), value)
				}
			case *ast.IndexExpr:
				if values, is := n.X.(*ast.SelectorExpr); is && values.Sel.Name == "Values" {
					check(n, literal(n.Index), "")
				}
			}
			return true
		})
	}
	if found < 50 {
		t.Errorf("only %d names of options were found", found)
	}
}
