package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// Landmarks alone select kernel k-means. Its folder is a model: the points of the run get their labels again.
func TestARunByLandmarks(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 300 --d 3 --k 3 --noise 0.5 --seed 1 --out g")
	for _, scale := range []string{"none", "zscore"} {
		said := succeed(t, "run --data g/data.csv --k 3 --landmarks 40 --scale "+scale+" --truth g/truth.csv --out "+
			scale)
		for _, says := range []string{"objective   kernel-kmeans", "landmarks   40, ",
			"% of the kernel, so the objective is approximate; NMI 1.0000 against the answer from the full matrix, " +
				"whose objective is", "ARI         1.0000"} {
			if !strings.Contains(said, says) {
				t.Errorf("%q is missing:\n%s", says, said)
			}
		}
		d := readResult(t, clitest.Read(t, scale+"/result.json"))
		if l := d.GetLandmarks(); l.GetCount() != 40 || l.GetRank() < 3 || !(l.GetLost() >= 0 && l.GetLost() < 0.1) ||
			d.GetKernel().GetRho() <= 0 || d.GetModel().GetLandmarks().GetColumns() != 3 {
			t.Errorf("landmarks %v, kernel %v, model %v", l, d.GetKernel(), d.GetModel())
		}
		succeed(t, "predict --model "+scale+" --data g/data.csv --out predicted.csv")
		if labelColumns(clitest.Read(t, "predicted.csv")) != labelColumns(clitest.Read(t, scale+"/labels.csv")) {
			t.Errorf("%s: the points of the run have other labels", scale)
		}
		if strings.Contains(clitest.Read(t, scale+"/clusters.svg"), ">centroid<") {
			t.Error("means of features are drawn among the points")
		}
	}
	for line, says := range map[string]string{
		"run --data g/data.csv --k 3 --landmarks 2": "2 landmarks cannot separate 3 clusters",
		"run --data g/data.csv --k 3 --landmarks 40 --objective ratio-cut": "--landmarks requires --objective " +
			"kernel-kmeans",
		"run --data g/data.csv --k 3 --landmarks 40 --sigma 1": "--sigma cannot be combined " +
			"with --landmarks",
		"predict --model none --data g/data.csv --trained-on g/data.csv": "--trained-on does not apply",
		"run --data g/data.csv --k 3 --landmarks 40 --algorithm kmeans": "--landmarks does not apply to " +
			"kmeans, only to kernel-kmeans",
		"run --data g/data.csv --k 3 --landmarks 40 --algorithm spectral": "--landmarks does not apply to spectral",
		"run --data g/data.csv --k 3 --landmarks 40 --init farthest-first": "--init farthest-first cannot be " +
			"combined with --landmarks",
		"run --data g/data.csv --k 3 --landmarks 40 --storage float32": "--storage float32 cannot be combined " +
			"with --landmarks",
		"run --kernel-matrix g/data.csv --k 3 --landmarks 40": "--landmarks does not apply to a " +
			"kernel matrix",
		"run --data g/data.csv --k 3 --landmarks 40 --paper": "--paper cannot be combined " +
			"with --landmarks",
		"run --data g/data.csv --k 3 --landmarks -1": "landmarks",
		"run --data g/data.csv --k 3 --landmarks 40 --weights g/truth.csv": "--weights cannot be combined " +
			"with --landmarks",
		"run --data g/data.csv --k 3 --landmarks 40 --kernel given --rho 100": "kernel",
	} {
		if r := invoke(t, line); r.code == 0 || !strings.Contains(r.stderr, says) {
			t.Errorf("cleave %s: exit code %d: %s", line, r.code, r.stderr)
		}
	}
	if err := os.WriteFile("none/projection.csv", []byte("1,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := invoke(t, "predict --model none --data g/data.csv"); r.code == 0 ||
		!strings.Contains(r.stderr, "projection.csv") {
		t.Errorf("a spoiled model: exit code %d: %s", r.code, r.stderr)
	}
}
