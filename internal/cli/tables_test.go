package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/clitest"
)

// The command of the README makes a folder of results of a table as people have it: with semicolons, ids, class names
// half missing, a categorical column, decimal commas and empty cells.
func TestTableOfTheReadme(t *testing.T) {
	readme := clitest.Read(t, "../../README.md")
	example := clitest.Read(t, "../../docs/examples/customers.csv")
	clitest.Folder(t, map[string]string{"docs/examples/customers.csv": example})
	command := regexp.MustCompile(`(?m)^bin/cleave (run --data docs/examples/customers\.csv .*)$`).
		FindStringSubmatch(readme)
	if command == nil {
		t.Fatal("README.md has no command on docs/examples/customers.csv")
	}
	r := invoke(t, command[1])
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	said := strings.Join(regexp.MustCompile(`(?m)^cleave: (?:column|\d+ empty cells) .*\n`).FindAllString(r.stderr, -1),
		"")
	if !strings.HasPrefix(said, "cleave: column \"segment\"") || !strings.Contains(readme, "\n```\n"+said+"```\n") {
		t.Errorf("README.md does not have what is said about the table:\n%s", said)
	}
	if once := strings.Count(r.stderr+r.stdout, "C538-033"); once != 1 || strings.Contains(r.stdout, "warning") {
		t.Errorf("the row whose class is doubtful is named %d times:\n%s%s", once, r.stderr, r.stdout)
	}
	rows := strings.Split(strings.TrimSpace(example), "\n")
	labels := strings.Split(strings.TrimSpace(clitest.Read(t, "customers/labels.csv")), "\n")
	if len(labels) != len(rows) || !strings.HasPrefix(labels[0], "id,label,class") {
		t.Fatalf("labels.csv begins with %s and has %d lines", labels[0], len(labels))
	}
	right, known := 0, 0
	for at, line := range labels[1:] {
		cells := strings.Split(line, ",")
		row := strings.Split(rows[at+1], ";")
		if cells[0] != row[0] {
			t.Fatalf("line %d is about %s, not %s", at+2, cells[0], row[0])
		}
		if row[1] != "" {
			known++
			if cells[2] == row[1] {
				right++
			}
		}
	}
	if right < known*9/10 {
		t.Errorf("%d of %d known classes come back", right, known)
	}
	for _, name := range []string{"result.json", "clusters.svg", "report.html"} {
		if _, err := os.Stat(filepath.Join("customers", name)); err != nil {
			t.Error(err)
		}
	}
}

// people are two groups, by name.
const people = "name,x,y,team\nann,0,0,red\nbob,0,1,\ncat,1,0,red\ndan,9,9,blue\neve,9,8,\nfay,8,9,blue\n"

