package cli

import (
	"testing"

	"github.com/cleave-project/cleave/internal/cli/clitest"
)

// Labels on standard output are those of the file, with the distance, margin and confidence of each row.
func TestLabelsOnStandardOutput(t *testing.T) {
	clitest.Folder(t, map[string]string{"people.csv": people})
	const run = "run --data people.csv --ignore team --k 2 --quiet --out "
	succeed(t, run+"folder")
	if piped, file := succeed(t, run+"-"), clitest.Read(t, "folder/labels.csv"); piped != file {
		t.Errorf("on standard output:\n%s\nin the folder:\n%s", piped, file)
	}
}
