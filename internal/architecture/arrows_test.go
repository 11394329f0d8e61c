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

// kind says what a package may touch besides the packages of its line.
type kind int

const (
	pure     kind = iota // computes: no files, network, clock, logs, global randomness or gRPC
	advice               // asks the system for what no result depends on: pure packages may import it
	io                   // touches the world, but not the generated API
	api                  // touches the world and the generated API
	testOnly             // imports what it likes; only tests import it
)

// room is one internal package and the packages that its non-test files may import.
type room struct {
	name    string
	kind    kind
	imports string // space separated, all of them from lines above
}

// house is the architecture, from the ground up: a package imports only what its line names, and
// a line names only packages above it, so that arrows cannot turn round.
var house = []room{
	{"fault", pure, ""},
	{"hugepage", advice, ""},
	{"dataset", pure, "fault"},
	{"constraint", pure, "fault"},
	{"partition", pure, "fault"},
	{"parallel", pure, ""},
	{"kernel", pure, "constraint dataset fault hugepage parallel partition"},
	{"planning", pure, "dataset fault kernel partition"},
	{"metric", pure, "constraint dataset fault partition"},
	{"vector", pure, "dataset fault kernel metric parallel partition"},
	{"inference", pure, "constraint dataset fault partition"},
	{"spectral", pure, "constraint dataset fault partition"},
	{"text", pure, ""},
	{"catalog", pure, ""},
	{"clustering", pure, "constraint dataset fault inference kernel metric partition text"},
	{"clustering/centroid", pure, "clustering constraint dataset fault inference kernel metric partition text vector"},
	{"clustering/embedding", pure, "clustering clustering/centroid dataset spectral"},
	{"clustering/kernelkmeans", pure, "catalog clustering clustering/embedding constraint dataset fault kernel partition spectral text"},
	{"clustering/cut", pure, "clustering clustering/embedding clustering/kernelkmeans constraint dataset fault kernel partition spectral"},
	{"clustering/local", pure, "clustering clustering/centroid clustering/cut clustering/kernelkmeans dataset"},
	{"evaluate", pure, "constraint dataset fault"},
	{"table", pure, "clustering clustering/cut constraint fault"},
	{"synth", pure, "constraint dataset fault"},
	{"segment", pure, "constraint dataset fault kernel"},

	{"format", io, "constraint dataset fault segment"},
	{"picture", io, "constraint dataset fault segment"},
	{"store", io, "fault"},
	{"backoff", io, ""},

	{"wire", api, "catalog clustering clustering/centroid clustering/cut clustering/embedding clustering/kernelkmeans constraint dataset evaluate fault inference kernel metric partition planning spectral table vector"},
	{"fleet", api, "clustering/centroid clustering/kernelkmeans dataset fault kernel partition planning vector wire"},
	{"coordinator", api, "backoff clustering clustering/centroid clustering/cut clustering/embedding clustering/kernelkmeans constraint dataset evaluate fault fleet kernel metric partition planning store table wire"},
	{"worker", api, "backoff clustering constraint dataset fault kernel partition planning vector wire"},
	{"cli/shell", io, "fault"}, // what all three programs share, without linking either half
	{"cli/jobflags", api, "catalog cli/shell clustering clustering/cut constraint dataset fault format table wire"},
	{"cli/client", api, "backoff cli/shell clustering coordinator dataset fault table wire worker"},
	{"cli/report", api, "catalog cli/client cli/jobflags cli/shell clustering constraint dataset evaluate fault format metric picture wire"},
	{"cli", api, "cli/client cli/jobflags cli/report cli/shell clustering clustering/centroid clustering/kernelkmeans constraint coordinator dataset evaluate fault format picture segment synth table wire worker"},

	{"clustering/clusteringtest", testOnly, ""},
	{"cli/clitest", testOnly, ""},
	{"clustertest", testOnly, ""},
	{"bench", testOnly, ""}, // make bench
	{"bench/cmd/bench", testOnly, ""},
	{"experiments", testOnly, ""}, // make experiments
	{"experiments/cmd/experiments", testOnly, ""},
	{"architecture", testOnly, ""},
}

// commands is what a main may import from internal: it reads flags and calls Run.
var commands = []string{"cli", "cli/shell", "coordinator", "worker"}

