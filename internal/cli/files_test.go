package cli

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/test/clitest"
)

func TestGenerate(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args, file    string
		rows, columns int
	}{
		{"two-circles --n 60 --constraints 50 --seed 1", "data.csv", 60, 2},
		{"two-moons --n 40 --noise 0.2", "data.csv", 40, 2},
		{"two-moons --n 40 --background 10 --constraints 30 --seed 3", "data.csv", 50, 2},
		{"gaussians --n 30 --d 5 --k 3 --seed 9 --constraints 7", "data.csv", 30, 5},
		{"blocks --n 50 --k 2 --inside 6 --outside 1 --constraints 3", "edges.csv", 50, 0},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Chdir(t.TempDir())
			succeed(t, "generate "+c.args+" --out a")
			succeed(t, "generate "+c.args+" --out b")
			for _, name := range []string{c.file, "truth.csv", "constraints.csv"} {
				if clitest.Read(t, "a/"+name) != clitest.Read(t, "b/"+name) {
					t.Errorf("%s differs from run to run", name)
				}
			}
			_, truth, err := format.LoadTable("a/truth.csv", table.Labels, c.rows)
			if err != nil || len(truth) != c.rows {
				t.Errorf("truth: %d labels, %v", len(truth), err)
			}
			if c.file == "edges.csv" {
				if graph, err := format.LoadGraph("a/edges.csv", 0); err != nil || graph.N != c.rows {
					t.Errorf("graph: %v", err)
				}
			} else if points, header, err := format.LoadPoints("a/data.csv"); err != nil || points.N != c.rows ||
				points.D != c.columns || len(header) != c.columns {
				t.Errorf("points: %v", err)
			}
			// The truth satisfies every constraint that was drawn from it.
			out := succeed(t,
				"evaluate --labels a/truth.csv --truth a/truth.csv --constraints a/constraints.csv --json")
			if r := readResult(t, out); r.Evaluation.GetNmi() != 1 || r.Constraints.Satisfied != r.Constraints.Total {
				t.Errorf("the truth scores %s", out)
			}
		})
	}
}

// Background points do not change the others, and neither constraints nor score-on.csv name them.
func TestGenerateBackground(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-moons --n 40 --constraints 200 --seed 3 --out plain")
	succeed(t, "generate two-moons --n 40 --constraints 200 --seed 3 --background 10 --out noisy")
	for _, name := range []string{"data.csv", "truth.csv"} {
		if !strings.HasPrefix(clitest.Read(t, "noisy/"+name), clitest.Read(t, "plain/"+name)) {
			t.Errorf("%s does not begin with that of the points alone", name)
		}
	}
	if clitest.Read(t, "noisy/constraints.csv") != clitest.Read(t, "plain/constraints.csv") {
		t.Error("the constraints depend on the background")
	}
	_, scored, err := format.LoadTable("noisy/score-on.csv", table.Indices, 50)
	if err != nil || len(scored) != 40 || scored[39] != 39 {
		t.Errorf("scored on %v, %v", scored, err)
	}
	if _, err := os.Stat("plain/score-on.csv"); err == nil {
		t.Error("there is a score-on.csv without a background")
	}
}

func TestConstraintsDoNotChangeGeneratedData(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-circles --n 60 --seed 4 --out few")
	succeed(t, "generate two-circles --n 60 --seed 4 --constraints 20 --out many")
	succeed(t, "generate two-circles --n 60 --seed 5 --out other")
	if clitest.Read(t, "few/data.csv") != clitest.Read(t, "many/data.csv") {
		t.Error("the data depends on the number of constraints")
	}
	if clitest.Read(t, "few/data.csv") == clitest.Read(t, "other/data.csv") {
		t.Error("another seed gives the same data")
	}
	if got := clitest.Read(t, "few/constraints.csv"); got != "i,j,kind,weight\n" {
		t.Errorf("no constraints are %q", got)
	}
}

