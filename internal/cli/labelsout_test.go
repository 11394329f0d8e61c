package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// Labels on standard output are those of the file, with the distance, margin and confidence of each row.
func TestLabelsOnStandardOutput(t *testing.T) {
	clitest.Folder(t, map[string]string{"people.csv": people})
	const run = "run --data people.csv --ignore team --k 2 --quiet --out "
	succeed(t, run+"folder")
	if piped, file := succeed(t, run+"-"), clitest.Read(t, "folder/labels.csv"); piped != file {
		t.Errorf("on standard output:\n%s\nin the folder:\n%s", piped, file)
	}
	for command, want := range map[string]string{"predict --model folder --data people.csv": "id,label",
		"report folder": "<!DOCTYPE html>"} {
		if out := succeed(t, command+" --out -"); !strings.Contains(strings.SplitN(out, "\n", 8)[0]+out[:40], want) {
			t.Errorf("%s --out - writes %.80q", command, out)
		}
	}
	if r := invoke(t, "rerun folder --out -"); r.code != 2 || r.stdout != "" {
		t.Errorf("rerun --out -: exit code %d, %q", r.code, r.stdout)
	}
	if _, err := os.Stat("-"); !os.IsNotExist(err) {
		t.Errorf("there is a file of the name -: %v", err)
	}
}
