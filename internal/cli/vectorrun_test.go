package cli

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// vectorRuns are runs of all algorithms of the k-means family on the same files, and the files of their models.
var vectorRuns = []struct{ args, model string }{
	{"--algorithm kmeans", "centroids.csv"},
	{"--algorithm kmeans --geometry spherical --restarts 3", "centroids.csv"},
	{"--algorithm kmeans --init centroids:start.csv", "centroids.csv"},
	{"--algorithm seeded-kmeans --seeds seeds.csv", "centroids.csv"},
	{"--algorithm constrained-kmeans --seeds seeds.csv", "centroids.csv"},
	{"--algorithm cop-kmeans --constraints g/constraints.csv --restarts 4", "centroids.csv"},
	{"--algorithm pc-kmeans --constraints g/constraints.csv --inference bp", "centroids.csv"},
	{"--algorithm m-kmeans --constraints g/constraints.csv --metric full", "centroids.csv metric.csv"},
	{"--algorithm mpc-kmeans --constraints g/constraints.csv --inference exact", "centroids.csv metric.csv"},
	{"--algorithm hmrf-kmeans --constraints g/constraints.csv --inference lp --init weighted-farthest-first",
		"centroids.csv metric.csv"},
	{"--algorithm hmrf-kmeans --constraints g/constraints.csv --distortion cosine", "centroids.csv"},
}

// vectorFiles makes points in three well-separated groups, and the other files that the runs read.
func vectorFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 90 --d 3 --k 3 --constraints 150 --seed 2 --out g")
	_, truth, err := format.LoadTable("g/truth.csv", table.Labels, 90)
	if err != nil {
		t.Fatal(err)
	}
	points, header, err := format.LoadPoints("g/data.csv")
	if err != nil {
		t.Fatal(err)
	}
	seeds := "index,label\n"
	start := strings.Join(header, ",") + "\n"
	for label := range int64(3) {
		for i, of := range truth {
			if of == label {
				seeds += fmt.Sprintf("%d,%d\n", i, label)
				row := points.Row(i)
				start += fmt.Sprintf("%g,%g,%g\n", row[0], row[1], row[2])
				break
			}
		}
	}
	for name, text := range map[string]string{"seeds.csv": seeds, "start.csv": start} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVectorRuns(t *testing.T) {
	vectorFiles(t)
	for _, c := range vectorRuns {
		t.Run(c.args, func(t *testing.T) {
			one := t.TempDir()
			three := t.TempDir()
			job := "run --quiet --data g/data.csv --k 3 --seed 4 --truth g/truth.csv " + c.args
			succeed(t, job+" --workers 1 --out "+one)
			succeed(t, job+" --workers 3 --out "+three)
			d := answer(t, clitest.Read(t, one+"/result.json"))
			if other := answer(t, clitest.Read(t, three+"/result.json")); !proto.Equal(d, other) {
				t.Errorf("one worker gives\n%+v\nthree\n%+v", d, other)
			}
			for _, name := range append(strings.Fields(c.model), "labels.csv", "objective.svg", "clusters.svg") {
				if clitest.Read(t, one+"/"+name) != clitest.Read(t, three+"/"+name) {
					t.Errorf("%s depends on the workers", name)
				}
			}
			if _, err := os.Stat(one + "/metric.csv"); (err == nil) != strings.Contains(c.model, "metric.csv") {
				t.Errorf("metric.csv: %v", err)
			}
			nmi := readResult(t, clitest.Read(t, one+"/result.json")).Evaluation.GetNmi()
			if nmi < 0.95 || d.StopReason != cleavev1.StopReason_STOP_REASON_CONVERGED || d.Model == nil {
				t.Errorf("NMI %v, %s, model %+v", nmi, d.StopReason, d.Model)
			}
			for at, entry := range d.History {
				if int(entry.Iteration) != at+1 || entry.AssignmentObjective == nil {
					t.Errorf("entry %d of the history is %+v", at, entry)
				}
			}
			succeed(t, "predict --model "+one+" --data g/data.csv --out predicted.csv")
			if c.model == "centroids.csv" && d.Constraints.GetTotal() == 0 &&
				labelColumns(clitest.Read(t, "predicted.csv")) != labelColumns(clitest.Read(t, one+"/labels.csv")) {
				t.Error("the run's own points get other labels")
			}
		})
	}
}

