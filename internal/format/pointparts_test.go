package format

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func nan() float64 { return math.NaN() }

// writeFiles writes files into a new folder and returns it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestPartsOfPoints(t *testing.T) {
	folder := writeFiles(t, map[string]string{
		"a.npy":    npy("<f8", false, "(2, 2)", 1.0, 2.0, 3.0, 4.0),
		"b.npy":    npy("<f4", true, "(2, 2)", float32(5), float32(7), float32(6), float32(8)),
		"_SUCCESS": "",
	})
	parts, err := PointPartsOf([]string{folder}, Input{})
	if err != nil {
		t.Fatal(err)
	}
	points, _, _, err := parts.LoadPoints(false)
	if err != nil || points.N != 4 || !slices.Equal(points.Values, []float64{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("got %+v, %v", points, err)
	}
	folder = writeFiles(t, map[string]string{
		"a.npy": npy("<f8", false, "(3, 1)", nan(), 2.0, 3.0),
		"b.npy": npy("<f8", false, "(3, 1)", 4.0, nan(), 6.0),
	})
	if parts, err = PointPartsOf([]string{folder}, Input{}); err != nil {
		t.Fatal(err)
	}
	points, _, incomplete, err := parts.LoadPoints(true)
	if err != nil || !slices.Equal(points.Values, []float64{2, 3, 4, 6}) || !slices.Equal(incomplete, []int32{0, 4}) {
		t.Errorf("got %+v without %v, %v", points, incomplete, err)
	}
	folder = writeFiles(t, map[string]string{"a.npz": triangle(t), "b.npz": triangle(t)})
	if parts, err = PointPartsOf([]string{folder}, Input{}); err != nil {
		t.Fatal(err)
	}
	sparse, _, err := parts.LoadSparsePoints(0, false)
	if err != nil || !slices.Equal(sparse.RowStart, []int64{0, 1, 3, 4, 5, 7, 8}) ||
		!slices.Equal(sparse.Value, []float64{5, 5, 7, 7, 5, 5, 7, 7}) {
		t.Errorf("got %+v, %v", sparse, err)
	}
}

func TestBadPartsOfPoints(t *testing.T) {
	folder := writeFiles(t, map[string]string{
		"a.npy": npy("<f8", false, "(2, 2)", 1.0, 2.0, 3.0, 4.0), "b.npy": npy("<f8", false, "(2, 1)", 1.0, 2.0),
		"c.csv": "x,y\n1,2\n",
		"d.svm": "1 1:2\n", "e.svm": "1 0:2\n",
	})
	for what, c := range map[string]struct{ files, reason, says string }{
		"columns":  {"a.npy b.npy", "COLUMNS_DIFFER", "b.npy: the file has 1 column, "},
		"kinds":    {"a.npy c.csv", "BAD_FILES", "c.csv: the file is not of the same kind as "},
		"svmlight": {"d.svm e.svm", "BAD_FILES", "concatenate them"},
		"twice":    {"a.npy a.npy", "BAD_FILES", "listed twice"},
		"stdin":    {"a.npy -", "BAD_FILES", "cannot be combined with files"},
		"none":     {"a.npy z.npy", "FILE_NOT_READABLE", "z.npy"},
	} {
		var paths []string
		for name := range strings.FieldsSeq(c.files) {
			if name != "-" {
				name = filepath.Join(folder, name)
			}
			paths = append(paths, name)
		}
		parts, err := PointPartsOf(paths, Input{})
		if err == nil {
			_, _, _, err = parts.LoadPoints(false)
		}
		wantFault(t, what, err, c.reason, c.says)
	}
}

// Two spellings of the same path count as the same file, and files that tools write beside the parts are ignored.
func TestPartsOfAFolder(t *testing.T) {
	folder := writeFiles(t, map[string]string{"a.csv": "x\n1\n", "b.csv": "x\n2\n", "_SUCCESS": "",
		".hidden.csv": "y\n"})
	r, err := OpenTable([]string{folder}, TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if all, err := r.ReadAll(); err != nil || all.Rows() != 2 {
		t.Errorf("%v, %v", all, err)
	}
	_, err = OpenTable([]string{filepath.Join(folder, "a.csv"), folder + "/./a.csv"}, TableOptions{})
	wantFault(t, "two ways", err, "BAD_FILES", "listed twice")
}
