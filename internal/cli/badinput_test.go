package cli

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

// Bad input gets a clear error: exit code 2, one sentence, nothing written.
func TestBadInput(t *testing.T) {
	files := maps.Clone(clitest.SmallFiles)
	maps.Copy(files, map[string]string{
		"nan.csv":      "x,y\n1,2\n3,NaN\n",
		"ragged.csv":   "1,2\n3,4,5\n",
		"word.csv":     "1,2\n3,four\n",
		"empty.csv":    "",
		"header.csv":   "x,y\n",
		"far.csv":      "i,j,kind\n0,4,must\n",
		"minus.csv":    "i,j,kind\n0,-1,must\n",
		"self.csv":     "i,j,kind\n2,2,cannot\n",
		"kind.csv":     "i,j,kind\n0,1,maybe\n",
		"light.csv":    "i,j,kind,weight\n0,1,must,-2\n",
		"inf.csv":      "1,2\n-Inf,4\n",
		"bigseed.csv":  "index,label\n0,2\n",
		"headless.csv": "0,1,perhaps\n",
		"farseed.csv":  "index,label\n9,0\n",
		"minusw.csv":   "index,weight\n0,-1\n",
		"asym.csv":     "1,0.5\n0.2,1\n",
		"wide.csv":     "1,0,0\n0,1,0\n",
		"negative.csv": "src,dst,weight\n0,1,1\n1,2,-3\n0,2,1\n",
		"badedge.csv":  "src,dst\n0,one\n",
		"farstart.csv": "index,label\n0,0\n1,0\n2,5\n3,0\n",
		"few.csv":      "index,label\n0,0\n",
		"zero.csv":     "0,0\n3,4\n2,2\n",
		"liar.npy": "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, " +
			"1000000), }" + strings.Repeat(" ", 47) + "\n\x00\x00",
		"data.unknown": "1,2\n",
		"trunc.csv.gz": "\x1f\x8b\x08\x00",
		"overflow.mtx": "%%MatrixMarket matrix array real general\n9223372036854775807 9223372036854775807\n1\n",
		"huge.npy": "\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': " +
			"(9223372036854775807, 16), }" + strings.Repeat(" ", 43) + "\n\x00\x00",
		"negk.csv":      "1,-0.5\n-0.5,1\n",
		"farvertex.csv": "src,dst\n0,9\n",
	})
	clitest.Folder(t, files)
	for _, c := range []struct{ args, want string }{
		{"--data p.csv --k 2 --seeds bigseed.csv", "seeds name clusters, 0..1"},
		{"--data inf.csv --k 2", `inf.csv, line 2, column "column 1": "-Inf" is not a finite number`},
		{"--data nan.csv --k 2 --missing error", `nan.csv, line 3, column "y": there is no value`},
		{"--data ragged.csv --k 2", "ragged.csv, line 2"},
		{"--data word.csv --k 2", `word.csv, line 2, column "column 2": "four" is not a number`},
		{"--data empty.csv --k 2", "empty.csv"},
		{"--data header.csv --k 2", "no rows"},
		{"--data gone.csv --k 2", "gone.csv: the file cannot be read: no such file"},
		{"--data . --k 2", "parts of a table must have the same columns"},
		{"--data data.unknown --k 2", `the suffix ".unknown"`},
		{"--data trunc.csv.gz --k 2", "damaged or cut short"},
		{"--data liar.npy --k 2", "liar.npy"},
		{"--data huge.npy --k 2", "huge.npy"},
		{"--data overflow.mtx --k 2", "overflow.mtx"},
		{"--data p.csv --k 0", "--k"},
		{"--data p.csv --k 5", "k is 5 but there are only 4 rows"},
		{"--data p.csv --k 2 --constraints far.csv", "far.csv, line 2, column \"j\": point 4 is outside 0..3"},
		{"--data p.csv --k 2 --constraints minus.csv", "point -1"},
		{"--data p.csv --k 2 --constraints self.csv", "point 2 has a cannot-link to itself"},
		{"--data p.csv --k 2 --constraints kind.csv", `the kind is "maybe"; use must or cannot`},
		{"--data p.csv --k 2 --constraints light.csv", "weights must be positive and finite"},
		{"--data p.csv --k 2 --constraints headless.csv", "the first line must be the header"},
		{"--data p.csv --k 2 --seeds farseed.csv", "point 9"},
		{"--data p.csv --k 2 --weights minusw.csv", "weights must be positive and finite"},
		{"--data p.csv --k 2 --init labels:farstart.csv", "point 2 has label 5"},
		{"--data p.csv --k 2 --init labels:few.csv", "1 label for 4 points"},
		{"--data p.csv --k 2 --truth few.csv", "1 label for 4 points"},
		{"--data p.csv --k 2 --truth l.csv --score-on farseed.csv", "farseed.csv, line 1"},
		{"--data zero.csv --k 2 --algorithm kernel-kmeans --kernel cosine", "the row on line 1 is all zeros"},
		{"--kernel-matrix asym.csv --k 2",
			"the kernel matrix is not symmetric: entry (1,0) is 0.2 but entry (0,1) is 0.5"},
		{"--kernel-matrix wide.csv --k 2", "2 rows and 3 columns; it must be square"},
		{"--graph badedge.csv --k 2", "badedge.csv, line 2"},
		{"--graph farvertex.csv --vertices 5 --k 2", "vertex 9 is outside 0..4"},
		{"--graph negative.csv --k 2 --algorithm kernel-kmeans", "edge 1-2 has weight -3"},
		{"--kernel-matrix negk.csv --k 2 --algorithm kernel-kmeans --objective normalized-cut",
			"the affinity of 1 and 0 is -0.5"},
	} {
		t.Run(c.args, func(t *testing.T) {
			r := invoke(t, "run --quiet --out o "+c.args)
			if r.code != 2 || !strings.HasPrefix(r.stderr, "cleave: ") || !strings.Contains(r.stderr, c.want) ||
				strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
				t.Errorf("exit code %d\nstdout %q\nstderr %q\nwant exit code 2 and one line with %q", r.code, r.stdout,
					r.stderr, c.want)
			}
			if _, err := os.Stat("o"); err == nil {
				t.Error("something was written")
				os.RemoveAll("o")
			}
		})
	}
}

// Soft algorithms accept contradictory constraints and warn where the contradiction is. Repeated edges and
// loops are accepted too.
func TestUnusualInputIsAccepted(t *testing.T) {
	files := maps.Clone(clitest.SmallFiles)
	maps.Copy(files, map[string]string{
		"conflict.csv": "i,j,kind\n0,1,must\n1,2,must\n0,2,cannot\n",
		"odd.csv":      "src,dst,weight\n0,1,1\n1,0,2\n1,1,5\n1,2,1\n2,3,1\n",
	})
	clitest.Folder(t, files)
	r := invoke(t, "run --quiet --json --data p.csv --k 2 --algorithm kernel-kmeans --constraints conflict.csv")
	if r.code != 0 || !strings.HasPrefix(r.stderr, "warning: ") {
		t.Fatalf("exit code %d, %q", r.code, r.stderr)
	}
	d := readResult(t, r.stdout)
	if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0].Message, "0") ||
		!strings.Contains(d.Warnings[0].Message, "2") || d.Constraints.Total != 3 {
		t.Errorf("warnings %+v, constraints %+v", d.Warnings, d.Constraints)
	}
	succeed(t, "run --quiet --graph odd.csv --k 2 --algorithm kernel-kmeans")
}
