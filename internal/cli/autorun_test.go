package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/clitest"
	"github.com/cleave-project/cleave/internal/clustering/clusteringtest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Without any option, a run says which way it took and why.
func TestARunWithoutOptions(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate two-circles --n 200 --constraints 60 --seed 1 --out g")
	said := succeed(t, "run --data g/data.csv --k 2 --truth g/truth.csv --out o")
	for _, line := range []string{"method      spectral clustering of the nearest-neighbor graph", "why         k-means cuts through the nearest-neighbor graph", "ARI         1.0000"} {
		if !strings.Contains(said, line) {
			t.Errorf("%q is missing:\n%s", line, said)
		}
	}
	d := readResult(t, clitest.Read(t, "o/result.json"))
	if d.GetChoice().GetChosen().GetSpace() != cleavev1.Space_SPACE_NEIGHBORS || d.GetChoice().GetReason() == "" || len(d.GetChoice().GetTried()) > 0 || d.GetModel() != nil {
		t.Errorf("the choice is %v, the model %v", d.GetChoice(), d.GetModel())
	}
	said = succeed(t, "run --data g/data.csv --k 2 --constraints g/constraints.csv --out c")
	d = readResult(t, clitest.Read(t, "c/result.json"))
	if len(d.GetChoice().GetTried()) != 18 || !strings.Contains(said, "held-out     1.00 neighbors") || d.GetConstraints().GetSatisfied() != 60 {
		t.Errorf("%d methods are in the result:\n%s", len(d.GetChoice().GetTried()), said)
	}
	said = succeed(t, "run --data g/data.csv --k 2 --constraints g/constraints.csv --scale none --folds 5 --neighbors 7 --out n")
	if d = readResult(t, clitest.Read(t, "n/result.json")); len(d.GetChoice().GetTried()) != 11 || strings.Contains(said, "standardized") {
		t.Errorf("%d methods are in the result without standardized columns:\n%s", len(d.GetChoice().GetTried()), said)
	}
}

// The points of a run get their labels again by its nearest points.
func TestPredictAfterAuto(t *testing.T) {
	t.Chdir(t.TempDir())
	writeUneven(t, "u.csv")
	succeed(t, "generate two-moons --n 200 --noise 0.04 --seed 1 --out m")
	address := startServe(t, "--workers 2 --data-dir state")
	for _, c := range []struct {
		data, space, trained string
		k                    int
	}{
		{"u.csv", "SPACE_MIXTURE", "", 3}, // the folder knows where the points of the run are
		{"m/data.csv", "SPACE_NEIGHBORS", " --trained-on m/data.csv", 2},
		{"m/data.csv", "SPACE_NEIGHBORS", "", 2},
	} {
		job := fmt.Sprintf("--quiet --data %s --k %d", c.data, c.k)
		succeed(t, "run "+job+" --out o")
		d, labels := readResult(t, clitest.Read(t, "o/result.json")), labelColumns(clitest.Read(t, "o/labels.csv"))
		if d.GetChoice().GetChosen().GetSpace().String() != c.space || d.GetModel() != nil {
			t.Errorf("%s: %v, model %v", c.data, d.GetChoice(), d.GetModel())
		}
		if got := labelColumns(succeed(t, "predict --model o --data "+c.data+c.trained)); got != labels {
			t.Errorf("%s by the folder: %d rows differ", c.data, differing(got, labels))
		}
		id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
		if got := labelColumns(succeed(t, "predict --data "+c.data+" --job "+id+" --server "+address)); got != labels {
			t.Errorf("%s by the job: %d rows differ", c.data, differing(got, labels))
		}
		if err := os.RemoveAll("o"); err != nil {
			t.Fatal(err)
		}
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
		clitest.Write(t, "o/result.json", strings.Replace(clitest.Read(t, "o/result.json"), "SPACE_ROWS", space.String(), 1))
		refused(t, "predict --model o --data k.csv --trained-on k.csv", "o: a kernel matrix cannot assign new points")
	}
}
