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
	pure   kind = iota // only computes: no files, network, clock, logs, global randomness or gRPC
	advice             // calls the system, but results do not depend on it: pure packages may import it
	io                 // may use files, the network and the clock, but not the generated API
	api                // may also use the generated API
)

// packageRule is one internal package and the packages that its non-test files may import.
type packageRule struct {
	name    string
	kind    kind
	imports string // separated by spaces; all of them on lines above; data/* are all packages below data
}

// packages are all internal packages, and those at the top level with a slash in front, from the bottom up: a package
// imports only what its line names, and a line names only packages above it, so that there are no cycles. A line names
// a group, such as data/*, if the package may use all of a lower block.
var packages = []packageRule{
	{"fault", advice, ""}, // it has a time.Duration, and no clock
	{"invalid", pure, ""},
	{"text", pure, ""},
	{"refusal", pure, "fault invalid text"},
	{"signal", pure, ""},
	{"security/identity", pure, "fault"},
	{"security/redact", io, ""},
	{"kernel/hugepage", advice, ""},
	{"parallel", pure, ""},
	{"numeric/choose", pure, ""},
	{"numeric/connected", pure, ""},
	{"numeric/elementary", pure, ""},
	{"data/dataset", pure, "fault invalid numeric/elementary parallel text"},
	{"data/constraint", pure, "invalid text"},
	{"data/labeling", pure, ""},
	{"snapshot", pure, "signal"},
	{"partition", pure, ""},
	{"kernel", pure, "data/dataset data/labeling invalid kernel/hugepage numeric/choose numeric/elementary parallel " +
		"partition text"},
	{"numeric/neighbor", pure, "data/dataset invalid kernel numeric/choose numeric/elementary parallel text"},
	{"numeric/eigen", pure, "invalid numeric/choose parallel partition snapshot"},
	{"numeric/metric", pure, "invalid numeric/eigen numeric/elementary text"},
	{"numeric/vector", pure, "data/dataset data/labeling invalid kernel numeric/elementary numeric/metric parallel " +
		"partition"},
	{"data/evaluate", pure, "fault numeric/choose numeric/elementary"},
	{"inference", pure, "invalid numeric/choose numeric/connected numeric/elementary text"},
	{"clustering/multilevel", pure, "data/dataset numeric/choose parallel snapshot"},
	{"clustering/catalog", pure, "text"},
	{"render/profile", pure, "data/dataset data/evaluate numeric/choose numeric/metric"},
	{"clustering/mixture", pure, "data/constraint data/dataset invalid numeric/choose numeric/eigen " +
		"numeric/elementary parallel"},
	{"clustering/forest", pure, "data/dataset numeric/choose parallel"},
	{"clustering/model", pure, "clustering/forest clustering/mixture data/dataset kernel numeric/metric"},
	{"clustering", pure, "clustering/catalog clustering/model data/constraint data/dataset data/evaluate " +
		"data/labeling inference invalid kernel numeric/choose numeric/metric numeric/neighbor parallel partition " +
		"snapshot text"},
	{"clustering/knn", pure, "clustering data/dataset invalid numeric/neighbor snapshot"},
	{"clustering/coloring", pure, "numeric/choose numeric/connected"},
	{"clustering/kmeans", pure, "clustering clustering/catalog clustering/coloring clustering/model data/constraint " +
		"data/dataset data/labeling inference invalid numeric/choose numeric/metric numeric/vector parallel " +
		"partition snapshot text"},
	{"clustering/predict", pure, "clustering clustering/kmeans clustering/model data/dataset invalid kernel " +
		"numeric/choose numeric/vector partition"},
	{"clustering/component", pure, "data/constraint data/dataset"},
	{"clustering/embedding", pure, "clustering clustering/kmeans data/dataset numeric/eigen parallel partition"},
	{"clustering/heldout", pure, "clustering data/constraint data/evaluate numeric/choose"},
	{"clustering/enforce", pure, "clustering/coloring data/constraint"},
	{"clustering/discriminant", pure, "data/dataset invalid kernel numeric/choose numeric/eigen numeric/metric"},
	{"clustering/span", pure, "clustering clustering/embedding clustering/kmeans data/constraint data/dataset " +
		"inference numeric/choose numeric/eigen numeric/elementary parallel"},
	{"clustering/kernelkmeans", pure, "clustering clustering/catalog clustering/component clustering/embedding " +
		"clustering/multilevel data/constraint data/dataset data/labeling invalid kernel numeric/choose " +
		"numeric/eigen numeric/metric parallel partition snapshot text"},
	{"clustering/landmark", pure, "clustering clustering/kernelkmeans clustering/kmeans clustering/model " +
		"data/dataset data/evaluate invalid kernel numeric/choose numeric/eigen numeric/metric numeric/vector " +
		"parallel partition snapshot"},
	{"planning", pure, "clustering clustering/catalog clustering/landmark clustering/multilevel data/dataset fault " +
		"kernel numeric/eigen numeric/neighbor numeric/vector partition text"},
	{"clustering/spectral", pure, "clustering clustering/catalog clustering/component clustering/embedding " +
		"clustering/kernelkmeans clustering/span data/constraint data/dataset invalid kernel numeric/choose " +
		"numeric/connected numeric/eigen numeric/elementary numeric/metric parallel partition snapshot text"},
	{"clustering/auto", pure, "clustering clustering/catalog clustering/component clustering/discriminant " +
		"clustering/embedding clustering/enforce clustering/forest clustering/heldout clustering/kernelkmeans " +
		"clustering/kmeans clustering/knn clustering/mixture clustering/model clustering/multilevel clustering/span " +
		"data/constraint data/dataset invalid kernel numeric/choose numeric/eigen numeric/metric numeric/neighbor " +
		"numeric/vector parallel partition snapshot text"},
	{"clustering/krange", pure, "clustering clustering/auto clustering/heldout clustering/multilevel " +
		"data/constraint data/dataset data/evaluate fault invalid kernel numeric/choose numeric/eigen " +
		"numeric/metric parallel partition snapshot text"},
	{"clustering/prepare", pure, "clustering clustering/auto clustering/embedding clustering/kernelkmeans " +
		"clustering/kmeans clustering/landmark clustering/spectral data/dataset numeric/metric planning"},
	{"clustering/local", pure,
		"clustering clustering/auto clustering/embedding clustering/kernelkmeans clustering/kmeans clustering/knn " +
			"clustering/krange clustering/prepare data/dataset numeric/neighbor parallel"},
	{"clustering/comparison", pure,
		"clustering clustering/auto clustering/heldout clustering/local clustering/spectral data/dataset"},
	{"data/table", pure, "data/constraint fault numeric/choose parallel text"},
	{"data/recipe", pure, "data/dataset data/table fault numeric/choose parallel text"},
	{"data/synth", pure, "data/constraint data/dataset fault"},
	{"data/segment", pure, "data/constraint data/dataset fault numeric/elementary"},

	{"format/scan", io, "data/dataset fault parallel text"},
	{"format/csv", io, "data/table fault format/scan text"},
	{"format/columnar", io, "data/table fault format/scan parallel"},
	{"format/array", io, "data/dataset fault format/scan parallel text"},
	{"format/graph", io, "data/dataset format/array format/scan text"},
	{"format", io, "data/constraint data/dataset data/segment data/table fault format/array format/columnar " +
		"format/csv format/graph format/scan text"},
	{"render/picture", io, "data/constraint data/dataset numeric/choose numeric/connected numeric/eigen " +
		"numeric/elementary render/profile text"},
	{"render/page", io, "render/picture text"},
	{"observe", io, "fault"},
	{"security/reload", io, "fault"},
	{"security/credentials", io, "fault security/reload"},
	{"dial", io, "fault security/credentials"},
	{"store/seal", pure, "fault"},
	{"store", io, "fault observe security/credentials store/seal text"},
	{"objects", io, "fault security/identity"},
	// workers read objects without linking the clients of object stores
	{"objects/ranged", io, "dial fault security/redact"},
	{"objects/buckets", io, "fault objects"},

	{"security/access", io, "fault security/credentials security/identity security/reload"},
	{"security/certs", io, "fault security/access security/credentials security/identity"},
	{"security/audit", io, "fault"},

	{"wire", api, "clustering clustering/* data/* fault kernel numeric/metric numeric/vector planning refusal text"},
	{"wire/supervision", api, "data/constraint data/table fault text wire"},
	{"wire/reading", api, "fault format/csv"},
	{"fleet/outbox", io, "fault signal"},
	{"fleet/delivery/tree", pure, ""},
	{"fleet/delivery", api, "fault fleet/delivery/tree signal wire"},
	{"fleet/pace", io, "partition"},
	{"fleet/round", pure, ""},
	{"fleet/placing", pure, "partition"},
	{"fleet/check", pure, "data/labeling kernel numeric/neighbor numeric/vector partition"},
	{"fleet", api, "clustering clustering/kernelkmeans clustering/kmeans data/dataset data/labeling fault " +
		"fleet/check fleet/delivery fleet/outbox fleet/pace fleet/placing fleet/round kernel numeric/vector " +
		"objects/ranged observe partition planning security/identity signal text wire"},

	{"coordinator/queue", api, "fault text"},
	{"coordinator/records", api, "dial fault signal store store/seal text wire"},
	{"coordinator/backup", api, "coordinator/records fault store text"},
	{"coordinator/datasets", api,
		"coordinator/queue coordinator/records data/dataset data/table fault security/identity store text wire"},
	{"coordinator/events", api, "coordinator/records dial fault signal store"},
	{"coordinator/gate", api, "coordinator/queue fault observe security/access security/audit security/credentials " +
		"security/identity security/redact wire"},
	{"coordinator/httpapi", api,
		"coordinator/queue data/dataset data/table dial fault format format/scan observe wire"},
	{"coordinator/webhook", api, "coordinator/records dial fault security/redact store"},
	{"coordinator/imports", api, "coordinator/datasets coordinator/records data/table fault fleet format objects " +
		"objects/buckets security/identity signal store text wire wire/reading"},
	{"coordinator/runner", api, "clustering clustering/* coordinator/datasets coordinator/records data/* fault fleet " +
		"kernel numeric/neighbor planning snapshot store text wire wire/supervision"},
	{"coordinator/results", api, "clustering clustering/* coordinator/datasets coordinator/queue coordinator/records " +
		"coordinator/runner data/* fault fleet planning store wire"},
	{"coordinator/jobs", api, "clustering clustering/comparison coordinator/datasets coordinator/events " +
		"coordinator/queue coordinator/records coordinator/results coordinator/runner coordinator/webhook " +
		"data/dataset dial fault fleet observe partition planning refusal security/identity signal snapshot store " +
		"wire"},
	{"coordinator/api", api,
		"clustering coordinator/backup coordinator/datasets coordinator/gate coordinator/imports coordinator/jobs " +
			"coordinator/queue coordinator/records coordinator/results coordinator/runner coordinator/webhook " +
			"data/dataset fault fleet observe security/identity store text wire"},
	{"coordinator", api, "coordinator/* data/dataset dial fault fleet observe planning security/access " +
		"security/credentials signal store text wire"},

	{"worker/exchange", api,
		"dial fault objects/ranged security/credentials security/redact signal store/seal text wire"},
	{"worker", api, "data/dataset data/labeling data/table dial fault format kernel numeric/neighbor numeric/vector " +
		"objects/ranged observe parallel partition planning refusal security/credentials signal text wire " +
		"wire/reading worker/exchange"},

	{"/client", api, "data/dataset dial fault security/credentials wire"}, // public, at the top level

	// what all three programs share, without linking either half
	{"memlimit", io, "text"},
	{"cli/screen", io, "text"},
	{"cli/shell", io, "cli/screen clustering/catalog fault observe refusal security/credentials security/redact text " +
		"wire"},

	{"cli/jobflags", api, "cli/shell clustering/catalog clustering/spectral data/* fault format numeric/choose " +
		"objects refusal text wire wire/reading wire/supervision"},
	{"cli/client", api, "/client cli/shell clustering clustering/model coordinator data/dataset data/table dial " +
		"fault memlimit numeric/choose objects security/credentials wire worker"},
	{"render/explain", api, "data/constraint text wire"},
	{"cli/report", api, "cli/client cli/jobflags cli/screen cli/shell clustering clustering/* data/* fault format " +
		"numeric/choose numeric/metric render/explain render/profile text wire"},
	{"cli/resultpage", api, "cli/client cli/jobflags cli/report cli/shell clustering data/* kernel numeric/choose " +
		"numeric/metric render/* text wire"},
	{"cli", api, "cli/* clustering clustering/* coordinator coordinator/backup coordinator/imports data/* fault " +
		"format memlimit numeric/choose objects observe refusal render/explain security/* store text wire worker"},
}

