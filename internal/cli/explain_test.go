package cli

import (
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// A folder and a job are explained alike; what is no folder and no job is refused.
func TestExplain(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-moons --n 60 --noise 0.3 --constraints 30 --seed 1 --out g")
	address := startServe(t, "--workers 1 --data-dir state")
	const job = "--quiet --data g/data.csv --k 2 --algorithm pc-kmeans --constraints g/constraints.csv"
	succeed(t, "run "+job+" --out o")
	id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
	byFolder := succeed(t, "explain o --constraints g/constraints.csv")
	byJob := succeed(t, "explain "+id[:len(id)-2]+" --server "+address)
	for _, want := range []string{"60 points were put into 2 clusters", "The run converged",
		"The first 5 of them are cannot ", "Restarts disagree about 4 points", "What to try"} {
		if !strings.Contains(byFolder, want) || !strings.Contains(byJob, want) {
			t.Errorf("nothing says %q:\n%s\n%s", want, byFolder, byJob)
		}
	}
	for line := range strings.Lines(byFolder) {
		if len(line) > 81 {
			t.Errorf("a line of %d letters: %q", len(line), line)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"explain", "the job or folder is missing"},
		{"explain g", "g/result.json: the file cannot be read"},
		{"explain o --server " + address, "--server requires a job"},
		{"explain " + id + " --constraints g/constraints.csv --server " + address, "--constraints requires a folder"},
		{"explain nowhere", "there is no folder nowhere"},
		{"explain nowhere --server " + address, "nowhere"},
	} {
		if r := invoke(t, c.args); r.code != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
}

// A job whose table lost rows names rows by their numbers in the file, as the folder of a run does.
func TestExplainNamesRowsOfTheFile(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"t.csv": "x,y\n,\n0,1\n1,0\n0,0.5\n9,8\n8,9\n9,9\n",
		"c.csv": "i,j,kind,weight\n1,2,cannot,0.25\n2,4,must,0.125\n",
	})
	address := startServe(t, "--workers 1")
	const job = "--quiet --data t.csv --k 2 --algorithm pc-kmeans --missing drop --constraints c.csv"
	succeed(t, "run "+job+" --out o")
	id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
	const want = "The violated ones are cannot 1-2 of weight 0.25, must 2-4 of weight 0.125."
	// without the breaks of lines
	one := func(command string) string { return strings.Join(strings.Fields(succeed(t, command)), " ") }
	if byFolder, byJob := one("explain o"), one("explain "+id+" --server "+address); !strings.Contains(byFolder,
		want) || !strings.Contains(byJob, want) {
		t.Errorf("want %q:\n%s\n%s", want, byFolder, byJob)
	}
}

// A folder knows the constraints of its run: in the file that it has recorded, or made of the classes of a table.
func TestExplainNamesRecordedConstraints(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-moons --n 60 --noise 0.3 --constraints 30 --seed 1 --out g")
	succeed(t, "run --quiet --data g/data.csv --k 2 --algorithm pc-kmeans --constraints g/constraints.csv --out o")
	if with, without := succeed(t, "explain o --constraints g/constraints.csv"),
		succeed(t, "explain o"); with != without || !strings.Contains(with, "The first 5 of them are cannot ") {
		t.Errorf("the recorded constraints are others:\n%s\n%s", without, with)
	}
	clitest.Write(t, "g/constraints.csv", "i,j,kind\n0,1,must\n")
	if says := succeed(t, "explain o"); !strings.Contains(says, "violated ones cannot be named without") {
		t.Errorf("constraints that have changed: %s", says)
	}
	clitest.Write(t, "people.csv", strings.ReplaceAll(visitors(), "p03,193,3,app,", "p03,193,3,app,short"))
	succeed(t, "run --quiet --data people.csv --k 2 --algorithm pc-kmeans --label-column kind --label-as constraints "+
		"--ignore channel --missing drop --out p")
	says := succeed(t, "explain p")
	if !strings.Contains(says, "p03") || strings.Contains(says, "give them with --constraints") {
		t.Errorf("constraints of classes: %s", says)
	}
}

func TestNoSuchFolder(t *testing.T) {
	clitest.Folder(t, map[string]string{"some/file": ""})
	for _, command := range []string{"explain", "report"} {
		if r := invoke(t, command+" nodir"); r.code != 2 ||
			!strings.Contains(r.stderr, "there is no folder nodir; for a job of a coordinator, give --server") {
			t.Errorf("%s: got %s", command, r.stderr)
		}
	}
	if r := invoke(t, "watch nodir"); r.code != 2 || !strings.Contains(r.stderr, "no coordinator; give --server") {
		t.Errorf("got %s", r.stderr)
	}
}
