package format

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
)

// read is ReadNamed without names and without the table.
func read[T any](text, name string, kind table.Kind[T], points int) ([]T, error) {
	_, list, err := ReadNamed(strings.NewReader(text), name, kind, points, table.Naming{})
	return list, err
}

func TestConstraints(t *testing.T) {
	const text = "weight,Kind,j,i\n2.5,must,1,0\n,CANNOT,3,2\n1, Must-Link ,0,4\n.5,cannot-link,4,1\n\n"
	want := []constraint.Constraint{
		{I: 0, J: 1, Kind: constraint.MustLink, Weight: 2.5, Weighted: true},
		{I: 2, J: 3, Kind: constraint.CannotLink},
		{I: 4, J: 0, Kind: constraint.MustLink, Weight: 1, Weighted: true},
		{I: 1, J: 4, Kind: constraint.CannotLink, Weight: 0.5, Weighted: true},
	}
	got, err := read(text, "c.csv", table.Constraints, 5)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = read("i\tj\tkind\n0\t1\tmust\n", "c.tsv", table.Constraints, 2)
	if err != nil || len(got) != 1 || got[0].Weighted {
		t.Errorf("without weights: %+v, %v", got, err)
	}
	got, err = read("i,j,kind,weight", "c.csv", table.Constraints, 2)
	if err != nil || len(got) != 0 {
		t.Errorf("a header alone is an empty set: %+v, %v", got, err)
	}
}

func TestInvalidConstraints(t *testing.T) {
	for _, c := range []struct {
		text, reason string
		says         []string
	}{
		{"", "MISSING_HEADER", []string{"c.csv", "i,j,kind[,weight]"}},
		{"0,1,perhaps,1\n", "MISSING_HEADER", []string{"line 1", "i,j,kind[,weight]"}},
		{"i,j,weight\n", "MISSING_COLUMN", []string{`"kind"`}},
		{"i,j,kind,wieght\n", "UNKNOWN_COLUMN", []string{"wieght"}},
		{"i,j,kind,i\n", "DUPLICATE_COLUMN", nil},
		{"i,j,kind\n0,1,must\n0,1,maybe\n", "UNKNOWN_CONSTRAINT_KIND", []string{"c.csv, line 3", "maybe",
			"must or cannot"}},
		{"i,j,kind\n0,1,\n", "EMPTY_CELL", []string{"c.csv, line 2"}},
		{"i,j,kind\n0,9,must\n", "INDEX_OUT_OF_RANGE", []string{"line 2", "point 9", "0..4"}},
		{"i,j,kind\n-1,1,must\n", "INDEX_OUT_OF_RANGE", []string{"line 2"}},
		{"i,j,kind\n1.5,1,must\n", "NOT_AN_INTEGER", []string{"line 2"}},
		{"i,j,kind\n2,2,cannot\n", "SELF_CANNOT_LINK", []string{"line 2", "point 2"}},
		{"i,j,kind,weight\n0,1,must,0\n", "BAD_WEIGHT", []string{"line 2"}},
		{"i,j,kind,weight\n0,1,must,-1\n", "BAD_WEIGHT", nil},
		{"i,j,kind,weight\n0,1,must,NaN\n", "NOT_FINITE", []string{"c.csv, line 2"}},
		{"i,j,kind,weight\n0,1,must,inf\n", "NOT_FINITE", nil},
		{"i,j,kind,weight\n0,1,must,much\n", "NOT_A_NUMBER", nil},
		{"i,j,kind,weight\n0,1,must\n", "RAGGED_ROWS", []string{"line 2", "3 cells"}},
		{"i,j,kind\n\n0,1,must\n\n0,9,must\n", "INDEX_OUT_OF_RANGE", []string{"line 5", "point 9"}},
		{"0,1,must\n0,9,must\n", "INDEX_OUT_OF_RANGE", []string{"line 2", "point 9"}},
	} {
		_, err := read(c.text, "c.csv", table.Constraints, 5)
		wantFault(t, fmt.Sprintf("%q", c.text), err, c.reason, c.says...)
	}
}

func TestLabels(t *testing.T) {
	want := []int64{5, -7, math.MinInt64}
	for what, text := range map[string]string{
		"in order":     "index,label\n0,5\n1,-7\n2,-9223372036854775808\n",
		"in disorder":  "label,index\n-9223372036854775808,2\n5.0,0\n-7,1\n",
		"no header":    "0,5\n1,-7\n2,-9223372036854775808\n",
		"no names":     "5\n-7\n-9223372036854775808\n",
		"other names":  "row,group\n0,5\n1,-7\n2,-9223372036854775808\n",
		"no index":     "label\n5\n-7\n-9223372036854775808\n",
		"Windows file": "\xEF\xBB\xBF\"Index\",\"Label\"\r\n0,5\r\n1,-7\r\n2,-9223372036854775808\r\n",
	} {
		for _, points := range []int{0, 3} {
			got, err := read(text, "t.csv", table.Labels, points)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, %v", what, got, err)
			}
		}
	}
}