// commands are the internal packages that a main may import: it reads flags and calls Run.
var commands = []string{"cli", "cli/shell", "coordinator", "memlimit", "observe", "security/credentials", "worker"}

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

// Every package that a line of the table names is imported, so that the table shows what is.
func TestTableNamesOnlyWhatIsImported(t *testing.T) {
	imported := map[string]bool{} // "package imports"
	for _, f := range goFiles(t) {
		for _, name := range f.imports() {
			if !f.isTest() {
				imported[ruleName(path.Dir(f.path))+" "+ruleName(strings.TrimPrefix(name, module+"/"))] = true
			}
		}
	}
	for _, r := range packages {
		for _, name := range strings.Fields(r.imports) {
			uses, least := 0, 1
			if isGroup(name) {
				least = 2
			}
			for _, other := range namedBy(name) {
				if imported[r.name+" "+other] {
					uses++
				}
			}
			if uses < least {
				t.Errorf("the line of %s names %s, of which it imports %d", r.name, name, uses)
			}
		}
	}
}

func isGroup(name string) bool { return strings.HasSuffix(name, "/*") }

// namedBy returns the packages that a word of a line stands for.
func namedBy(word string) (names []string) {
	group, is := strings.CutSuffix(word, "*")
	if !is {
		return []string{word}
	}
	for _, r := range packages {
		if strings.HasPrefix(r.name, group) {
			names = append(names, r.name)
		}
	}
	return names
}