func TestSparseRunsFindWhatDenseOnesFind(t *testing.T) {
	vectorFiles(t)
	points, _, err := format.LoadPoints("g/data.csv")
	if err != nil {
		t.Fatal(err)
	}
	writeSparse(t, "data.svm", points)
	r := invoke(t, "run --quiet --data data.svm --k 3 --seed 4 --algorithm kmeans --out sparse")
	if r.code != 0 || r.stderr != "" || !strings.Contains(clitest.Read(t, "sparse/clusters.svg"),
		"principal component 1") {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	succeed(t, "run --quiet --data g/data.csv --k 3 --seed 4 --algorithm kmeans --out dense")
	if labelColumns(clitest.Read(t, "sparse/labels.csv")) != labelColumns(clitest.Read(t, "dense/labels.csv")) {
		t.Error("labels differ")
	}
	s := readResult(t, clitest.Read(t, "sparse/result.json"))
	d := readResult(t, clitest.Read(t, "dense/result.json"))
	if math.Abs(s.Objective-d.Objective) > 1e-9*d.Objective {
		t.Errorf("sparse %v, dense %v", s.Objective, d.Objective)
	}
	if got := labelColumns(succeed(t, "predict --model dense --data data.svm")); got != labelColumns(clitest.Read(t,
		"dense/labels.csv")) {
		t.Errorf("predicted are %s", got)
	}
}

func writeSparse(t *testing.T, path string, points *dataset.Points) {
	t.Helper()
	var text strings.Builder
	for i := range points.N {
		text.WriteString("0")
		for c, v := range points.Row(i) {
			fmt.Fprintf(&text, " %d:%s", c+1, report.Exact(v))
		}
		text.WriteString("\n")
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestVectorJobsOfAServer(t *testing.T) {
	vectorFiles(t)
	address := startServe(t, "--workers 2 --data-dir state")
	job := "--data g/data.csv --k 3 --algorithm mpc-kmeans --constraints g/constraints.csv --restarts 1"
	succeed(t, "run --quiet "+job+" --out embedded")
	id := strings.TrimSpace(succeed(t, "submit --wait --quiet "+job+" --server "+address))
	succeed(t, "result "+id+" --quiet --data g/data.csv --out remote --server "+address)
	for _, name := range []string{"labels.csv", "centroids.csv", "metric.csv", "objective.svg", "clusters.svg"} {
		if clitest.Read(t, "embedded/"+name) != clitest.Read(t, "remote/"+name) {
			t.Errorf("%s differs", name)
		}
	}
	byModel := succeed(t, "predict --model embedded --data g/data.csv")
	if byJob := succeed(t, "predict --job "+id+" --data g/data.csv --server "+address); byJob != byModel {
		t.Errorf("by job %s, by model %s", byJob, byModel)
	}
	if out := succeed(t, "get "+id+" --server "+address); !strings.Contains(out, "algorithm    mpc-kmeans") {
		t.Errorf("get: %s", out)
	}
	if out := succeed(t, "plan "+job+" --server "+address); !strings.Contains(strings.Join(strings.Fields(out), " "),
		"points 90 x 3") {
		t.Errorf("plan: %s", out)
	}
	if out := succeed(t, "watch "+id+" --server "+address); !strings.HasPrefix(out, "iteration 1: objective ") {
		t.Errorf("watch: %s", out)
	}
}

// A second run into the same folder removes the files of the first that it does not write itself.
func TestASecondRunReplacesTheFilesOfTheFirst(t *testing.T) {
	vectorFiles(t)
	names := func() string {
		entries, err := os.ReadDir("o")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, entry := range entries {
			all = append(all, entry.Name())
		}
		return strings.Join(all, " ")
	}
	if err := os.Mkdir("o", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("o/metric.csv", []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	succeed(t, "run --quiet --data g/data.csv --k 3 --algorithm kmeans --out o")
	if clitest.Read(t, "o/metric.csv") != "mine" { // no run had written here
		t.Error("a file that is not Cleave's was taken for its own")
	}
	succeed(t, "run --quiet --data g/data.csv --k 3 --algorithm m-kmeans --out o")
	want := "_MANIFEST.json _SUCCESS centroids.csv clusters.svg labels.csv metric.csv objective.svg report.html " +
		"result.json"
	if got := names(); got != want {
		t.Errorf("wrote %s", got)
	}
	succeed(t, "run --quiet --data g/data.csv --k 3 --algorithm kernel-kmeans --out o")
	if got := names(); got != "_MANIFEST.json _SUCCESS clusters.svg labels.csv objective.svg report.html result.json" {
		t.Errorf("a kernel run leaves %s", got)
	}
}
