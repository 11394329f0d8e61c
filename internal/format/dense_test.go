package format

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/scan"
)

func TestReadPointsFromText(t *testing.T) {
	want := []float64{1, 2, 3, 4, 5, 6}
	for what, c := range map[string]struct {
		name, text string
		header     []string
	}{
		"plain":            {"p.csv", "1,2\n3,4\n5,6\n", nil},
		"no last line end": {"p.csv", "1,2\n3,4\n5,6", nil},
		"header":           {"p.csv", "x,y\n1,2\n3,4\n5,6\n", []string{"x", "y"}},
		"quoted header": {"p.csv", "\"a, b\",\"say \"\"y\"\"\"\n1,2\n\"3\",4\n5, \"6\" \n",
			[]string{"a, b", `say "y"`}},
		"CRLF and BOM":      {"p.csv", "\xEF\xBB\xBFx,y\r\n1,2\r\n3,4\r\n5,6\r\n", []string{"x", "y"}},
		"blanks at the end": {"p.csv", "1,2\n3,4\n5,6\n\n  \r\n\n", nil},
		"spaces":            {"p.csv", " 1 ,\t2\n3, 4\n5,6 \n", nil},
		"other spellings":   {"p.csv", "+1,2.0\n3e0,.4e1\n0x1.4p2,6.\n", nil},
		"tabs":              {"p.tsv", "x x\ty\n1\t2\n3\t4\n5\t6\n", []string{"x x", "y"}},
		"upper case":        {"DIR.x/P.CSV", "1,2\n3,4\n5,6\n", nil},
		"gzip":              {"p.csv.gz", gzipped("1,2\n3,4\n5,6\n"), nil},
		"pandas index":      {"p.csv", ",y\n1,2\n3,4\n5,6\n", []string{"", "y"}},
	} {
		points, header, err := ReadPoints(strings.NewReader(c.text), c.name)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if points.N != 3 || points.D != 2 || !slices.Equal(points.Values, want) || !slices.Equal(header, c.header) {
			t.Errorf("%s: got %+v under %q", what, points, header)
		}
	}
}

func TestInvalidPoints(t *testing.T) {
	for _, c := range []struct {
		name, text, reason string
		says               []string
	}{
		{"p.csv", "", "EMPTY_DATA", []string{"p.csv"}},
		{"p.csv", "x,y\n", "EMPTY_DATA", []string{"p.csv"}},
		{"p.csv", "\n\n", "EMPTY_DATA", nil},
		{"p.csv", "1,2\n3\n", "RAGGED_ROWS", []string{"p.csv, line 2", "1 cell, but the first line has 2", "2"}},
		{"p.csv", "x,y\n1,2\n3,4,5\n", "RAGGED_ROWS", []string{"line 3"}},
		{"p.csv", "x,y,z\n1,2\n", "RAGGED_ROWS", []string{"line 2"}},
		{"p.csv", "x,y\n1,2\n3,NaN\n", "NOT_FINITE", []string{"line 3", "row 1, column \"y\""}},
		{"p.csv", "-inf,1\n", "NOT_FINITE", []string{"line 1", "row 0, column 0"}},
		{"p.csv", "1,1e999\n", "NOT_FINITE", []string{"row 0, column 1"}},
		{"p.csv", "1,2\n3,four\n", "NOT_A_NUMBER", []string{"row 1, column 1", `"four"`}},
		{"p.csv", "1,2\n3,\n", "MISSING_VALUE", []string{"line 2", "row 1, column 1"}},
		{"p.csv", "1,?\n3,4\n", "MISSING_VALUE", []string{"line 1"}},
		{"p.csv", "1,oops\n3,4\n", "AMBIGUOUS_HEADER", []string{"line 1"}},
		{"p.csv", "1,2\n\n3,4\n", "BLANK_LINE", []string{"line 2"}},
		{"p.csv", "1,\"2\n3,4\n", "UNCLOSED_QUOTE", []string{"line 1"}},
		{"p.csv", "1,\"2\"3\n", "UNCLOSED_QUOTE", []string{"line 1"}},
		{"p.csv", "\xFF\xFE1\x00,\x002\x00\n", "NOT_UTF8", []string{"UTF-8"}},
		{"p.csv.gz", gzipped("1,2\n3,4\n")[:30], "CORRUPT_FILE", []string{"p.csv.gz"}},
		{"p.parquet", "", "UNKNOWN_FORMAT", []string{".parquet", ".npy"}},
		{"points", "1,2\n", "UNKNOWN_FORMAT", nil},
	} {
		_, _, err := ReadPoints(strings.NewReader(c.text), c.name)
		wantFault(t, fmt.Sprintf("%q", c.text), err, c.reason, c.says...)
	}
}

