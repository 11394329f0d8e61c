package refusal

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/invalid"
)

func TestUsersSeeTheRowTheValueAndTheRemedy(t *testing.T) {
	at := invalid.InCell(3, 1, invalid.AboveFloat32, "value", 1e40)
	f, is := errors.AsType[*fault.Error](Of(at))
	if !is || f.Reason != "OUT_OF_FLOAT32_RANGE" || f.Kind != fault.InvalidArgument || f.Metadata["row"] != "3" ||
		f.Message != "row 3, column 1 is 1e+40, beyond what float32 holds; scale the data" {
		t.Errorf("%+v", f)
	}
	if row, column, problem, ok := f.Problem(); row != 3 || column != 1 || !ok ||
		!strings.HasPrefix(problem, " is 1e") {
		t.Errorf("row %d, column %d, problem %q, %v", row, column, problem, ok)
	}
}

func TestThePlaceInFrontStays(t *testing.T) {
	err := Of(fmt.Errorf("the second run: %w", invalid.New(invalid.CostOverflow, "total", 2e308/1.5)))
	if !fault.Is(err, "BAD_COST") || !strings.HasPrefix(err.Error(), "the second run: the costs add up to 1.3") {
		t.Error(err)
	}
}

func TestOtherErrorsStay(t *testing.T) {
	other := errors.New("no answer")
	if Of(other) != other || Of(nil) != nil {
		t.Error(Of(other), Of(nil))
	}
	if err := Of(invalid.New("a reason without a sentence")); err.(*fault.Error).Kind != fault.Internal {
		t.Error(err)
	}
}

// A sentence has a value for each of its places wherever its error is made, and every sentence is used.
func TestErrorsHaveTheValuesOfTheirSentences(t *testing.T) {
	names := reasonNames(t)
	used := map[invalid.Reason]bool{}
	for _, made := range errorsMade(t) {
		reason, known := names[made.reason]
		r, told := refusals[reason]
		if !known || !told {
			t.Errorf("%s: the reason %s has no sentence", made.where, made.reason)
			continue
		}
		used[reason] = true
		if strings.HasPrefix(r.says, " ") != made.inRow {
			t.Errorf("%s: a sentence begins with a space if and only if its error is about a row: %q", made.where,
				r.says)
		}
		for _, found := range place.FindAllStringSubmatch(r.says+r.field+"{"+r.detail+"}", -1) {
			if !slices.Contains(made.values, found[1]) {
				t.Errorf("%s: %s has no value %q for its sentence or field", made.where, made.reason, found[1])
			}
		}
	}
	for name, reason := range names {
		if !used[reason] {
			t.Errorf("no error has the reason %s", name)
		}
	}
	if len(refusals) != len(names) {
		t.Errorf("%d reasons and %d sentences", len(names), len(refusals))
	}
}

// reasonNames returns all reasons by the names of their constants.
func reasonNames(t *testing.T) map[string]invalid.Reason {
	names := map[string]invalid.Reason{}
	files, err := filepath.Glob(filepath.Join("..", "invalid", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is || fmt.Sprint(spec.Type) != "Reason" {
				return true
			}
			phrase, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names[spec.Names[0].Name] = invalid.Reason(phrase)
			return true
		})
	}
	return names
}

// made is a call that makes an error.
type made struct {
	where, reason string
	inRow         bool
	values        []string // their names
}

// errorsMade returns all calls of constructors of package invalid outside tests.
func errorsMade(t *testing.T) (all []made) {
	first := map[string]int{"New": 0, "InRow": 1, "InCell": 2} // the place of the reason among the arguments
	files := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("invalid.")) {
			return err
		}
		file, err := parser.ParseFile(files, path, text, 0)
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			maker, is := call.Fun.(*ast.SelectorExpr)
			if !is || fmt.Sprint(maker.X) != "invalid" {
				return true
			}
			at, is := first[maker.Sel.Name]
			if !is {
				return true
			}
			m := made{where: files.Position(call.Pos()).String(), inRow: at > 0}
			if reason, is := call.Args[at].(*ast.SelectorExpr); is {
				m.reason = reason.Sel.Name
			}
			for _, argument := range call.Args[at+1:] {
				if name, is := argument.(*ast.BasicLit); is && name.Kind == token.STRING {
					m.values = append(m.values, strings.Trim(name.Value, `"`))
				}
			}
			all = append(all, m)
			return true
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCountsOfEveryIntegerType(t *testing.T) {
	const sentence = "{n:row} {n:is|are} too few"
	for _, many := range []any{5, int32(5), int64(5), uint8(5), uint64(5)} {
		if got := fill(sentence, invalid.New("", "n", many)); got != "5 rows are too few" {
			t.Errorf("%T: %s", many, got)
		}
	}
	for _, one := range []any{1, int32(1), uint32(1)} {
		if got := fill(sentence, invalid.New("", "n", one)); got != "1 row is too few" {
			t.Errorf("%T: %s", one, got)
		}
	}
}
