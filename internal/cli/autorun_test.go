package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
	"github.com/cleave-project/cleave/test/clusteringtest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Without any option, a run says which method it chose and why.
func TestARunWithoutOptions(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-circles --n 200 --constraints 60 --seed 1 --out g")
	said := succeed(t, "run --data g/data.csv --k 2 --truth g/truth.csv --out o")
	for _, line := range []string{"method      spectral clustering of the nearest-neighbor graph",
		"why         k-means cuts through the nearest-neighbor graph", "ARI         1.0000"} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is missing:\n%s", line, said)
		}
	}
	d := readResult(t, clitest.Read(t, "o/result.json"))
	if d.GetChoice().GetChosen().GetSpace() != cleavev1.Space_SPACE_NEIGHBORS || d.GetChoice().GetReason() == "" ||
		len(d.GetChoice().GetTried()) > 0 || d.GetModel() != nil {
		t.Errorf("the choice is %v, the model %v", d.GetChoice(), d.GetModel())
	}
	said = succeed(t, "run --data g/data.csv --k 2 --constraints g/constraints.csv --out c")
	d = readResult(t, clitest.Read(t, "c/result.json"))
	if len(d.GetChoice().GetTried()) != 1 ||
		!strings.Contains(said, "held-out     1.00 spectral clustering of the nearest-neighbor graph (chosen)") ||
		d.GetConstraints().GetSatisfied() != 60 {
		t.Errorf("%d methods are in the result, though the first satisfies all constraints:\n%s",
			len(d.GetChoice().GetTried()), said)
	}
	succeed(t, "generate two-moons --n 200 --noise 0.1 --background 40 --constraints 60 --seed 2 --out m")
	said = succeed(t, "run --data m/data.csv --k 2 --constraints m/constraints.csv --out c")
	d = readResult(t, clitest.Read(t, "c/result.json"))
	if len(d.GetChoice().GetTried()) != 18 || !strings.Contains(said, "held-out     ") ||
		d.GetConstraints().GetSatisfied() != 60 {
		t.Errorf("%d methods are in the result:\n%s", len(d.GetChoice().GetTried()), said)
	}
	said = succeed(t, "run --data m/data.csv --k 2 --constraints m/constraints.csv --scale none --folds 5 "+
		"--neighbors 7 --out n")
	if d = readResult(t, clitest.Read(t, "n/result.json")); len(d.GetChoice().GetTried()) != 11 ||
		strings.Contains(said, "standardized") {
		t.Errorf("%d methods are in the result without standardized columns:\n%s", len(d.GetChoice().GetTried()), said)
	}
}

// The points of a run get their labels again by its nearest points.
func TestPredictAfterAuto(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-moons --n 200 --noise 0.04 --seed 1 --out m")
	address := startServe(t, "--workers 2 --data-dir state")
	const job = "--quiet --data m/data.csv --k 2"
	succeed(t, "run "+job+" --out o")
	d := readResult(t, clitest.Read(t, "o/result.json"))
	labels := labelColumns(clitest.Read(t, "o/labels.csv"))
	if d.GetChoice().GetChosen().GetSpace() != cleavev1.Space_SPACE_NEIGHBORS || d.GetModel() != nil {
		t.Errorf("%v, model %v", d.GetChoice(), d.GetModel())
	}
	// the folder knows where the points of the run are
	for _, trained := range []string{" --trained-on m/data.csv", ""} {
		if got := labelColumns(succeed(t, "predict --model o --data m/data.csv"+trained)); got != labels {
			t.Errorf("by the folder%s: %d rows differ", trained, differing(got, labels))
		}
	}
	id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
	if got := labelColumns(succeed(t, "predict --data m/data.csv --job "+id+" --server "+address)); got != labels {
		t.Errorf("by the job: %d rows differ", differing(got, labels))
	}
}

