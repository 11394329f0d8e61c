package format

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

func sparse(t testing.TB, text string, features int) *dataset.SparsePoints {
	t.Helper()
	points, err := ReadSparsePoints(strings.NewReader(text), "s.svm", features)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return points
}

func TestReadSparsePoints(t *testing.T) {
	want := &dataset.SparsePoints{N: 3, D: 4, RowStart: []int64{0, 2, 2, 3}, Column: []int32{0, 3, 1},
		Value: []float64{0.5, -2e-3, 7}}
	for what, text := range map[string]string{
		"from 1":            "1 1:0.5 4:-2e-3\n-1\n+1 2:7\n",
		"from 0":            "1 0:0.5 3:-2e-3\n-1\n+1 1:7\n",
		"no last line end":  "1 1:0.5 4:-2e-3\n-1\n+1 2:7",
		"windows":           "\xEF\xBB\xBF1 1:0.5 4:-2e-3\r\n-1\r\n+1 2:7\r\n",
		"comments":          "# made by hand\n1 1:0.5 4:-2e-3 # first: one\n\n-1#2:3\n   # between\n+1 2:7\n\n",
		"queries":           "1 qid:7 1:0.5 4:-2e-3\n-1 qid:7\n+1 qid:8 2:7\n",
		"several labels":    "1,3 1:0.5 4:-2e-3\n2 \n0.5,2 2:7\n",
		"no labels":         "1:0.5 4:-2e-3\n0\n 2:7\n",
		"tabs and spaces":   "1\t1:0.5\t\t4:-2e-3 \n-1 \n 1  2:7\n",
		"zeros written out": "1 1:0.5 2:0 4:-2e-3\n-1 3:0.0\n1 1:-0 2:7\n",
	} {
		if got := sparse(t, text, 0); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v", what, got)
		}
		got, err := ReadSparsePoints(strings.NewReader(gzipped(text)), "S.SVMLight.gz", 4)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s, compressed: got %+v, %v", what, got, err)
		}
	}
	if got := sparse(t, "1 1:1 3:0\n", 0); got.D != 3 || got.NonZeros() != 1 {
		t.Errorf("a zero in the last column: %+v", got)
	}
	if got := sparse(t, "0\n0\n", 7); got.N != 2 || got.D != 7 {
		t.Errorf("rows of zeros: %+v", got)
	}
	if got := sparse(t, "0 9:1\n", 1<<30); got.D != 1<<30 {
		t.Errorf("given features: %+v", got)
	}
}

func TestInvalidSparsePoints(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                 {"EMPTY_DATA", "no rows"},
		"# nothing\n":                      {"EMPTY_DATA", "no rows"},
		"1\n2\n":                           {"EMPTY_DATA", "number of features"},
		"1 1:1\n1 3:1 2:1\n":               {"INDEX_OUT_OF_ORDER", "line 2", "feature 2", "feature 3"},
		"1 1:1\n\n1 3:1 3:1\n":             {"INDEX_OUT_OF_ORDER", "line 3", "feature 3"},
		"1 1:x\n":                          {"NOT_A_NUMBER", "line 1", "feature 1", `"x"`},
		"1 1:\n":                           {"NOT_A_NUMBER", "feature 1"},
		"1 1:1:1\n":                        {"NOT_A_NUMBER", `"1:1"`},
		"1 1:nan\n":                        {"NOT_FINITE", "line 1", "feature 1"},
		"1 1:1e999\n":                      {"NOT_FINITE", "feature 1"},
		"1 a:1\n":                          {"NOT_AN_INDEX", "line 1", `"a"`},
		"1 :1\n":                           {"NOT_AN_INDEX", `":1"`},
		"1 1.5:1\n":                        {"NOT_AN_INDEX", `"1.5"`},
		"1 -1:1\n":                         {"INDEX_OUT_OF_RANGE", "feature -1"},
		"1 99999999999:1\n":                {"INDEX_OUT_OF_RANGE", "feature 99999999999"},
		"1 1 1:1\n":                        {"BAD_ENTRY", "line 1", "index:value"},
		"spam 1:1\n":                       {"BAD_LABEL", "line 1", `"spam"`},
		"1,,2 1:1\n":                       {"BAD_LABEL", `"1,,2"`},
		"1 1:1\n1 2:1 2000000000:1\n1 3:1": {"TOO_MANY_COLUMNS", "line 2", "2000000000", "4 entries"},
	} {
		_, err := ReadSparsePoints(strings.NewReader(text), "s.svm", 0)
		wantFault(t, text, err, want[0], append(want[1:], "s.svm")...)
	}
	for text, line := range map[string]string{"1 2:1\n1 4:1\n": "line 2", "1 1:1 3:1\n1 0:1\n": "line 1"} {
		_, err := ReadSparsePoints(strings.NewReader(text), "s.svm", 3)
		wantFault(t, text, err, "INDEX_OUT_OF_RANGE", line)
	}
	_, err := ReadSparsePoints(strings.NewReader("1 1:1\n"), "s.svm", math.MaxInt)
	wantFault(t, "absurd features", err, "TOO_MANY_COLUMNS", "s.svm")
	_, err = ReadSparsePoints(strings.NewReader("1 1:1\n"), "s.txt", 0)
	wantFault(t, "suffix", err, "UNKNOWN_FORMAT", ".libsvm")
	_, err = Input{Path: filepath.Join(t.TempDir(), "none.svm")}.LoadSparsePoints(0)
	wantFault(t, "missing file", err, "FILE_NOT_READABLE")
}

