// Package examples tests the steps in its folders.
package examples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/argoproj/argo-workflows/v3/pkg/apis/workflow" // keeps the version of the schema in go.mod
	"github.com/rhysd/actionlint"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/cleave-project/cleave/examples/internal/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// run runs a program in a folder, with a server, and returns what it prints.
func run(t *testing.T, dir, address string, args ...string) string {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CLEAVE="+server.Cleave(t), "CLEAVE_SERVER="+address, "HOME="+dir,
		"XDG_CACHE_HOME="+filepath.Join(dir, ".cache"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return string(out)
}

// folder copies the file of an example into a new folder.
func folder(t *testing.T, file string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// points writes two groups of points to a file.
func points(t *testing.T, path string) {
	t.Helper()
	text := "x,y\n"
	for i := range 30 {
		text += fmt.Sprintf("%d.%d,%d\n", i%3*10, i, i%7)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// jobs returns how many jobs a server has.
func jobs(t *testing.T, address string) int {
	t.Helper()
	var list struct{ Jobs []any }
	if err := json.Unmarshal([]byte(run(t, t.TempDir(), "", server.Cleave(t), "list", "--json", "--server", address)),
		&list); err != nil {
		t.Fatal(err)
	}
	return len(list.Jobs)
}

func wantLabels(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 31 {
		t.Errorf("%s: %v\n%s", path, err, text)
	}
}

func TestMake(t *testing.T) {
	address := server.Start(t)
	dir := folder(t, "make/Makefile")
	points(t, filepath.Join(dir, "points.csv"))
	run(t, dir, address, "make")
	wantLabels(t, filepath.Join(dir, "result/labels.csv"))
	if again := run(t, dir, address, "make"); !strings.Contains(again, "up to date") {
		t.Errorf("once more: %s", again)
	}
	run(t, dir, address, "make", "clean")
	run(t, dir, address, "make") // finds its job
	wantLabels(t, filepath.Join(dir, "result/labels.csv"))
	if got := jobs(t, address); got != 1 {
		t.Errorf("there are %d jobs", got)
	}
	run(t, dir, address, "make", "--always-make", "RUN=2")
	if got := jobs(t, address); got != 2 {
		t.Errorf("after another run there are %d jobs", got)
	}
}

func TestSnakemake(t *testing.T) {
	address := server.Start(t)
	dir := folder(t, "snakemake/Snakefile")
	points(t, filepath.Join(dir, "data/a.csv"))
	points(t, filepath.Join(dir, "data/b.csv"))
	run(t, dir, address, "snakemake", "--cores", "2")
	if again := run(t, dir, address, "snakemake", "--cores", "2"); !strings.Contains(again, "Nothing to be done") {
		t.Errorf("once more: %s", again)
	}
	run(t, dir, address, "snakemake", "--cores", "2", "--forceall") // finds its jobs
	wantLabels(t, filepath.Join(dir, "results/a/labels.csv"))
	wantLabels(t, filepath.Join(dir, "results/b/labels.csv"))
	if got := jobs(t, address); got != 2 {
		t.Errorf("there are %d jobs", got)
	}
}

func TestGitHubActions(t *testing.T) {
	linter, err := actionlint.NewLinter(os.Stderr, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := linter.LintFile("github-actions/cluster.yml", nil)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestArgo checks the workflow by Argo's own schema, and that it has no field that the schema does not know.
func TestArgo(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-workflows/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "api/jsonschema/schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("argo.json", schema); err != nil {
		t.Fatal(err)
	}
	const workflow = "io.argoproj.workflow.v1alpha1.Workflow"
	compiled, err := compiler.Compile("argo.json#/definitions/" + workflow)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile("argo/workflow.yaml")
	if err == nil {
		content, err = yaml.YAMLToJSONStrict(content)
	}
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(document); err != nil {
		t.Error(err)
	}
	definitions := schema.(map[string]any)["definitions"].(map[string]any)
	for _, field := range unknownFields(document, map[string]any{"$ref": "#/definitions/" + workflow},
		definitions, "") {
		t.Errorf("%s is not a field of Argo", field)
	}
	document.(map[string]any)["spec"].(map[string]any)["entryPoint"] = "cluster"
	if unknown := unknownFields(document, map[string]any{"$ref": "#/definitions/" + workflow}, definitions,
		""); !slices.Equal(unknown, []string{".spec.entryPoint"}) {
		t.Errorf("of a misspelled field only %v is found", unknown)
	}
}

// unknownFields returns the fields of a document that its schema does not name. The schema itself allows any.
func unknownFields(document any, schema map[string]any, definitions map[string]any, at string) (unknown []string) {
	if ref, is := schema["$ref"].(string); is {
		schema, _ = definitions[strings.TrimPrefix(ref, "#/definitions/")].(map[string]any)
	}
	switch value := document.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, item := range value {
			unknown = append(unknown, unknownFields(item, items, definitions, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		properties, closed := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			field, known := properties[name].(map[string]any)
			if closed && !known {
				unknown = append(unknown, at+"."+name)
			}
			unknown = append(unknown, unknownFields(value[name], field, definitions, at+"."+name)...)
		}
	}
	return unknown
}