func TestIDsAndClassesInTables(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"people.csv":  people,
		"numbers.csv": "x,y\n0,0\n0,1\n1,0\n9,9\n9,8\n8,9\n",
		"pairs.csv":   "i,j,kind\nann,dan,cannot\nann,bob,must\n", "pairs0.csv": "i,j,kind\n0,3,cannot\n0,1,must\n",
		"seeds.csv": "id,class\nbob,red\neve,blue\n", "seeds0.csv": "index,label\n1,1\n4,0\n",
		"truth.csv":   "id,label\nfay,blue\ndan,blue\neve,blue\nann,red\nbob,red\ncat,red\n",
		"weights.csv": "id,weight\nann,2\n", "on.csv": "id\nann\ndan\n",
		"start.csv": "id,label\nann,0\nbob,0\ncat,1\ndan,1\neve,1\nfay,1\n",
	})
	const by = "--ignore team --data people.csv"
	for _, c := range []struct{ named, numbered string }{
		{by + " --algorithm pc-kmeans --constraints pairs.csv",
			"--data numbers.csv --algorithm pc-kmeans --constraints pairs0.csv"},
		{by + " --algorithm seeded-kmeans --seeds seeds.csv",
			"--data numbers.csv --algorithm seeded-kmeans --seeds seeds0.csv"},
		{by + " --algorithm kernel-kmeans --weights weights.csv --init labels:start.csv",
			"--data numbers.csv --algorithm kernel-kmeans --weights w0.csv --init labels:start0.csv"},
	} {
		if strings.Contains(c.numbered, "w0.csv") {
			for name, text := range map[string]string{"w0.csv": "index,weight\n0,2\n",
				"start0.csv": "label\n0\n0\n1\n1\n1\n1\n"} {
				if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		succeed(t, "run --quiet --k 2 --seed 1 --out named "+c.named)
		succeed(t, "run --quiet --k 2 --seed 1 --out numbered "+c.numbered)
		named := clitest.Read(t, "named/labels.csv")
		numbered := clitest.Read(t, "numbered/labels.csv")
		for at, name := range []string{"ann", "bob", "cat", "dan", "eve", "fay"} {
			numbered = strings.Replace(numbered, fmt.Sprintf("\n%d,", at), "\n"+name+",", 1)
		}
		numbered = strings.Replace(numbered, "index,", "id,", 1)
		for _, class := range []string{",class", ",red", ",blue"} {
			named = strings.ReplaceAll(named, class, "")
		}
		if named != numbered {
			t.Errorf("%s: got\n%s\nwant\n%s", c.named, named, numbered)
		}
	}
	if d := readResult(t, succeed(t, "run --quiet --json --k 2 --algorithm kmeans --truth truth.csv --score-on on.csv "+
		by)); d.Evaluation.Ari != 1 {
		t.Errorf("scores %+v", d.Evaluation)
	}
	succeed(t, "run --quiet --k 2 --algorithm kmeans --out o "+by)
	if out := succeed(t, "evaluate --labels o/labels.csv --truth truth.csv --constraints pairs.csv"); !strings.Contains(
		out, "ARI          1.0000") || !strings.Contains(out, "2 of 2 satisfied") {
		t.Errorf("evaluate: %s", out)
	}
}

func TestLabelColumns(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"people.csv": people,
		"all.csv":    "x,y,team\n0,0,1\n0,1,1\n1,0,1\n9,9,2\n9,8,2\n8,9,2\n",
		"truth.csv":  "label\n1\n1\n1\n2\n2\n2\n",
	})
	for _, c := range []struct{ args, said string }{
		{"--data people.csv --label-column team", `column "team" has 4 labels of 2 classes for 6 rows: used as seeds`},
		{"--data people.csv --label-column 4 --label-as constraints --algorithm pc-kmeans",
			"4 labels become 4 constraints for pc-kmeans"},
		{"--data people.csv --label-column team --algorithm spectral", "used as constraints"},
		{"--data people.csv --label-column team --algorithm kernel-kmeans", "used as constraints"},
		{"--data people.csv --label-column team --algorithm constrained-kmeans", "used as seeds"},
		{"--data people.csv --label-column team --label-as truth", "used as truth"},
		{"--data people.csv --label-column team --algorithm kmeans", "used as truth"},
		{"--data all.csv --label-column team", `has 6 labels of 2 classes for 6 rows: used as truth`},
		{"--data all.csv --label-column team --sample-constraints 5 --seed 4", "used as truth"},
		{"--data all.csv --ignore team --truth truth.csv --sample-constraints 5 --seed 4", ""},
		{"--data people.csv --label-column team", `k is 2, the number of classes in column "team"`},
		{"--data all.csv --label-column team", `k is 2, the number of classes in column "team"`},
	} {
		k := "--k 2 "
		if strings.HasPrefix(c.said, "k is 2") {
			k = ""
		}
		r := invoke(t, "run --quiet --json --out o "+k+c.args)
		if r.code != 0 || !strings.Contains(r.stderr, c.said) {
			t.Errorf("%s: exit code %d, %s", c.args, r.code, r.stderr)
			continue
		}
		d := readResult(t, r.stdout)
		if strings.Contains(r.stderr, "used as truth") && d.Evaluation == nil || strings.Contains(c.args, "sample") &&
			d.Constraints.Total != 5 {
			t.Errorf("%s: evaluation %v, constraints %v", c.args, d.Evaluation, d.Constraints)
		}
		if named := strings.Contains(clitest.Read(t, "o/labels.csv"), "dan,0,blue") ||
			strings.Contains(clitest.Read(t, "o/labels.csv"), "dan,1,blue"); named != !strings.Contains(r.stderr+c.args,
			"truth") {
			t.Errorf("%s: labels.csv is\n%s", c.args, clitest.Read(t, "o/labels.csv"))
		}
	}
	first := readResult(t,
		succeed(t, "run --quiet --json --k 2 --algorithm pc-kmeans --data all.csv --label-column team "+
			"--sample-constraints 5 --seed 4"))
	again := readResult(t,
		succeed(t, "run --quiet --json --k 2 --algorithm pc-kmeans --data all.csv --ignore team --truth truth.csv "+
			"--sample-constraints 5 --seed 4"))
	if first.Objective != again.Objective || first.Constraints.Satisfied != again.Constraints.Satisfied {
		t.Errorf("%+v and %+v", first.Constraints, again.Constraints)
	}
}

func TestGraphsByName(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"friends.csv": "src,dst\nann,bob\nbob,cat\ncat,ann\ndan,eve\neve,fay\nfay,dan\ncat,dan\n",
		"all.csv":     "name\nann\nbob\ncat\ndan\neve\nfay\nlonely\n",
		"pairs.csv":   "i,j,kind\nann,dan,cannot\n",
		"one.csv":     "1,2\n2,3\n3,1\n4,5\n5,6\n6,4\n3,4\n",
	})
	succeed(t, "run --quiet --k 2 --graph friends.csv --constraints pairs.csv --out o")
	if labels := clitest.Read(t, "o/labels.csv"); !strings.HasPrefix(labels, "id,label") ||
		!strings.Contains(labels, "\nann,") || !strings.Contains(labels, "\nfay,") {
		t.Errorf("labels.csv is\n%s", labels)
	}
	if d := readResult(t,
		succeed(t, "run --quiet --json --k 3 --graph friends.csv --vertex-list all.csv")); d.Rows != 7 {
		t.Errorf("%d vertices", d.Rows)
	}
	if r := invoke(t, "run --quiet --k 2 --graph one.csv"); r.code != 0 ||
		!strings.Contains(r.stderr, "--named-vertices") {
		t.Errorf("exit code %d, %s", r.code, r.stderr)
	}
	if d := readResult(t, succeed(t, "run --quiet --json --k 2 --graph one.csv --named-vertices")); d.Rows != 6 {
		t.Errorf("%d vertices", d.Rows)
	}
	if r := invoke(t, "run --quiet --k 2 --data friends.csv --categorical src,dst"); !strings.Contains(r.stderr,
		"looks like a list of edges; --graph") {
		t.Errorf("exit code %d, %s", r.code, r.stderr)
	}
}

