package cli

import (
	"slices"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/clitest"
)

// The errors about input of the spectral family say what is wrong, where, and what to do.
func TestBadInputOfTheSpectralFamily(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"e.csv":         "src,dst\n0,1\n0,2\n1,2\n2,3\n3,4\n3,5\n4,5\n",
		"negative.csv":  "src,dst,weight\n0,1,1\n1,2,-2\n0,2,1\n2,3,1\n3,4,1\n4,5,1\n",
		"matrix.csv":    "1,-0.5,0.5\n-0.5,1,0.25\n0.5,0.25,1\n",
		"skew.csv":      "1,0.5,0.25\n0.125,1,0.5\n0.25,0.5,1\n",
		"links.csv":     "i,j,kind\n0,1,must\n0,2,cannot\n",
		"apart.csv":     "i,j,kind\n0,4,cannot\n1,5,cannot\n",
		"both.csv":      "i,j,belief\n0,1,1\n1,0,0.5\n",
		"outside.csv":   "i,j,belief\n0,1,1\n0,6,-1\n",
		"nan.csv":       "i,j,belief\n0,1,NaN\n",
		"none.csv":      "i,j,belief\n",
		"other.csv":     "src,dst\n0,1\n1,6\n",
		"notimage.png":  "hello",
		"truncated.png": "\x89PNG\r\n\x1a\n\x00\x00",
	})
	const constrained = "--graph e.csv --k 2 --algorithm constrained-spectral "
	for _, c := range []struct{ args, says string }{
		{"--graph negative.csv --k 2 --algorithm spectral",
			"edge 1-2 has weight -2; normalized-cut needs weights of at least 0 (ratio-association allows any)"},
		{"--graph negative.csv --k 2 --algorithm constrained-spectral --constraints links.csv",
			"edge 1-2 has weight -2; normalized-cut needs weights of at least 0"},
		{"--kernel-matrix matrix.csv --k 2 --algorithm spectral-learning --constraints links.csv",
			"the affinity of 1 and 0 is -0.5"},
		{"--kernel-matrix skew.csv --k 2 --algorithm spectral",
			"not symmetric: entry (1,0) is 0.125 but entry (0,1) is 0.5"},
		{constrained + "--beliefs both.csv",
			`both.csv, line 3, column "j": the pair 1, 0 is listed a second time; the first is on line 2`},
		{constrained + "--beliefs outside.csv", `outside.csv, line 3, column "j": point 6 is outside 0..5`},
		{constrained + "--beliefs nan.csv", "nan.csv, line 2"},
		{constrained + "--beliefs none.csv", "none.csv: the file has no beliefs"},
		{constrained + "--source-graph other.csv", "other.csv, line 3: vertex 6 is outside 0..5"},
		{constrained + "--constraints links.csv --beta nan",
			`--beta is "nan"; use a finite number, auto, paper or strict`},
		{constrained + "--constraints apart.csv --beta 10",
			"beta = 10 leaves 0 feasible vectors, but 2 clusters need 1; the largest usable beta is just below 7"},
		{"--graph e.csv --k 4 --algorithm constrained-spectral --constraints links.csv --beta paper",
			"4 clusters need 3; no beta above 0 is feasible: there are too few beliefs"},
		{"--graph e.csv --k 7 --algorithm spectral", "k is 7 but there are only 6 rows"},
		{"--graph e.csv --k 1 --algorithm spectral", "k is 1; it must be at least 2"},
		{"--graph e.csv --k 2 --algorithm spectral --tolerance 0",
			"tolerance is 0; it must be 1e-14 or more and below 1"},
		{"--graph e.csv --k 2 --algorithm spectral --tolerance 1", "must be 1e-14 or more and below 1"},
		{"--graph e.csv --k 2 --algorithm spectral --max-iterations 0", "max-iterations is 0; it must be at least 1"},
	} {
		refused(t, "run --quiet "+c.args, c.says)
	}
	for _, file := range []string{"notimage.png", "truncated.png", "e.csv"} {
		refused(t, "generate image-affinity "+file+" --out g", file+": ")
	}
}

// Vertices and points that nothing connects are clustered, and it is said.
func TestIsolatedVerticesAreClustered(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"isolated.csv": "src,dst\n0,1\n0,2\n1,2\n4,5\n5,6\n4,6\n2,4\n",
		"empty.csv":    "src,dst,weight\n0,1,0\n2,3,0\n",
		"far.csv":      "0,0\n0,1\n1,0\n1,1\n0.5,0.5\n1e6,1e6\n",
		"links.csv":    "i,j,kind\n0,3,must\n0,4,cannot\n",
	})
	for _, algorithm := range []string{"kernel-kmeans", "spectral", "spectral-learning", "constrained-spectral"} {
		for _, data := range []string{"--graph isolated.csv", "--graph isolated.csv --vertices 9",
			"--data far.csv --rho 1"} {
			if algorithm == "kernel-kmeans" && strings.HasPrefix(data, "--data") {
				data += " --objective normalized-cut"
			}
			d := readResult(t,
				succeed(t, "run --quiet --json --k 2 --constraints links.csv --algorithm "+algorithm+" "+data))
			if !slices.ContainsFunc(d.Warnings, func(w *cleavev1.Notice) bool {
				return w.GetReason() == "ISOLATED_VERTICES"
			}) {
				t.Errorf("%s %s warns of %+v", algorithm, data, d.Warnings)
			}
		}
	}
	for _, algorithm := range []string{"kernel-kmeans", "spectral", "spectral-learning", "constrained-spectral"} {
		succeed(t,
			"run --quiet --json --k 2 --graph empty.csv --vertices 5 --constraints links.csv --out of-"+algorithm+
				" --algorithm "+algorithm)
		if got := labelColumns(clitest.Read(t, "of-"+algorithm+"/labels.csv")); got !=
			"index,label\n0,0\n1,0\n2,0\n3,0\n4,1\n" {
			t.Errorf("%s: without edges the labels are %s", algorithm, got)
		}
	}
}

// A disconnected graph is no error unless no cut is left. It is said how components are joined.
func TestGraphsInPieces(t *testing.T) {
	clitest.Folder(t, map[string]string{
		"pieces.csv": "src,dst\n0,1\n0,2\n1,2\n3,4\n3,5\n4,5\n",
		"links.csv":  "i,j,kind\n0,1,must\n0,4,cannot\n",
	})
	for _, algorithm := range []string{"spectral", "spectral-learning"} {
		d := readResult(t,
			succeed(t, "run --quiet --json --graph pieces.csv --k 2 --constraints links.csv --algorithm "+algorithm))
		if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0].Message, "2 connected components") ||
			!strings.Contains(d.Warnings[0].Message, "join") {
			t.Errorf("%s warns of %+v", algorithm, d.Warnings)
		}
	}
	r := invoke(t, "run --quiet --graph pieces.csv --k 2 --algorithm constrained-spectral --constraints links.csv "+
		"--beta paper")
	if r.code != 2 || !strings.HasPrefix(r.stderr, "warning: the graph has 2 connected components") ||
		strings.Count(r.stderr, "\ncleave: only 0 of the 1 cuts") != 1 {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
	d := readResult(t,
		succeed(t, "run --quiet --json --graph pieces.csv --k 2 --algorithm constrained-spectral --constraints "+
			"links.csv --components join"))
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0].Message, "they are joined") {
		t.Errorf("joined, it warns of %+v", d.Warnings)
	}
}
