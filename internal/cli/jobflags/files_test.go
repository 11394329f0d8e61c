package jobflags

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
)

// A folder stands for its parts: what tools write beside them is no input, so a run can be repeated after they have.
func TestAFolderStandsForItsParts(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.csv", "_SUCCESS", ".b.csv.tmp"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("x\n1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := Add(set)
	if err := set.Parse([]string{"--data", "."}); err != nil {
		t.Fatal(err)
	}
	if files := flags.NamedFiles(folder); len(files) != 1 || files[0] != (NamedFile{"data", "a.csv"}) {
		t.Errorf("the inputs are %v", files)
	}
}