// What is wrong with a table is said with its line, its column and what would help.
func TestBadTables(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"people.csv": people,
		"twice.csv":  "id,x\na,1\nb,2\na,3\n",
		"far.csv":    "i,j,kind\nann,dam,must\n", "many.csv": "id,label\nann,a\nbob,b\ncat,c\n",
		"mixed.csv": "id,x\na,1\nb,two\nc,3\n",
		"words.csv": "id,remark\na,so so\nb,good\nc,so so\nd,bad\ne,fine\nf,poor\n",
		"latin.npy": "x",
		"empty.csv": "id,x,team\na,1,\nb,2,\n",
	})
	for _, c := range []struct{ args, want string }{
		{"--data twice.csv --id-column id",
			`twice.csv, line 4, column "id": the id "a" is used a second time; the first is on line 2`},
		{"--data people.csv --ignore team --constraints far.csv",
			`far.csv, line 2, column "j": the data has no row with the id "dam"; did you mean "dan"?`},
		{"--data people.csv --ignore team --seeds many.csv",
			`many.csv: there are 3 classes ("a" and others), but only 2 clusters; --k 3 makes one for each`},
		{"--data mixed.csv", `mixed.csv, line 3, column "x": "two" is not a number, unlike most cells of the column; ` +
			`correct it, or use --categorical x`},
		{"--data words.csv", `words.csv: no column is left to cluster by (column "id" is the row id, column "remark" ` +
			`is left out: its 5 different values hardly repeat in 6 rows; --categorical remark`},
		{"--data people.csv --columns teem", `people.csv: the table has no column "teem"; did you mean "team"?`},
		{"--data empty.csv --label-column team", `empty.csv: column "team" has no class in any row`},
		{"--data people.csv --delimiter ab", "--delimiter"},
		{"--data people.csv --delimiter €", "one ASCII character"},
		{"--data people.csv --label-as truth", "--label-as requires --label-column"},
		{"--data people.csv --sample-constraints 3", "give them with --truth or --label-column"},
		{"--data latin.npy --id-column x", "--id-column requires a table as --data"},
		{"--data people.csv --named-vertices", "--named-vertices requires --graph"},
	} {
		r := invoke(t, "run --quiet --k 2 --out o "+c.args)
		if r.code != 2 || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
		if _, err := os.Stat("o"); err == nil {
			t.Errorf("%s left a folder behind", c.args)
			os.RemoveAll("o")
		}
	}
}

// New rows get the classes of their clusters from a job as they do from the folder of the same run.
func TestPredictByAJobNamesClasses(t *testing.T) {
	clitest.Folder(t, map[string]string{"people.csv": people,
		"gaps.csv": strings.Replace(people, "ann,0,", "ann,,", 1)})
	address := startServe(t, "--workers 1 --data-dir state")
	for _, job := range []string{"--data people.csv", "--data gaps.csv --missing drop"} {
		job = "--quiet --k 2 --algorithm seeded-kmeans --label-column team " + job
		succeed(t, "run --out o "+job)
		id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
		want := succeed(t, "predict --model o --data people.csv")
		got := succeed(t, "predict --job "+id+" --data people.csv --server "+address)
		if got != want || !strings.Contains(got, ",red,") || !strings.Contains(got, ",blue,") {
			t.Errorf("%s: got\n%s\nwant\n%s", job, got, want)
		}
	}
	id := strings.TrimSpace(succeed(t, "submit --wait --quiet --k 2 --label-column team --data people.csv --server "+
		address))
	if got := succeed(t, "predict --job "+id+" --data people.csv --server "+address); !strings.HasPrefix(got,
		"id,label,class") || strings.Count(got, ",red") != 3 {
		t.Errorf("auto: got\n%s", got)
	}
}

// The rows of an inline table are counted whatever the type of its first column.
func TestTextOfAnInlineTable(t *testing.T) {
	ids := &cleavev1.Column{Cells: &cleavev1.Column_Texts{Texts: &cleavev1.TextCells{Values: []string{"a", "b"}}}}
	input := &cleavev1.TableInput{
		Source: &cleavev1.TableInput_Inline{Inline: &cleavev1.TableRows{Columns: []*cleavev1.Column{ids}}}}
	if got := tableText(t.Context(), nil, input); got != "2" {
		t.Errorf("got %s rows", got)
	}
}
