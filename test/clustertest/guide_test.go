package clustertest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestTheGuideToHTTP runs the session of the guide to HTTP as it is written and compares its output.
func TestTheGuideToHTTP(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	c := startServe(t)
	page, err := os.ReadFile("../../docs/guide/http.md")
	if err != nil {
		t.Fatal(err)
	}
	var script, want strings.Builder
	script.WriteString("set -euo pipefail\n")
	for at, block := range strings.Split(string(page), "```") {
		if at%2 == 0 || !strings.HasPrefix(block, "console\n") {
			continue
		}
		for line := range strings.Lines(strings.TrimPrefix(block, "console\n")) {
			if command, is := strings.CutPrefix(line, "$ "); is {
				script.WriteString(strings.ReplaceAll(command, "localhost:7400", c.Addr))
			} else {
				want.WriteString(line)
			}
		}
	}
	command := exec.Command("bash", "-c", script.String())
	command.Dir = "../.."
	command.Env = append(os.Environ(), "no_proxy=*")
	got, err := command.CombinedOutput()
	if err != nil || string(got) != want.String() {
		t.Errorf("%v\n--- got\n%s--- want\n%s", err, got, want.String())
	}
}