func TestInvalidLabels(t *testing.T) {
	for _, c := range []struct {
		text, reason string
		points       int
		says         []string
	}{
		{"0.5,1\n1,1\n", "MISSING_HEADER", 0, []string{"t.csv, line 1"}},
		{"0,1,2,3\n", "MISSING_HEADER", 0, nil},
		{"index\n0\n", "MISSING_COLUMN", 0, []string{"label"}},
		{"index,label\n0,a\n", "NOT_AN_INTEGER", 0, []string{"line 2"}},
		{"index,label\n0,1.5\n", "NOT_AN_INTEGER", 0, nil},
		{"index,label\n0,\n", "EMPTY_CELL", 0, nil},
		{"index,label\n,0\n,1\n", "EMPTY_CELL", 0, []string{"t.csv, line 2"}},
		{"index,label\n0,1\n1,1\n0,2\n", "DUPLICATE_INDEX", 0, []string{"line 4", "line 2"}},
		{"index,label\n0,1\n2,1\n", "INDEX_OUT_OF_RANGE", 0, []string{"point 2"}},
		{"index,label\n0,1\n2,1\n", "INDEX_OUT_OF_RANGE", 2, []string{"line 3"}},
		{"index,label\n0,1\n", "SIZE_MISMATCH", 2, []string{"1 label for 2 points"}},
		{"label\n0\n1\n1\n", "SIZE_MISMATCH", 2, nil},
		{"index,label\n", "SIZE_MISMATCH", 2, nil},
	} {
		_, err := read(c.text, "t.csv", table.Labels, c.points)
		wantFault(t, fmt.Sprintf("%q", c.text), err, c.reason, c.says...)
	}
}

func TestSeedsWeightsAndIndices(t *testing.T) {
	seeds, err := read("index,label\n4,1\n0,2\n", "s.csv", table.Seeds, 5)
	if err != nil || !slices.Equal(seeds, []constraint.Seed{{Index: 4, Label: 1}, {Index: 0, Label: 2}}) {
		t.Errorf("seeds %v, %v", seeds, err)
	}
	weights, err := read("weight,index\n2.5,3\n.5,0\n", "w.csv", table.Weights, 4)
	if err != nil || !slices.Equal(weights, []float64{0.5, 1, 1, 2.5}) {
		t.Errorf("weights %v, %v", weights, err)
	}
	indices, err := read("index\n7\n2\n", "i.csv", table.Indices, 8)
	if err != nil || !slices.Equal(indices, []int32{7, 2}) {
		t.Errorf("indices %v, %v", indices, err)
	}
	indices, err = read("index\n", "i.csv", table.Indices, 8)
	if err != nil || indices == nil || len(indices) != 0 {
		t.Errorf("a header alone is an empty set: %v, %v", indices, err)
	}
	_, err = read("index,label\n4,1\n4,1\n", "s.csv", table.Seeds, 5)
	wantFault(t, "seed twice", err, "DUPLICATE_INDEX", "s.csv, line 3")
	seeds, err = read("index,probability,label\n4,0.25,1\n0,,2\n4,.75,0\n", "s.csv", table.Seeds, 5)
	if err != nil || !slices.Equal(seeds, []constraint.Seed{{Index: 4, Label: 1, Probability: 0.25},
		{Index: 0, Label: 2}, {Index: 4, Label: 0, Probability: 0.75}}) {
		t.Errorf("seeds %v, %v", seeds, err)
	}
	for text, reason := range map[string]string{
		"index,label\n4,1\n4,2\n":                       "CONTRADICTORY_SEEDS",
		"index,label,probability\n4,1,1\n4,2,\n":        "CONTRADICTORY_SEEDS",
		"index,label,probability\n4,1,0.5\n4,1,0.5\n":   "DUPLICATE_INDEX",
		"index,label,probability\n0,0,1\n4,1,0\n":       "BAD_PROBABILITY",
		"index,label,probability\n0,0,1\n4,1,1.5\n":     "BAD_PROBABILITY",
		"index,label,probability\n0,0,1\n4,1,NaN\n":     "NOT_FINITE",
		"index,label,probability\n0,0,1\n4,1,perhaps\n": "NOT_A_NUMBER",
	} {
		_, err = read(text, "s.csv", table.Seeds, 5)
		wantFault(t, text, err, reason, "s.csv, line 3")
	}
	_, err = read("index,label\n5,1\n", "s.csv", table.Seeds, 5)
	wantFault(t, "seed out of range", err, "INDEX_OUT_OF_RANGE", "s.csv, line 2")
	_, err = read("5,1\n", "s.csv", table.Seeds, 5)
	wantFault(t, "seed out of range", err, "INDEX_OUT_OF_RANGE", "s.csv, line 1")
	_, err = read("index,weight\n0,1\n0,1\n", "w.csv", table.Weights, 5)
	wantFault(t, "weight twice", err, "DUPLICATE_INDEX", "line 3")
	_, err = read("index,weight\n0,-1\n", "w.csv", table.Weights, 5)
	wantFault(t, "negative weight", err, "BAD_WEIGHT", "line 2")
	_, err = read("index,weight\n0,\n", "w.csv", table.Weights, 5)
	wantFault(t, "no weight", err, "EMPTY_CELL", "line 2")
	_, err = read("index,weight\n0,1\n", "w.csv", table.Weights, 0)
	wantFault(t, "no points", err, "INDEX_OUT_OF_RANGE", "w.csv, line 2")
	_, err = read("index\n1\n1\n", "i.csv", table.Indices, 8)
	wantFault(t, "index twice", err, "DUPLICATE_INDEX", "line 3")
}
