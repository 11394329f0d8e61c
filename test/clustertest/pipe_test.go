package clustertest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/test/programs"
)

// The guide's commands read Parquet from standard input and write its rows with their labels to standard output, and
// nothing else.
func TestParquetThroughAPipe(t *testing.T) {
	t.Parallel()
	root, err := programs.Root()
	must(t, root, err)
	dir := t.TempDir()
	if err := os.Symlink(filepath.Dir(Build(t).Cleave), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	ran := command(t, dir, "bash", "-euo", "pipefail", "-c", guideCommands(t, root, "files.md", "## In a pipe"))
	// what generate says
	if ran.ExitCode != 0 || strings.Count(ran.Stdout, "\n") != 1 || !strings.HasPrefix(ran.Stdout, "wrote ") {
		t.Fatalf("exit code %d, output %q, %s", ran.ExitCode, ran.Stdout, ran.Stderr)
	}
	before := readTable(t, filepath.Join(dir, "parts.parquet"))
	after := readTable(t, filepath.Join(dir, "labeled.parquet"))
	columns := len(before.Columns)
	if after.Rows() != before.Rows() || len(after.Columns) <= columns || before.Rows() != 300 {
		t.Fatalf("%d rows of %d columns became %d of %d", before.Rows(), columns, after.Rows(), len(after.Columns))
	}
	for at := range before.Columns {
		b, a := &before.Columns[at], &after.Columns[at]
		if a.Name != b.Name || !slices.Equal(a.Numbers, b.Numbers) || !slices.Equal(a.Integers, b.Integers) ||
			!slices.Equal(a.Texts, b.Texts) {
			t.Errorf("column %s is not what it was", b.Name)
		}
	}
	sizes := map[int64]int{}
	for _, label := range after.Columns[columns].Integers {
		sizes[label]++
	}
	if len(sizes) != 3 || sizes[0] != 100 || sizes[1] != 100 || sizes[2] != 100 {
		t.Errorf("clusters of %v rows", sizes)
	}
	// bin, the generated folder and two tables
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 4 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func readTable(t *testing.T, path string) *table.Table {
	t.Helper()
	r, err := format.OpenTable([]string{path}, format.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}
