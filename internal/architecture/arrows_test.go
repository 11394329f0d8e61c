package architecture

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module    = "github.com/cleave-project/cleave"
	internal  = module + "/internal/"
	generated = module + "/gen/"
)

// kind says what a package may use besides the packages of its line.
type kind int

const (
	pure     kind = iota // only computes: no files, network, clock, logs, global randomness or gRPC
	advice               // calls the system, but results do not depend on it: pure packages may import it
	io                   // may use files, the network and the clock, but not the generated API
	api                  // may also use the generated API
	testOnly             // may import anything; only tests may import it
)

// packageRule is one internal package and the packages that its non-test files may import.
type packageRule struct {
	name    string
	kind    kind
	imports string // separated by spaces; all of them on lines above
}

// packages are all internal packages, from the bottom up: a package imports only what its line names, and a
// line names only packages above it, so that there are no cycles.
var packages = []packageRule{
	{"fault", pure, ""},
	{"text", pure, ""},
	{"identity", pure, "fault"},
	{"redact", pure, ""},
	{"turns", pure, "text"},
	{"hugepage", advice, ""},
	{"parallel", pure, ""},
	{"dataset", pure, "fault parallel"},
	{"constraint", pure, "fault"},
	{"labeling", pure, ""},
	{"snapshot", pure, ""},
	{"partition", pure, "fault"},
	{"kernel", pure, "constraint dataset fault hugepage labeling parallel partition"},
	{"neighbor", pure, "dataset fault kernel parallel"},
	{"metric", pure, "constraint dataset fault partition"},
	{"vector", pure, "dataset fault kernel labeling metric parallel partition"},
	{"evaluate", pure, "constraint dataset fault"},
	{"inference", pure, "constraint dataset fault partition"},
	{"multilevel", pure, "dataset parallel snapshot"},
	{"spectral", pure, "constraint dataset fault partition snapshot"},
	{"catalog", pure, ""},
	{"planning", pure, "catalog dataset fault kernel multilevel neighbor partition spectral text vector"},
	{"profile", pure, "dataset"},
	{"clustering", pure, "catalog constraint dataset evaluate fault inference kernel metric neighbor parallel partition snapshot text"},
	{"clustering/knn", pure, "clustering dataset fault neighbor snapshot"},
	{"clustering/centroid", pure, "catalog clustering constraint dataset fault inference kernel labeling metric partition snapshot text vector"},
	{"clustering/piece", pure, "constraint dataset"},
	{"clustering/embedding", pure, "clustering clustering/centroid dataset partition spectral"},
	{"clustering/heldout", pure, "clustering constraint"},
	{"clustering/enforce", pure, "constraint"},
	{"clustering/discriminant", pure, "dataset kernel spectral"},
	{"clustering/span", pure, "clustering clustering/centroid clustering/embedding constraint dataset inference kernel metric parallel spectral"},
	{"clustering/kernelkmeans", pure, "catalog clustering clustering/embedding clustering/piece constraint dataset fault kernel multilevel partition snapshot spectral text"},
	{"clustering/landmark", pure, "clustering clustering/centroid clustering/kernelkmeans dataset evaluate fault kernel metric partition snapshot spectral vector"},
	{"clustering/cut", pure, "catalog clustering clustering/embedding clustering/kernelkmeans clustering/piece clustering/span constraint dataset fault kernel partition snapshot spectral text"},
	{"clustering/auto", pure, "catalog clustering clustering/centroid clustering/discriminant clustering/embedding clustering/enforce clustering/heldout clustering/kernelkmeans clustering/knn clustering/piece clustering/span constraint dataset fault kernel metric multilevel neighbor parallel partition planning snapshot spectral text vector"},
	{"clustering/howmany", pure, "clustering clustering/auto clustering/centroid clustering/cut clustering/heldout clustering/kernelkmeans constraint dataset kernel metric parallel partition profile snapshot spectral"},
	{"clustering/local", pure, "clustering clustering/auto clustering/centroid clustering/cut clustering/embedding clustering/howmany clustering/kernelkmeans clustering/knn clustering/landmark dataset fault neighbor"},
	{"clustering/comparison", pure, "clustering clustering/auto clustering/cut clustering/heldout clustering/local dataset"},
	{"table", pure, "clustering clustering/cut constraint fault parallel text"},
	{"recipe", pure, "dataset fault parallel table text"},
	{"synth", pure, "constraint dataset fault"},
	{"segment", pure, "constraint dataset fault kernel"},

	{"format/raw", io, "fault"},
	{"format/parquet", io, "fault format/raw parallel table"},
	{"format/arrow", io, "fault format/raw table"},
	{"format", io, "clustering/cut constraint dataset fault format/arrow format/parquet format/raw parallel segment table text"},
	{"picture", io, "constraint dataset fault segment"},
	{"page", io, ""},
	{"backoff", io, ""},
	{"waitlock", pure, ""},
	{"observe", io, "fault"},
	{"candidates", io, "fault"},
	{"reload", io, "fault"},
	{"credentials", io, "fault reload"},
	{"store", io, "credentials fault text"},
	{"access", io, "credentials fault identity reload"},
	{"certs", io, "access credentials fault identity"},
	{"audit", io, "fault"},

	{"wire", api, "catalog clustering clustering/auto clustering/centroid clustering/cut clustering/embedding clustering/kernelkmeans constraint dataset evaluate fault inference kernel labeling metric neighbor partition planning recipe spectral table text vector"},
	{"fleet", api, "clustering clustering/centroid clustering/kernelkmeans dataset fault kernel labeling neighbor partition planning text vector waitlock wire"},
	{"coordinator", api, "access audit backoff clustering clustering/auto clustering/centroid clustering/comparison clustering/cut clustering/embedding clustering/howmany clustering/kernelkmeans clustering/knn clustering/landmark clustering/local constraint credentials dataset evaluate fault fleet identity kernel metric neighbor observe partition planning recipe redact snapshot store table text turns waitlock wire"},
	{"worker", api, "backoff candidates clustering constraint credentials dataset fault kernel labeling neighbor observe parallel partition planning text vector wire"},
	{"cli/shell", io, "catalog fault redact text"}, // what all three programs share, without linking either half
	{"cli/jobflags", api, "catalog cli/shell clustering/cut constraint dataset evaluate fault format recipe synth table text wire"},
	{"cli/client", api, "backoff candidates cli/shell clustering coordinator credentials dataset fault table text wire worker"},
	{"cli/explain", api, "constraint text wire"},
	{"cli/report", api, "catalog cli/client cli/explain cli/jobflags cli/shell clustering constraint dataset evaluate fault format kernel metric page picture profile table text wire"},
	{"cli", api, "access catalog certs cli/client cli/explain cli/jobflags cli/report cli/shell clustering clustering/auto clustering/centroid clustering/kernelkmeans clustering/knn constraint coordinator credentials dataset evaluate fault format identity observe picture recipe redact segment synth table text wire worker"},

	{"clustering/clusteringtest", testOnly, ""},
	{"testscale", testOnly, ""},
	{"table/tabletest", testOnly, ""},
	{"cli/clitest", testOnly, ""},
	{"clustertest", testOnly, ""},
	{"simulation", testOnly, ""},
	{"catalog/cmd/tables", testOnly, ""}, // make generate
	{"bench", testOnly, ""},              // make bench
	{"bench/cmd/bench", testOnly, ""},
	{"loadtest", testOnly, ""}, // make load
	{"loadtest/cmd/load", testOnly, ""},
	{"experiments", testOnly, ""}, // make experiments
	{"experiments/cmd/experiments", testOnly, ""},
	{"answers", testOnly, ""}, // make answers
	{"answers/cmd/answers", testOnly, ""},
	{"architecture", testOnly, ""},
}

