package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// gappedFile is big/data.csv: the rows of g/data.csv with unusable rows between them. A run that drops those
// must find what a run on g/data.csv finds.
type gappedFile struct {
	rows []int // for each row of g/data.csv its row in big/data.csv
}

// enlarge writes big/data.csv with an unusable row before every fourth row of g/data.csv.
func enlarge(t *testing.T) *gappedFile {
	t.Helper()
	if err := os.Mkdir("big", 0o777); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(clitest.Read(t, "g/data.csv")), "\n")
	unusable := []string{"?,1,2", "1,,2", "1,2,NA", "nan,NaN,1", "1,2,"}
	g := &gappedFile{}
	text := lines[0] + "\n"
	row := 0
	for i, line := range lines[1:] {
		if i%4 == 0 {
			text += unusable[i/4%len(unusable)] + "\n"
			row++
		}
		text += line + "\n"
		g.rows = append(g.rows, row)
		row++
	}
	g.write(t, "data.csv", text)
	return g
}

func (g *gappedFile) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile("big/"+name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// table renumbers the rows in the first columns of a table from g/data.csv to big/data.csv, and adds extra
// lines about unusable rows.
func (g *gappedFile) table(t *testing.T, from, name string, indices int, extra string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(clitest.Read(t, from)), "\n")
	text := lines[0] + "\n" + extra
	for _, line := range lines[1:] {
		cells := strings.Split(line, ",")
		for at := range indices {
			var row int
			if _, err := fmt.Sscan(cells[at], &row); err != nil {
				t.Fatal(err)
			}
			cells[at] = fmt.Sprint(g.rows[row])
		}
		text += strings.Join(cells, ",") + "\n"
	}
	g.write(t, name, text)
}

// labels are the labels of all rows of big/data.csv, where unusable rows have the label other.
func (g *gappedFile) labels(t *testing.T, from, other string) string {
	t.Helper()
	_, labels, err := format.LoadTable(from, table.Labels, len(g.rows))
	if err != nil {
		t.Fatal(err)
	}
	text, next := "index,label\n", 0
	for i, row := range g.rows {
		for ; next < row; next++ {
			text += fmt.Sprintf("%d,%s\n", next, other)
		}
		text += fmt.Sprintf("%d,%d\n", row, labels[i])
		next++
	}
	return text
}

