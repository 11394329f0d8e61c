package clustertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/programs"
)

// TestAForeignClient runs the grpcurl commands of the guide. grpcurl knows the API only by reflection. The
// test replaces the address and the job's id.
func TestAForeignClient(t *testing.T) {
	root, err := programs.Root()
	must(t, root, err)
	// Before the parallel tests: with empty caches the build takes minutes, and would slow down tests
	// that wait for something.
	folder, err := programs.BuildTool("build", "github.com/fullstorydev/grpcurl/cmd/grpcurl")
	must(t, folder, err)
	t.Parallel()
	c, _ := StartCluster(t, 1)
	commands := strings.ReplaceAll(guideCommands(t, root, "clients.md", "# From any language"),
		"localhost:7400", c.Addr)
	until := strings.Index(commands, "CreateJob\n") + len("CreateJob\n")
	if until < len("CreateJob\n") || !strings.Contains(commands[until:], `"JOB"`) {
		t.Fatalf("the guide's commands do not create a job and then use it:\n%s", commands)
	}
	run := func(commands string) string {
		t.Helper()
		ran := Command(t, "bash", "-euo", "pipefail", "-c", "PATH='"+folder+"':$PATH\n"+commands)
		if ran.ExitCode != 0 {
			t.Fatalf("the guide's commands end with exit code %d: %s", ran.ExitCode, ran.Stderr)
		}
		return ran.Stdout
	}

	output := run(commands[:until])
	for _, service := range []string{"cleave.v1.ClusterService", "cleave.v1.DatasetService", "cleave.v1.JobService",
		"cleave.v1.TableService", "grpc.health.v1.Health"} {
		if !strings.Contains(output, service+"\n") {
			t.Errorf("%s is not listed in:\n%s", service, output)
		}
	}
	job := regexp.MustCompile(`"jobId": "([^"]+)"`).FindStringSubmatch(output)
	if job == nil {
		t.Fatalf("no job was created:\n%s", output)
	}
	output = run(strings.ReplaceAll(commands[until:], `"JOB"`, `"`+job[1]+`"`))
	for _, want := range []string{`"iteration": {`, `"state": "JOB_STATE_SUCCEEDED"`,
		`"stopReason": "STOP_REASON_CONVERGED"`} {
		if !strings.Contains(output, want) {
			t.Errorf("the watch does not print %q:\n%s", want, output)
		}
	}
	labels := regexp.MustCompile(`\s+`).ReplaceAllString(output[strings.LastIndex(output, "\n{"):], "")
	if labels != `{"labels":[0,0,0,1,1,1]}` && labels != `{"labels":[1,1,1,0,0,0]}` {
		t.Errorf("the labels are %s", labels)
	}
}

// guideCommands returns the first block of commands under a heading of a page of the guide.
func guideCommands(t testing.TB, root, page, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "guide", page))
	must(t, text, err)
	_, section, found := strings.Cut("\n"+string(text), "\n"+heading+"\n")
	_, block, begins := strings.Cut(section, "\n```sh\n")
	block, _, ends := strings.Cut(block, "\n```\n")
	if !found || !begins || !ends {
		t.Fatalf("%s has no block of commands under %q", page, heading)
	}
	return block + "\n"
}
