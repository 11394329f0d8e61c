package format

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

func TestEdgeLists(t *testing.T) {
	want, err := dataset.NewGraph(0, []dataset.Edge{{Source: 0, Target: 1, Weight: 2},
		{Source: 2, Target: 1, Weight: 1}, {Source: 2, Target: 2, Weight: 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ name, text string }{
		"header":                 {"e.csv", "src,dst,weight\n0,1,2\n2,1,1\n2,2,0.5\n"},
		"no header":              {"e.csv", "0,1,2\n2,1,1\n2,2,0.5"},
		"weight left out":        {"e.csv", "0,1,2\n2,1\n2,2,.5\n"},
		"weight left empty":      {"e.csv", "src,dst,weight\n0,1,2\n2,1,\n2,2,.5\n"},
		"repeats add":            {"e.csv", "0,1\n1,0\n2,1\n2,2,0.25\n2,2,0.25\n"},
		"columns by name":        {"e.csv", "Weight,Target,note,Source\n2,0,a,1\n1,1,,2\n.5,2,c,2\n"},
		"foreign names":          {"e.csv", "a,b,c\n0,1,2\n2,1,1\n2,2,0.5\n"},
		"tabs, CRLF and blanks":  {"e.tsv", "src\tdst\tweight\r\n0\t1\t2\r\n\r\n2\t1\t\r\n2\t2\t0.5\r\n"},
		"white space":            {"e.txt", "# nodes: 3\n0 1 2\n  2\t1  1 \n\n% more\n2 2 0.5\n"},
		"commas in .edges":       {"e.edges", "0,1,2\n2, 1\n2,2,0.5\n"},
		"indices as floats":      {"e.csv", "0.0e+00,1.000e+00,2\n2.0,1,1\n2,2,0.5\n"},
		"compressed white space": {"e.txt.gz", gzipped("0 1 2\n2 1\n2 2 0.5\n")},
	} {
		got, err := ReadGraph(strings.NewReader(c.text), c.name, 0)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
	wider, err := ReadGraph(strings.NewReader("0,1\n"), "e.csv", 5)
	if err != nil || wider.N != 5 {
		t.Errorf("vertices beyond the edges: %+v, %v", wider, err)
	}
	alone, err := ReadGraph(strings.NewReader("src,dst\n"), "e.csv", 3)
	if err != nil || alone.N != 3 || len(alone.Column) != 0 {
		t.Errorf("no edges: %+v, %v", alone, err)
	}
}

func TestInvalidEdgeLists(t *testing.T) {
	for _, c := range []struct {
		name, text, reason string
		vertices           int
		says               []string
	}{
		{"e.csv", "", "EMPTY_DATA", 0, []string{"e.csv"}},
		{"e.csv", "src,dst\n", "EMPTY_DATA", 0, nil},
		{"e.csv", "0,1\n1,x\n", "NOT_AN_INDEX", 0, []string{"e.csv, line 2", `"x"`}},
		{"e.csv", "0,1\n1,1.5\n", "NOT_AN_INDEX", 0, []string{"line 2"}},
		{"e.csv", "0,1\n\n1,\n", "NOT_AN_INDEX", 0, []string{"line 3"}},
		{"e.csv", "0,1\n-1,1\n", "INDEX_OUT_OF_RANGE", 0, []string{"line 2", "-1"}},
		{"e.csv", "0,1\n2,1\n", "INDEX_OUT_OF_RANGE", 2, []string{"line 2", "0..1"}},
		{"e.csv", "0,2147483647\n", "INDEX_OUT_OF_RANGE", 0, nil},
		{"e.csv", "0,99999999999999999999\n", "NOT_AN_INDEX", 0, nil},
		{"e.csv", "0,2000000000\n", "TOO_MANY_VERTICES", 0, []string{"set the number of vertices to 2000000001"}},
		{"e.csv", "0,1,heavy\n0,1\n", "AMBIGUOUS_HEADER", 0, []string{"line 1"}},
		{"e.csv", "0,1\n0,1,heavy\n", "NOT_A_NUMBER", 0, []string{"line 2"}},
		{"e.csv", "0,1,nan\n", "NOT_FINITE", 0, []string{"line 1"}},
		{"e.csv", "0,1,1e308\n1,0,1e308\n", "NOT_FINITE", 0, []string{"e.csv"}},
		{"e.csv", "0\n", "RAGGED_ROWS", 0, []string{"line 1"}},
		{"e.csv", "0,1,1,1\n", "RAGGED_ROWS", 0, []string{"line 1"}},
		{"e.csv", "src,dst\n0,1,1\n", "RAGGED_ROWS", 0, []string{"line 2"}},
		{"e.csv", "src,destination\n0,1\n", "MISSING_COLUMN", 0, nil},
		{"e.npy", "", "UNKNOWN_FORMAT", 0, []string{".mtx"}},
	} {
		_, err := ReadGraph(strings.NewReader(c.text), c.name, c.vertices)
		wantFault(t, fmt.Sprintf("%q", c.text), err, c.reason, c.says...)
	}
}