func TestTableImportsOnlyPackagesAbove(t *testing.T) {
	var below []string
	for _, r := range packages {
		for _, name := range r.allowed() {
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
				"test/architecture/arrows_test.go: add a line that says what it may import", dir)}
		}
		return r.problems(f)
	case dir == "client":
		return append(ruleOf("/"+dir).problems(f), exportedInternals(f)...)
	case strings.HasPrefix(dir, "cmd/"):
		return internalImportProblems(f, "a main", commands)
	case strings.HasPrefix(dir, "gen/"):
		return internalImportProblems(f, "generated code", nil)
	}
	return nil
}

// allowed returns the packages that r may import.
func (r packageRule) allowed() (names []string) {
	for _, word := range strings.Fields(r.imports) {
		names = append(names, namedBy(word)...)
	}
	return names
}

func (r packageRule) problems(f goFile) []string {
	problems := internalImportProblems(f, r.name, r.allowed())
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

// internalImportProblems reports imports of our own packages outside the allowed ones. Tools and test clusters are
// never allowed: the product does without them.
func internalImportProblems(f goFile, who string, allowed []string) []string {
	var problems []string
	for _, imported := range f.imports() {
		name, isOurs := strings.CutPrefix(imported, module+"/")
		if !isOurs || strings.HasPrefix(name, "gen/") {
			continue
		}
		name, isInternal := strings.CutPrefix(name, "internal/")
		if !isInternal {
			name = "/" + name
		}
		if !slices.Contains(allowed, name) {
			problems = append(problems, fmt.Sprintf("%s may not import %s", who, imported))
		}
	}
	return problems
}

// exportedInternals finds internal packages in what a public package exports: users could not name their types.
func exportedInternals(f goFile) (problems []string) {
	names := map[string]bool{}
	for _, spec := range f.syntax.Imports {
		if imported, _ := strconv.Unquote(spec.Path.Value); strings.HasPrefix(imported, internal) {
			names[path.Base(imported)] = true
		}
	}
	check := func(node ast.Node) {
		ast.Inspect(node, func(n ast.Node) bool {
			if field, is := n.(*ast.Field); is && len(field.Names) > 0 &&
				!slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
				if _, isStruct := node.(*ast.StructType); isStruct {
					return false // a field that nobody else sees
				}
			}
			if selector, is := n.(*ast.SelectorExpr); is {
				if x, is := selector.X.(*ast.Ident); is && names[x.Name] {
					problems = append(problems, fmt.Sprintf("line %d: the public package exports %s.%s",
						f.line(selector.Pos()), x.Name, selector.Sel.Name))
				}
			}
			return true
		})
	}
	for _, declaration := range f.syntax.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d))) {
				check(d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, is := spec.(*ast.TypeSpec); is && t.Name.IsExported() {
					check(t.Type)
				}
			}
		}
	}
	return problems
}