// pureModules are the only foreign modules that pure packages import.
var pureModules = []string{"gonum.org/v1/gonum", "golang.org/x/sys/cpu"}

// impure are standard packages, with all below them, that pure packages do without.
var impure = []string{"crypto/rand", "log", "net", "os", "plugin", "syscall", "time"}

// seeded are the names of math/rand and math/rand/v2 that take their source from the caller;
// every other function there draws from the global one.
var seeded = []string{
	"ChaCha8", "New", "NewChaCha8", "NewPCG", "NewSource", "NewZipf",
	"PCG", "Rand", "Source", "Source64", "Zipf",
}

func TestArrowsPointDown(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, complaint := range arrowComplaints(f) {
			t.Errorf("%s: %s", f.path, complaint)
		}
	}
}

func TestHouseIsBuiltFromTheGroundUp(t *testing.T) {
	var below []string
	for _, r := range house {
		for _, name := range strings.Fields(r.imports) {
			if !slices.Contains(below, name) {
				t.Errorf("the line of %s names %s, which is not above it in the table", r.name, name)
			}
			if r.kind == pure && find(name).kind > advice {
				t.Errorf("%s is pure and may not import %s, which is not", r.name, name)
			}
		}
		if slices.Contains(below, r.name) {
			t.Errorf("%s has two lines in the table", r.name)
		}
		below = append(below, r.name)
	}
}

// arrowComplaints says what is wrong with the imports of one file. Tests may import anything, so
// that a low package can be tested through a high one.
func arrowComplaints(f goFile) []string {
	if f.isTest() {
		return nil
	}
	dir := path.Dir(f.path)
	switch name, isInternal := strings.CutPrefix(dir, "internal/"); {
	case isInternal:
		r := find(name)
		if r == nil {
			return []string{fmt.Sprintf("package %s is not in the table of "+
				"internal/architecture/arrows_test.go: add a line that says what it may import", dir)}
		}
		return r.complaints(f)
	case strings.HasPrefix(dir, "cmd/"):
		return ourComplaints(f, "a main", commands)
	case strings.HasPrefix(dir, "gen/"):
		return ourComplaints(f, "generated code", nil)
	}
	return nil
}

func (r room) complaints(f goFile) []string {
	if r.kind == testOnly {
		return nil
	}
	complaints := ourComplaints(f, r.name, strings.Fields(r.imports))
	for _, imported := range f.imports() {
		if r.kind != api && strings.HasPrefix(imported, generated) {
			complaints = append(complaints, fmt.Sprintf("%s may not import generated code (%s): "+
				"convert in package wire", r.name, imported))
		}
		if r.kind == pure && !isPure(imported) {
			complaints = append(complaints, fmt.Sprintf("%s is pure and may not import %s: "+
				"pass in what it needs", r.name, imported))
		}
	}
	if r.kind == pure {
		complaints = append(complaints, globalRandomness(f)...)
	}
	return complaints
}

// ourComplaints checks the arrows among internal packages.
func ourComplaints(f goFile, who string, allowed []string) []string {
	var complaints []string
	for _, imported := range f.imports() {
		name, isOurs := strings.CutPrefix(imported, internal)
		if isOurs && !slices.Contains(allowed, name) {
			complaints = append(complaints, fmt.Sprintf("%s may not import %s", who, imported))
		}
	}
	return complaints
}

// isPure tells whether a pure package may import this; arrows among our own are checked elsewhere.
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

// globalRandomness finds calls that draw from the process's own random source. A variable that
// hides the package's name is reported too: call it rng.
func globalRandomness(f goFile) []string {
	var complaints []string
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
				complaints = append(complaints, fmt.Sprintf("line %d: %s.%s draws from the global source: "+
					"take a *rand.Rand or a seed", f.line(selector.Pos()), name, selector.Sel.Name))
			}
			return true
		})
	}
	return complaints
}

func find(name string) *room {
	for i := range house {
		if house[i].name == name {
			return &house[i]
		}
	}
	return nil
}

func TestArrowComplaints(t *testing.T) {
	for _, c := range []struct {
		name, path, source string
		want               string // part of the only complaint; empty for none
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
			got := arrowComplaints(parse(t, c.path, "package p\n"+c.source))
			if c.want == "" && len(got) > 0 {
				t.Errorf("complains without need: %q", got)
			}
			if c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want one complaint with %q", got, c.want)
			}
		})
	}
}
