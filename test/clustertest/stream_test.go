package clustertest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/test/testscale"
)

// writeTable writes a table into a folder, in the format of its name.
func writeTable(t *testing.T, path string, rows *table.Table) {
	t.Helper()
	err := format.WriteFile(path, func(w io.Writer) error {
		return format.WriteTable(w, strings.TrimPrefix(filepath.Ext(path), "."), rows)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// withClasses adds a column of classes to customers, which is empty in some rows.
func withClasses(t *testing.T, rows *table.Table, known func(row int) bool) *table.Table {
	t.Helper()
	class := table.Column{Name: "group", Type: table.Text, Texts: make([]string, rows.Rows()),
		Empty: make([]bool, rows.Rows())}
	first := rows.Columns[2]
	for row := range class.Texts {
		if class.Empty[row] = !known(row); !class.Empty[row] {
			class.Texts[row] = []string{"low", "high"}[b2i(first.Numbers[row] > 0)]
		}
	}
	made, err := table.New(append(rows.Columns[:len(rows.Columns):len(rows.Columns)], class))
	return must(t, made, err)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Tables that are sent as they are read, from files and from standard input, become the same files as those that are
// read first: labels, joined rows, models and pictures.
func TestStreamedTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rows := customers(t, testscale.Count(400, 1500))
	writeTable(t, filepath.Join(dir, "few.csv"), withClasses(t, rows, func(row int) bool { return row%20 == 3 }))
	writeTable(t, filepath.Join(dir, "all.parquet"), withClasses(t, rows, func(int) bool { return true }))
	for name, text := range map[string]string{
		"pairs.csv": "i,j,kind\nc1,c10,must\nc4,c7,cannot\n",
		"seeds.csv": "id,class\nc1,b\nc4,a\nc13,b\n",
		"truth.csv": "",
	} {
		if name == "truth.csv" {
			for row := range rows.Rows() {
				text = fmt.Sprintf("c%d,%d\n", 3*row+1, row%3) + text
			}
			text = "id,label\n" + text
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := StartCluster(t, 1)
	for at, args := range testscale.Some([]string{
		"--data few.csv --label-column group --join --algorithm seeded-kmeans",
		"--data few.csv --ignore group --constraints pairs.csv --missing drop --join --labels-format parquet " +
			"--algorithm pc-kmeans",
		"--data all.parquet --label-column group --sample-constraints 40 --algorithm pc-kmeans",
		"--data all.parquet --ignore group --seeds seeds.csv --truth truth.csv --algorithm kernel-kmeans",
	}, 1) {
		run := func(out, command string) {
			t.Helper()
			line := fmt.Sprintf(command+" --k 2 --seed 3 --quiet --server %s --out %s", c.Addr, out)
			ran := shellIn(t, dir, line)
			if ran.ExitCode != 0 {
				t.Fatalf("%s: exit code %d, %s", line, ran.ExitCode, ran.Stderr)
			}
		}
		cleave := Build(t).Cleave
		read := fmt.Sprintf("read%d", at)
		file := fmt.Sprintf("file%d", at)
		pipe := fmt.Sprintf("pipe%d", at)
		run(read, cleave+" run "+args)
		run(file, cleave+" run --stream-from 0 "+args)
		data := strings.Fields(args)[1]
		run(pipe, "cat "+data+" | "+cleave+" run "+strings.Replace(args, data, "-", 1)+" --name "+data)
		sameOutput(t, args, filepath.Join(dir, read), filepath.Join(dir, file))
		sameOutput(t, args, filepath.Join(dir, read), filepath.Join(dir, pipe))
	}
}

// shellIn runs a line of a shell in a folder.
func shellIn(t *testing.T, dir, line string) CommandResult {
	t.Helper()
	return command(t, dir, "bash", "-euo", "pipefail", "-c", line)
}

// sameOutput compares what two runs wrote, but for what says when and how they ran.
func sameOutput(t *testing.T, what, dir, other string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	must(t, names, err)
	others, err := filepath.Glob(filepath.Join(other, "*"))
	must(t, others, err)
	if len(names) < 5 || len(names) != len(others) {
		t.Errorf("%s: %v, then %v", what, names, others)
	}
	for _, name := range names {
		base := filepath.Base(name)
		want, err := os.ReadFile(name)
		must(t, want, err)
		got, err := os.ReadFile(filepath.Join(other, base))
		switch {
		case err != nil:
			t.Errorf("%s: %v", what, err)
		case base == "result.json" || base == "report.html":
			// they tell of times and commands
		case base == "joined.parquet": // in other portions
			sameTable(t, what, readTable(t, name), readTable(t, filepath.Join(other, base)))
		case !bytes.Equal(got, want):
			t.Errorf("%s: %s differs: %.300s, then %.300s", what, base, want, got)
		}
	}
}

func sameTable(t *testing.T, what string, want, got *table.Table) {
	t.Helper()
	if want.ID() != got.ID() {
		t.Errorf("%s: a table of %d rows became another, of %d", what, want.Rows(), got.Rows())
	}
}

// An upload that breaks is repeated: a connection is cut, and a coordinator is killed and started again, while a table
// is sent from a file and from standard input.
func TestBrokenUploadsOfStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeTable(t, filepath.Join(dir, "few.csv"), withClasses(t, customers(t, 20_000), func(row int) bool {
		return row%500 == 3
	}))
	c, _ := StartCluster(t, 1)
	p := startProxy(t, c.Addr)
	const args = " --label-column group --k 2 --seed 3 --algorithm seeded-kmeans --join --out - --server "
	cleave := Build(t).Cleave
	want := shellIn(t, dir, cleave+" run --data few.csv"+args+c.Addr)
	if want.ExitCode != 0 {
		t.Fatal(want.Stderr)
	}
	file := cleave + " run --stream-from 0 --data few.csv"
	pipe := "cat few.csv | " + cleave + " run --data -"
	for _, broken := range []struct {
		line  string
		fault func()
	}{{file, p.cut}, {pipe, p.cut}, {pipe, func() { c.Kill(); c.Restart() }}} {
		p.whenPassed(400_000, broken.fault)
		got := shellIn(t, dir, broken.line+args+p.addr())
		if got.ExitCode != 0 || got.Stdout != want.Stdout ||
			!strings.Contains(got.Stderr, "sending the table again from its first row") {
			t.Errorf("%s: exit code %d, %d bytes where %d were expected: %s", broken.line, got.ExitCode,
				len(got.Stdout), len(want.Stdout), got.Stderr)
		}
	}
}
