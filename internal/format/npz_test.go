package format

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// npz is an archive of arrays: names and contents by turns.
func npz(t testing.TB, method uint16, entries ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for at := 0; at < len(entries); at += 2 {
		entry, err := w.CreateHeader(&zip.FileHeader{Name: entries[at], Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := entry.Write([]byte(entries[at+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestNPZ(t *testing.T) {
	x := npy("<f8", true, "(2, 2)", 1.0, 3.0, 2.0, 4.0)
	y := npy("<i8", false, "(2,)", int64(7), int64(8))
	z := npy("<f8", false, "(1, 2)", 5.0, 6.0)
	for what, c := range map[string]struct {
		content, array string
		want           []float64
	}{
		"the only matrix": {npz(t, zip.Deflate, "y.npy", y, "x.npy", x), "", []float64{1, 2, 3, 4}},
		"the only array":  {npz(t, zip.Store, "y.npy", y), "", []float64{7, 8}},
		"by name":         {npz(t, zip.Store, "x.npy", x, "z.npy", z), "z", []float64{5, 6}},
	} {
		path := filepath.Join(t.TempDir(), "f.npz")
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, in := range []Input{{Path: path, Array: c.array},
			{Path: "-", Array: c.array, Stdin: strings.NewReader(c.content)}} {
			points, _, err := in.LoadPoints()
			if err != nil || !slices.Equal(points.Values, c.want) {
				t.Errorf("%s, %s: %v", what, in.Path, err)
			}
		}
	}
	several := npz(t, zip.Store, "x.npy", x, "z.npy", z)
	for what, c := range map[string]struct{ content, array, reason, says string }{
		"several":  {several, "", "SEVERAL_ARRAYS", "x, z; select one with --array"},
		"no such":  {several, "w", "NO_SUCH_ARRAY", "the file has x, z"},
		"no array": {npz(t, zip.Store, "x.txt", "x"), "", "NOT_NPZ", "without NumPy arrays"},
		"empty":    {npz(t, zip.Store), "", "NOT_NPZ", "an empty ZIP archive"},
		"half":     {several[:len(several)/2], "", "CORRUPT_FILE", "cut short"},
		"no NPY":   {npz(t, zip.Store, "x.npy", "nothing"), "", "TRUNCATED_FILE", "f.npz, array x"},
		"promises": {npz(t, zip.Deflate, "x.npy", npy("<f8", false, "(1000000000, 2)", 1.0)), "", "TRUNCATED_FILE",
			"2000000000 values"},
	} {
		var err error
		bytes := allocated(func() {
			_, _, err = Input{Path: "-", Stdin: strings.NewReader(c.content), Label: "f.npz",
				Array: c.array}.LoadPoints()
		})
		wantFault(t, what, err, c.reason, "f.npz", c.says)
		if bytes > 4<<20 {
			t.Errorf("%s: allocated %d bytes", what, bytes)
		}
	}
}

// A message stays short and on one line, whatever a file says: it has no long cells and no control characters.
func TestMessagesQuoteTheFile(t *testing.T) {
	long := strings.Repeat("\x1b[2J", 10_000)
	_, ofMatrix := ReadGraph(strings.NewReader("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 "+long+" 1\n"),
		"g.mtx", 0)
	wantFault(t, "cell", ofMatrix, "INDEX_OUT_OF_RANGE", "g.mtx, line 3", "not both whole numbers")
	_, _, ofArray := ReadPoints(strings.NewReader(npz(t, zip.Store, long+".npy", "no array")), "p.npz")
	wantFault(t, "array", ofArray, "NOT_NPY", "p.npz, array")
	for _, err := range []error{ofMatrix, ofArray} {
		if message := err.Error(); len(message) > 300 || strings.ContainsAny(message, "\x1b\n") {
			t.Errorf("%.400q", message)
		}
	}
}