func TestIsSparse(t *testing.T) {
	for name, want := range map[string]bool{"a.svm": true, "a.SVMLIGHT.GZ": true, "a/b.libsvm": true, "a.csv": false,
		"svm": false, "a.svm.bz2": true, "a.svm.rar": false} {
		if IsSparse(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// A long first row is recognized wherever the part of it that is examined ends.
func TestLongRowsOfStandardInput(t *testing.T) {
	var row strings.Builder
	for feature := 1; row.Len() < peeked/4; feature++ {
		fmt.Fprintf(&row, " %d:-%.2fe-03", feature, float64(feature)/7)
	}
	for cut := range 20 { // more than a cell has bytes
		for end, separator := range map[string]string{"\n": " ", "\r\n": "\t", "": " "} {
			text := strings.Repeat("1", 1+cut) + strings.ReplaceAll(row.String(), " ", separator) + end
			if kind, err := (Input{Path: "-", Stdin: Peekable(strings.NewReader(text))}).Kind(); err != nil ||
				kind != InputSparse {
				t.Errorf("with a label of %d digits: %v, %v", 1+cut, kind, err)
			}
		}
	}
}

func TestSparsePointsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		d := rapid.IntRange(1, 9).Draw(t, "d")
		value := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Filter(func(v float64) bool { return v != 0 })
		points := &dataset.SparsePoints{N: n, D: d, RowStart: []int64{0}, Column: []int32{}, Value: []float64{}}
		for range n {
			for c := range d {
				if rapid.Bool().Draw(t, "stored") {
					points.Column = append(points.Column, int32(c))
					points.Value = append(points.Value, value.Draw(t, "value"))
				}
			}
			points.RowStart = append(points.RowStart, int64(len(points.Column)))
		}
		text := svmlight(points)
		got, err := ReadSparsePoints(strings.NewReader(text), "p.svm", 0)
		if err != nil || !reflect.DeepEqual(got, points) {
			t.Fatalf("%+v came back from %q as %+v, %v", points, text, got, err)
		}
	})
}

// svmlight writes points with the label 0. The first row has the last feature, which tells a reader their number.
func svmlight(points *dataset.SparsePoints) string {
	var text strings.Builder
	for i := range points.N {
		text.WriteString("0")
		columns, values := points.Row(i)
		for at, c := range columns {
			fmt.Fprintf(&text, " %d:%v", c+1, values[at])
		}
		if last := int32(points.D - 1); i == 0 && !slices.Contains(columns, last) {
			fmt.Fprintf(&text, " %d:0", points.D)
		}
		text.WriteString("\n")
	}
	return text.String()
}

func FuzzSparsePoints(f *testing.F) {
	for _, seed := range []string{"1 1:0.5 4:2\n-1\n", "1,2 qid:3 0:1 # c\n", "1:1 2:nan\n", "1 2000000000:1\n",
		"1 4194304:1\n", "#\n\n", "1 3:1 2:1", ":"} {
		f.Add([]byte(seed), 0)
	}
	f.Add([]byte("0 5:1\n"), 5)
	f.Add([]byte("0 0:1 5:1\n"), 5)
	f.Fuzz(func(t *testing.T, input []byte, features int) {
		var points *dataset.SparsePoints
		read := func() (err error) {
			points, err = ReadSparsePoints(bytes.NewReader(input), "f.svm", features)
			return err
		}
		if !checkFuzzed(t, len(input), 0, read) {
			return
		}
		again, err := ReadSparsePoints(strings.NewReader(svmlight(points)), "f.svm", points.D)
		if err != nil || again.D != points.D || !slices.Equal(again.RowStart, points.RowStart) ||
			!slices.Equal(again.Column, points.Column) || !slices.Equal(again.Value, points.Value) {
			t.Fatalf("%+v came back as %+v, %v", points, again, err)
		}
	})
}

func BenchmarkReadSparsePoints(b *testing.B) {
	const n, d, each = 20_000, 60_000, 100
	points := &dataset.SparsePoints{N: n, D: d, RowStart: make([]int64, n+1), Column: make([]int32, n*each),
		Value: make([]float64, n*each)}
	for at := range points.Column {
		points.Column[at] = int32(at%each*(d/each) + at/each%(d/each))
		points.Value[at] = 1 / float64(at+1)
	}
	for i := range points.RowStart {
		points.RowStart[i] = int64(i * each)
	}
	text := svmlight(points)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadSparsePoints(strings.NewReader(text), "b.svm", 0); err != nil {
			b.Fatal(err)
		}
	}
}