// A mixture assigns points by its model alone, and gives those of the run their labels, distances, margins and
// confidences again, whether it is in a folder or on a coordinator.
func TestPredictByAMixture(t *testing.T) {
	t.Chdir(t.TempDir())
	writeUneven(t, "u.csv")
	succeed(t, "run --quiet --data u.csv --k 3 --out o")
	labels := clitest.Read(t, "o/labels.csv")
	if d := readResult(t,
		clitest.Read(t, "o/result.json")); d.GetChoice().GetChosen().GetSpace() != cleavev1.Space_SPACE_MIXTURE ||
		len(d.GetModel().GetMixture().GetShares()) != 3 || !d.GetRowScores().GetPosterior() ||
		!strings.HasPrefix(labels, "index,label,distance,margin,confidence\n") {
		t.Fatalf("%v, model %v, scores %v", d.GetChoice(), d.GetModel(), d.GetRowScores())
	}
	address := startServe(t, "--workers 2 --data-dir state")
	id := strings.TrimSpace(succeed(t, "submit --wait --quiet --data u.csv --k 3 --server "+address))
	if got := succeed(t, "predict --data u.csv --job "+id+" --server "+address); got != labels {
		t.Errorf("by the job: %d rows differ", differing(got, labels))
	}
	if err := os.Rename("u.csv", "new.csv"); err != nil {
		t.Fatal(err)
	}
	if got := succeed(t, "predict --model o --data new.csv"); got != labels {
		t.Errorf("by the folder: %d rows differ", differing(got, labels))
	}
	if page := clitest.Read(t, "o/report.html"); !strings.Contains(page,
		"the probability of its cluster by the mixture of Gaussians") {
		t.Error("the page does not explain confidences")
	}
	refused(t, "predict --model o --data new.csv --trained-on new.csv", "--trained-on does not apply to o")
	mixture := clitest.Read(t, "o/mixture.csv")
	rows := strings.SplitAfter(mixture, "\n")
	for name, c := range map[string]struct{ text, says string }{
		"rows are missing": {strings.Join(rows[:len(rows)-2], ""),
			"the file has 27 rows of 8 columns; according to result.json there must be 28 of 8"},
		"a triangle is 0": {mixture[:strings.LastIndex(mixture, rows[len(rows)-2])] + strings.Repeat("0,",
			strings.Count(rows[0], ",")) + "0\n", "must be positive"},
	} {
		clitest.Write(t, "o/mixture.csv", c.text)
		t.Run(name, func(t *testing.T) { refused(t, "predict --model o --data new.csv", c.says) })
	}
}

func differing(a, b string) (count int) {
	before := strings.Fields(b)
	for at, line := range strings.Fields(a) {
		if at >= len(before) || before[at] != line {
			count++
		}
	}
	return count
}

// A kernel matrix cannot assign new points.
func TestPredictAfterAutoOnAKernelMatrix(t *testing.T) {
	t.Chdir(t.TempDir())
	blobs := clusteringtest.Blobs(t, clusteringtest.NewRand(1), 40, 2, 2)
	var matrix strings.Builder
	for i := range blobs.N {
		row := make([]string, blobs.N)
		for j := range row {
			row[j] = fmt.Sprint(float64(blobs.Row(i)[0]*blobs.Row(j)[0]) + float64(blobs.Row(i)[1]*blobs.Row(j)[1]))
		}
		fmt.Fprintln(&matrix, strings.Join(row, ","))
	}
	clitest.Write(t, "k.csv", matrix.String())
	succeed(t, "run --quiet --kernel-matrix k.csv --k 2 --out o")
	refused(t, "predict --model o --data k.csv --trained-on k.csv", "o: a kernel matrix cannot assign new points")
	for _, space := range []cleavev1.Space{cleavev1.Space_SPACE_ROWS, cleavev1.Space_SPACE_NEIGHBORS} {
		clitest.Write(t, "o/result.json", strings.Replace(clitest.Read(t, "o/result.json"), "SPACE_ROWS",
			space.String(), 1))
		refused(t, "predict --model o --data k.csv --trained-on k.csv", "o: a kernel matrix cannot assign new points")
	}
}