func TestEvaluate(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"p.csv":     "index,label\n0,5\n1,5\n2,-7\n3,-7\n",
		"t.csv":     "index,label\n3,1\n2,0\n1,0\n0,0\n",
		"on.csv":    "index\n0\n1\n3\n",
		"c.csv":     "i,j,kind,weight\n0,1,must,\n1,0,must,3\n1,2,must,\n2,3,cannot,\n",
		"short.csv": "index,label\n0,0\n",
		"out.csv":   "i,j,kind,weight\n0,9,must,\n",
		"heavy.csv": "i,j,kind,weight\n0,1,must,1e308\n1,0,must,1e308\n",
		"empty.csv": "index,label\n",
		"noon.csv":  "index\n",
		"none.csv":  "index,label\n0,-1\n1,-1\n2,-1\n3,-1\n",
	})
	want := `{
  "evaluation": {
    "nmi": 1,
    "mutualInformation": 0.6365141682948128,
    "ari": 1,
    "pairwisePrecision": 1,
    "pairwiseRecall": 1,
    "pairwiseF": 1,
    "purity": 1
  },
  "constraints": {
    "total": 3,
    "satisfied": 1,
    "mustLinkViolated": 1,
    "cannotLinkViolated": 1
  }
}
`
	if got := succeed(t,
		"evaluate --labels p.csv --truth t.csv --score-on on.csv --constraints c.csv --json"); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	got := succeed(t, "evaluate --labels p.csv --truth t.csv")
	if !strings.Contains(got, "purity") || strings.Contains(got, "constraints") ||
		strings.Contains(got, "NMI          1.0000") {
		t.Errorf("all points score\n%s", got)
	}
	for args, want := range map[string]string{
		"--labels p.csv --truth short.csv":                        "short.csv: the table has 1 label for 4 points",
		"--labels p.csv --truth gone.csv":                         "gone.csv: the file cannot be read",
		"--labels p.csv --truth t.csv --constraints out.csv":      "point 9",
		"--labels p.csv --truth t.csv --constraints heavy.csv":    "cleave: the weights of the must-links 0-1 add up",
		"--labels empty.csv --truth t.csv":                        "empty.csv: the file has no labels",
		"--labels none.csv --truth t.csv":                         "none.csv: no row has a cluster",
		"--labels p.csv --truth t.csv --score-on noon.csv":        "noon.csv: the file names no point to score",
		"--labels p.csv --truth t.csv --score-on p.csv --json":    "p.csv, line 1",
		"--labels p.csv --truth t.csv --constraints t.csv --json": "t.csv, line 1",
	} {
		if r := invoke(t, "evaluate "+args); r.code != 2 || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("%s: exit code %d, %q; want %q", args, r.code, r.stderr, want)
		}
	}
}

// Rows that a run left out count neither for its scores nor for those of evaluate.
func TestEvaluateWithoutDroppedRows(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"d.csv":     "x,y\n0,0\n0,1\n,5\n9,9\n9,8\n,5\n4,4\n",
		"truth.csv": "index,label\n0,0\n1,0\n2,1\n3,1\n4,1\n5,0\n6,0\n",
		"c.csv":     "i,j,kind\n2,5,must\n0,3,cannot\n",
	})
	ran := succeed(t, "run --data d.csv --missing drop --k 2 --algorithm kmeans --truth truth.csv --out o --json")
	r := invoke(t, "evaluate --labels o/labels.csv --truth truth.csv --constraints c.csv --json")
	var run, evaluated struct{ Evaluation, Constraints map[string]any }
	if err := errors.Join(json.Unmarshal([]byte(ran), &run), json.Unmarshal([]byte(r.stdout), &evaluated)); err != nil {
		t.Fatal(err, r.stderr)
	}
	if len(run.Evaluation) == 0 || !maps.Equal(run.Evaluation, evaluated.Evaluation) {
		t.Errorf("run scores %v, evaluate %v", run.Evaluation, evaluated.Evaluation)
	}
	if total := evaluated.Constraints["total"]; total != 1.0 ||
		!strings.Contains(r.stderr, "2 rows have no cluster (label -1) and are not scored") {
		t.Errorf("%v constraints are counted; %s", total, r.stderr)
	}
}

// No command replaces a file that it reads.
func TestOutputsAreNotInputs(t *testing.T) {
	points := "x,y\n0,0\n0,1\n1,0\n9,9\n9,8\n8,9\n"
	clitest.Folder(t, map[string]string{"p.csv": points, "other.txt": ""})
	succeed(t, "run --data p.csv --k 2 --algorithm kmeans --quiet --out m")
	if err := os.Symlink("p.csv", "link.csv"); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"run --data p.csv --k 2 --algorithm spectral --knn 2 --quiet --save-graph p.csv",
		"predict --model m --data p.csv --out p.csv",
		"predict --model m --data link.csv --out ./p.csv",
		"report m --out p.csv",
		"report m --data p.csv --out p.csv",
	} {
		refused(t, args, "is an input, which would be overwritten; choose another")
		if clitest.Read(t, "p.csv") != points {
			t.Fatalf("%s: the points are gone", args)
		}
	}
}