func TestLongLines(t *testing.T) {
	const columns = 300_000 // several buffers long
	line := strings.Repeat("1.5,", columns-1) + "1.5\n"
	points, _, err := ReadPoints(strings.NewReader(line+line), "wide.csv")
	if err != nil || points.N != 2 || points.D != columns {
		t.Fatalf("wide rows: %v", err)
	}
	_, _, err = ReadPoints(strings.NewReader(strings.Repeat("1", scan.MaxLine+scan.BufferSize+1)), "endless.csv")
	wantFault(t, "endless line", err, "LINE_TOO_LONG", "endless.csv, line 1", "64 MiB")
}

// A line of very many cells is refused, and the memory that this takes is a small multiple of the text, where each cell
// would take 12 times its text.
func TestTooManyCells(t *testing.T) {
	commas := strings.Repeat("1,", 1<<24+1)
	spaces := strings.Repeat("1 ", 1<<24+1)
	readTable := func(text string) error {
		_, err := OpenTable([]string{"-"}, TableOptions{Format: "csv", Stdin: strings.NewReader(text)})
		return err
	}
	for name, c := range map[string]struct {
		read         func() error
		reason, says string
		times        uint64
	}{
		"table": {func() error { return readTable(commas) }, "TOO_MANY_COLUMNS",
			"line 1: the line has more than 16384 cells", 10},
		"spaces": {func() error { return readTable(spaces) }, "BAD_TEXT", "line 1, column 1", 16},
		"points": {func() error { _, _, err := ReadPoints(strings.NewReader(commas), "p.csv"); return err },
			"TOO_MANY_COLUMNS", "line 1: the line has more than 16777216 cells", 10},
		"graph": {func() error { _, err := ReadGraph(strings.NewReader(spaces), "g.txt", 0); return err },
			"TOO_MANY_COLUMNS", "line 1: the line has more than 16777216 cells", 10},
	} {
		var err error
		bytes := allocated(func() { err = c.read() })
		wantFault(t, name, err, c.reason, c.says)
		if bytes > c.times*uint64(len(commas)) {
			t.Errorf("%s: %.1f times the text was allocated", name, float64(bytes)/float64(len(commas)))
		}
	}
}

// A table is refused for an endless line before anything examines it, which would take many times its length.
func TestEndlessLinesOfTables(t *testing.T) {
	endless := strings.Repeat("1", 2*scan.MaxLine+1)
	for start, line := range map[string]string{"": "line 1", "x,y\n": "line 2"} {
		var err error
		bytes := allocated(func() {
			_, err = OpenTable([]string{"-"},
				TableOptions{Format: "csv",
					Stdin: io.MultiReader(strings.NewReader(start), strings.NewReader(endless))})
		})
		wantFault(t, "endless "+line, err, "LINE_TOO_LONG", line, "64 MiB")
		if bytes > 5*scan.MaxLine {
			t.Errorf("endless %s: %d bytes were allocated", line, bytes)
		}
	}
}

func TestReadKernel(t *testing.T) {
	want := []float64{2, 1, 1, 3}
	for name, text := range map[string]string{
		"k.csv": "2,1\n1,3\n",
		"k.npy": npy("<f8", true, "(2, 2)", 2.0, 1.0, 1.0, 3.0),
		"k.mtx": "%%MatrixMarket matrix array real symmetric\n2 2\n2\n1\n3\n",
	} {
		kernel, err := ReadKernel(strings.NewReader(text), name)
		if err != nil || kernel.N != 2 || !slices.Equal(kernel.Values, want) {
			t.Errorf("%s: %+v, %v", name, kernel, err)
		}
	}
	_, err := ReadKernel(strings.NewReader("2,1\n0,3\n"), "k.csv")
	wantFault(t, "asymmetric", err, "ASYMMETRIC_KERNEL", "k.csv", "(1,0)")
	_, err = ReadKernel(strings.NewReader("2,1,0\n1,3,0\n"), "k.csv")
	wantFault(t, "not square", err, "NOT_SQUARE", "k.csv", "2 rows and 3 columns")
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.csv.gz")
	if err := os.WriteFile(path, []byte(gzipped("a,b\n1,2\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	points, header, err := LoadPoints(path)
	if err != nil || !reflect.DeepEqual(points, &dataset.Points{N: 1, D: 2, Values: []float64{1, 2}}) ||
		!slices.Equal(header, []string{"a", "b"}) {
		t.Errorf("got %+v, %q, %v", points, header, err)
	}
	_, _, err = LoadPoints(filepath.Join(dir, "none.csv"))
	wantFault(t, "no such file", err, "FILE_NOT_READABLE", "none.csv", "no such file")
	folder := filepath.Join(dir, "folder.csv")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = LoadGraph(folder, 0)
	wantFault(t, "a directory", err, "FILE_NOT_READABLE", "folder.csv", "directory")
}