// receiver returns the name of the type of a method.
func receiver(d *ast.FuncDecl) string {
	of := d.Recv.List[0].Type
	if pointer, is := of.(*ast.StarExpr); is {
		of = pointer.X
	}
	name, _ := of.(*ast.Ident)
	return name.String()
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

// ruleName returns the name in the table of a package that is in a folder of the repository.
func ruleName(folder string) string {
	if name, isInternal := strings.CutPrefix(folder, "internal/"); isInternal {
		return name
	}
	return "/" + folder
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
		{"downward", "internal/kernel/a.go", `import "` + internal + `data/dataset"`, ""},
		{"upward", "internal/data/dataset/a.go", `import "` + internal + `kernel"`, "data/dataset may not import"},
		{"sideways", "internal/store/a.go", `import "` + internal + `format"`, "store may not import"},
		{"an internal type in public", "client/a.go",
			`import "` + internal + `fault"` + "\nfunc Explain(f *fault.Error) {}",
			"the public package exports fault.Error"},
		{"an internal type in a public field", "client/a.go",
			`import "` + internal + `fault"` + "\ntype E struct { F *fault.Error }",
			"the public package exports fault.Error"},
		{"an internal type in a private field", "client/a.go",
			`import "` + internal + `fault"` + "\ntype E struct { f *fault.Error }", ""},
		{"an internal type in a private function", "client/a.go",
			`import "` + internal + `fault"` + "\nfunc explain(f *fault.Error) {}", ""},
		{"a coordinator as a client", "internal/coordinator/a.go", `import "` + module + `/client"`,
			"coordinator may not import"},
		{"upward in a test", "internal/data/dataset/a_test.go", `import "` + internal + `kernel"`, ""},
		{"unknown package", "internal/novel/a.go", "", "add a line"},
		{"unknown subpackage", "internal/kernel/fast/a.go", "", "add a line"},
		{"test helper in the product", "internal/cli/a.go", `import "` + module + `/test/clustertest"`,
			"cli may not import"},
		{"test helper in a test", "internal/cli/a_test.go", `import "` + module + `/test/clustertest"`, ""},
		{"test helper itself", "test/clustertest/a.go", `import "` + internal + `cli"`, ""},
		{"main", "cmd/worker/main.go", `import "` + internal + `worker"`, ""},
		{"main going deep", "cmd/worker/main.go", `import "` + internal + `kernel"`, "a main may not import"},
		{"generated code in wire", "internal/wire/a.go", `import "` + generated + `cleave/v1"`, ""},
		{"generated code in store", "internal/store/a.go", `import "` + generated + `cleave/v1"`, "generated code"},
		{"generated code in a pure package", "internal/kernel/a.go", `import "` + generated + `cleave/v1"`,
			"generated code"},
		{"clock", "internal/kernel/a.go", `import "time"`, "is pure"},
		{"network", "internal/kernel/a.go", `import "net/http"`, "is pure"},
		{"clock in an IO package", "internal/store/a.go", `import "time"`, ""},
		{"logger", "internal/kernel/a.go", `import "github.com/hashicorp/go-hclog"`, "is pure"},
		{"gRPC", "internal/kernel/a.go", `import "google.golang.org/grpc/codes"`, "is pure"},
		{"matrices", "internal/numeric/eigen/a.go", `import "gonum.org/v1/gonum/mat"`, ""},
		{"standard mathematics", "internal/kernel/a.go", `import "math/bits"`, ""},
		{"seeded source", "internal/data/synth/a.go", "import \"math/rand/v2\"\nvar r = rand.New(rand.NewPCG(1, 2))",
			""},
		{"global source", "internal/data/synth/a.go", "import \"math/rand/v2\"\nvar x = rand.Float64()",
			"global source"},
		{"renamed global source", "internal/data/synth/a.go", "import r \"math/rand\"\nvar x = r.Intn(3)",
			"global source"},
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