// A run that drops rows finds the same as a run on a file without them.
func TestDroppedRowsMakeNoDifference(t *testing.T) {
	vectorFiles(t)
	g := enlarge(t)
	for name, text := range map[string]string{
		"on.csv": "index\n3\n4\n17\n40\n60\n", "w.csv": "index,weight\n5,2\n50,0.5\n",
	} {
		if err := os.WriteFile("g/"+name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	g.table(t, "g/constraints.csv", "constraints.csv", 2, "0,1,must,\n0,5,cannot,3\n2,10,cannot,\n")
	g.table(t, "seeds.csv", "seeds.csv", 1, "5,1\n")
	g.table(t, "g/on.csv", "on.csv", 1, "0\n")
	g.table(t, "g/w.csv", "w.csv", 1, "0,9\n")
	g.write(t, "truth.csv", g.labels(t, "g/truth.csv", "7"))
	g.write(t, "start.csv", g.labels(t, "g/truth.csv", "-1"))
	const lost = 23
	for _, c := range []struct{ small, large, with string }{
		{"--algorithm kernel-kmeans --truth g/truth.csv --constraints g/constraints.csv",
			"--algorithm kernel-kmeans --truth big/truth.csv --constraints big/constraints.csv",
			", and with them 3 constraints"},
		{"--algorithm kernel-kmeans --truth g/truth.csv --score-on g/on.csv --seeds seeds.csv",
			"--algorithm kernel-kmeans --truth big/truth.csv --score-on big/on.csv --seeds big/seeds.csv",
			", and with them 1 seed"},
		{"--algorithm kernel-kmeans --weights g/w.csv --kernel linear",
			"--algorithm kernel-kmeans --weights big/w.csv --kernel linear", ""},
		{"--algorithm kernel-kmeans --init labels:g/truth.csv --max-iterations 1",
			"--algorithm kernel-kmeans --init labels:big/start.csv --max-iterations 1", ""},
		{"--algorithm mpc-kmeans --constraints g/constraints.csv",
			"--algorithm mpc-kmeans --constraints big/constraints.csv", ", and with them 3 constraints"},
	} {
		t.Run(c.small, func(t *testing.T) {
			few := t.TempDir()
			all := t.TempDir()
			succeed(t, "run --quiet --name x --data g/data.csv --k 3 --seed 3 --out "+few+" "+c.small)
			r := invoke(t, "run --quiet --name x --missing drop --data big/data.csv --k 3 --seed 3 --out "+all+" "+
				c.large)
			said := fmt.Sprintf("left out %d of 113 rows (with missing values)%s", lost, c.with)
			if r.code != 0 || r.stderr != "cleave: "+said+"\n" {
				t.Fatalf("exit code %d: %s", r.code, r.stderr)
			}
			if got, want := labelColumns(clitest.Read(t, all+"/labels.csv")), g.labels(t, few+"/labels.csv",
				"-1"); got != want {
				t.Errorf("labels.csv is %s", got)
			}
			want := answer(t, clitest.Read(t, few+"/result.json"))
			got := answer(t, clitest.Read(t, all+"/result.json"))
			want.Recipe = got.GetRecipe() // which has what stands in for missing values, or drops them
			want.DroppedRows = lost
			want.Warnings = append(want.Warnings, &cleavev1.Notice{Reason: "MISSING_ROWS", Message: said})
			if !proto.Equal(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
			if clitest.Read(t, few+"/clusters.svg") != clitest.Read(t, all+"/clusters.svg") {
				t.Error("clusters.svg differs")
			}
		})
	}
	if out := succeed(t, "plan --missing drop --data big/data.csv --k 3 --algorithm kernel-kmeans"); !strings.Contains(
		out, "90 x 90") {
		t.Errorf("plan: %s", out)
	}
	// predict drops the same rows.
	succeed(t, "run --quiet --missing drop --data big/data.csv --k 3 --algorithm kernel-kmeans --out o")
	succeed(t, "run --quiet --data g/data.csv --k 3 --algorithm kernel-kmeans --out few")
	if got := labelColumns(succeed(t, "predict --model o --trained-on big/data.csv --data g/data.csv")); got !=
		labelColumns(clitest.Read(t, "few/labels.csv")) {
		t.Errorf("predicted %s", got)
	}
}

func TestRowsWithoutDirection(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"whole.svm":   "0 1:1 2:3\n0\n0 1:2 2:5\n0 1:? 2:1\n0 1:4 2:1\n0 1:0\n0 1:5\n",
		"reduced.svm": "0 1:1 2:3\n0 1:2 2:5\n0 1:4 2:1\n0 1:5\n",
		"whole.csv":   "1,3\n0,0\n2,5\n4,1\n-0,0\n5,0\n",
		"reduced.csv": "1,3\n2,5\n4,1\n5,0\n",
	})
	for _, c := range []struct{ args, whole, reduced, labels, said string }{
		{"--algorithm kmeans --geometry spherical", "whole.svm", "reduced.svm", "%d,-1,%d,-1,%d,-1,%d",
			"left out 3 of 7 rows (1 with missing values, 2 all zero, without a direction)"},
		{"--algorithm hmrf-kmeans --distortion cosine", "whole.csv", "reduced.csv", "%d,-1,%d,%d,-1,%d",
			"left out 2 of 6 rows (all zero, without a direction)"},
		{"--kernel cosine", "whole.csv", "reduced.csv", "%d,-1,%d,%d,-1,%d",
			"left out 2 of 6 rows (all zero, without a direction)"},
	} {
		if r := invoke(t, "run --quiet --k 2 "+c.args+" --data "+c.whole); r.code != 2 {
			t.Errorf("%s: exit code %d, %s", c.args, r.code, r.stderr)
		}
		succeed(t, "run --quiet --k 2 --out few --data "+c.reduced+" "+c.args)
		r := invoke(t, "run --quiet --k 2 --out all --missing drop --data "+c.whole+" "+c.args)
		if r.code != 0 || !strings.Contains(r.stderr, c.said) {
			t.Fatalf("%s: exit code %d, %s", c.args, r.code, r.stderr)
		}
		_, few, err := format.LoadTable("few/labels.csv", table.Labels, 4)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(c.labels, few[0], few[1], few[2], few[3])
		_, all, err := format.LoadTable("all/labels.csv", table.Labels, 0)
		if got := strings.Trim(strings.ReplaceAll(fmt.Sprint(all), " ", ","), "[]"); err != nil || got != want {
			t.Errorf("%s: labels %s, want %s (%v)", c.args, got, want, err)
		}
	}
	// Where directions are not compared, rows of zeros are kept.
	if d := readResult(t,
		succeed(t, "run --quiet --json --missing drop --k 2 --algorithm kmeans --data whole.csv")); d.Rows != 6 ||
		d.DroppedRows != 0 {
		t.Errorf("%d points, without %d", d.Rows, d.DroppedRows)
	}
}

func TestMissingRowsAreRefused(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"gap.csv":   "1,2\n3,\n5,6\n",
		"gap.mtx":   "%%MatrixMarket matrix array real general\n2 1\n1\nnan\n",
		"none.csv":  "?,2\n3,NA\n",
		"zero.csv":  "0,0\n?,1\n",
		"l.csv":     "index,label\n0,0\n1,9\n2,5\n",
		"on.csv":    "index\n1\n",
		"truth.csv": "index,label\n0,0\n1,0\n2,1\n",
		"far.yaml": "k: 2\nkernelKmeans: {}\nsupervision: {constraints: {inline: {columns: [{name: i, integers: " +
			"{values: [0]}}, " +
			"{name: j, integers: {values: [3]}}, {name: kind, texts: {values: [must]}}]}}}\n",
		"few.yaml": "k: 2\nkernelKmeans: {}\ninitialization: {start: START_LABELS, labels: {inline: {columns: " +
			"[{name: label, integers: {values: [1, 1]}}]}}}\n",
		"sum.csv": "name,x,y\na,1,2\nb,3,4\nc,5,6\nTotal,9,12\n",
		"id.yaml": "k: 2\nkernelKmeans: {weights: {tableId: abc}}\n",
	})
	for _, c := range []struct{ args, want string }{
		{"--data gap.csv --missing error",
			`gap.csv, line 2, column "column 2": there is no value; fill it in, or use --missing auto, drop, ` +
				`mean or median`},
		{"--data gap.mtx", "--missing drop leaves rows with missing values out"},
		{"--data none.csv --missing drop", "none.csv: no row is left: all 2 rows have missing values"},
		{"--data zero.csv --missing drop --kernel cosine",
			"zero.csv: no row is left: all rows without missing values are zeros"},
		{"--data gap.csv --missing drop --init labels:l.csv", "l.csv: point 2 has label 5"},
		{"--data gap.csv --missing drop --truth truth.csv --score-on on.csv",
			"all points that --score-on names were left out"},
		{"--data gap.csv --missing drop -f far.yaml", "point 3 is outside 0..2"},
		{"--data gap.csv --missing drop -f few.yaml", "labels: the table has 2 rows for 3 points"},
		{"--data gap.csv --missing drop -f id.yaml", "the weights are a table of the coordinator; give them as a file"},
		{"--data sum.csv -f id.yaml", "Cleave left out 1 of 4 rows (with totals) and numbered the others anew, but " +
			"the weights are a table of the coordinator; give them as a file"},
	} {
		r := invoke(t, "run --quiet --k 2 --out o "+c.args)
		if r.code != 2 || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
		if _, err := os.Stat("o"); err == nil {
			t.Errorf("%s left a folder behind", c.args)
		}
	}
}
