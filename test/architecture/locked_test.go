package architecture

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// lockedTypes are the types of package fleet that a mutex outside of them guards: the names of all their methods end
// with Locked.
var lockedTypes = []string{"state", "placement", "handovers", "handover", "blame"}

// A function whose name ends with Locked expects its caller to hold a mutex.
func TestCallersOfLockedFunctionsLock(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.isTest() || !strings.HasPrefix(f.path, "internal/") {
			continue
		}
		for _, problem := range lockProblems(f) {
			t.Error(problem)
		}
	}
}

// lockProblems returns the calls of functions whose names end with Locked in functions that neither have such a name
// nor lock anything, and the methods of lockedTypes without such a name. It does not know which mutex is locked.
func lockProblems(f goFile) (problems []string) {
	for _, declared := range f.syntax.Decls {
		d, is := declared.(*ast.FuncDecl)
		if !is || d.Body == nil {
			continue
		}
		named := strings.HasSuffix(d.Name.Name, "Locked")
		ofFleet := path.Dir(f.path) == "internal/fleet"
		if d.Recv != nil && !named && ofFleet && slices.Contains(lockedTypes, receiver(d)) {
			problems = append(problems, fmt.Sprintf("%s:%d: the name of %s must end with Locked: its caller holds "+
				"the mutex", f.path, f.line(d.Pos()), d.Name.Name))
		}
		for _, call := range unlockedCalls(d.Body, named) {
			problems = append(problems, fmt.Sprintf("%s:%d: %s calls %s, and holds no mutex", f.path,
				f.line(call.Pos()), d.Name.Name, called(call)))
		}
	}
	return problems
}

// unlockedCalls returns the calls of functions whose names end with Locked in the body of a function, unless it locks a
// mutex or its caller holds one.
func unlockedCalls(body *ast.BlockStmt, held bool) (calls []*ast.CallExpr) {
	held = held || locks(body)
	later := map[ast.Expr]bool{}  // functions that run when their caller may no longer hold the mutex
	locked := map[ast.Expr]bool{} // functions that are called with the mutex
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			later[n.Call.Fun] = true
		case *ast.CallExpr:
			if strings.HasSuffix(called(n), "Locked") && !held {
				calls = append(calls, n)
			}
			for _, argument := range n.Args {
				later[argument] = called(n) == "Go" || called(n) == "AfterFunc"
				locked[argument] = called(n) == "update" // such methods lock, call and unlock
			}
		case *ast.FuncLit:
			calls = append(calls, unlockedCalls(n.Body, held && !later[n] || locked[n])...)
			return false
		}
		return true
	})
	return calls
}

// locks reports whether a function locks a mutex, or calls a method lock.
func locks(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is {
			found = found || slices.Contains([]string{"Lock", "RLock", "lock"}, called(call))
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return found
}

// called returns the name of the function or method that is called, or "" if it has none.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func TestLockProblems(t *testing.T) {
	for _, c := range []struct {
		name, source string
		want         string // part of the only problem; empty for none
	}{
		{"no mutex", "func f() { gLocked() }", "f calls gLocked"},
		{"a mutex", "func f() { mu.Lock(); x.gLocked() }", ""},
		{"the caller's mutex", "func fLocked() { for { gLocked() } }", ""},
		{"a method lock", "func f() { defer q.lock()(); q.gLocked() }", ""},
		{"in an update", "func f() { b.update(func() { gLocked() }) }", ""},
		{"not in an update", "func f() { b.update(func() {}); gLocked() }", "f calls gLocked"},
		{"at once", "func f() { mu.Lock(); each(func() { gLocked() }) }", ""},
		{"later", "func fLocked() { time.AfterFunc(d, func() { gLocked() }) }", "fLocked calls gLocked"},
		{"later, with a mutex", "func fLocked() { time.AfterFunc(d, func() { mu.Lock(); gLocked() }) }", ""},
		{"another goroutine", "func fLocked() { go func() { gLocked() }() }", "fLocked calls gLocked"},
		{"the mutex of another goroutine", "func f() { go func() { mu.Lock() }(); gLocked() }", "f calls gLocked"},
		{"a method", "func (p *placement) f() {}", "the name of f"},
		{"a method of another type", "func (s *session) f() {}", ""},
	} {
		problems := lockProblems(parse(t, "internal/fleet/a.go", "package fleet\n"+c.source))
		if c.want == "" && len(problems) > 0 || c.want != "" && (len(problems) != 1 || !strings.Contains(problems[0],
			c.want)) {
			t.Errorf("%s: %q", c.name, problems)
		}
	}
}
