package format

import (
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cleave-project/cleave/internal/data/table"
)

func zstdOf(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(text), nil))
}

// bzip2Of12 is "1,2\n3,4\n", by bzip2.
func bzip2Of12(t testing.TB) string {
	t.Helper()
	b, err := hex.DecodeString(
		"425a683931415926535993b70d0c0000025800001000043c00200030c00869b28823278bb9229c284849db868600")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Compression is told by the bytes, whatever a file is called.
func TestCompressionByBytes(t *testing.T) {
	for what, content := range map[string]string{
		"plain": "1,2\n3,4\n", "gzip": gzipped("1,2\n3,4\n"), "zstd": zstdOf(t, "1,2\n3,4\n"), "bzip2": bzip2Of12(t),
	} {
		for _, name := range []string{"p.csv", "p.csv.gz", "p.csv.zst"} {
			points, _, err := ReadPoints(strings.NewReader(content), name)
			if err != nil || !slices.Equal(points.Values, []float64{1, 2, 3, 4}) {
				t.Errorf("%s as %s: %v", what, name, err)
			}
		}
	}
	if graph, err := ReadGraph(strings.NewReader(zstdOf(t, "src,dst\n0,1\n1,2\n")), "g.csv", 0); err != nil ||
		graph.N != 3 {
		t.Error(err)
	}
	if list, err := read(zstdOf(t, "index,label\n0,1\n"), "l.csv", table.Labels, 1); err != nil || list[0] != 1 {
		t.Error(err)
	}
}

func TestBadCompression(t *testing.T) {
	long := strings.Repeat("1,2.5\n", 10000)
	for what, c := range map[string]struct{ content, reason, says string }{
		"half a gzip":  {gzipped(long)[:60], "CORRUPT_FILE", "damaged or cut short"},
		"half a zstd":  {zstdOf(t, long)[:20], "CORRUPT_FILE", "damaged or cut short"},
		"half a bzip2": {bzip2Of12(t)[:30], "CORRUPT_FILE", "damaged or cut short"},
		"no gzip":      {"\x1F\x8B\x08 and so on, and on", "CORRUPT_FILE", "damaged"},
		"no zstd":      {"\x28\xB5\x2F\xFD\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "CORRUPT_FILE", "damaged"},
		"xz":           {"\xFD7zXZ\x00....", "UNSUPPORTED_COMPRESSION", "xz"},
		"a far window": {"\x28\xB5\x2F\xFD\x00\x90" + "\x01\x00\x00", "UNSUPPORTED_COMPRESSION", "--long"},
	} {
		var err error
		bytes := allocated(func() { _, _, err = ReadPoints(strings.NewReader(c.content), "p.csv") })
		wantFault(t, what, err, c.reason, "p.csv", c.says)
		if bytes > 8<<20 {
			t.Errorf("%s: allocated %d bytes", what, bytes)
		}
	}
}

// A format is told by the bytes where they can, and otherwise by the name or by what is said.
func TestFormatByBytes(t *testing.T) {
	array := npy("<f8", false, "(2, 2)", 1.0, 2.0, 3.0, 4.0)
	for what, c := range map[string]struct {
		in      string
		content string
		format  string
		want    InputKind
	}{
		"an array called CSV": {"x.csv", array, "", InputDense},
		"nothing to go by":    {"x", "a,b\n1,2\n", "", InputTable},
		"sparse":              {"x.dat", "1 1:2 3:4\n0 2:1\n", "", InputSparse},
		"said":                {"x.foo", "1 1:2 3:4\n", "svmlight", InputSparse},
		"a matrix":            {"x", "%%MatrixMarket matrix array real general\n1 1\n1\n", "", InputDense},
		"XML":                 {"x", "<?xml version=\"1.0\"?>\n<graphml/>", "", InputGraph},
		"compressed":          {"x", gzipped(array), "", InputDense},
		"Parquet":             {"x.csv", "PAR1....", "", InputTable},
	} {
		path := filepath.Join(t.TempDir(), c.in)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		stdin := Peekable(strings.NewReader(c.content))
		for _, in := range []Input{{Path: path, Format: c.format}, {Path: "-", Format: c.format, Stdin: stdin}} {
			if kind, err := in.Kind(); err != nil || kind != c.want && !(in.Path == "-" && c.in == "x.foo") {
				t.Errorf("%s, %s: %v, %v", what, in.Path, kind, err)
			}
		}
		rest, err := io.ReadAll(stdin)
		if err != nil || string(rest) != c.content {
			t.Errorf("%s: standard input has only %d bytes left", what, len(rest))
		}
	}
	_, err := (Input{Path: filepath.Join(t.TempDir(), "none")}).Kind()
	wantFault(t, "no file", err, "FILE_NOT_READABLE")
}
