package jobflags

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	flags := Add(set, nil)
	if err := set.Parse([]string{"--data", "."}); err != nil {
		t.Fatal(err)
	}
	if files := flags.NamedFiles(folder); len(files) != 1 || files[0] != (NamedFile{"data", "a.csv"}) {
		t.Errorf("the inputs are %v", files)
	}
}

// What counts for whether a table is sent while it is read is the size of a folder's parts.
func TestTheSizeOfAFolderIsThatOfItsParts(t *testing.T) {
	folder := t.TempDir()
	content := "x\n" + strings.Repeat("1\n", 32<<10)
	for _, name := range []string{"a.csv", "b.csv"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, want := range map[int]bool{2 * len(content): true, 2*len(content) + 1: false} {
		set := pflag.NewFlagSet("submit", pflag.ContinueOnError)
		flags := Add(set, nil)
		flags.MayStream = true
		if err := set.Parse([]string{"--data", folder, "--stream-from", strconv.Itoa(from)}); err != nil {
			t.Fatal(err)
		}
		if got := flags.streams(); got != want {
			t.Errorf("two parts of %d bytes with --stream-from %d: streamed: %t", len(content), from, got)
		}
	}
}

// A terminal is told of a few guesses about a table if a report will list all of them, and of everything else.
func TestBriefNotices(t *testing.T) {
	j := &Job{Loaded: Loaded{Table: &TableInfo{Notices: []string{"1", "2", "3"}, Fitted: []string{"4", "5", "6"}}},
		Notices: []string{"seeds"}, Chosen: "kmeans"}
	for brief, want := range map[bool]string{
		false: "1|2|3|4|5|6|seeds|kmeans",
		true:  "1|2|3|4|and 2 more guesses about the table; report.html has all of them|seeds|kmeans",
	} {
		if got := strings.Join(j.AllNotices(false, brief), "|"); got != want {
			t.Errorf("brief %v: %s", brief, got)
		}
	}
	if got := j.AllNotices(true, true); len(got) != 5 {
		t.Errorf("the few notices are %q", got)
	}
}