// commands are the internal packages that a main may import: it reads flags and calls Run.
var commands = []string{"cli", "cli/shell", "coordinator", "observe", "worker"}

// pureModules are the only foreign modules that pure packages import.
var pureModules = []string{"gonum.org/v1/gonum", "golang.org/x/sys/cpu"}

// impure are standard packages that pure packages must not import, nor any package below them.
var impure = []string{"crypto/rand", "log", "net", "os", "plugin", "syscall", "time"}

// seeded are the names in math/rand and math/rand/v2 that use a source given by the caller; every other
// function there uses the global source.
var seeded = []string{
	"ChaCha8", "New", "NewChaCha8", "NewPCG", "NewSource", "NewZipf",
	"PCG", "Rand", "Source", "Source64", "Zipf",
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, problem := range importProblems(f) {
			t.Errorf("%s: %s", f.path, problem)
		}
	}
}

func TestTableImportsOnlyPackagesAbove(t *testing.T) {
	var below []string
	for _, r := range packages {
		for _, name := range strings.Fields(r.imports) {
			if !slices.Contains(below, name) {
				t.Errorf("the line of %s names %s, which is not above it in the table", r.name, name)
			}
			if r.kind == pure && ruleOf(name).kind > advice {
				t.Errorf("%s is pure and may not import %s, which is not", r.name, name)
			}
		}
		if slices.Contains(below, r.name) {
			t.Errorf("%s has two lines in the table", r.name)
		}
		below = append(below, r.name)
	}
}

// importProblems says what is wrong with the imports of one file. Tests may import anything, so that a
// package can be tested with one above it.
func importProblems(f goFile) []string {
	if f.isTest() {
		return nil
	}
	dir := path.Dir(f.path)
	switch name, isInternal := strings.CutPrefix(dir, "internal/"); {
	case isInternal:
		r := ruleOf(name)
		if r == nil {
			return []string{fmt.Sprintf("package %s is not in the table of "+
				"internal/architecture/arrows_test.go: add a line that says what it may import", dir)}
		}
		return r.problems(f)
	case strings.HasPrefix(dir, "cmd/"):
		return internalImportProblems(f, "a main", commands)
	case strings.HasPrefix(dir, "gen/"):
		return internalImportProblems(f, "generated code", nil)
	}
	return nil
}

