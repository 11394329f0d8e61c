package architecture

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDependenciesAreExplained: the first column of docs/dependencies.md lists exactly the direct
// requirements and the tools of the go.mod files, and the dependencies of the TypeScript client.
func TestDependenciesAreExplained(t *testing.T) {
	page := read(t, "docs/dependencies.md")
	var explained []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(page, -1) {
		explained = append(explained, row[1])
	}
	needed := npmDependencies(t, read(t, "clients/typescript/package.json"))
	for _, f := range textFiles(t) {
		if path.Base(f.path) == "go.mod" {
			needed = append(needed, directRequirements(string(f.text))...)
		}
	}
	// modules of their own use ours
	needed = slices.DeleteFunc(needed, func(name string) bool { return name == module })
	for _, name := range needed {
		if !slices.Contains(explained, name) {
			t.Errorf("docs/dependencies.md does not say why we need %s", name)
		}
	}
	for _, name := range explained {
		if !slices.Contains(needed, name) {
			t.Errorf("docs/dependencies.md explains %s, which no go.mod and no package.json requires directly", name)
		}
	}
}

// npmDependencies lists the dependencies of a package.json, those for development too.
func npmDependencies(t *testing.T, text string) []string {
	t.Helper()
	var manifest struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal([]byte(text), &manifest); err != nil {
		t.Fatal(err)
	}
	return slices.Concat(slices.Collect(maps.Keys(manifest.Dependencies)),
		slices.Collect(maps.Keys(manifest.DevDependencies)))
}

// directRequirements lists what a go.mod requires directly, and its tools.
func directRequirements(mod string) []string {
	var names []string
	block := ""
	for line := range strings.Lines(mod) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == ")":
			block = ""
		case len(words) == 2 && words[1] == "(":
			block = words[0]
		default:
			if block != "" {
				words = append([]string{block}, words...)
			}
			isDirect := words[0] == "require" && !strings.Contains(line, "// indirect")
			if isDirect || words[0] == "tool" {
				names = append(names, words[1])
			}
		}
	}
	return names
}

func TestDirectRequirements(t *testing.T) {
	const mod = `module m

go 1.26

tool example.com/single

require example.com/alone v1.0.0

require (
	example.com/one v1.0.0
	example.com/two v1.0.0 // indirect
)

tool (
	example.com/cmd/tool
)
`
	want := []string{"example.com/single", "example.com/alone", "example.com/one", "example.com/cmd/tool"}
	if got := directRequirements(mod); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
