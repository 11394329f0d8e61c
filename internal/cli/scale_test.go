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

// writeUneven writes eight columns, of which one is wide, says nothing and has a large offset.
func writeUneven(t *testing.T, path string) {
	t.Helper()
	rng := clusteringtest.NewRand(3)
	blobs := clusteringtest.Blobs(t, rng, 90, 7, 3)
	var text strings.Builder
	for i := range blobs.N {
		fmt.Fprint(&text, 1e7+1e4*rng.NormFloat64())
		for _, v := range blobs.Row(i) {
			fmt.Fprint(&text, ",", v)
		}
		fmt.Fprintln(&text)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// scaleIn is the scale that flags ask for, where auto is zscore.
func scaleIn(args string) cleavev1.Scale {
	_, name, _ := strings.Cut(args, "--scale ")
	if name == "auto" {
		name = "zscore"
	}
	return cleavev1.Scale(cleavev1.Scale_value["SCALE_"+strings.ToUpper(name)])
}

// Points of a converged run on scaled columns get their labels again, by its folder and by its job.
func TestPredictInUnits(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	writeUneven(t, "u.csv")
	address := startServe(t, "--workers 2 --data-dir state")
	for _, c := range []struct{ args, trained, notice string }{
		{"--algorithm kmeans --restarts 3 --scale zscore", "", ""},
		{"--algorithm kmeans --restarts 3 --scale minmax", "", ""},
		{"--rho 3 --scale robust", " --trained-on u.csv", ""},
		{"--knn 5 --algorithm spectral --scale robust", " --trained-on u.csv", "DISCONNECTED_GRAPH"},
		{"--algorithm m-kmeans --scale auto", "", "COLUMNS_STANDARDIZED"},
		{"--algorithm kmeans --geometry spherical --scale zscore", "", ""},
		{"--rho 3 --scale auto", " --trained-on u.csv", "COLUMNS_STANDARDIZED"},
	} {
		job := "--quiet --data u.csv --k 3 --seed 1 " + c.args
		succeed(t, "run "+job+" --out o")
		d := readResult(t, clitest.Read(t, "o/result.json"))
		if d.StopReason != cleavev1.StopReason_STOP_REASON_CONVERGED || d.GetScale() != scaleIn(c.args) ||
			d.GetModel().GetScaled() != (c.trained == "") {
			t.Errorf("%s: %v, scale %v, model %v", c.args, d.StopReason, d.GetScale(), d.GetModel())
		}
		if notices := d.GetWarnings(); (len(notices) > 0) != (c.notice != "") ||
			len(notices) > 0 && notices[0].GetReason() != c.notice {
			t.Errorf("%s: %v", c.args, notices)
		}
		if got := labelColumns(succeed(t, "predict --model o --data u.csv"+c.trained)); got != labelColumns(
			clitest.Read(t, "o/labels.csv")) {
			t.Errorf("%s: by the folder %s", c.args, got)
		}
		id := strings.TrimSpace(succeed(t, "submit --wait "+job+" --server "+address))
		if got := labelColumns(succeed(t, "predict --data u.csv --job "+id+" --server "+address)); got != labelColumns(
			clitest.Read(t, "o/labels.csv")) {
			t.Errorf("%s: by the job %s", c.args, got)
		}
		if err := os.RemoveAll("o"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestScaleNoticesAndRefusals(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	writeUneven(t, "u.csv")
	for _, algorithm := range []string{"kernel-kmeans", "kmeans", "spectral"} {
		r := invoke(t, "run --quiet --data u.csv --k 3 --algorithm "+algorithm)
		if strings.Count(r.stderr, "column 0 has 100.0% of the variance of all 8 columns") != 1 ||
			!strings.Contains(r.stderr, "--scale zscore") || strings.Contains(r.stdout, "variance") {
			t.Errorf("%s says %+v, and not once", algorithm, r)
		}
		if out := succeed(t, "run --quiet --data u.csv --k 3 --scale none --algorithm "+algorithm); strings.Contains(
			out, "variance") {
			t.Errorf("%s with --scale none says %s", algorithm, out)
		}
	}
	succeed(t, "run --quiet --data u.csv --k 3 --algorithm kmeans --scale zscore --out m")
	units := clitest.Read(t, "m/units.csv")
	if strings.Count(units, "\n") != 2 {
		t.Errorf("units.csv is %q", units)
	}
	for _, c := range []struct{ args, units, want string }{
		{"run --graph e.csv --k 2 --scale zscore", units,
			"--scale zscore does not apply to a graph: only dense points have columns to scale"},
		{"run --data u.csv --k 2 --scale wide", units, "use auto, zscore, minmax, robust or none"},
		{"run --data p.csv --k 2 --algorithm hmrf-kmeans --distortion kl --scale auto", units,
			"--scale auto cannot be combined with --distortion kl"},
		{"predict --model m --data u.csv", "1,2,3,4,5,6,7,8\n",
			"m/units.csv: the file has 1 row of 8 columns; according to result.json there must be 2 of 8"},
		{"predict --model m --data u.csv", "1,2,3,4,5,6,7,8\n1,2,3,0,5,6,7,8\n",
			"m/units.csv: column 3 has the center 4 and the scale 0"},
	} {
		if err := os.WriteFile("m/units.csv", []byte(c.units), 0o666); err != nil {
			t.Fatal(err)
		}
		if r := invoke(t, c.args); r.code != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
}