func (r packageRule) problems(f goFile) []string {
	if r.kind == testOnly {
		return nil
	}
	problems := internalImportProblems(f, r.name, strings.Fields(r.imports))
	for _, imported := range f.imports() {
		if r.kind != api && strings.HasPrefix(imported, generated) {
			problems = append(problems, fmt.Sprintf("%s may not import generated code (%s): "+
				"convert in package wire", r.name, imported))
		}
		if r.kind == pure && !isPure(imported) {
			problems = append(problems, fmt.Sprintf("%s is pure and may not import %s: "+
				"pass in what it needs", r.name, imported))
		}
	}
	if r.kind == pure {
		problems = append(problems, globalRandomness(f)...)
	}
	return problems
}

// internalImportProblems checks imports of internal packages.
func internalImportProblems(f goFile, who string, allowed []string) []string {
	var problems []string
	for _, imported := range f.imports() {
		name, isOurs := strings.CutPrefix(imported, internal)
		if isOurs && !slices.Contains(allowed, name) {
			problems = append(problems, fmt.Sprintf("%s may not import %s", who, imported))
		}
	}
	return problems
}

// isPure tells whether a pure package may import this; internalImportProblems checks our own packages.
func isPure(imported string) bool {
	within := func(root string) bool {
		return imported == root || strings.HasPrefix(imported, root+"/")
	}
	if strings.HasPrefix(imported, module+"/") {
		return true
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
		return slices.ContainsFunc(pureModules, within)
	}
	return !slices.ContainsFunc(impure, within)
}

// globalRandomness finds uses of the global random source. It also reports variables that have the name of
// the package: call them rng.
func globalRandomness(f goFile) []string {
	var problems []string
	for _, spec := range f.syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		if imported != "math/rand" && imported != "math/rand/v2" {
			continue
		}
		name := "rand"
		if spec.Name != nil {
			name = spec.Name.Name
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := selector.X.(*ast.Ident); ok && x.Name == name && !slices.Contains(seeded, selector.Sel.Name) {
				problems = append(problems, fmt.Sprintf("line %d: %s.%s draws from the global source: "+
					"take a *rand.Rand or a seed", f.line(selector.Pos()), name, selector.Sel.Name))
			}
			return true
		})
	}
	return problems
}

func ruleOf(name string) *packageRule {
	for i := range packages {
		if packages[i].name == name {
			return &packages[i]
		}
	}
	return nil
}

func TestImportProblems(t *testing.T) {
	for _, c := range []struct {
		name, path, source string
		want               string // part of the only problem; empty for none
	}{
		{"downward", "internal/kernel/a.go", `import "` + internal + `dataset"`, ""},
		{"upward", "internal/dataset/a.go", `import "` + internal + `kernel"`, "dataset may not import"},
		{"sideways", "internal/store/a.go", `import "` + internal + `format"`, "store may not import"},
		{"upward in a test", "internal/dataset/a_test.go", `import "` + internal + `kernel"`, ""},
		{"unknown package", "internal/novel/a.go", "", "add a line"},
		{"unknown subpackage", "internal/kernel/fast/a.go", "", "add a line"},
		{"test helper in the product", "internal/cli/a.go", `import "` + internal + `clustertest"`, "cli may not import"},
		{"test helper in a test", "internal/cli/a_test.go", `import "` + internal + `clustertest"`, ""},
		{"test helper itself", "internal/clustertest/a.go", `import "` + internal + `cli"`, ""},
		{"main", "cmd/worker/main.go", `import "` + internal + `worker"`, ""},
		{"main going deep", "cmd/worker/main.go", `import "` + internal + `kernel"`, "a main may not import"},
		{"generated code in wire", "internal/wire/a.go", `import "` + generated + `cleave/v1"`, ""},
		{"generated code in store", "internal/store/a.go", `import "` + generated + `cleave/v1"`, "generated code"},
		{"generated code in a pure package", "internal/kernel/a.go", `import "` + generated + `cleave/v1"`, "generated code"},
		{"clock", "internal/kernel/a.go", `import "time"`, "is pure"},
		{"network", "internal/kernel/a.go", `import "net/http"`, "is pure"},
		{"clock in an IO package", "internal/store/a.go", `import "time"`, ""},
		{"logger", "internal/kernel/a.go", `import "github.com/hashicorp/go-hclog"`, "is pure"},
		{"gRPC", "internal/kernel/a.go", `import "google.golang.org/grpc/codes"`, "is pure"},
		{"matrices", "internal/spectral/a.go", `import "gonum.org/v1/gonum/mat"`, ""},
		{"standard mathematics", "internal/kernel/a.go", `import "math/bits"`, ""},
		{"seeded source", "internal/synth/a.go", "import \"math/rand/v2\"\nvar r = rand.New(rand.NewPCG(1, 2))", ""},
		{"global source", "internal/synth/a.go", "import \"math/rand/v2\"\nvar x = rand.Float64()", "global source"},
		{"renamed global source", "internal/synth/a.go", "import r \"math/rand\"\nvar x = r.Intn(3)", "global source"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := importProblems(parse(t, c.path, "package p\n"+c.source))
			if c.want == "" && len(got) > 0 {
				t.Errorf("found a problem where there is none: %q", got)
			}
			if c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want one problem with %q", got, c.want)
			}
		})
	}
}
