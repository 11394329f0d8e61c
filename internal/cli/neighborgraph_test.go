package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Points are clustered as a graph, which is written and clustered again, and new points find their clusters.
func TestPointsAsAGraph(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-moons --n 200 --noise 0.04 --seed 1 --out m")
	said := succeed(t, "run --data m/data.csv --k 2 --knn 10 --knn-weights gaussian --truth m/truth.csv --out o "+
		"--save-graph g.csv")
	for _, line := range []string{"method      multilevel normalized cut of the graph",
		"edges; each point is connected to its 10 nearest, with gaussian weights", "ARI         1.0000",
		"clusters.svg"} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is missing:\n%s", line, said)
		}
	}
	labels := labelColumns(clitest.Read(t, "o/labels.csv"))
	if d := readResult(t, clitest.Read(t, "o/result.json")); d.GetNeighborGraph().GetNeighbors() != 10 ||
		d.GetNeighborGraph().GetWeights() != cleavev1.NeighborWeights_NEIGHBOR_WEIGHTS_GAUSSIAN {
		t.Errorf("the graph is %v", d.GetNeighborGraph())
	}
	if got := labelColumns(succeed(t, "predict --model o --data m/data.csv --trained-on m/data.csv")); got != labels {
		t.Errorf("predicted by the folder: %d rows differ", differing(got, labels))
	}
	address := startServe(t, "--workers 2 --data-dir state")
	job := strings.TrimSpace(succeed(t,
		"submit --quiet --wait --server "+address+" --data m/data.csv --k 2 --knn 10 --knn-weights gaussian"))
	if got := labelColumns(succeed(t, "predict --job "+job+" --server "+address+" --data m/data.csv")); got != labels {
		t.Errorf("predicted by the job: %d rows differ", differing(got, labels))
	}
	succeed(t, "result "+job+" --quiet --server "+address+" --save-graph g.mtx --out r")
	for _, graph := range []string{"g.csv", "g.mtx"} {
		succeed(t, "run --quiet --k 2 --out again --graph "+graph)
		if got := labelColumns(clitest.Read(t, "again/labels.csv")); got != labels {
			t.Errorf("%s gives another answer: %d rows differ", graph, differing(got, labels))
		}
	}
	said = succeed(t, "plan --data m/data.csv --k 2 --knn 10")
	for _, part := range []string{"for the graph of neighbors", "step 1, nearest neighbors (about 0 s",
		"a graph of at most 2000 edges"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is missing:\n%s", part, said)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"run --data m/data.csv --k 2 --knn 200",
			"--knn: 200 neighbors of each row are requested; with 200 rows, there can be 1 to 199"},
		{"run --data m/data.csv --k 2 --knn 0", `--knn is "0"; it must be at least 1`},
		{"run --data m/data.csv --k 2 --knn 10 --algorithm kmeans",
			"--knn does not apply to kmeans, only to auto, kernel-kmeans, spectral"},
		{"run --graph g.csv --k 2 --knn 10", "--knn does not apply to a graph, which has edges"},
		{"run --data m/data.csv --k 2 --knn 10 --rho 1", "--rho cannot be combined with --knn"},
		{"run --data m/data.csv --k 2 --save-graph x.csv", "--save-graph requires --knn"},
		{"run --data m/data.csv --k 2 --knn 3 --save-graph x.npy",
			"x.npy: cannot write a graph in this format; use a name that ends in .csv or .mtx"},
		{"predict --model o --data m/data.csv --trained-on m/data.csv --weights m/truth.csv",
			"--weights does not apply to o"},
	} {
		refused(t, c.args, c.want)
	}
	// predict no longer finds the points of the run by itself
	if err := os.Rename("m/data.csv", "m/moved.csv"); err != nil {
		t.Fatal(err)
	}
	refused(t, "predict --model o --data m/moved.csv",
		"o is a run on a neighbor graph, which compares new points with all points of the run")
}

// The last row has no neighbors, and an edge list does not tell that it is there.
func TestAGraphWithoutItsLastVertex(t *testing.T) {
	clitest.Folder(t,
		map[string]string{"s.svm": "1 1:1 2:1\n1 1:1 2:2\n1 1:2 2:1\n2 3:1 4:1\n2 3:1 4:2\n2 3:2 4:1\n3 5:1\n"})
	said := invoke(t, "run --quiet --data s.svm --k 2 --knn 2 --algorithm spectral --out o --save-graph g.csv").stderr
	if !strings.Contains(said, "wrote the graph to g.csv; the last rows have no neighbors, so use it with "+
		"--vertices 7") {
		t.Errorf("said %s", said)
	}
	succeed(t, "run --quiet --graph g.csv --vertices 7 --k 2 --algorithm spectral --out again")
	if got, want := labelColumns(clitest.Read(t, "again/labels.csv")),
		labelColumns(clitest.Read(t, "o/labels.csv")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A result is written even if the graph cannot be, and a folder that does not exist is refused before the run.
func TestResultsAreWrittenWithoutTheGraph(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-moons --n 60 --noise 0.04 --seed 1 --out m")
	const run = "run --data m/data.csv --k 2 --knn 5 --quiet --out o --save-graph "
	if r := invoke(t, run+"nowhere/g.csv"); r.code != 2 ||
		!strings.Contains(r.stderr, "--save-graph nowhere/g.csv cannot be written") {
		t.Errorf("a missing folder: exit code %d, %q", r.code, r.stderr)
	}
	if _, err := os.Stat("o"); !os.IsNotExist(err) {
		t.Errorf("a folder was made for a run that did not begin: %v", err)
	}
	if err := os.Mkdir("g.csv", 0o777); err != nil {
		t.Fatal(err)
	}
	if r := invoke(t, run+"g.csv"); r.code == 0 || !strings.Contains(r.stderr, "g.csv") {
		t.Errorf("a folder in place of the file: exit code %d, %q", r.code, r.stderr)
	}
	if lines := strings.Count(clitest.Read(t, "o/labels.csv"), "\n"); lines != 61 {
		t.Errorf("labels.csv has %d lines", lines)
	}
	if _, err := os.Stat("o/_SUCCESS"); !os.IsNotExist(err) {
		t.Errorf("the folder is marked as complete: %v", err)
	}
	succeed(t, "run --data m/data.csv --k 2 --knn 5 --quiet --out new --save-graph new/g.csv")
}
